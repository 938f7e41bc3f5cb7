"""Wrong rules in the event model, planted one by one: the cycle model or the ledger tells each."""

import random
from dataclasses import replace

import pytest

from tb.preemption.queued_cycles import QueuedCycles, difference, seen
from tb.preemption.queued_script import QueuedScript, run, slow
from tb.preemption.script import TINY
from tb.preemption.test_queued_random import CONFIG, problems, wild
from tb.support.deep_values import thorough_but
from warploom_golden.preemption.streams import (
    event_line,
    event_places,
    event_queue,
    event_streams,
)
from warploom_golden.preemption.streams.event_admission import Admission
from warploom_golden.preemption.streams.event_jobs import Jobs
from warploom_golden.preemption.streams.event_launch import Launch, StopCode
from warploom_golden.preemption.streams.event_state import EventState
from warploom_golden.preemption.streams.event_streams import Stream, View
from warploom_golden.preemption.streams.queued_model import NoEventLeft
from warploom_golden.preemption.streams.stopped_dispatcher import StoppedDispatcher
from warploom_spec.queue import Mode

UNTIL = 1000
#: Scenarios of which none differs without a fault, and among which each fault must show.
SCENARIOS, FAULTY = 12, 60


def differs(scenarios, config=CONFIG):
    """Tell whether one of some scenarios differs between the models."""
    config = replace(config, kill_timeout=64)
    for number in range(scenarios):
        script, behaviour = wild(random.Random(f"fault {number}"), config)
        try:
            model = run(script, config, sm=behaviour, until=UNTIL)
        except AssertionError:
            return True
        rows = QueuedCycles(config, script, behaviour, 1).run(UNTIL)
        if difference(seen(model, UNTIL), rows) is not None:
            return True
    return False


def wait_off_by_one(streams, wait):
    return (streams[wait[0]].timeline + 1 - wait[1]) % (1 << 32) < 1 << 31


#: Name: (object, attribute, what stands in its place).
FAULTS = {
    "a wait is over one launch early": (event_streams, "is_reached", wait_off_by_one),
    "no stream is displaced": (EventState, "is_displaced", lambda self, launch: False),
    "an unstarted launch that waits is drained": (
        Launch,
        "unstarted_stop",
        lambda self: StopCode.DRAIN,
    ),
    "who yields is drained by priority": (
        Launch,
        "started_stop",
        lambda self, held: StopCode.DRAIN if self.mode == Mode.YIELD else StopCode.NONE,
    ),
    "an orphan lives one cycle": (event_line, "_ORPHAN", 1),
    "the highest ended launch is the timeline": (
        Stream,
        "latest",
        lambda self: self.accepted - len(self.unfinished),
    ),
    "a job begins at the highest stream": (
        Jobs,
        "_wants",
        lambda self, stream, asked=Jobs._wants: asked(self, stream) and stream.number != 0,
    ),
    "a held stream has no flag": (
        View,
        "flag",
        lambda self, stream: self.top is not None and stream.priority < self.top,
    ),
    "records are not reserved": (
        Admission,
        "has_record_for_preempt",
        property(lambda self: False),
    ),
    "nothing settles": (event_queue, "SETTLING", 0),
}


@pytest.mark.parametrize(
    "name",
    thorough_but(["a wait is over one launch early", "nothing settles"], FAULTS),
)
def test_a_wrong_rule_differs_from_the_cycle_model(name, monkeypatch):
    monkeypatch.setattr(*FAULTS[name])
    assert differs(FAULTY)


def overtime():
    """An urgent launch runs while another one yields, whose time is nearly over."""
    script = QueuedScript().at(0, "timeout", 60)
    script.launch(10, 0, blocks=12, length=90, mode=Mode.YIELD, **WIDE)
    return script.launch(50, 1, code=1, blocks=4, length=20, priority=3, **WIDE)


#: Two blocks fill an SM.
WIDE = {"block": (64, 1, 1)}


def test_while_it_yields_no_time_counts(monkeypatch):
    script = overtime()
    model = run(script, until=UNTIL)
    rows = QueuedCycles(TINY, script, slow(0), 1).run(UNTIL)
    assert difference(seen(model, UNTIL), rows) is None
    kill = next(each for each in model.log.stops if each.stop == StopCode.KILL)
    begin = model.log.begins[0]
    assert kill.place == 0 and kill.cycle > begin.cycle + 60
    monkeypatch.setattr(StoppedDispatcher, "yields", lambda self, place: False)
    assert difference(seen(run(overtime(), until=UNTIL), UNTIL), rows) is not None


def skipped_late(cycle):
    """An urgent launch comes around the first decision of a `wait` launch; one more follows it."""
    script = QueuedScript().launch(10, 0, length=300, mode=Mode.WAIT)
    script.launch(cycle, 1, code=1, length=20, priority=3)
    return script.launch(100, 0, code=2)


@pytest.mark.thorough
def test_a_skip_that_has_failed_is_found_out(monkeypatch):
    differences = set()
    for cycle in range(11, 30):
        script = skipped_late(cycle)
        model = run(script, until=UNTIL)
        rows = QueuedCycles(TINY, script, slow(0), 1).run(UNTIL)
        assert difference(seen(model, UNTIL), rows) is None
        with monkeypatch.context() as planted:
            planted.setattr(event_places, "_SKIP_CHECK", 1)
            wrong = seen(run(skipped_late(cycle), until=UNTIL), UNTIL)
        differences.add(difference(wrong, rows) is not None)
    assert differences == {False, True}


@pytest.mark.thorough
def test_without_a_fault_nothing_differs():
    assert not differs(SCENARIOS)


def chained():
    """Two streams, each of whose launches waits for the other stream's one before."""
    script = QueuedScript()
    for number in range(6):
        stream = number % 2
        wait = [(1 - stream, (number + 1) // 2)] if number else []
        script.launch(10 + number, stream, *wait, code=number, blocks=3, length=30)
    return script


def test_the_ledger_finds_launches_that_do_not_wait(monkeypatch):
    script = chained()
    assert not problems(script, run(script, CONFIG), CONFIG)
    monkeypatch.setattr(event_streams, "is_reached", lambda streams, wait: True)
    script = chained()
    found = problems(script, run(script, CONFIG), CONFIG)
    assert any("does not wait for" in each for each in found)


def test_the_ledger_finds_launches_that_overlap_in_a_stream(monkeypatch):
    def passing(self, stream, started, coming):
        if stream.items and not stream.handed and not coming:
            self.ready.append(stream)

    monkeypatch.setattr(View, "_judge", passing)
    monkeypatch.setattr(
        StoppedDispatcher,
        "hand_over",
        lambda self, cycle, number, launch, *rest, **more: super(StoppedDispatcher, self).hand_over(
            cycle, number, launch, *rest, **more | {"ordered": False}
        ),
    )
    script = QueuedScript().launch(10, 0, blocks=3, length=60).launch(11, 0, code=1, length=60)
    found = problems(script, run(script, CONFIG), CONFIG)
    assert any("of its stream" in each for each in found)


def test_a_wait_that_is_never_over_is_told(monkeypatch):
    monkeypatch.setattr(event_streams, "is_reached", lambda streams, wait: False)
    with pytest.raises(NoEventLeft):
        run(chained(), CONFIG)


def test_slow_sms_change_nothing_here():
    script = chained()
    assert not problems(script, run(script, CONFIG, sm=slow(20)), CONFIG)
