"""A scenario preempted in every cycle, by priority and by command, in all modes, and resumed later.

The ledger says that each launch runs once in effect, that none is torn, and that order is kept.
Deep runs resume at every later cycle, and compare every event with the cycle model, too.
``test_queued_rtl.py`` compares the scenario's events with the RTL.
"""

import random
from dataclasses import replace

import pytest

from tb.preemption.queued_cycles import QueuedCycles, difference, seen
from tb.preemption.queued_script import QueuedScript, run, slow
from tb.preemption.script import TINY
from tb.preemption.test_queued_random import problems
from tb.support.deep_values import deep_but
from warploom_golden.replay.event_constants import NEVER
from warploom_spec import BlockStatus, Fate
from warploom_spec.queue import FinalFate, Mode, RecordKind

#: Six launches of one priority find room.
CONFIG = replace(TINY, queue_depth=8)
MODES = [*Mode]
REPORT_TIMES = (0, 1, 5, 20)
#: First and last cycle in which the scenario is preempted.
FIRST, LAST = 1, 120
UNTIL = 700
CASES = [(mode, time) for mode in MODES for time in REPORT_TIMES]
QUICK = [(mode, REPORT_TIMES[(mode + 1) % 4]) for mode in MODES]
#: Modes in which a command kills blocks. In the others no report time counts.
KILLING = (Mode.AUTO, Mode.RESET)
PAIRS = [(mode, time) for mode, time in CASES if mode in KILLING or (mode, time) in QUICK]
#: So many cycles after its last event a preempted scenario stands still.
STILL = 12
#: Later than the last event of a scenario that is never resumed.
NEVER_RESUMED = 400


def scenario(mode):
    """Two launches of a stream, another stream, one of `wait`, one of `yield`, one address."""
    script = QueuedScript()
    script.launch(1, 0, code=0, blocks=4, length=6, idempotent=1, mode=mode)
    script.launch(2, 0, code=1, blocks=2, length=8, mode=mode)
    script.launch(3, 1, code=2, blocks=3, length=6, idempotent=1, mode=mode)
    script.launch(4, 2, code=3, blocks=2, length=8, mode=Mode.WAIT)
    script.launch(5, 3, code=4, blocks=2, length=5, mode=Mode.YIELD, block=(16, 1, 1))
    return script


def urgent(script, cycle):
    return script.launch(cycle, 4, code=5, blocks=3, length=8, priority=3)


def by_priority(mode, cycle):
    return urgent(scenario(mode), cycle)


def by_command(mode, cycle, resume):
    script = scenario(mode).at(cycle, "preempt", [0, 1, 2, 3]).at(resume, "resume", [0, 1, 2, 3])
    return urgent(script, cycle + 2)


def wrong(script, time):
    """Run a scenario; return what is wrong."""
    return faults(script, run(script, CONFIG, sm=slow(time)))


def faults(script, model):
    """Return what is wrong in a run."""
    launches = [each for each in model.log.records if each.kind is RecordKind.LAUNCH]
    assert len(launches) == 6
    assert all(each.fate is FinalFate.FINISHED for each in launches)
    assert all(code == 0 for _, code in model.log.commands)
    return problems(script, model, CONFIG)


def compared(make, time):
    """Return the first difference between event model and cycle model."""
    script = make()
    model = run(script, CONFIG, sm=slow(time), until=UNTIL)
    return difference(seen(model, UNTIL), QueuedCycles(CONFIG, script, slow(time), 1).run(UNTIL))


def test_the_scenario_lasts_as_long_as_it_should():
    model = run(scenario(Mode.AUTO), CONFIG)
    assert LAST - 40 < model.log.records[-1].made < LAST


@pytest.mark.parametrize(("mode", "time"), deep_but(QUICK, CASES))
def test_preempted_by_priority_at_every_cycle(mode, time):
    for cycle in range(FIRST + 5, LAST):
        assert not wrong(by_priority(mode, cycle), time), cycle


@pytest.mark.parametrize(("mode", "time"), deep_but(QUICK, CASES))
@pytest.mark.thorough
def test_preempted_by_command_at_every_cycle_and_resumed(mode, time, seed):
    rng = random.Random(seed)
    for cycle in range(FIRST + 5, LAST):
        resume = rng.randint(cycle + 1, cycle + LAST)
        assert not wrong(by_command(mode, cycle, resume), time), (cycle, resume)


@pytest.mark.deep
@pytest.mark.parametrize(("mode", "time"), CASES)
def test_both_models_are_the_same_preempted_at_every_cycle(mode, time, seed):
    rng = random.Random(seed)
    for cycle in range(FIRST + 5, LAST):
        resume = rng.randint(cycle + 1, cycle + LAST)
        assert compared(lambda c=cycle: by_priority(mode, c), time) is None, cycle
        assert compared(lambda c=cycle, r=resume: by_command(mode, c, r), time) is None, cycle


def standstill(mode, time, cycle):
    """Return the first cycle in which a scenario that is preempted in a cycle stands still."""
    resume = cycle + NEVER_RESUMED
    model = run(by_command(mode, cycle, resume), CONFIG, sm=slow(time))
    rows = seen(model, resume).values()
    return max(row[0] for table in rows for row in table) + STILL


def moves(mode, time, cycle, resume):
    """Return what the SMs see from a resumption on, by the cycles since then."""
    model = run(by_command(mode, cycle, resume), CONFIG, sm=slow(time))
    rows = [*seen(model, NEVER)["offers"], *seen(model, NEVER)["reports"]]
    return sorted((row[0] - resume, *row[1:]) for row in rows if row[0] >= resume)


@pytest.mark.parametrize("mode", MODES)
def test_a_scenario_that_stands_still_goes_on_alike_whenever_it_is_resumed(mode, seed):
    rng = random.Random(f"{seed} {mode}")
    # Later ones may leave nothing to go on.
    cycle, time = rng.randrange(FIRST + 5, LAST - 40), rng.choice(REPORT_TIMES)
    still = standstill(mode, time, cycle)
    at_once = moves(mode, time, cycle, still)
    assert at_once
    assert moves(mode, time, cycle, still + rng.randint(1, LAST)) == at_once
    # Resumed before that, the scenario has other blocks to report.
    assert moves(mode, time, cycle, cycle + 3) != at_once


@pytest.mark.deep
@pytest.mark.parametrize(("mode", "time"), PAIRS)
def test_preempted_by_command_at_every_cycle_and_resumed_at_every_later_one(mode, time):
    """Up to the cycle from which on it stands still: later ones are alike."""
    killed = 0
    for cycle in range(FIRST + 5, LAST):
        for resume in range(cycle + 1, standstill(mode, time, cycle) + 1):
            script = by_command(mode, cycle, resume)
            model = run(script, CONFIG, sm=slow(time))
            assert not faults(script, model), (cycle, resume)
            killed += int((model.reports[3] == BlockStatus.KILLED).sum())
    assert bool(killed) == (mode in KILLING)


@pytest.mark.parametrize("mode", [Mode.WAIT, Mode.YIELD])
def test_a_flag_around_the_first_decision_skips_or_does_nothing(mode):
    skipped = 0
    for cycle in range(5, 40):
        script = QueuedScript().launch(1, 0, blocks=7, length=20, mode=mode, block=(64, 1, 1))
        model = run(script.launch(cycle, 1, code=1, priority=3, block=(64, 1, 1)))
        assert {each.fate for each in model.log.put_back} <= {Fate.SKIPPED}
        skipped += bool(model.log.put_back)
        assert {each.stop for each in model.log.stops} <= {3}
    assert 0 < skipped < 35
