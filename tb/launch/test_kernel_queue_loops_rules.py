"""Rules of KernelQueue's page where there are loops: quiet launches, `loop_end`, relative pairs."""

from dataclasses import replace

import pytest

from tb.launch.kernel_queue_script import RTL_AND_MODEL, TINY, Script
from warploom_spec import ErrorCode
from warploom_spec.errors import Fate
from warploom_spec.host_errors import HostError
from warploom_spec.queue import FinalFate, QueueCode

pytestmark = RTL_AND_MODEL

LOOPS = TINY
#: Eight places for records.
FEW = replace(LOOPS, queue_depth=1)
OK = ErrorCode.OK
LOOP_END = "loop", "finished"


def ends(script, fate, code=0, **fields):
    """Let a launch of stream 0 run from 42 on, and end in 100."""
    script.resident(30, 0, 50, 100, **fields)
    return script.end(100, 0, fate, code, first=51, cycles=44)


@pytest.mark.rule("kernel_queue", 8, 31)
def test_a_record_has_its_launchs_number_before_its_last_word(block):
    """The second launch of stream 3; its end transfers in 100, and it is no loop's."""
    script = Script(LOOPS).launch(25, 3).resident(30, 3, 60, 130)
    script.level("begun", 3, 40, 50).end(50, 3, Fate.FINISHED)
    script.end(100, 3, Fate.FINISHED, first=61, cycles=44)
    saw = script.run(block, 120)
    assert {
        c: said for c, said in saw.pulses("record", "word", "data", "last").items() if c > 99
    } == {
        105: (1, 1 << 24 | 3 << 18, 0),
        106: (2, 44, 0),
        107: (0, 2, 0),
        108: (5, 30, 0),
        109: (6, 61, 0),
        110: (3, 2, 0),
        111: (7, 110, 1),
    }
    assert saw.cycles("loop_end") == []
    assert saw.span("idle")[-1] == (112, 119)


@pytest.mark.rule("kernel_queue", 31, 32)
def test_a_quiet_launch_that_finishes_leaves_no_record(block):
    """Its timeline moves, and its entry is free, as ever."""
    saw = ends(Script(LOOPS), Fate.FINISHED, quiet=1, loop=2).run(block, 120)
    assert saw.pulses("loop_end", *LOOP_END) == {104: (1, 1)}
    assert saw.pulses("timeline", "stream", "count") == {104: (0, 1)}
    assert saw.cycles("record") == []
    assert saw.span("idle")[-1] == (105, 119)


@pytest.mark.rule("kernel_queue", 32)
@pytest.mark.parametrize("quiet", [0, 1])
def test_a_launch_that_does_not_finish_has_its_record_quiet_or_not(block, quiet):
    """It fails; and one of a loop that is not quiet has one when it finishes, too."""
    saw = ends(Script(LOOPS), Fate.FAILED, 17, quiet=quiet, loop=1).run(block, 120)
    assert saw.pulses("loop_end", *LOOP_END) == {104: (0, 0)}
    named = "ticket", "fate", "code", "word3"
    assert saw.records(*named) == {105: (1, FinalFate.FAILED, 17, 1)}
    if not quiet:
        saw = ends(Script(LOOPS), Fate.FINISHED, loop=1).run(block, 120)
        assert saw.pulses("loop_end", *LOOP_END) == {104: (0, 1)}
        assert saw.records(*named) == {105: (1, FinalFate.FINISHED, 0, 1)}


@pytest.mark.rule("kernel_queue", 14, 32)
def test_a_run_that_is_killed_is_no_end_of_its_launch(block):
    """Killed in 100, finished in 150."""
    script = ends(Script(LOOPS), Fate.KILLED, quiet=1, loop=1, idempotent=1)
    saw = script.level("begun", 0, 120, 150).end(150, 0, Fate.FINISHED).run(block, 170)
    assert saw.pulses("killed", "stream") == {104: 0}
    assert saw.pulses("loop_end", *LOOP_END) == {154: (0, 1)}
    assert saw.cycles("record") == []


@pytest.mark.rule("kernel_queue", 6, 8, 32)
@pytest.mark.parametrize(("quiet", "second"), [((0, 0), 107), ((1, 0), 104), ((0, 1), 107)])
def test_the_writer_is_busy_a_cycle_longer_and_not_for_a_quiet_launch(block, quiet, second):
    """Two ends are there in 100; of the second one's END nobody asks whether it has a record."""
    script = Script(LOOPS).resident(30, 0, 50, 100, quiet=quiet[0], loop=1)
    script.resident(40, 1, 60, 120, quiet=quiet[1], loop=2)
    script.end(100, 0, Fate.FINISHED).end(100, 1, Fate.FINISHED)
    saw = script.run(block, 130)
    assert saw.cycles("ended__ready") == [100, second]
    assert saw.pulses("loop_end", "loop") == {104: 0, second + 4: 1}
    recorded = {(0, 0): [105, 112], (1, 0): [109], (0, 1): [105]}
    assert list(saw.records("ticket")) == recorded[quiet]


@pytest.mark.rule("kernel_queue", 18, 32)
def test_a_launch_that_is_aborted_while_it_waits_ends_once(block):
    """Ticket 2 is dead from 94 on, and passes behind ticket 1; neither is told of twice."""
    script = ends(Script(LOOPS), Fate.FINISHED, quiet=1, loop=1)
    saw = script.launch(40, 0, quiet=1, loop=2).abort(80, 2).run(block, 140)
    answered = saw.cycles("abort_answer")
    assert saw.pulses("loop_end", *LOOP_END) == {answered[0]: (1, 0), 104: (0, 1)}
    assert list(saw.records("ticket", "fate", "word3").values()) == [(2, FinalFate.ABORTED, 2)]
    assert list(saw.pulses("timeline", "count").values()) == [1, 2]


#: When an ABORT is offered, its answer, and when that comes.
MEETS = {
    95: (OK, 103),
    96: (QueueCode.TICKET_UNKNOWN, 106),
    99: (QueueCode.TICKET_UNKNOWN, 106),
    100: (QueueCode.TICKET_UNKNOWN, 106),
    101: (QueueCode.TICKET_UNKNOWN, 151),
}


@pytest.mark.rule("kernel_queue", 18, 32)
@pytest.mark.parametrize("at", MEETS)
def test_an_abort_that_meets_a_quiet_end_hits_it_or_finds_nobody(block, at):
    """The END is picked in 100, or in 103; its launch has no record, whoever comes first."""
    saw = ends(Script(LOOPS), Fate.FINISHED, quiet=1, loop=1).abort(at, 1).run(block, 160)
    code, answered = MEETS[at]
    assert saw.pulses("abort_answer", "code") == {answered: code}
    assert saw.pulses("loop_end", *LOOP_END) == {107 if at == 95 else 104: (0, 1)}
    assert saw.cycles("record") == []


@pytest.mark.rule("kernel_queue", 17, 32)
def test_launches_that_pass_without_a_run_are_told_of_and_refused_ones_are_not(block):
    """Three wait in a held stream when a soft reset begins; one more comes in it."""
    script = Script(LOOPS).preempt(25, 0)
    for k in range(3):
        script.launch(30 + 10 * k, 0, quiet=1, loop=k % 2 + 1)
    script.during(60, 260, soft_reset_active=1).launch(140, 0, quiet=1, loop=1)
    saw = script.run(block, 260)
    assert list(saw.pulses("loop_end", *LOOP_END).values()) == [(0, 0), (1, 0), (0, 0)]
    assert saw.pulses("loop_end").keys() == saw.pulses("timeline").keys()
    tickets = [ticket for ticket in saw.records("ticket").values() if ticket]
    assert tickets == [1, 2, 3]
    assert list(saw.pulses("answer", "code").values())[-1] == HostError.RESET


#: A launch that is sent, a PREEMPT, a pop, and a quiet launch's end, all in one cycle; and whether
#: two places are left.
AT_ONCE = {
    (1, 1, 1, Fate.FINISHED): 1,
    (1, 1, 1, Fate.FAILED): 0,
    (1, 1, 0, Fate.FINISHED): 0,
    (0, 1, 0, Fate.FINISHED): 1,
    (1, 0, 0, Fate.FAILED): 0,
}


@pytest.mark.rule("kernel_queue", 3, 32)
@pytest.mark.parametrize("happens", AT_ONCE)
def test_a_place_comes_back_in_the_cycle_of_a_launch_a_preempt_and_a_pop(block, happens):
    """Of eight places six are taken up to 203, the last step of the END."""
    sent, preempt, pop, fate = happens
    script = Script(FEW).resident(30, 0, 50, 200, quiet=1)
    for k in range(5):
        script.preempt(40 + 30 * k, 5)
    script.end(200, 0, fate, 17 if fate == Fate.FAILED else 0)
    if sent:
        script.at(203, sent=1 | 1 << 1)
    if preempt:
        script.preempt(203, 5)
    saw = script.at(203, record_taken=pop).run(block, 206)
    left = saw.port("records_left")
    assert left[180:] == [1] * 25 + [AT_ONCE[happens]]
    codes = list(saw.pulses("command_answer", "code").values())
    assert codes == [OK] * (5 + preempt)


def waiting(script, *pairs, relative):
    """Let two launches of stream 0 end in 100 and 140, and one of stream 1 wait from 70 on."""
    script.resident(30, 0, 50, 100).launch(40, 0).level("begun", 0, 120, 140)
    script.end(100, 0, Fate.FINISHED).end(140, 0, Fate.FINISHED)
    flags = {f"wait{k}_relative": relative >> k & 1 for k in range(len(pairs))}
    return script.launch(70, 1, *pairs, **flags)


#: Pairs, those that are relative, and when the launch asks for its indices.
BACK = [
    ([(0, 0)], 0b01, 155),
    ([(0, 1)], 0b01, 115),
    ([(0, 2)], 0b01, 80),
    ([(0, 2)], 0b00, 155),
    ([(5, 3)], 0b01, 80),
    ([(1, 0)], 0b01, 80),
    ([(0, 1), (0, 0)], 0b11, 155),
    ([(0, 0), (0, 1)], 0b10, 115),
]


@pytest.mark.rule("kernel_queue", 10, 11)
@pytest.mark.parametrize("first", [0, (1 << 32) - 1])
@pytest.mark.parametrize(("pairs", "relative", "asks"), BACK)
def test_a_relative_pair_counts_back_from_the_latest_launch(block, pairs, relative, asks, first):
    """Of its own stream that is the one before it. Counts wrap with the second launch."""
    flags = [relative >> k & 1 for k in range(2)]
    shifted = [
        (stream, count if flags[k] else (first + count) % (1 << 16))
        for k, (stream, count) in enumerate(pairs)
    ]
    script = waiting(Script(LOOPS), *shifted, relative=relative)
    saw = script.run(block, 170, first_count=first)
    assert [c for c in saw.cycles("request__valid") if c > 70 and c != 107] == [asks]


@pytest.mark.rule("kernel_queue", 10)
@pytest.mark.parametrize(("count", "code"), [(0x7FFF, OK), (0x8000, QueueCode.WAIT_AHEAD)])
def test_a_relative_pair_that_lies_too_far_back_is_refused(block, count, code):
    """Its number is the second pair's."""
    script = waiting(Script(LOOPS), (0, 1), (0, count), relative=0b10)
    saw = script.run(block, 80)
    assert saw.pulses("answer", "code", "argument")[77] == (code, 29 if code else 0)


@pytest.mark.rule("kernel_queue", 8)
def test_a_number_has_sixteen_bits_and_is_that_of_the_answer(block):
    """The second launch of the stream is the first one behind the wrap."""
    two = Script(LOOPS).resident(30, 0, 50, 100).launch(40, 0).end(100, 0, Fate.FINISHED)
    two.level("begun", 0, 120, 140).end(140, 0, Fate.FINISHED)
    saw = two.run(block, 160, first_count=0x2FFFE)
    assert saw.pulses("answer", "count") == {34: 0xFFFF, 44: 0}
    assert saw.records("ticket", "word3") == {105: (1, 0xFFFF), 145: (2, 0)}


@pytest.mark.rule("kernel_queue", 8, 29)
def test_a_preempts_record_is_as_long_as_without_loops(block):
    saw = Script(LOOPS).preempt(30, 3).run(block, 60)
    words = saw.pulses("record", "word", "last")
    assert list(words.values()) == [(k, int(k == 7)) for k in (1, 2, 0, 5, 6, 3, 4, 7)]


@pytest.mark.rule("kernel_queue", 8, 16, 17, 32)
def test_a_quiet_launch_of_a_broken_stream_has_a_record(block):
    """The end is served to 63, the LOOK at the second launch to 71."""
    two = Script(LOOPS).resident(30, 0, 50, 60, loop=1).launch(40, 0, quiet=1, loop=2)
    saw = two.end(60, 0, Fate.FAILED, ErrorCode.SM_LOST).run(block, 90)
    assert saw.records("ticket", "code", "word3") == {
        65: (1, ErrorCode.SM_LOST, 1),
        73: (2, ErrorCode.STREAM_BROKEN, 2),
    }
    assert saw.pulses("loop_end", *LOOP_END) == {64: (0, 0), 72: (1, 0)}


@pytest.mark.rule("kernel_queue", 10)
def test_a_relative_pair_is_ahead_from_half_the_range_on(block):
    """The pair behind it counts from the start, and is one ahead."""
    far, ahead = (0, 0x8000), (0, 2)
    one = Script(LOOPS).launch(30, 0).launch(60, 1, far, ahead, wait0_relative=1)
    one.launch(70, 1, (0, 0), ahead, wait0_relative=1)
    saw = one.launch(80, 1, (0, 0), ahead, wait0_relative=1, wait1_relative=1).run(block, 100)
    ahead_of = QueueCode.WAIT_AHEAD
    answers = {34: (OK, 0), 67: (ahead_of, 28), 77: (ahead_of, 29), 87: (OK, 0)}
    assert saw.pulses("answer", "code", "argument") == answers
