"""Rules of KernelQueue's page with loops: quiet launches, numbers, relative pairs, `loop_end`."""

from dataclasses import replace

import pytest

from tb.launch.kernel_queue_script import RTL_AND_MODEL, TINY, Script
from warploom_spec import ErrorCode
from warploom_spec.errors import Fate
from warploom_spec.queue import FinalFate, QueueCode

pytestmark = RTL_AND_MODEL

LOOPS = replace(TINY, loop_templates=8)
OK = ErrorCode.OK


def script():
    return Script(LOOPS)


@pytest.mark.rule("kernel_queue", 8, 31, 32)
def test_a_record_has_its_launchs_number(block):
    """The end transfers in 100: a word more, in front of word 7, and nothing of a loop."""
    one = script().resident(30, 3, 50, 100).end(100, 3, Fate.FINISHED, first=51, cycles=44)
    saw = one.run(block, 120)
    assert saw.pulses("record", "word", "data", "last") == {
        105: (1, 1 << 24 | 3 << 18, 0),
        106: (2, 44, 0),
        107: (0, 1, 0),
        108: (5, 30, 0),
        109: (6, 51, 0),
        110: (3, 1, 0),
        111: (7, 110, 1),
    }
    assert saw.cycles("loop_end") == []
    assert saw.span("idle")[-1] == (112, 119)


@pytest.mark.rule("kernel_queue", 8)
def test_a_number_has_sixteen_bits_and_is_that_of_the_answer(block):
    """The second launch of the stream is the first one behind the wrap."""
    two = script().resident(30, 0, 50, 100).launch(40, 0).end(100, 0, Fate.FINISHED)
    two.level("begun", 0, 120, 140).end(140, 0, Fate.FINISHED)
    saw = two.run(block, 160, first_count=0x2FFFE)
    assert saw.pulses("answer", "count") == {34: 0xFFFF, 44: 0}
    assert saw.records("ticket", "word3") == {105: (1, 0xFFFF), 145: (2, 0)}


@pytest.mark.rule("kernel_queue", 8, 13)
def test_an_end_waits_for_the_longer_record(block):
    """Two ends in one cycle: the writer is busy from 104 to 110, and not in 107 + 4."""
    two = script().resident(30, 0, 50, 100).resident(40, 1, 60, 120)
    saw = two.end(100, 0, Fate.FINISHED).end(100, 1, Fate.FINISHED).run(block, 130)
    assert saw.cycles("ended__ready") == [100, 107]
    assert saw.records("ticket", "word3") == {105: (1, 1), 112: (2, 1)}


@pytest.mark.rule("kernel_queue", 8, 29)
def test_a_preempts_record_is_as_long_as_without_loops(block):
    saw = script().preempt(30, 3).run(block, 60)
    words = saw.pulses("record", "word", "last")
    assert list(words.values()) == [(k, int(k == 7)) for k in (1, 2, 0, 5, 6, 3, 4, 7)]


@pytest.mark.rule("kernel_queue", 6, 8, 16, 32)
def test_a_quiet_launch_that_finishes_has_no_record(block):
    """The engine is free in 104, and the writer is not busy: the next end is served."""
    two = script().resident(30, 0, 50, 100, quiet=1, loop=2).resident(40, 1, 60, 120, quiet=1)
    saw = two.end(100, 0, Fate.FINISHED).end(100, 1, Fate.FINISHED).run(block, 130)
    assert saw.cycles("ended__ready") == [100, 104]
    assert saw.records("ticket") == {}
    assert saw.pulses("timeline", "stream", "count") == {104: (0, 1), 108: (1, 1)}
    assert saw.pulses("loop_end", "loop", "finished") == {104: (1, 1)}
    assert saw.span("idle")[-1] == (109, 129)


@pytest.mark.rule("kernel_queue", 32)
@pytest.mark.parametrize(
    ("fate", "code", "said"),
    [(Fate.FAILED, 17, (FinalFate.FAILED, 17)), (Fate.FINISHED, 0, None)],
)
def test_a_quiet_launch_that_fails_has_a_record(block, fate, code, said):
    one = script().resident(30, 0, 50, 100, quiet=1, loop=1).end(100, 0, fate, code)
    saw = one.run(block, 120)
    assert saw.records("fate", "code") == ({} if said is None else {105: said})
    assert saw.pulses("loop_end", "loop", "finished") == {104: (0, int(said is None))}


@pytest.mark.rule("kernel_queue", 3, 32)
@pytest.mark.parametrize(("quiet", "again"), [(1, {305: 1}), (0, {})])
def test_a_quiet_launch_that_finishes_gives_its_place_back(block, quiet, again):
    """Of 20 places 16 launches and three PREEMPTs take 19; its END is served to 303."""
    one = script().resident(30, 0, 50, 300, quiet=quiet)
    for k in range(15):
        one.at(40 + 4 * k, sent=1 | (k + 1) % 4 << 1)
    for cycle in (110, 140, 170):
        one.preempt(cycle, 5)
    left = one.end(300, 0, Fate.FINISHED).run(block, 320).port("records_left")
    assert {c: left[c] for c in range(100, 320) if left[c] != left[c - 1]} == {172: 0, **again}


@pytest.mark.rule("kernel_queue", 8, 16, 17, 32)
def test_a_quiet_launch_of_a_broken_stream_has_a_record(block):
    """The end is served to 63, the LOOK at the second launch to 71."""
    two = script().resident(30, 0, 50, 60, loop=1).launch(40, 0, quiet=1, loop=2)
    saw = two.end(60, 0, Fate.FAILED, ErrorCode.SM_LOST).run(block, 90)
    assert saw.records("ticket", "code", "word3") == {
        65: (1, ErrorCode.SM_LOST, 1),
        73: (2, ErrorCode.STREAM_BROKEN, 2),
    }
    assert saw.pulses("loop_end", "loop", "finished") == {64: (0, 0), 72: (1, 0)}


@pytest.mark.rule("kernel_queue", 18, 32)
def test_an_aborted_launch_ends_once_with_its_record_and_its_number(block):
    """Its entry, 1, is read in 64: served to 70. It passes behind the first launch's end."""
    two = script().resident(30, 0, 50, 100).launch(40, 0, quiet=1, loop=2).abort(60, 2)
    saw = two.end(100, 0, Fate.FINISHED).run(block, 140)
    assert saw.pulses("abort_answer", "code") == {71: OK}
    assert saw.records("ticket", "fate", "word3") == {
        72: (2, FinalFate.ABORTED, 2),
        105: (1, FinalFate.FINISHED, 1),
    }
    assert saw.pulses("loop_end", "loop", "finished") == {71: (1, 0)}
    assert list(saw.pulses("timeline", "count").values()) == [1, 2]


@pytest.mark.rule("kernel_queue", 14, 32)
def test_a_killed_run_of_a_loop_is_no_end(block):
    one = script().resident(30, 0, 50, 100, quiet=1, loop=1).end(100, 0, Fate.KILLED)
    saw = one.run(block, 120)
    assert saw.cycles("killed") == [104]
    assert saw.cycles("loop_end") == []


@pytest.mark.rule("kernel_queue", 10, 11, 17)
@pytest.mark.parametrize(
    ("before", "requested", "first_count"),
    [(0, 115, 0), (1, 80, 0), (0x7FFF, 80, 0), (0, 115, 0xFFFF), (1, 80, 0xFFFF)],
)
def test_a_relative_pair_waits_for_the_launch_so_many_before_the_latest(
    block, before, requested, first_count
):
    """Stream 0 has one launch, which ends in 100; the second one's request follows."""
    two = script().resident(30, 0, 50, 100).launch(70, 1, (0, before), wait0_relative=1)
    saw = two.end(100, 0, Fate.FINISHED).run(block, 140, first_count=first_count)
    assert saw.pulses("answer", "ticket", "code") == {34: (1, OK), 77: (2, OK)}
    assert saw.cycles("request__valid") == [37, requested]


@pytest.mark.rule("kernel_queue", 10)
def test_a_relative_pair_is_ahead_from_half_the_range_on(block):
    """The pair behind it counts from the start, and is one ahead."""
    far, ahead = (0, 0x8000), (0, 2)
    one = script().launch(30, 0).launch(60, 1, far, ahead, wait0_relative=1)
    one.launch(70, 1, (0, 0), ahead, wait0_relative=1)
    saw = one.launch(80, 1, (0, 0), ahead, wait0_relative=1, wait1_relative=1).run(block, 100)
    ahead_of = QueueCode.WAIT_AHEAD
    answers = {34: (OK, 0), 67: (ahead_of, 28), 77: (ahead_of, 29), 87: (OK, 0)}
    assert saw.pulses("answer", "code", "argument") == answers
