"""A scenario preempted at every cycle and resumed at every cycle after: the ledger agrees."""

import random

import pytest

from tb.preemption.script import books, kernel, run
from tb.support.deep_values import deep_but
from warploom_golden.preemption import SmBehaviour

MODES = ("auto", "reset", "drain", "wait")
REPORT_TIMES = (0, 1, 5, 20)
#: Cycles that the scenario takes when nobody preempts it, at most.
LONGEST = 120
CASES = [(mode, time) for mode in range(len(MODES)) for time in REPORT_TIMES]
#: By default each mode runs with one quick and one slow SM.
QUICK = [(mode, REPORT_TIMES[(mode + k) % 4]) for mode in range(len(MODES)) for k in (0, 2)]


def low(mode):
    """Two launches of a stream, the second not idempotent, and one of another stream."""
    return [
        (1, "launch", kernel(0, 9, 12, idempotent=1, mode=mode)),
        (2, "launch", kernel(1, 4, 16, idempotent=0, mode=mode)),
        (3, "launch", kernel(2, 7, 10, idempotent=1, mode=mode, stream=1)),
    ]


URGENT = kernel(3, 3, 8, priority=3, stream=2)


def problems(commands, time):
    model, script = run(commands, sm=SmBehaviour(report_time=time))
    assert all(answer[1] == 0 for _, _, _, answer in script.answers)
    assert all(record.fate == 0 for record in model.queue.records)
    return books(model, script).check()


def resumed(mode, time, preempt, resume):
    commands = [*low(mode), (preempt, "preempt", 0), (resume, "resume", 0)]
    return problems([*commands, (preempt + 2, "launch", URGENT)], time)


@pytest.mark.parametrize("mode", range(len(MODES)), ids=MODES)
def test_the_scenario_lasts_as_long_as_it_should(mode):
    model, script = run(low(mode))
    assert 80 < model.queue.records[-1].cycle <= LONGEST
    assert not books(model, script).check()


@pytest.mark.parametrize(("mode", "time"), deep_but(QUICK, CASES))
def test_preempted_by_priority_at_every_cycle(mode, time):
    for cycle in range(LONGEST + 1):
        commands = [*low(mode), (cycle, "launch", URGENT)]
        assert not problems(commands, time), f"mode {MODES[mode]}, urgent in {cycle}"


@pytest.mark.parametrize(("mode", "time"), deep_but(QUICK, CASES))
def test_preempted_by_command_at_every_cycle_and_resumed(mode, time, seed):
    rng = random.Random(seed)
    for preempt in range(LONGEST + 1):
        resume = rng.randint(preempt + 1, preempt + LONGEST)
        assert not resumed(mode, time, preempt, resume), f"preempted {preempt}, resumed {resume}"


@pytest.mark.deep
@pytest.mark.parametrize(("mode", "time"), CASES)
def test_preempted_at_every_cycle_and_resumed_at_every_cycle_after(mode, time):
    for preempt in range(LONGEST + 1):
        for resume in range(preempt + 1, LONGEST + 2):
            assert not resumed(mode, time, preempt, resume), (preempt, resume)
