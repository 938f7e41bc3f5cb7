"""KernelQueue's rules and cycles, as its page's examples have them, on RTL and model alike."""

from dataclasses import replace
from functools import partial

import pytest

from tb.launch.queue_script import DEFAULT, LOW, URGENT, Script, Seen, low_in_place
from tb.support.planted import plant
from warploom.launch._queue_commands import QueueAbort
from warploom.launch._queue_ends import QueueEnds
from warploom.launch._queue_heads import Boundaries
from warploom.launch._queue_places import QueuePlaces
from warploom.launch._queue_shapes import QueueShape
from warploom.launch._queue_streams import QueueStreams
from warploom.launch.kernel_queue import KernelQueue
from warploom_dev.planted import Change
from warploom_dev.rewrite import Rewrite
from warploom_golden.launch import KernelQueue as Model
from warploom_spec import ErrorCode, Fate, Stop, layouts
from warploom_spec.host_errors import HostError
from warploom_spec.queue import FinalFate, Mode, QueueCode, RecordKind
from warploom_spec.queue_packets import (
    FIRST_WAIT_WORD,
    STOP_SKIP,
    WAIT_AHEAD,
    QueueOpcode,
)

KINDS = pytest.mark.parametrize("kind", [KernelQueue, Model], ids=["rtl", "model"])
# To elaborate the queue takes seconds: in one process of a run.
pytestmark = [KINDS, pytest.mark.xdist_group("kernel_queue")]

SKIP = STOP_SKIP
LAST_TICKET = (1 << 32) - 1
FINISHED = (FinalFate.FINISHED, ErrorCode.OK)


def seen(script, kind, cycles):
    return Seen(script.run(kind, cycles))


def urgent_beside_low(kind):
    return seen(low_in_place().launch(100, 1, priority=URGENT), kind, 130)


@pytest.mark.rule("kernel_queue", 2, 3, 27, 28, 42, 43, 44)
def test_an_urgent_launch_stops_the_low_one_in_two_cycles(kind):
    """Example 1; the stop is a pulse."""
    saw = urgent_beside_low(kind)
    assert saw.pulses("answer", "ticket", "code", "count") == {21: (1, 0, 1), 101: (2, 0, 1)}
    assert saw.stops() == {102: (Stop.KILL, Stop.NONE)}


@pytest.mark.rule("kernel_queue", 17, 18, 30, 31, 32, 36)
def test_its_configuration_is_presented_three_cycles_after_its_acceptance(kind):
    """Example 2."""
    assert urgent_beside_low(kind).valid("request") == [23, 103]


@pytest.mark.rule("kernel_queue", 36, 38, 40)
def test_it_is_handed_over_in_the_cycle_after_its_decision(kind):
    """Example 3."""
    assert urgent_beside_low(kind).launched() == {28: 1, 108: 2}


@pytest.mark.rule("kernel_queue", 4, 8, 10, 11, 13, 21, 22, 23, 47, 48, 49, 53)
def test_a_wait_ends_with_the_record_of_the_awaited_launch(kind):
    """Example 4."""
    script = low_in_place(ended=100).launch(40, 1, (0, 1))
    saw = seen(script.end(100, 0, 1, Fate.FINISHED, cycles=64), kind, 112)
    assert saw.pulses("record", "ticket", "fate", "code") == {102: (1, *FINISHED)}
    assert saw.pulses("record", "word2", "accepted", "first_offer", "made", "offered") == {
        102: (64, 20, 36, 101, 1)
    }
    assert saw.pulses("timeline", "stream", "count") == {102: (0, 1)}
    assert saw.valid("request") == [23, 104]
    assert saw.launched() == {28: 1, 109: 2}


@pytest.mark.rule("kernel_queue", 11, 22, 23)
@pytest.mark.parametrize("ended", range(40, 49))
def test_a_wait_may_end_while_its_head_is_loaded(kind, ended):
    """Example 4: accepted in 40, loaded from 45 on; a timeline that changes in c counts in c."""
    script = low_in_place(ended=ended).launch(40, 1, (0, 1))
    saw = seen(script.end(ended, 0, 1, Fate.FINISHED), kind, 60)
    assert saw.pulses("timeline", "stream", "count") == {ended + 2: (0, 1)}
    assert saw.valid("request") == [23, max(45, ended + 2) + 2]


@pytest.mark.rule("kernel_queue", 2, 4, 10, 11, 65)
@pytest.mark.parametrize("restarted", [0, 1])
def test_counts_and_tickets_wrap(kind, restarted):
    """The launches are numbers 2^32 - 1, 0 and 1; the third ticket is 1 again.

    Stream 1 waits for number 0 of stream 0, which ends in 140. After a restart the counts are as at
    first; the tickets go on, as if it had not been.
    """
    script = Script().at(10, restart=restarted)
    for accepted in (20, 40, 60):
        script.launch(accepted, 0, mode=Mode.RESET)
    script.launch(80, 1, (0, 0)).level("started", 0, 36, 100).level("started", 1, 102, 140)
    script.end(100, 0, LAST_TICKET - 1, Fate.FINISHED).end(140, 1, LAST_TICKET, Fate.FINISHED)
    first = {"first_ticket": LAST_TICKET - 1, "first_count": (1 << 32) - 2}
    saw = Seen(script.run(kind, 170, **first))
    assert saw.pulses("answer", "ticket", "count") == {
        21: (LAST_TICKET - 1, 0xFFFF),
        41: (LAST_TICKET, 0),
        61: (1, 1),
        81: (2, 0xFFFF),
    }
    assert saw.pulses("timeline", "stream", "count") == {102: (0, LAST_TICKET), 142: (0, 0)}
    launched = saw.launched()
    assert list(launched.values()) == [LAST_TICKET - 1, LAST_TICKET, 1, 2]
    assert launched[149] == 2, "nine cycles behind the end that it waits for, as in example 4"


@pytest.mark.rule("kernel_queue", 37, 41, 45, 48, 50, 51)
def test_a_skip_takes_an_unstarted_launch_back(kind):
    """Example 5."""
    script = held_up().end(110, 0, 1, Fate.SKIPPED)
    saw = seen(script, kind, 120)
    assert saw.stops() == {102: (SKIP, Stop.NONE)}
    assert saw.pulses("put_back", "ticket", "fate") == {112: (1, Fate.SKIPPED)}
    assert saw.valid("release") == [113]


@pytest.mark.rule("kernel_queue", 37, 43, 44, 45)
def test_a_skip_that_comes_too_late_changes_nothing(kind):
    """Example 5, the other half: the launch began."""
    saw = seen(held_up().level("started", 0, 103, 10**6), kind, 140)
    assert saw.stops() == {102: (SKIP, Stop.NONE)}
    assert not saw.pulses("put_back", "ticket")


def held_up():
    """Return a script: a launch of mode ``wait`` transfers in 98, an urgent one comes in 100."""
    script = Script().launch(20, 0, mode=Mode.WAIT)
    for cycle in range(28, 98):
        script.at(cycle, launch__ready=0)
    return script.launch(100, 1, priority=URGENT)


def yielding():
    script = low_in_place(Mode.YIELD, begins=50).launch(60, 1, priority=URGENT)
    for cycle in range(100):
        script.at(cycle, launch_timeout=30)
    return script.level("yields", 0, 70, 73)


@pytest.mark.rule("kernel_queue", 44, 46)
def test_a_yielding_launch_goes_on_and_its_time_stands_still(kind):
    """Example 6."""
    assert seen(yielding(), kind, 95).stops() == {84: (Stop.KILL, Stop.NONE)}


@pytest.mark.rule("kernel_queue", 38)
def test_a_launch_is_handed_over_with_its_yielding(kind):
    """The second one has another mode."""
    saw = seen(yielding(), kind, 95)
    assert saw.launched() == {28: 1, 68: 2}
    assert [c for c in range(95) if saw.recording.port("launch_yields")[c]] == [28]


@pytest.mark.rule("kernel_queue", 43, 44, 46)
def test_a_command_drains_a_yielding_launch_and_its_time_goes_on(kind):
    """Example 6, the other half."""
    saw = seen(yielding().preempt(75, 0), kind, 95)
    assert saw.stops() == {77: (Stop.DRAIN, Stop.NONE), 84: (Stop.KILL, Stop.NONE)}


@pytest.mark.rule("kernel_queue", 20, 25, 31, 41, 50, 51, 56, 57, 58, 59)
def test_suspended_launches_go_on_in_the_order_of_their_acceptance(kind):
    """Example 7; each launch's start is 0 again."""
    script = Script().launch(20, 0, idempotent=1)
    script.launch(30, 0, idempotent=1, after_previous=0)
    script.level("started", 0, 36, 72).level("started", 1, 50, 70)
    script.preempt(60, 0).end(70, 1, 2, Fate.KILLED).end(72, 0, 1, Fate.KILLED).resume(80, 0)
    saw = seen(script, kind, 100)
    assert saw.stops() == {62: (Stop.KILL, Stop.KILL)}
    killed = Fate.KILLED
    assert saw.pulses("put_back", "ticket", "fate") == {72: (2, killed), 74: (1, killed)}
    assert saw.valid("release") == [73, 75]
    fields = ("ticket", "kind", "word2", "word3", "word4", "accepted", "made")
    assert saw.pulses("record", *fields) == {75: (0, RecordKind.PREEMPT, 0, 2, 0, 60, 74)}
    assert saw.pulses("command_answer", "code") == {61: 0, 81: 0}
    assert [c for c in saw.transfers("request") if c > 60] == [84, 89]
    assert {c: t for c, t in saw.launched().items() if c > 60} == {89: 1, 94: 2}
    # At the first time launch 1 waits for earlier ones; who goes on waits for none.
    launch, after = layouts.dispatch_launch(DEFAULT), "after_previous"
    payloads = saw.recording.port("launch__payload")
    assert [launch.unpack(payloads[c])[after] for c in saw.launched()] == [1, 0, 0, 0]


def full_and_held():
    """Return a script: 16 launches of priority 3 wait in stream 5, which is held."""
    script = Script().preempt(5, 5)
    for number in range(16):
        script.launch(20 + number, 5, priority=URGENT)
    return script


@pytest.mark.rule("kernel_queue", 2, 61, 62)
def test_an_abort_of_the_last_entry(kind):
    """Example 8; the entry stays taken, so the next launch is refused."""
    script = full_and_held().abort(100, 16).launch(180, 6, priority=URGENT)
    saw = seen(script, kind, 190)
    assert saw.pulses("abort_answer", "code") == {167: ErrorCode.OK}
    fields = ("ticket", "kind", "fate", "made")
    aborted = (16, RecordKind.LAUNCH, FinalFate.ABORTED, 166)
    assert {c: r for c, r in saw.pulses("record", *fields).items() if c > 100} == {167: aborted}
    ready = saw.recording.port("abort__ready")
    assert [cycle for cycle in range(190) if not ready[cycle]] == list(range(101, 167))
    assert saw.pulses("answer", "code")[181] == ErrorCode.QUEUE_FULL


@pytest.mark.rule("kernel_queue", 61, 62)
def test_an_abort_of_an_unknown_ticket_takes_as_long(kind):
    """Example 8, the other half."""
    saw = seen(full_and_held().abort(100, 17), kind, 190)
    assert saw.pulses("abort_answer", "code") == {167: QueueCode.TICKET_UNKNOWN}
    ready = saw.recording.port("abort__ready")
    assert [cycle for cycle in range(190) if not ready[cycle]] == list(range(101, 167))


@pytest.mark.rule("kernel_queue", 55, 56, 58, 59)
def test_a_preempt_beside_a_launch_does_not_meet_it(kind):
    """Example 9."""
    script = Script().preempt(50, 2).launch(50, 2, priority=LOW).resume(60, 2)
    saw = seen(script, kind, 70)
    assert saw.pulses("answer", "ticket", "code") == {51: (1, 0)}
    assert saw.pulses("command_answer", "code") == {51: 0, 61: 0}
    fields = ("kind", "word2", "word3", "word4", "accepted", "first_offer", "made")
    assert saw.pulses("record", *fields) == {52: (RecordKind.PREEMPT, 0, 0, 0, 50, 0, 51)}
    assert saw.valid("request") == [64]


@pytest.mark.rule("kernel_queue", 48, 57, 58, 59)
def test_a_resume_before_the_record_acts_behind_it(kind):
    """Example 10; the launch goes on with its next block."""
    script = low_in_place(Mode.DRAIN, begins=29, ended=90).preempt(30, 0)
    script.resume(35, 0).end(90, 0, 1, Fate.DRAINED, next_x=7)
    saw = seen(script, kind, 110)
    assert saw.stops() == {32: (Stop.DRAIN, Stop.NONE)}
    assert saw.pulses("command_answer", "code") == {31: 0, 36: 0}
    assert saw.pulses("put_back", "ticket", "fate", "next_x") == {92: (1, Fate.DRAINED, 7)}
    assert saw.pulses("record", "kind", "word3") == {93: (RecordKind.PREEMPT, 1 << 16)}
    assert [cycle for cycle in saw.valid("request") if cycle > 30] == [96]


# Numbers


def drained_and_resumed(number=7, mode=Mode.DRAIN, idempotent=0):
    """Return a script: the launch of `low_in_place` is drained and goes on in 101.

    PREEMPT in 30, ended in 90, RESUME in 91, which acts in 93: chosen in 94, handed over in 101.
    """
    script = low_in_place(mode, idempotent=idempotent, begins=29, ended=90).preempt(30, 0)
    return script.resume(91, 0).end(90, 0, 1, Fate.DRAINED, number=number, next_x=7, next_y=2)


@pytest.mark.rule("kernel_queue", 38, 48)
@pytest.mark.parametrize("number", [1, 0x1234_5678, 0xFFFF_FFFF])
def test_a_drained_launch_goes_on_with_the_number_of_its_next_block(kind, number):
    """What stands at `ended_number` in other cycles counts nowhere."""
    script = drained_and_resumed(number)
    for cycle in {*range(120)} - {90}:
        script.at(cycle, ended_number=0xDEAD_BEEF)
    assert seen(script, kind, 110).numbers() == {28: (0, 0, 0, 0), 101: (7, 2, 0, number)}


@pytest.mark.rule("kernel_queue", 38, 48)
def test_a_launch_that_is_drained_twice_goes_on_with_the_second_number(kind):
    script = drained_and_resumed(6).level("started", 0, 108, 140).preempt(115, 0)
    script.end(140, 0, 1, Fate.DRAINED, number=13, next_x=1, next_y=3, next_z=2).resume(141, 0)
    saw = seen(script, kind, 160)
    expected = {28: (0, 0, 0, 0), 101: (7, 2, 0, 6), 151: (1, 3, 2, 13)}
    assert saw.numbers() == expected


@pytest.mark.rule("kernel_queue", 38, 48)
def test_a_skip_of_a_launch_that_goes_on_keeps_its_number(kind):
    """It has not begun again in 110; the record of the skip has no block and no number."""
    script = drained_and_resumed(6).preempt(110, 0).end(120, 0, 1, Fate.SKIPPED, number=99)
    saw = seen(script.resume(121, 0), kind, 140)
    assert saw.pulses("put_back", "fate", "next_x", "next_y")[122] == (Fate.SKIPPED, 7, 2)
    assert saw.numbers() == {28: (0, 0, 0, 0), 101: (7, 2, 0, 6), 131: (7, 2, 0, 6)}


@pytest.mark.rule("kernel_queue", 35, 38)
def test_a_launch_that_is_taken_back_from_the_line_keeps_its_number(kind):
    """It is in the line from 96 on; the PREEMPT of 96 holds it from 97 on."""
    script = drained_and_resumed(6).preempt(96, 0).resume(110, 0)
    saw = seen(script, kind, 130)
    assert saw.pulses("put_back", "fate", "next_x", "next_y")[98] == (Fate.SKIPPED, 7, 2)
    assert saw.numbers() == {28: (0, 0, 0, 0), 119: (7, 2, 0, 6)}


@pytest.mark.rule("kernel_queue", 38, 48)
def test_a_kill_puts_the_number_to_0(kind):
    """Drained, then killed: the launch begins anew, whatever stands beside the record."""
    script = drained_and_resumed(6, Mode.AUTO, 1).level("started", 0, 108, 140).preempt(115, 0)
    script.end(140, 0, 1, Fate.KILLED, number=13, next_x=5).resume(141, 0)
    saw = seen(script, kind, 160)
    assert saw.pulses("put_back", "fate", "next_x", "next_y")[142] == (Fate.KILLED, 0, 0)
    assert saw.numbers() == {28: (0, 0, 0, 0), 101: (7, 2, 0, 6), 151: (0, 0, 0, 0)}


@pytest.mark.rule("kernel_queue", 38, 48)
def test_a_launch_that_was_drained_before_it_began_has_the_number_0(kind):
    """Rule 48 (f) beside a launch that is not again and has not begun."""
    script = Script().launch(20, 0, mode=Mode.DRAIN).preempt(30, 0).resume(91, 0)
    saw = seen(script.end(90, 0, 1, Fate.DRAINED, number=5, next_x=7), kind, 110)
    assert saw.numbers() == {28: (0, 0, 0, 0), 101: (0, 0, 0, 0)}


@pytest.mark.rule("kernel_queue", 38, 48)
def test_the_entry_of_a_launch_that_was_drained_gives_the_next_one_no_number(kind):
    """Aborted while it is suspended; the next launch gets its entry, and the number 0."""
    script = drained_and_resumed(6).abort(110, 1)
    script.end(120, 0, 1, Fate.KILLED).launch(130, 0, priority=LOW)
    saw = seen(script, kind, 150)
    assert saw.pulses("record", "ticket", "fate")[122] == (1, FinalFate.ABORTED)
    assert saw.numbers() == {28: (0, 0, 0, 0), 101: (7, 2, 0, 6), 138: (0, 0, 0, 0)}


@pytest.mark.rule("kernel_queue", 38, 48)
def test_two_suspended_launches_keep_a_number_each(kind):
    """Example 7's launches, but both drained; the second one is at `ended` first."""
    script = Script().launch(20, 0, mode=Mode.DRAIN)
    script.launch(30, 0, mode=Mode.DRAIN, after_previous=0)
    script.level("started", 0, 36, 72).level("started", 1, 50, 70).preempt(60, 0)
    script.end(70, 1, 2, Fate.DRAINED, number=20, next_x=2)
    script.end(71, 0, 1, Fate.DRAINED, number=10, next_x=1).resume(80, 0)
    saw = seen(script, kind, 100)
    found = {c: numbers for c, numbers in saw.numbers().items() if c > 60}
    assert found == {89: (1, 0, 0, 10), 94: (2, 0, 0, 20)}


@pytest.mark.rule("kernel_queue", 15, 20, 24)
@pytest.mark.parametrize(
    ("resumed", "presented"),
    [(130, 134), (131, 135), (132, 141), (135, 141), (137, 141), (138, 142)],
)
def test_a_launch_goes_on_before_or_behind_heads_that_have_ended(kind, resumed, presented):
    """A drained launch's stream has two launches in its list; both are aborted, the head last.

    The head passes in 136, the other one in 138. A RESUME in r lets the stream be chosen in r + 2
    and the drained launch be presented in r + 4. From 134 (the ABORT acts) to 138 it is not chosen;
    in 137 because a head has just left before another launch.
    """
    script = Script().launch(20, 0, mode=Mode.DRAIN).level("started", 0, 36, 64).preempt(60, 0)
    script.end(65, 0, 1, Fate.DRAINED).launch(70, 0).launch(71, 0)
    script.abort(90, 3).abort(130, 2).resume(resumed, 0)
    saw = seen(script, kind, 150)
    assert saw.valid("request") == [23, presented]
    assert saw.launched() == {28: 1, presented + 5: 1}


@pytest.mark.rule("kernel_queue", 1, 3, 5)
def test_the_first_reason_that_holds_refuses_a_launch(kind):
    """Rule 1: LaunchCheck's error, then a wait ahead, then another priority."""
    script = Script().launch(20, 0, priority=LOW)
    script.launch(30, 0, (0, 2), priority=URGENT, code=0, error=ErrorCode.GRID_ZERO, argument=7)
    script.launch(40, 0, (0, 1), (0, 2), priority=URGENT).launch(50, 0, (0, 1), priority=URGENT)
    saw = seen(script, kind, 60)
    assert saw.pulses("answer", "ticket", "code", "argument", "count") == {
        21: (1, 0, 0, 1),
        31: (0, ErrorCode.GRID_ZERO, 7, 0),
        41: (0, WAIT_AHEAD, FIRST_WAIT_WORD + 1, 0),
        51: (0, ErrorCode.STREAM_PRIORITY, 0, 0),
    }


@pytest.mark.rule("kernel_queue", 7)
def test_room_falls_with_the_last_entry_that_is_sent_for(kind):
    """Rule 7: what is sent counts at once, what was refused a cycle later."""
    script = Script().preempt(5, 5)
    for number in range(15):
        script.launch(20 + number, 5, priority=URGENT)
    script.launch(50, 5, priority=URGENT, error=ErrorCode.GRID_ZERO)
    room = seen(script, kind, 60).recording.port("room")
    full = 0xF ^ 1 << URGENT
    assert [cycle for cycle in range(60) if room[cycle] == full] == list(range(46, 52))
    assert {room[cycle] for cycle in range(60)} == {0xF, full}


@pytest.mark.rule("kernel_queue", 15, 24, 26, 60)
@pytest.mark.parametrize("later", range(30, 36))
def test_abort_streams_ends_the_list_up_to_its_tail(kind, later):
    """Rule 60: two launches wait in a held stream; a third one, accepted in ``later``, goes on."""
    script = Script().preempt(10, 2).launch(20, 2).launch(21, 2)
    script.command(30, QueueOpcode.ABORT_STREAMS, 2).launch(later, 2).resume(60, 2)
    saw = seen(script, kind, 80)
    # Bounded from 31 on, picked in 31, looked at in 32, ended in 33; the next one two later.
    aborted = FinalFate.ABORTED, ErrorCode.OK
    assert saw.pulses("record", "ticket", "fate", "code") == {
        12: (0, *FINISHED),
        34: (1, *aborted),
        36: (2, *aborted),
    }
    assert saw.pulses("timeline", "stream", "count") == {34: (2, 1), 36: (2, 2)}
    assert saw.valid("request") == [64]


@pytest.mark.rule("kernel_queue", 1, 55, 63, 64, 65)
def test_a_soft_reset_ends_what_waits_and_restart_keeps_the_ticket(kind):
    """Rules 63 to 65: closed is one cycle late; the lowest stream first."""
    script = Script().preempt(10, 2, 3).launch(20, 3).launch(21, 2)
    for cycle in range(40, 61):
        script.at(cycle, soft_reset_active=1)
    script.at(60, restart=1).launch(45, 4).resume(46, 2).launch(70, 2)
    saw = seen(script, kind, 80)
    records = saw.pulses("record", "ticket", "stream", "fate")
    assert {cycle: r for cycle, r in records.items() if cycle > 20} == {
        44: (2, 2, FinalFate.ABORTED),
        45: (1, 3, FinalFate.ABORTED),
    }
    assert saw.pulses("answer", "ticket", "code") == {
        21: (1, 0),
        22: (2, 0),
        46: (0, HostError.RESET),
        71: (3, 0),
    }
    assert saw.pulses("command_answer", "code") == {11: 0, 47: HostError.RESET}
    idle = saw.recording.port("idle")
    assert [cycle for cycle in range(66) if not idle[cycle]] == [11, 12, *range(16, 47)]
    assert saw.valid("request") == [73]


@pytest.mark.rule("kernel_queue", 38, 67)
def test_without_indices_a_launch_is_handed_over_from_the_line(kind):
    """Rule 67: accepted in 20, in the line and at ``launch`` in 23."""
    config = replace(DEFAULT, index_memory_warps=0)
    saw = Seen(Script(config).launch(20, 0).run(kind, 40), config)
    assert saw.launched() == {23: 1}


# Faults of the RTL that these cycles find


#: A fault each, and the test that finds it.
PLANTED = {
    "no mode asks for a skip": (
        Change(QueuePlaces, "_stop", "skipped | (by_mode & skip)", "skipped"),
        test_a_skip_takes_an_unstarted_launch_back,
    ),
    "the number of a drained launch is forgotten": (
        Change(
            QueueEnds,
            "_keep",
            "result[name] for name in self._shape.resumed()",
            "result[name] for name in self._shape.start()",
        ),
        partial(test_a_drained_launch_goes_on_with_the_number_of_its_next_block, number=1),
    ),
    "a kill keeps the number that stands beside it": (
        Change(QueueEnds, "build", "self._shape.resumed()", "self._shape.start()"),
        test_a_kill_puts_the_number_to_0,
    ),
    "the ABORT begins with the second entry": (
        Rewrite(QueueAbort, "build", "self.entry.eq(0)", "self.entry.eq(1)"),
        test_an_abort_of_an_unknown_ticket_takes_as_long,
    ),
    "counts begin with 0": (
        Change(QueueShape, "counted", "count, self.first_count", "count, 0"),
        partial(test_counts_and_tickets_wrap, restarted=1),
    ),
    "a launch goes on beside a head that may have ended": (
        Change(
            QueueStreams,
            "_foresee",
            '(nexts["head_ended"] | of["leaves_any"])',
            'nexts["head_ended"]',
        ),
        partial(
            test_a_launch_goes_on_before_or_behind_heads_that_have_ended,
            resumed=135,
            presented=141,
        ),
    ),
    "a boundary is not kept behind an acceptance": (
        Change(Boundaries, "build", "write.en.eq(self.keeps)", "write.en.eq(0)"),
        partial(test_abort_streams_ends_the_list_up_to_its_tail, later=33),
    ),
    "a boundary at the tail is forgotten": (
        Change(QueueStreams, "_lists", "(self.at_tail | events.aborts)", "events.aborts"),
        partial(test_abort_streams_ends_the_list_up_to_its_tail, later=33),
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("fault", PLANTED)
def test_a_fault_of_the_rtl_is_found(monkeypatch, fault, kind):
    change, finds = PLANTED[fault]
    plant(monkeypatch, [change])
    if kind is Model:
        # The model knows nothing of the RTL's faults.
        finds(kind)
        return
    with pytest.raises(AssertionError):
        finds(kind)
