"""The lockstep harness finds what it is there to find, on every simulator."""

import atexit
import dataclasses
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tb.support.lockstep_runs import EVENTS, failure_of, on_every_simulator
from tb.support.port_zoo import make_mark, make_sticky, make_zoo
from tb.support.stream_buffer import FaultyStimulus, StreamBuffer, StreamBufferModel, make
from warploom_sim.cosim import simulators
from warploom_sim.cosim.lockstep import (
    SIMULATORS,
    Case,
    Context,
    LockstepError,
    events,
    events_folder,
    run,
    run_one,
    runner,
)
from warploom_sim.cosim.lockstep.cocotb_entry import PLAN

ROOT = Path(__file__).parents[3]


def without_removals(text: str) -> str:
    """Drop the line that says which old waveforms went, where a checkout holds that many."""
    return re.sub(r"(?m)^removed \d+ old folders? .*\n", "", text)


# What must pass


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_equal_components_pass_and_everything_is_counted(simulator: str, seed: int) -> None:
    cases = [
        Case(make=make, seed=seed + n, cycles=4000, stimulus=FaultyStimulus, events=EVENTS)
        for n in range(2)
    ]
    results = run(cases, simulator)
    assert [result.case for result in results] == cases
    for result in results:
        assert result.cycles == 4000
        # Three outputs in every cycle, and the payload where there is one.
        assert 3 * 4000 < result.compared < 4 * 4000
        result.require("full", "full buffer emptied", "transfers of i", "transfers of o")
        assert result.counts["overfull"] == 0


@pytest.mark.thorough
def test_the_same_case_goes_the_same_way_on_every_simulator(seed: int) -> None:
    case = Case(make=make, seed=seed, stimulus=FaultyStimulus, events=EVENTS)
    runs = [run_one(case, simulator) for simulator in SIMULATORS]
    assert len({(result.compared, *result.counts.items()) for result in runs}) == 1


@on_every_simulator
def test_every_kind_of_port_is_compared(simulator: str, seed: int) -> None:
    result = run_one(Case(make=make_zoo, seed=seed, cycles=500), simulator)
    assert result.compared == 500 * 8
    result.require("transfers of pulse", "transfers of level")


def late(context: Context) -> Iterator[int]:
    return iter([0] * 40 + [1] * 60)


@on_every_simulator
def test_combinational_defaults_stand_from_the_first_cycle(simulator: str, seed: int) -> None:
    case = Case(make=make_mark, seed=seed, cycles=100, resets=0, sources={"i": late})
    assert run_one(case, simulator).compared == 100


# Seeded bugs


@on_every_simulator
@pytest.mark.parametrize("fault", ["DROP", "CHANGE", "RESET", "LATE", "WITHDRAW"])
def test_seeded_bug_is_found_and_reported(simulator: str, fault: str, seed: int) -> None:
    case = Case(
        make=make,
        seed=seed,
        cycles=4000,
        resets=40,
        stimulus=FaultyStimulus,
        options={"fault": fault},
    )
    error = failure_of(case, simulator, waves=False)
    report = str(error)
    assert f"StreamBuffer on {simulator}, cycle {error.failure.cycle}: seed {seed}" in report
    for port, got, want in error.failure.differences:
        assert got != want
        assert f"{port}: got {got}, want {want}" in report
    assert error.failure.differences
    assert len(error.failure.history) == min(16, error.failure.cycle + 1)
    assert f"{error.failure.cycle:7} rst=" in error.failure.history[-1]
    assert f"fault={hex(FAULT_NUMBERS[fault])}" in report
    assert error.command in report
    # The model is the same everywhere and so is the stimulus: only the RTL's simulator differs.
    assert error.failure == failure_of(case, waves=False).failure


@on_every_simulator
def test_a_failure_is_repeated_with_a_waveform(simulator: str, seed: int) -> None:
    case = Case(make=make, seed=seed, stimulus=FaultyStimulus, options={"fault": "LATE"})
    error = failure_of(case, simulator)
    assert "did not repeat" not in str(error)
    assert f"waveform: {error.waves}" in str(error)
    content = error.waves.read_bytes()
    if error.waves.suffix == ".vcd":
        assert b"o__payload" in content
    else:
        # FST: the first block is the header, of 329 bytes after its length.
        assert content[0] == 0 and int.from_bytes(content[1:9], "big") == 329
        assert len(content) > 329


def hide_fst_headers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the compiler's preprocessor, asked alone, fail as where a header is missing."""
    program = folder / "g++"
    program.write_text(f'#!/bin/sh\n[ "$1" = -E ] && exit 1\nexec {shutil.which("g++")} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


@pytest.mark.thorough
def test_a_waveform_is_vcd_where_verilator_cannot_write_fst(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_fst_headers(tmp_path, monkeypatch)
    case = Case(make=make, seed=seed, stimulus=FaultyStimulus, options={"fault": "LATE"})
    error = failure_of(case, "verilator")
    assert error.waves.name == "dump.vcd"
    assert b"o__payload" in error.waves.read_bytes()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("simulator", "complaint"),
    [("icarus", "invalid option"), ("verilator", "Invalid option: --nonsense")],
)
def test_a_mismatch_is_reported_where_its_waveform_cannot_be_built(
    simulator: str,
    complaint: str,
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    broken = simulators.Waveform(("--nonsense",), "fst")
    monkeypatch.setattr(simulators, "waveform", lambda _: broken)
    case = Case(make=make, seed=seed, stimulus=FaultyStimulus, options={"fault": "LATE"})
    error = failure_of(case, simulator)
    assert error.waves is None
    assert error.failure == failure_of(case, waves=False).failure
    (line,) = [line for line in str(error).splitlines() if "waveform" in line]
    start = f"  no waveform: building StreamBuffer for {simulator} failed: "
    assert line.startswith(start) and complaint in line
    assert f"repeat with: {error.command}" in str(error)
    told = without_removals(capsys.readouterr().err)
    # The first build may have been made by another test.
    assert f"{error.mismatch}\nbuilding StreamBuffer for {simulator} with waveform\n" in told


def test_a_mismatch_is_printed_before_its_waveform_is_begun(
    seed: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    case = Case(make=make, seed=seed, stimulus=FaultyStimulus, options={"fault": "LATE"})
    expected = failure_of(case, waves=False)
    monkeypatch.setattr(runner, "_repeated", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_one(case, "amaranth")
    assert without_removals(capsys.readouterr().err) == f"{expected.mismatch}\n"


def make_dying_late(code: int) -> tuple[StreamBuffer, StreamBufferModel]:
    """Let the simulator fail at its end, when its outcomes are written."""
    if os.environ.get(PLAN):
        atexit.register(os._exit, code)
    return make()


@pytest.mark.thorough
def test_a_mismatch_is_reported_where_the_simulator_fails_after_it(seed: int) -> None:
    dying = Case(make=make_dying_late, params={"code": 3}, seed=seed, stimulus=FaultyStimulus)
    differing = dataclasses.replace(dying, options={"fault": "LATE"})
    error = failure_of(differing, "icarus", waves=False)
    assert error.failure.differences
    # Without a difference to report the failure itself is one.
    with pytest.raises(RuntimeError, match=rf"^StreamBuffer, seeds {seed}: icarus failed after"):
        run_one(dying, "icarus")


FAULT_NUMBERS = {"DROP": 1, "CHANGE": 2, "RESET": 3, "LATE": 4, "WITHDRAW": 5}


def test_an_expected_failure_leaves_nothing_behind(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    case = Case(make=make, seed=seed, stimulus=FaultyStimulus, options={"fault": "LATE"})
    error = failure_of(case, waves=False)
    assert error.waves is None and "waveform" not in str(error)
    assert not list((tmp_path / "build" / "lockstep").iterdir())


def test_the_printed_command_repeats_the_failure(seed: int) -> None:
    error = failure_of(
        Case(make=make, seed=seed, stimulus=FaultyStimulus, options={"fault": "LATE"})
    )
    done = subprocess.run(
        ["sh", "-c", error.command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"]},
    )
    assert done.returncode == 1, done.stderr
    again, first = (without_removals(text).splitlines() for text in (done.stderr, str(error)))
    assert again[:-2] == first[:-2]
    assert again[-1] == first[-1]


def test_a_bug_that_needs_the_case_before_it_is_repeated_with_that_case(seed: int) -> None:
    cases = [Case(make=make_sticky, seed=seed + n, cycles=1000, resets=0) for n in range(2)]
    assert run_one(cases[1], "amaranth").compared == 1000
    with pytest.raises(LockstepError) as caught:
        run(cases, "amaranth")
    assert caught.value.case == cases[1]
    assert caught.value.failure.cycle == 0
    assert caught.value.command.count('"make"') == 2
    assert "did not repeat" not in str(caught.value)


# Hard cases


def test_an_event_that_did_not_happen_fails(seed: int) -> None:
    result = run_one(Case(make=make, seed=seed, stimulus=FaultyStimulus, events=EVENTS), "amaranth")
    with pytest.raises(AssertionError, match=r"^never happened: overfull$"):
        result.require("full", "overfull")
    with pytest.raises(AssertionError, match=r"^never observed: flooded$"):
        result.require("full", "flooded")


def test_counts_of_several_runs_are_merged(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cases = [
        Case(make=make, seed=seed + n, stimulus=FaultyStimulus, events=EVENTS) for n in range(2)
    ]
    results = run(cases, "amaranth")
    merged = events.merge(events_folder())
    assert merged["full"] == sum(result.counts["full"] for result in results) > 0
    events.require(["full"], merged)
    with pytest.raises(AssertionError, match="overfull"):
        events.require(["full", "overfull"], merged)
    events.clear(events_folder())
    assert events.merge(events_folder()) == {}


def test_counts_of_a_failed_run_are_not_recorded(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    failure_of(
        Case(
            make=make, seed=seed, stimulus=FaultyStimulus, options={"fault": "DROP"}, events=EVENTS
        )
    )
    assert events.merge(events_folder()) == {}


class SilentModel(StreamBufferModel):
    """Compares nothing at all."""

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        return dict.fromkeys(super().outputs(inputs))


def make_silent() -> tuple[StreamBuffer, SilentModel]:
    return StreamBuffer(), SilentModel()


def test_a_run_that_compares_nothing_fails(seed: int) -> None:
    with pytest.raises(AssertionError, match="^StreamBuffer: no value was compared$"):
        run_one(Case(make=make_silent, seed=seed, stimulus=FaultyStimulus), "amaranth")


def test_a_folder_that_another_run_has_just_removed_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs side by side remove old folders of the same place: one may be gone when it is read."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "build" / "lockstep"
    for number in range(runner.KEPT_FAILURES + 1):
        (folder / f"failure{number}").mkdir(parents=True)
        os.utime(folder / f"failure{number}", (number, number))
    (folder / "gone").symlink_to("nowhere")
    runner._remove_old_folders()
    assert (folder / "failure1").exists()
    assert not (folder / "failure0").exists()
