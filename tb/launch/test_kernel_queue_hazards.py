"""What went wrong in designs like KernelQueue's: a test of each, on RTL and model."""

from dataclasses import replace

import pytest

from tb.launch.kernel_queue_script import RTL_AND_MODEL, TINY, Script
from warploom_spec import ErrorCode, layouts
from warploom_spec.errors import Fate
from warploom_spec.queue import FinalFate, Mode, QueueCode, RecordKind
from warploom_spec.queue_packets import QueueOpcode

pytestmark = RTL_AND_MODEL

OK = ErrorCode.OK


def preempt_records(saw, *names):
    """Return the wanted fields of the records of PREEMPTs."""
    found = saw.records("kind", *names).values()
    return [tuple(rest) for kind, *rest in found if kind == RecordKind.PREEMPT]


@pytest.mark.rule("kernel_queue", 5, 29)
@pytest.mark.parametrize("again", [212, 214, 221, 222])
def test_a_preempt_while_the_record_of_another_is_written_is_refused(block, again):
    """Sent in 200, with one killed resident; its record's last word is made in 221."""
    script = Script().resident(30, 0, 50, 203, idempotent=1).end(203, 0, Fate.KILLED)
    saw = script.preempt(200, 0).preempt(again, 1).run(block, 260)
    refused = again < 222
    answers = saw.pulses("command_answer", "code")
    assert answers == {201: OK, again + 1: QueueCode.PREEMPT_PENDING if refused else OK}
    assert preempt_records(saw, "word3", "accepted")[0] == (1, 200)


@pytest.mark.rule("kernel_queue", 4, 30)
def test_launches_that_come_at_once_have_their_own_tickets(block):
    """Both are offered from 29 on; entries 0 and 1."""
    script = Script().launch(30, 0).launch(34, 1).at_once(29).at(50, fetch=0).at(51, fetch=1)
    saw = script.run(block, 60)
    words = layouts.launch_words(TINY)
    tickets = [words.unpack(saw.port("words")[cycle])["ticket"] for cycle in (52, 53)]
    assert tickets == [1, 2] == list(saw.pulses("answer", "ticket").values())


def doomed(*more):
    """Return a script in which ABORT_STREAMS finds waiting heads in streams 1 to 4 in 200."""
    script = Script().resident(30, 0, 50)
    for stream in (1, 2, 3, 4):
        script.launch(50 + 10 * stream, stream, (0, 1), priority=stream % 3 + 1)
    return script.command(200, QueueOpcode.ABORT_STREAMS, 1, 2, 3, 4, *more)


@pytest.mark.rule("kernel_queue", 6, 9)
def test_a_walk_goes_on_beside_looks(block):
    """Each stream's COMMAND comes behind at most one LOOK, nine cycles later at most."""
    saw = doomed(*range(5, 16)).run(block, 400)
    (answered,) = saw.cycles("command_answer")
    assert answered <= 200 + 15 * 9 + 8


@pytest.mark.rule("kernel_queue", 6, 8, 13)
@pytest.mark.parametrize("ended", [202, 212, 217, 227])
def test_an_end_comes_between_heads_that_pass(block, ended):
    """A LOOK and its record take at most 13 cycles, a COMMAND of the walk before it three."""
    saw = doomed().resident(35, 5, 60, ended).end(ended, 5, Fate.FINISHED).run(block, 300)
    (taken,) = saw.cycles("ended__ready")
    assert taken <= ended + 16
    assert len(saw.records("ticket")) == 5


@pytest.mark.rule("kernel_queue", 27, 28)
def test_a_run_that_is_about_to_end_is_neither_drained_nor_skipped(block):
    """All its blocks are placed and back; its end comes long behind the PREEMPT."""
    script = Script().launch(30, 0, mode=Mode.DRAIN).level("begun", 0, 50).preempt(200, 0)
    saw = script.end(250, 0, Fate.FINISHED).run(block, 290)
    assert preempt_records(saw, "word2", "word3", "word4") == [(1, 0, 0)]


@pytest.mark.rule("kernel_queue", 28)
def test_a_run_that_ends_in_the_cycle_of_its_visit_counts_once(block):
    """Stream 0 is visited in 224, the first visit that counts; its END's last step is there."""
    script = Script().launch(30, 0, mode=Mode.DRAIN).level("begun", 0, 50).level("open", 0, 50)
    saw = script.preempt(200, 0).end(221, 0, Fate.FINISHED).run(block, 260)
    assert preempt_records(saw, "word2", "word3", "word4") == [(1, 0, 0)]


def late():
    """Return a script of a run of stream 0 that is late in 240."""
    return Script().resident(30, 0, 50, idempotent=1).during(0, 400, launch_timeout=160)


@pytest.mark.rule("kernel_queue", 6, 19)
@pytest.mark.parametrize("cleared", [236, 238, 239, 241])
def test_a_time_out_asks_its_own_stream_and_not_the_one_before(block, cleared):
    """Stream 5 has no launch; its COMMAND is served before the LATE of stream 0."""
    saw = late().clear(cleared, 5).run(block, 264)
    assert saw.cycles("stop"), "the run is not stopped before the next visit"


@pytest.mark.rule("kernel_queue", 14, 19)
@pytest.mark.parametrize("ended", [235, 237, 238, 239, 242])
def test_a_time_out_does_not_hit_the_next_run(block, ended):
    """The first run is killed around its time-out; if that was not found, a second one begins."""
    script = Script().resident(30, 0, 50, ended, idempotent=1).during(0, 400, launch_timeout=160)
    saw = script.end(ended, 0, Fate.KILLED).level("begun", 0, 275).run(block, 400)
    if saw.cycles("killed"):
        assert not [cycle for cycle in saw.cycles("stop") if cycle > ended + 6]
    else:
        assert list(saw.records("code").values()) == [QueueCode.TIMEOUT]


@pytest.mark.rule("kernel_queue", 17, 21, 23)
@pytest.mark.parametrize("needed", [38, 44, 46, 47, 48, 49])
def test_a_head_that_leaves_preparation_while_it_is_looked_at_is_asked_again(block, needed):
    """All SMs seem lost for a cycle: the purge looks at each head, and finds it in order."""
    script = Script().undecided().launch(30, 0).at(38, no_sm=1).at(needed, needs_release=1)
    saw = script.at(230, made=1).decide(260).run(block, 280)
    assert saw.cycles("cancel") == [needed + 1]
    assert list(saw.transfers("start", "stream")) == [261]


@pytest.mark.rule("kernel_queue", 22, 23)
@pytest.mark.parametrize("needed", [40, 43])
def test_behind_a_cancelled_request_comes_the_next_heads_own_shape(block, needed):
    script = Script().undecided().launch(30, 0, dx=3).launch(35, 1, dx=5)
    saw = script.at(needed, needs_release=1).decide(needed + 12).run(block, 70)
    packet = layouts.index_config(TINY)
    asked = [packet.unpack(word)["dx"] for _, word in saw.recording.transfers("request")]
    assert asked == [3, 5]


@pytest.mark.rule("kernel_queue", 11, 16, 17)
def test_pairs_are_kept_of_a_launch_that_is_linked_behind_another(block):
    """Stream 1: the first runs, the second waits for streams 0 and 2, the third for nothing."""
    script = Script().resident(30, 0, 50, 130, priority=1).resident(35, 2, 60, 150, priority=1)
    script.resident(40, 1, 70, 110)
    script.launch(70, 1, (0, 1), (2, 1)).launch(76, 1).end(110, 1, Fate.FINISHED)
    saw = script.end(130, 0, Fate.FINISHED).end(150, 2, Fate.FINISHED).run(block, 200)
    starts = saw.transfers("start", "stream", "entry")
    assert list(starts.values()) == [(0, 4), (2, 5), (1, 0), (1, 1)]
    assert max(starts) == 155 + 15, "the second one waits for the later end"
    assert list(saw.pulses("answer", "ticket").values()) == [1, 2, 3, 4, 5]


@pytest.mark.rule("kernel_queue", 6, 12)
@pytest.mark.parametrize("cleared", [31, 32, 33])
def test_each_launch_is_answered_once_whatever_else_is_served(block, cleared):
    script = Script().launch(30, 0).launch(34, 1).clear(cleared, 5).clear(cleared + 1, 6)
    saw = script.run(block, 70)
    assert list(saw.pulses("answer", "ticket").values()) == [1, 2]
    assert sorted(saw.transfers("start", "stream").values()) == [0, 1]


@pytest.mark.rule("kernel_queue", 7)
@pytest.mark.parametrize("second", [100, *range(104, 112)])
def test_a_look_that_is_asked_for_while_a_round_begins_is_not_lost(block, second):
    """Streams 1 and 3 wait for the ends of 0 and 2."""
    script = Script().resident(30, 0, 50, 100).resident(35, 2, 60, second)
    script.launch(70, 1, (0, 1)).launch(80, 3, (2, 1)).end(100, 0, Fate.FINISHED)
    saw = script.end(second, 2, Fate.FINISHED).run(block, 160)
    assert sorted(saw.transfers("start", "stream").values()) == [0, 1, 2, 3]


@pytest.mark.rule("kernel_queue", 18)
def test_a_ticket_whose_record_is_made_is_unknown_although_its_entry_has_no_other(block):
    script = Script().resident(30, 0, 50, 60).end(60, 0, Fate.FINISHED).abort(80, 1)
    saw = script.run(block, 140)
    assert list(saw.pulses("abort_answer", "code").values()) == [QueueCode.TICKET_UNKNOWN]
    assert saw.records("ticket", "fate") == {65: (1, FinalFate.FINISHED)}


@pytest.mark.rule("kernel_queue", 18)
@pytest.mark.parametrize(("sent", "answered"), [(60, 66), (61, 117), (62, 117), (63, 120)])
def test_a_ticket_whose_record_is_made_while_it_is_searched_is_unknown(block, sent, answered):
    """Its entry is given back in 63; an ABORT that is sent in 61 compares its ticket in 64."""
    script = Script().resident(30, 0, 50, 60).end(60, 0, Fate.FINISHED).abort(sent, 1)
    saw = script.run(block, 140)
    assert saw.pulses("abort_answer", "code") == {answered: QueueCode.TICKET_UNKNOWN}
    assert saw.records("ticket", "fate") == {65: (1, FinalFate.FINISHED)}


@pytest.mark.rule("kernel_queue", 1)
def test_the_boot_writes_the_rows_of_all_streams_where_there_are_fewer_entries(block):
    """Four entries, 16 streams: the highest stream counts from 0."""
    script = Script(replace(TINY, queue_depth=1)).launch(30, 15)
    saw = script.run(block, 60)
    assert saw.cycles("pace")[0] == 20
    assert saw.pulses("answer", "ticket", "count") == {34: (1, 1)}
    assert list(saw.transfers("start", "stream").values()) == [15]
