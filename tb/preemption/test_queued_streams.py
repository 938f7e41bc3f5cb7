"""Streams pass each other, waits are exact, and nothing hangs: directed runs of the event model."""

from dataclasses import replace

import pytest

from tb.preemption.queued_script import QueuedScript, run
from tb.preemption.script import TINY, kernel
from tb.preemption.test_queued_random import early
from warploom_golden.preemption.streams import (
    OrderedHost,
    QueuedModel,
    SentLaunch,
    event_streams,
)
from warploom_spec import timing
from warploom_spec.queue import FinalFate, Mode
from warploom_spec.queue_packets import WAIT_AHEAD

ENDLESS = 1 << 25
MANY = 201


@pytest.mark.parametrize("depth", [1, 4])
def test_a_launch_that_never_ends_stops_no_other_stream(depth):
    config = replace(TINY, queue_depth=depth)
    launches = [SentLaunch(kernel(0, 1, ENDLESS, stream=0))]
    # One entry is the endless launch's: the others have another priority.
    priority = int(depth == 1)
    others = [kernel(n, 1, 4, stream=1 + n % 3, priority=priority) for n in range(1, MANY)]
    model = QueuedModel(config, log=1 << 12)
    model.run(OrderedHost([*launches, *map(SentLaunch, others)]), 12_000)
    assert len(model.log.records) == MANY - 1


def test_a_head_that_waits_for_ever_stops_no_other_stream():
    script = QueuedScript().at(1, "preempt", [3]).launch(10, 3)
    script.launch(11, 0, (3, 1))
    for cycle in (12, 14, 200, 202):
        script.launch(cycle, 1, code=cycle)
    model = run(script, until=2000)
    assert [each.stream for each in model.log.records if each.ticket] == [1] * 4


def test_a_wait_is_not_over_because_later_launches_of_the_stream_ended():
    """The fifth launch runs on; the sixth is aborted while it waits, the seventh overlaps it."""
    script = QueuedScript()
    for cycle in range(10, 14):
        script.launch(cycle, 0, code=cycle, length=8)
    script.launch(200, 0, code=5, length=900)
    script.launch(201, 0, code=6)
    script.launch(202, 1, (0, 5), code=7)
    script.at(260, "abort", 6)
    model = run(script)
    ends = {each.ticket: each for each in model.log.records}
    assert ends[6].fate is FinalFate.ABORTED and ends[6].made < ends[5].made
    assert next(each.cycle for each in model.log.begins if each.ticket == 7) > ends[5].made
    # The sixth has passed its stream's head, and counts with the fifth.
    assert [each.reached for each in model.log.timeline if each.stream == 0] == [1, 2, 3, 4, 6]


def test_a_wait_ahead_is_refused_with_its_word():
    script = QueuedScript().launch(10, 0, (1, 1)).launch(20, 1).launch(30, 0, (1, 1), (1, 2))
    script.launch(40, 0, None, (1, 1))
    answers = run(script).log.answers
    assert [each[1:4] for each in answers[:1]] == [(0, WAIT_AHEAD, 28)]
    assert answers[2][1:4] == (0, WAIT_AHEAD, 29)
    assert answers[3].ticket == 2


def test_an_urgent_launch_that_waits_for_a_low_one_lets_it_run():
    script = QueuedScript().launch(10, 0, blocks=9, length=50)
    script.launch(11, 1, (0, 1), code=1, priority=3).launch(12, 2, code=2, priority=1)
    model = run(script)
    assert [each.ticket for each in model.log.records] == [3, 1, 2]
    assert not early(script, model)


def test_resume_lets_a_wait_kernel_go_on_that_holds_the_preempts_record():
    """A started `wait` launch is met: RESUME acts before the PREEMPT's record."""
    script = QueuedScript().launch(10, 0, length=900, mode=Mode.WAIT).launch(60, 1, code=1)
    script.at(100, "preempt", [0, 1]).at(120, "resume", [0, 1])
    script.launch(130, 1, code=2)
    model = run(script)
    made = next(each.cycle for each in model.log.records if each.ticket == 0)
    begins = {each.ticket: each.cycle for each in model.log.begins}
    assert begins[3] < made


def test_abort_streams_clears_what_came_before_it_alone():
    script = QueuedScript().launch(10, 0, length=5000).launch(11, 0, code=1)
    script.at(100, "abort_streams", [0]).launch(95, 0, code=3).launch(96, 0, code=4)
    model = run(script)
    fates = {each.ticket: each.fate for each in model.log.records}
    # The third was accepted in the cycle of the command.
    aborted, finished = FinalFate.ABORTED, FinalFate.FINISHED
    assert fates == {1: aborted, 2: aborted, 3: finished, 4: finished}


#: A count near the wrap of 32 bits, and launches that end meanwhile: as many as a comparison of
#: 16 bits would take for launches that are still to come.
NEAR_THE_WRAP, MEANWHILE = (1 << 32) - 70_000, (1 << 17) + 40_000


def waits_behind_a_stuck_head():
    """Launch 3 waits for what ends soon, behind a head that waits; stream 0 goes on meanwhile."""
    script = QueuedScript().at(1, "preempt", [3]).launch(10, 3)
    script.launch(11, 1, (3, 1), code=1).launch(12, 1, (0, NEAR_THE_WRAP % (1 << 16)), code=2)
    script.at(200, "resume", [3])
    model = QueuedModel(TINY, log=1 << 12)
    counted = model.queue._state.streams[0]
    counted.accepted, counted.timeline = NEAR_THE_WRAP, NEAR_THE_WRAP - 1
    model.run(script, 150)
    counted.accepted = counted.timeline = (NEAR_THE_WRAP + MEANWHILE) % (1 << 32)
    model.run(script, 1000)
    return [each.ticket for each in model.log.begins]


def test_a_wait_stays_reached_while_its_stream_counts_on_past_the_wrap():
    assert waits_behind_a_stuck_head() == [1, 2, 3]


def test_a_comparison_of_sixteen_bits_would_wait_for_ever(monkeypatch):
    def short(streams, wait):
        return (streams[wait[0]].timeline - wait[1]) % (1 << 16) < 1 << 15

    monkeypatch.setattr(event_streams, "is_reached", short)
    assert waits_behind_a_stuck_head() == [1, 2]


def test_a_launch_that_is_out_for_the_first_cycle_is_still_on_the_way():
    """The second launch has a place and no room; the third, ahead, is displaced by the fourth.

    Both are on the way in the cycle after the fourth one's acceptance: it is chosen a cycle later.
    """
    accepted = 60 + timing(TINY).launch_check
    script = QueuedScript().launch(1, 0, blocks=8, length=400)
    script.launch(2, 1, code=1, length=20, barriers=4).launch(3, 0, code=2, length=20)
    model = run(script.launch(60, 2, code=3, length=20))
    displaced = next(each for each in model.log.put_back if each.ticket == 3)
    assert displaced.cycle == accepted + 2
    later = [each.cycle for each in model.log.decisions if each.cycle > accepted]
    assert later[0] == accepted + 8
