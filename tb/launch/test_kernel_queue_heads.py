"""When KernelQueue's heads are loaded and end: waits that are over, begins, a soft reset."""

import sys

import pytest

from tb.launch.queue_script import DEFAULT, Script, Seen, low_in_place
from tb.support.planted import plant
from warploom.launch import _queue_lists
from warploom.launch import kernel_queue as block
from warploom.launch._queue_jobs import QueueJobs
from warploom.launch._queue_streams import QueueStreams
from warploom.launch._queue_timelines import Timelines
from warploom.launch.kernel_queue import KernelQueue
from warploom_dev.planted import Change
from warploom_golden.launch import KernelQueue as Model
from warploom_spec import Fate, Stop
from warploom_spec.queue import FinalFate, Mode
from warploom_spec.queue_packets import QueueOpcode

KINDS = pytest.mark.parametrize("kind", [KernelQueue, Model], ids=["rtl", "model"])
# With the queue of `test_kernel_queue_rules.py`.
pytestmark = pytest.mark.xdist_group("kernel_queue")

#: Cycle of an acceptance, and of the configuration's presentation: the awaited record is made in
#: 101. Five cycles where the pair is kept and reached meanwhile, else three.
ACCEPTED = {99: 106, 100: 107, 101: 104, 102: 105, 130: 133}


def seen(script, kind, cycles):
    return Seen(script.run(kind, cycles), DEFAULT)


def over(accepted, *waits):
    """Return a script: a launch of stream 1 is accepted around the end of stream 0's only one."""
    script = low_in_place(ended=100).end(100, 0, 1, Fate.FINISHED)
    return script.launch(accepted, 1, *waits)


@KINDS
@pytest.mark.rule("kernel_queue", 4, 10, 11, 13, 17)
@pytest.mark.parametrize("accepted", ACCEPTED)
def test_a_wait_that_is_over_at_the_acceptance_costs_nothing(kind, accepted):
    """Example 11; without a wait it is three cycles, too."""
    saw = seen(over(accepted, (0, 1)), kind, 140)
    assert saw.pulses("timeline", "stream", "count") == {102: (0, 1)}
    assert saw.valid("request") == [23, ACCEPTED[accepted]]
    assert seen(over(accepted), kind, 140).valid("request") == [23, accepted + 3]


@KINDS
@pytest.mark.rule("kernel_queue", 4, 11)
@pytest.mark.parametrize("waits", [((0, 1), (2, 1)), ((2, 1), (0, 1))])
def test_a_launch_waits_for_the_pair_that_is_kept(kind, waits):
    """Stream 0 has ended, stream 2's launch ends in 160: its record is made in 161."""
    script = Script().launch(10, 2).level("started", 0, 30, 160).end(160, 0, 1, Fate.FINISHED)
    script.launch(20, 0).level("started", 1, 45, 100).end(100, 1, 2, Fate.FINISHED)
    saw = seen(script.launch(130, 1, *waits), kind, 180)
    assert saw.pulses("timeline", "stream", "count") == {102: (0, 1), 162: (2, 1)}
    assert saw.valid("request")[-1] == 164


def behind_a_begin(*waits):
    """Return a script: launch 1 ends in 40, launch 2 begins in 55 before launch 3."""
    script = Script().launch(10, 2).level("started", 0, 26, 40).end(40, 0, 1, Fate.FINISHED, 2)
    script.launch(30, 0).launch(32, 0, *waits, after_previous=0)
    return script.level("started", 1, 55, 10**6)


@KINDS
@pytest.mark.rule("kernel_queue", 13, 21, 37)
@pytest.mark.parametrize(
    ("waits", "presented"),
    [((), 59), (((3, 0),), 59), (((2, 1),), 62), (((3, 0), (2, 1)), 62)],
    ids=["no wait", "over at once", "over meanwhile", "one of two"],
)
def test_the_launch_behind_a_begin_is_loaded_at_once(kind, waits, presented):
    """Example 12; one that keeps a pair is loaded by a job."""
    saw = seen(behind_a_begin(*waits), kind, 90)
    assert saw.valid("request") == [13, 33, presented]


@KINDS
@pytest.mark.rule("kernel_queue", 11, 13)
def test_the_launch_behind_a_begin_waits_for_the_pair_that_it_keeps(kind):
    """Stream 2's second launch ends in 104."""
    script = behind_a_begin((2, 2)).launch(31, 2)
    script.level("started", 0, 60, 104).end(104, 0, 3, Fate.FINISHED, 2)
    saw = seen(script, kind, 120)
    assert saw.valid("request")[-1] == 108


def reset_at_40(*streams):
    """Return a script: streams are held, three launches wait in each, a soft reset comes."""
    script = Script().preempt(10, *streams)
    for n in range(3):
        for k, stream in enumerate(streams):
            script.launch(20 + len(streams) * n + k, stream)
    for cycle in range(40, 80):
        script.at(cycle, soft_reset_active=1)
    return script


@KINDS
@pytest.mark.rule("kernel_queue", 22, 23, 24, 63)
def test_in_a_soft_reset_one_launch_ends_in_each_cycle(kind):
    """Example 13: the lowest stream first."""
    saw = seen(reset_at_40(3, 2), kind, 70)
    records = saw.pulses("record", "ticket", "stream", "fate")
    expected = [(ticket, 2) for ticket in (2, 4, 6)] + [(ticket, 3) for ticket in (1, 3, 5)]
    assert {cycle: r for cycle, r in records.items() if cycle > 40} == {
        44 + k: (*launch, FinalFate.ABORTED) for k, launch in enumerate(expected)
    }


@KINDS
@pytest.mark.rule("kernel_queue", 22, 23, 25, 63)
def test_in_a_soft_reset_a_suspended_launch_ends_a_cycle_before_its_stream_s_list(kind):
    """Stream 2 has a suspended launch and one that waits, stream 3 has two that wait."""
    script = drained(50, 2, 3).launch(62, 2).launch(64, 3).launch(65, 3)
    for cycle in range(80, 110):
        script.at(cycle, soft_reset_active=1)
    saw = seen(script, kind, 110)
    # Closed stands in 81, looked at in 82 to 85.
    assert [c for c in saw.pulses("record", "ticket") if c > 70] == [84, 85, 86, 87]
    assert list(saw.pulses("record", "ticket", "stream").values())[-4:] == [
        (1, 2),
        (2, 2),
        (3, 3),
        (4, 3),
    ]


@KINDS
@pytest.mark.rule("kernel_queue", 13, 22, 24, 60)
def test_a_launch_that_is_accepted_while_the_last_of_two_passes_is_the_head(kind):
    """ABORT_STREAMS meets two launches; closed stands in 52 alone, so they pass in 52 and 53."""
    script = Script().preempt(10, 1).launch(20, 1).launch(21, 1)
    script.command(50, QueueOpcode.ABORT_STREAMS, 1).at(51, soft_reset_active=1)
    saw = seen(script.launch(53, 1).resume(70, 1), kind, 110)
    assert saw.pulses("record", "ticket", "fate") == {
        12: (0, FinalFate.FINISHED),
        54: (1, FinalFate.ABORTED),
        55: (2, FinalFate.ABORTED),
    }
    assert saw.valid("request") == [74]
    assert saw.launched() == {79: 3}


def drained(preempted, *streams):
    """Return a script: stream 2's launch is drained and suspended from 62 on."""
    script = Script().launch(20, 2, mode=Mode.DRAIN).level("started", 0, 36, 60)
    return script.preempt(preempted, *streams).end(60, 0, 1, Fate.DRAINED, 2)


@KINDS
@pytest.mark.rule("kernel_queue", 15, 23, 24, 62)
@pytest.mark.parametrize("beside", [None, 5, 6], ids=["alone", "stream 5", "stream 6"])
def test_what_ended_in_the_list_behind_a_begin_has_one_record(kind, beside):
    """Stream 2's launch 2 begins in 90, where an ABORT ends launch 1, and launch 3 has ended.

    Stream 0 has a job first, so stream 2 is looked at in 91. Another stream, whose list is empty,
    accepts a launch in 90.
    """
    script = Script().launch(10, 5).level("started", 0, 26, 40).end(40, 0, 1, Fate.FINISHED, 5)
    script.launch(20, 2, mode=Mode.DRAIN).level("started", 1, 36, 70)
    script.launch(50, 2, mode=Mode.DRAIN, after_previous=0).level("started", 0, 90, 10**6)
    script.preempt(60, 2).end(70, 1, 2, Fate.DRAINED, 2).launch(75, 2).abort(76, 4)
    script.command(88, QueueOpcode.ABORT_STREAMS, 2).abort(86, 2).launch(88, 0, (2, 3))
    if beside is not None:
        script.launch(90, beside)
    saw = seen(script, kind, 130)
    records = saw.pulses("record", "ticket", "fate")
    assert {cycle: r for cycle, r in records.items() if r[0] in (2, 4)} == {
        82: (4, FinalFate.ABORTED),
        91: (2, FinalFate.ABORTED),
    }
    assert saw.stops()[90] == (Stop.KILL, Stop.NONE)


@KINDS
@pytest.mark.rule("kernel_queue", 10, 17, 25, 37)
@pytest.mark.parametrize("begins", [89, 90, 91])
def test_a_suspended_launch_ends_beside_the_begin_of_the_next_one(kind, begins):
    """Stream 2's launch 1 is looked at in 90; stream 1 waits for its end."""
    script = Script().launch(20, 2, mode=Mode.DRAIN).level("started", 0, 36, 70)
    script.launch(50, 2, mode=Mode.DRAIN, after_previous=0).preempt(60, 2)
    script.end(70, 0, 1, Fate.DRAINED, 2).launch(80, 1, (2, 1))
    script.command(88, QueueOpcode.ABORT_STREAMS, 2)
    script.level("started", 1, begins, 110).end(110, 1, 2, Fate.KILLED, 2)
    saw = seen(script, kind, 130)
    assert saw.pulses("timeline", "stream", "count") == {92: (2, 1), 112: (2, 2)}
    assert [cycle for cycle in saw.valid("request") if cycle > 60] == [94]


@KINDS
@pytest.mark.rule("kernel_queue", 4, 21, 22, 23, 62)
@pytest.mark.parametrize("accepted", [102, 103, 104])
def test_a_head_is_not_loaded_in_the_cycle_behind_its_acceptance(kind, accepted):
    """Stream 2 is picked in 103 for its suspended launch, which an ABORT ends in this cycle.

    So what is looked at in 104 is the launch that was accepted in 103. It waits for stream 3, whose
    record is made in 162.
    """
    script = drained(50, 2).launch(24, 3).level("started", 1, 40, 160).abort(100, 1)
    script.command(102, QueueOpcode.ABORT_STREAMS, 2).launch(accepted, 2, (3, 1)).resume(120, 2)
    saw = seen(script.end(161, 1, 2, Fate.FINISHED, 3), kind, 180)
    assert saw.pulses("timeline", "stream", "count") == {104: (2, 1), 163: (3, 1)}
    assert [cycle for cycle in saw.valid("request") if cycle > 60] == [165]


#: A fault each of the RTL, and the test that finds it.
PLANTED = {
    "a pair that is reached is kept": (
        Change(Timelines, "_entering", "| self._reaches(its_stream, its_count)", ""),
        lambda: test_a_wait_that_is_over_at_the_acceptance_costs_nothing(KernelQueue, 101),
    ),
    "a pair that is not reached is dropped": (
        Change(Timelines, "_entering", "~behind[-1]", "1"),
        lambda: test_a_launch_waits_for_the_pair_that_is_kept(KernelQueue, ((0, 1), (2, 1))),
    ),
    "each head behind a begin is loaded": (
        Change(
            _queue_lists,
            "load_behind_begin",
            "spread(plain, q.streams.left[0])",
            "q.streams.left[0]",
        ),
        lambda: test_the_launch_behind_a_begin_waits_for_the_pair_that_it_keeps(KernelQueue),
    ),
    "no head behind a begin is loaded": (
        Change(_queue_lists, "load_behind_begin", "spread(plain, q.streams.left[0])", "0"),
        lambda: test_the_launch_behind_a_begin_is_loaded_at_once(KernelQueue, (), 59),
    ),
    "a launch behind a pass is written beside one that enters": (
        Change(
            _queue_lists, "lists", "hit(left, jobs.passing)", "hit(left, jobs.passing) & (k == 0)"
        ),
        lambda: test_a_launch_that_is_accepted_while_the_last_of_two_passes_is_the_head(
            KernelQueue
        ),
    ),
    "a launch that another stream accepts hides that one has ended": (
        Change(
            _queue_lists,
            "lists",
            "free.ended_next(behind_begin)",
            "free.ended_next(behind_begin) & ~q.acceptance.accepts",
        ),
        lambda: test_what_ended_in_the_list_behind_a_begin_has_one_record(KernelQueue, 5),
    ),
    "a launch that begins is not the older one at once": (
        Change(QueueStreams, "_started", 'self.nexts["started_1"]', "stays[1]"),
        lambda: test_a_suspended_launch_ends_beside_the_begin_of_the_next_one(KernelQueue, 90),
    ),
    "a head is loaded while its waits are being written": (
        Change(QueueJobs, "_look", " & ~streams.new_heads", ""),
        lambda: test_a_head_is_not_loaded_in_the_cycle_behind_its_acceptance(KernelQueue, 103),
    ),
    "a suspended launch's stream is not picked at once": (
        Change(QueueJobs, "_pick", '~streams["single"] | susp[0] | susp[1]', '~streams["single"]'),
        lambda: test_in_a_soft_reset_a_suspended_launch_ends_a_cycle_before_its_stream_s_list(
            KernelQueue
        ),
    ),
    "a stream that is looked at is never picked": (
        Change(QueueJobs, "_pick", "(self.picked & ~again)", "self.picked"),
        lambda: test_in_a_soft_reset_one_launch_ends_in_each_cycle(KernelQueue),
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found(monkeypatch, fault):
    change, finds = PLANTED[fault]
    plant(monkeypatch, [change])
    # KernelQueue has the functions that join its parts from when it was imported.
    joins = [getattr(sys.modules[each.__module__], each.__name__) for each in block._CONNECTIONS]
    monkeypatch.setattr(block, "_CONNECTIONS", joins)
    with pytest.raises(AssertionError):
        finds()
