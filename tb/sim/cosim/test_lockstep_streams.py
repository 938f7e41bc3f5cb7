"""The lockstep harness holds both sides to the stream rules, and its stimulus is worth its name."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping

import pytest

from tb.support.lockstep_runs import failure_of
from tb.support.stream_buffer import WIDTH, FaultyStimulus, StreamBuffer, StreamBufferModel, make
from warploom_sim.cosim.lockstep import Case, Context, Pace, RandomStimulus, run_one

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
    counts: Counter[str] = Counter()
    # One run alone may have drawn a pace that seldom stalls, or seldom idles.
    for n in range(4):
        events = {"crossing": Crossing}
        case = Case(make=make, seed=seed + n, cycles=3000, stimulus=FaultyStimulus, events=events)
        counts.update(run_one(case, "amaranth").counts)
    for name in Crossing().seen:
        assert counts[name] > 500, (name, counts)


def test_resets_fall_into_the_middle_and_the_last_cycle(seed: int) -> None:
    case = Case(make=make, seed=seed, cycles=1000, resets=10)
    cycles = case.reset_cycles()
    assert 999 in cycles and 0 not in cycles
    assert 10 <= len(cycles) <= 31
    assert cycles == Case.from_json(json.loads(json.dumps(case.to_json()))).reset_cycles()
