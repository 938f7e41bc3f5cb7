"""The lockstep harness finds what it is there to find, on every simulator."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tb.port_zoo import make_mark, make_sticky, make_zoo
from tb.stream_buffer import (
    WIDTH,
    Emptied,
    FaultyStimulus,
    StreamBuffer,
    StreamBufferModel,
    full,
    make,
    make_missing_port,
    overfull,
)
from warploom_sim.lockstep import (
    SIMULATORS,
    Case,
    Context,
    LockstepError,
    Pace,
    RandomStimulus,
    events,
    events_folder,
    run,
    run_one,
)
from warploom_sim.lockstep.checker import Unresolved
from warploom_sim.lockstep.cocotb_entry import PLAN
from warploom_spec import WarploomError

ROOT = Path(__file__).parents[1]
EVENTS = {"full": full, "overfull": overfull, "emptied": Emptied}
on_every_simulator = pytest.mark.parametrize("simulator", SIMULATORS)


def failure_of(case: Case, simulator: str = "amaranth", waves: bool = True) -> LockstepError:
    """Run a case that must fail."""
    with pytest.raises(LockstepError) as caught:
        run_one(case, simulator, waves=waves)
    return caught.value


# What must pass


@on_every_simulator
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
    again, first = (text.splitlines() for text in (done.stderr, str(error)))
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


# Ports


@on_every_simulator
def test_model_whose_ports_differ_is_refused(simulator: str, seed: int) -> None:
    error = failure_of(Case(make=make_missing_port, seed=seed), simulator, waves=False)
    assert error.failure.cycle == 0
    assert (
        "the model's outputs and the component's ports differ: missing ['level'], unknown ['fill']"
    ) in str(error)


class Extra(RandomStimulus):
    """Gives a value for a port that does not exist."""

    def next(self, outputs: Mapping[str, int] | None) -> dict[str, int]:
        return super().next(outputs) | {"nowhere": 1}


class TooWide(RandomStimulus):
    """Gives a value that is too wide for its port."""

    def next(self, outputs: Mapping[str, int] | None) -> dict[str, int]:
        return super().next(outputs) | {"fault": 8}


@pytest.mark.parametrize(
    ("stimulus", "complaint"),
    [
        (Extra, "the stimulus and the component's ports differ: missing [], unknown ['nowhere']"),
        (TooWide, "the stimulus gives fault = 0x8; legal: 0 to 0x7"),
    ],
)
def test_stimulus_that_does_not_fit_is_refused(stimulus: type, complaint: str, seed: int) -> None:
    assert complaint in str(failure_of(Case(make=make, seed=seed, stimulus=stimulus)))


def test_an_unresolved_value_equals_no_number() -> None:
    assert Unresolved("1x") not in range(4)


# Stream rules without the model


class BlindModel(StreamBufferModel):
    """Compares nothing but what the input stream needs."""

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        return super().outputs(inputs) | {"o__valid": None, "o__payload": None, "level": None}


def make_blind() -> tuple[StreamBuffer, BlindModel]:
    return StreamBuffer(), BlindModel()


@pytest.mark.parametrize(
    ("fault", "rule"),
    [
        ("CHANGE", "o__payload changed while stalled: got 0x"),
        ("WITHDRAW", "o__valid dropped while stalled"),
    ],
)
def test_stream_rules_are_checked_without_the_model(fault: str, rule: str, seed: int) -> None:
    case = Case(make=make_blind, seed=seed, stimulus=FaultyStimulus, options={"fault": fault})
    error = failure_of(case)
    assert not error.failure.differences
    assert [problem for problem in error.failure.problems if problem.startswith(rule)]


def test_a_withdrawable_output_is_exempt_with_a_reason(seed: int) -> None:
    case = Case(
        make=make_blind,
        seed=seed,
        stimulus=FaultyStimulus,
        options={"fault": "CHANGE"},
        withdrawable={"o": "the test says so"},
    )
    run_one(case, "amaranth").require("transfers of o")


class Impatient(RandomStimulus):
    """Offers something else in every cycle."""

    def next(self, outputs: Mapping[str, int] | None) -> dict[str, int]:
        self._count = getattr(self, "_count", 0) + 1
        return super().next(outputs) | {"i__payload": self._count, "fault": 0}


def test_a_stimulus_that_breaks_the_stream_rules_is_found(seed: int) -> None:
    error = failure_of(Case(make=make, seed=seed, stimulus=Impatient))
    assert "stimulus: i__payload changed while stalled" in str(error)


class Withdrawn:
    """Count refused items that were withdrawn."""

    def __init__(self) -> None:
        self.count, self.refused = 0, False

    def see(self, cycle: int, inputs: Mapping[str, int], outputs: Mapping[str, int]) -> None:
        self.count += self.refused and not inputs["i__valid"]
        self.refused = bool(inputs["i__valid"] and not outputs["i__ready"])

    def reset(self) -> None:
        self.refused = False

    def counts(self) -> dict[str, int]:
        return {"withdrawn": self.count}


def count_up(context: Context) -> Iterator[int]:
    return iter(range(context.params.get("start", 1), 1 << WIDTH))


def no_fault(context: Context) -> Iterator[int]:
    return iter(lambda: 0, None)


def test_default_stimulus_withdraws_only_where_it_may(seed: int) -> None:
    common = {
        "make": make,
        "seed": seed,
        "events": {"withdrawn": Withdrawn},
        "sources": {"i": count_up, "fault": no_fault},
    }
    run_one(Case(**common, withdrawable={"i": "may be cancelled"}), "amaranth").require("withdrawn")
    assert run_one(Case(**common), "amaranth").counts["withdrawn"] == 0


# Stimulus


class InOrder:
    """Sends 1, 2, 3, ... and takes them at once; fails if one is missing, double or late."""

    def __init__(self, context: Context):
        self.driver = context.driver("i", count_up(context))
        self.sink = context.sink("o", Pace(context.rng, (1.0,)))
        self.expected = 1

    def next(self, outputs: Mapping[str, int] | None) -> dict[str, int]:
        values = self.driver.next(outputs) | self.sink.next(outputs) | {"fault": 0}
        if self.sink.taken is not None:
            assert self.sink.taken == self.expected
            self.expected += 1
        assert self.driver.sent - self.sink.received in (0, 1)
        return values


def test_drivers_and_sinks_see_what_was_transferred(seed: int) -> None:
    case = Case(make=make, seed=seed, stimulus=InOrder, resets=0)
    run_one(case, "amaranth").require("transfers of i", "transfers of o")


class Crossing:
    """Count back-pressure and idling, alone and together."""

    def __init__(self) -> None:
        self.seen = dict.fromkeys((f"valid {v} ready {r}" for v in (0, 1) for r in (0, 1)), 0)

    def see(self, cycle: int, inputs: Mapping[str, int], outputs: Mapping[str, int]) -> None:
        self.seen[f"valid {inputs['i__valid']} ready {inputs['o__ready']}"] += 1

    def reset(self) -> None: ...

    def counts(self) -> dict[str, int]:
        return self.seen


def test_idle_cycles_cross_with_back_pressure(seed: int) -> None:
    case = Case(
        make=make, seed=seed, cycles=10_000, stimulus=FaultyStimulus, events={"crossing": Crossing}
    )
    counts = run_one(case, "amaranth").counts
    for name in Crossing().seen:
        assert counts[name] > 500, (name, counts)


def test_resets_fall_into_the_middle_and_the_last_cycle(seed: int) -> None:
    case = Case(make=make, seed=seed, cycles=1000, resets=10)
    cycles = case.reset_cycles()
    assert 999 in cycles and 0 not in cycles
    assert 10 <= len(cycles) <= 31
    assert cycles == Case.from_json(json.loads(json.dumps(case.to_json()))).reset_cycles()


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


# Bad input


@pytest.mark.parametrize("simulator", ["icarus", "verilator"])
def test_a_missing_simulator_is_an_error(
    simulator: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(WarploomError, match=f"simulator {simulator}: .* is not installed"):
        run_one(Case(make=make, seed=seed), simulator)


def test_an_unknown_simulator_is_refused(seed: int) -> None:
    with pytest.raises(ValueError, match="must be one of amaranth, icarus, verilator, got 'vcs'"):
        run_one(Case(make=make, seed=seed), "vcs")
    with pytest.raises(ValueError, match="at least one case"):
        run([], "amaranth")


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"make": lambda: make()}, "must be importable by name"),
        ({"make": "tb.stream_buffer:unmade"}, "cannot be imported"),
        ({"make": "make"}, "must have the form"),
        ({"params": {"depth": {1, 2}}}, "params must be plain JSON data"),
        ({"options": {"shape": (1, 2)}}, "options must be plain JSON data"),
        ({"cycles": 1}, "cycles must be at least 2"),
        ({"resets": 200}, "resets must be 0 to 125 in 2000 cycles"),
    ],
)
def test_a_case_that_cannot_be_rebuilt_is_refused(fields: dict, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Case(**({"make": make, "seed": 1} | fields))


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"withdrawable": {"x": "none"}}, "withdrawable names no stream: ['x']"),
        ({"sources": {"o": count_up}}, "sources for no input of the component: ['o']"),
    ],
)
def test_a_name_that_the_component_lacks_is_reported(
    fields: dict, complaint: str, seed: int
) -> None:
    assert complaint in str(failure_of(Case(make=make, seed=seed, **fields)))


def make_dying(where: str) -> tuple[StreamBuffer, StreamBufferModel]:
    if os.environ.get(PLAN):
        raise SystemExit(f"no model in {where}")
    return make()


def test_a_simulator_that_dies_is_an_error_with_its_log(seed: int) -> None:
    case = Case(make=make_dying, params={"where": "the simulator"}, seed=seed)
    with pytest.raises(
        RuntimeError,
        match=rf"(?s)^StreamBuffer, seeds {seed}: icarus ended without"
        rf".*no model in the simulator",
    ):
        run_one(case, "icarus")


# Builds


def test_processes_side_by_side_share_one_build(tmp_path: Path) -> None:
    program = (
        "from tb.port_zoo import make_zoo; from warploom_sim.lockstep.build import built;"
        "print(built(make_zoo()[0], 'icarus'))"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    children = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            text=True,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(2)
    ]
    outputs = [child.communicate() for child in children]
    assert all(child.returncode == 0 for child in children), outputs
    assert len({out for out, _ in outputs}) == 1
    assert "".join(err for _, err in outputs).count("building PortZoo for icarus") == 1
    folders = [path for path in (tmp_path / "build" / "simulations").iterdir() if path.is_dir()]
    assert len(folders) == 1
