"""The replay's waveform, read back: its cycles, and every signal of its view.

pywellen, the reader of the Surfer viewer, reads VCD and FST: nothing here wrote it.
"""

import json
import random
import re
import shutil
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import pywellen
from click.testing import CliRunner

from tb.support.deep_values import deep_but
from tb.support.trace_files import random_document, write
from warploom_sim import cli, screen
from warploom_sim.replay.replay_waves import RESET_CYCLES, SCOPES, signals, times
from warploom_spec import preset

FIRST, LAST = 40, 90
TINY = ("--config", "tiny", "--launches", 8, "--waves")


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return write(tmp_path, random_document(random.Random(1), 8))


def sim(tmp_path: Path, *arguments: object) -> dict[str, Any]:
    file = tmp_path / "figures.json"
    result = CliRunner().invoke(
        cli.main, ["sim", *map(str, arguments), "--json", str(file)], catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    figures: dict[str, Any] = json.loads(file.read_text())
    assert f"view for GTKWave: {figures['view']}" in result.stdout
    return figures


def names(waveform: pywellen.Waveform) -> dict[str, Any]:
    """Return the bench's signals by their names, with the range of a vector's bits."""
    every = {}
    for signal in waveform.all_vars():
        bits = signal.bitwidth
        every[signal.full_name + (f"[{bits - 1}:0]" if bits and bits > 1 else "")] = signal
    return every


def shown(view: str) -> list[str]:
    """Return the signals of a GTKWave save file."""
    return re.findall(r"^\+\{[^}]*\} (\S+)$", Path(view).read_text(), re.MULTILINE)


def assert_holds(figures: dict[str, Any], simulator: str, cycles: tuple[int, int]) -> None:
    """Check the cycles that a waveform holds, and that all of its view is in it."""
    waveform = pywellen.Waveform(figures["waveform"])
    there, scope = names(waveform), SCOPES[simulator]
    view = shown(figures["view"])
    assert [name for name in view if name not in there] == []
    ports = [one.in_waveform for group in signals(preset("tiny")).values() for one in group]
    assert view == [f"{scope}.{port}" for port in ports]
    assert len(ports) == len(set(ports)) > 50
    cycle = there[f"{scope}.cycle[63:0]"].signal
    changes: list[tuple[int, Any]] = []
    waveform.stream_changes(
        lambda time, _, value: changes.append((time, value)), [there[f"{scope}.clk"]]
    )
    clock = [time for time, value in changes if value in (0, 1)]
    first, last = cycles
    start, end = times(cycles)
    # A signal is shown in all of its cycle, and none after the last one's end.
    assert (clock[0], clock[-1]) == (start, end - 1)
    assert max(time for time, _ in changes) <= end
    assert [cycle.value_at(time) for time in (start, start + 1, end - 1)] == [first, first, last]
    assert f"[timestart] {start}\n" in Path(figures["view"]).read_text()


@pytest.mark.parametrize("simulator", deep_but([], ["icarus", "verilator"], thorough=["icarus"]))
def test_a_waveform_holds_the_cycles_asked_for_and_all_that_its_view_shows(
    tmp_path: Path, trace: Path, simulator: str
) -> None:
    few = sim(tmp_path, trace, "--sim", simulator, *TINY, "--wave-cycles", f"{FIRST}:{LAST}")
    assert_holds(few, simulator, (FIRST, LAST))
    whole = sim(tmp_path, trace, "--sim", simulator, *TINY)
    least = 2 * Path(few["waveform"]).stat().st_size
    assert Path(whole["waveform"]).stat().st_size > least
    every = names(pywellen.Waveform(whole["waveform"]))
    cycle = every[f"{SCOPES[simulator]}.cycle[63:0]"].signal
    # From power-up on: reset is in it.
    assert cycle.value_at(1) == 0
    for number in (1, FIRST, whole["cycles"]):
        assert cycle.value_at(2 * (RESET_CYCLES + number)) == number
    # A block's place in the grid is a signal with its own name, as in the packet.
    offer = every[f"{SCOPES[simulator]}.offer[1:0]"].signal
    slot = every[f"{SCOPES[simulator]}.block__slot[1:0]"].signal
    offers = [t for t in range(9, 2 * whole["cycles"], 2) if offer.value_at(t)]
    assert len(offers) == whole["blocks"]
    assert {slot.value_at(time) for time in offers} <= {0, 1, 2, 3}
    for figures in (few, whole):
        shutil.rmtree(Path(figures["waveform"]).parents[1])


def test_cycles_after_the_runs_end_are_refused(tmp_path: Path, trace: Path) -> None:
    words = [str(trace), "--sim", "icarus", *map(str, TINY), "--wave-cycles", "900000:900001"]
    file = tmp_path / "f.json"
    # On a slow machine progress would stand before the line.
    with patch.object(screen, "LOOK_S", 3600.0):
        result = CliRunner().invoke(cli.main, ["sim", *words, "--json", str(file)])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert re.fullmatch(
        r"Error: wave_cycles is 900000:900001, but the run ends in cycle (\d+); legal: from 0 to"
        r" \1\n",
        result.stderr,
    )
    assert not file.exists()


@pytest.mark.parametrize("wrong", ["9:3", "7", "1:", ":1", "-1:4", "a:b", "1:2:3", "1.5:2", ""])
def test_a_wrong_range_is_refused_in_one_line(trace: Path, wrong: str) -> None:
    result = CliRunner().invoke(cli.main, ["sim", str(trace), "--waves", "--wave-cycles", wrong])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    said = f"Error: Invalid value for '--wave-cycles': {wrong!r}; legal: A:B, two cycles"
    assert result.stderr.startswith(said)


def test_cycles_without_a_waveform_are_refused(trace: Path) -> None:
    result = CliRunner().invoke(cli.main, ["sim", str(trace), "--wave-cycles", "1:2"])
    assert result.exit_code == 2
    said = "--wave-cycles 1:2 counts only with --waves; give that, too"
    assert result.stderr == f"Error: {said}\n"
