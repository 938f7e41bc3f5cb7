"""``make bench``: what it repeats, what it prints; and that its own measurements run."""

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from tb.support import trace_files
from warploom_dev import benchmarks, cli
from warploom_dev.benchmarks import Benchmark, Measured
from warploom_sim.failure import ProgramError
from warploom_spec import WarploomError, layouts, preset

TRACE = Path(__file__).parents[2] / "traces" / "stencil3d_shapes.json.gz"


def counting() -> Iterator[float]:
    yield from map(float, range(1000, 2000, 100))


def test_the_first_run_is_not_counted() -> None:
    steps: list[int] = []
    values = counting()
    measured = Benchmark("a", "b/s", lambda: next(values)).run(3, lambda: steps.append(1))
    assert measured.values == (1100.0, 1200.0, 1300.0)
    assert len(steps) == 3


def test_the_median_counts_and_the_spread_is_said() -> None:
    measured = Measured("a", "b/s", (90.0, 100.0, 140.0))
    assert (measured.median, measured.spread) == (100.0, 0.5)
    assert measured.to_json() == {
        "name": "a",
        "unit": "b/s",
        "values": (90.0, 100.0, 140.0),
        "median": 100.0,
        "spread": 0.5,
    }


def test_the_command_prints_and_writes_what_it_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    values = counting()
    seen: list[tuple[Path, tuple[str, ...]]] = []

    def stub(trace: Path, simulators: tuple[str, ...]) -> Iterator[Benchmark]:
        seen.append((trace, simulators))
        yield Benchmark("something", "blocks/s", lambda: next(values))

    monkeypatch.setattr(benchmarks, "benchmarks", stub)
    out = tmp_path / "bench.json"
    arguments = ["bench", "--sim", "verilator", "--repeat", "3", "--trace", str(TRACE)]
    result = CliRunner().invoke(cli.main, [*arguments, "--json", str(out)])
    assert result.exit_code == 0
    assert seen == [(TRACE, ("verilator",))]
    for part in ("something", "1,200", "blocks/s", "1,100", "1,300", "17%"):
        assert part in result.stdout
    (written,) = json.loads(out.read_text())["benchmarks"]
    assert written["median"] == 1200 and written["values"] == [1100, 1200, 1300]


def test_grids_to_walk_are_legal(seed: int) -> None:
    config = preset(benchmarks.CONFIG)
    context = SimpleNamespace(rng=random.Random(seed))
    packet = layouts.grid_walk(config)
    for word in islice(benchmarks.grids(context), 1000):
        grid = packet.unpack(word)
        assert all(0 <= grid[f"start_{axis}"] < grid[f"g{axis}"] for axis in "xyz")


def test_models_import_and_lockstep_are_measured() -> None:
    """On Amaranth's simulator alone: the others need seconds to build, and run the same code."""
    for benchmark in benchmarks.benchmarks(TRACE, ()):
        assert benchmark.once() > 0


def trace_of(folder: Path, *grids: list[int]) -> Path:
    content = trace_files.document()
    calls = [trace_files.call(number, 10.0 * number) for number in range(1, len(grids) + 1)]
    kernels = [trace_files.kernel(number, grid=grid) for number, grid in enumerate(grids, 1)]
    return trace_files.write(folder, content | {"traceEvents": calls + kernels})


REFUSED, LEGAL = [0, 1, 1], [4, 2, 1]


@pytest.mark.parametrize(
    ("simulators", "grids", "message"),
    [
        (["icarus"], [REFUSED], "0 of the 1 launches that icarus would run"),
        (["verilator"], [REFUSED] * 3, "0 of the 3 launches that verilator would run"),
        ([], [REFUSED] * 3, "0 of the 3 launches that the event model would run"),
        (
            ["verilator", "icarus"],
            [REFUSED, REFUSED, LEGAL],
            "0 of the 2 launches that icarus would run are accepted by configuration default"
            r" \(GRID_\w+: 2\); legal: 1 or more",
        ),
        (["icarus"], [[2**24, 1, 1], REFUSED], None),
        (
            ["icarus"],
            [LEGAL, LEGAL, [2**24, 1, 1]],
            "16,777,232 blocks for the event model; legal: up to 16,777,216",
        ),
        (["verilator", "icarus"], [LEGAL], None),
    ],
)
def test_a_trace_without_blocks_to_measure_with_is_refused(
    simulators: list[str], grids: list[list[int]], message: str | None, tmp_path: Path
) -> None:
    trace = trace_of(tmp_path, *grids)
    if message is None:
        assert list(benchmarks.benchmarks(trace, simulators))
        return
    with pytest.raises(WarploomError, match=f"trace.json: {message}"):
        list(benchmarks.benchmarks(trace, simulators))


def test_the_command_refuses_such_a_trace_before_it_builds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    trace = trace_of(tmp_path, REFUSED)
    result = CliRunner().invoke(cli.main, ["bench", "--sim", "icarus", "--trace", str(trace)])
    assert result.exit_code == 2
    assert "0 of the 1 launches" in result.stderr
    assert not (tmp_path / "build").exists()


def test_a_replay_that_was_given_up_is_no_measurement(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    @contextmanager
    def running(*_: Any) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(wait=lambda: 0)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(benchmarks.replay_bench_build, "build", lambda *_: None)
    monkeypatch.setattr(benchmarks, "simulation_process", running)
    stopped = SimpleNamespace(stopped="given up in cycle 9: nothing happened")
    monkeypatch.setattr(benchmarks, "read_recorded", lambda *_: stopped)
    first = next(benchmarks.benchmarks(TRACE, ("icarus",)))
    with pytest.raises(ProgramError, match="shapes.json.gz on icarus was given up in cycle 9: "):
        first.once()


def test_every_simulator_is_measured() -> None:
    names = [benchmark.name for benchmark in benchmarks.benchmarks(TRACE, ("verilator", "icarus"))]
    assert len(set(names)) == len(names)
    for simulator in ("verilator", "icarus"):
        assert f"replay, LaunchPath on {simulator}" in names
    for simulator in ("amaranth", "verilator", "icarus"):
        assert f"lockstep, GridWalker on {simulator}" in names
