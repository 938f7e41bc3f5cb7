"""Rules of KernelQueue's page: acceptance, waits, choice, preparation, ends."""

from dataclasses import replace

import pytest

from tb.launch.kernel_queue_script import HISTORY, RTL_AND_MODEL, TINY, Script
from warploom_spec import ErrorCode
from warploom_spec.errors import Fate
from warploom_spec.host_errors import HostError
from warploom_spec.queue import FinalFate, Mode, QueueCode

pytestmark = RTL_AND_MODEL

OK = ErrorCode.OK
ALL_ROOM = 0b1111
#: A record has a word less; with loops see `test_kernel_queue_loops_rules`.
NO_LOOPS = replace(TINY, loop_templates=0)


def changes(values):
    """Return the values of a port at 0, and in each cycle in which it changes."""
    return {c: v for c, v in enumerate(values) if c == 0 or values[c - 1] != v}


@pytest.mark.rule("kernel_queue", 1, 2, 3, 31)
def test_the_boot_gives_an_entry_back_in_each_cycle(block):
    """`tiny` has 16 entries, 4 of each priority: R is 16."""
    saw = Script().run(block, 30)
    assert changes(saw.port("room")) == {0: 0, 3: 0b1, 7: 0b11, 11: 0b111, 15: ALL_ROOM}
    assert changes(saw.port("pace")) == {0: 0, 20: 1}
    assert changes(saw.port("records_left")) == {0: 0, 1: 1}
    assert changes(saw.port("idle")) == {0: 0, 17: 1}


@pytest.mark.rule("kernel_queue", 2, 4, 11, 12)
def test_entries_of_a_priority_run_out_and_a_refused_launch_gives_its_own_back(block):
    """Sent in 25, 35, 45 and 55; the fourth is refused in 63."""
    script = Script()
    for k in range(3):
        script.launch(30 + 10 * k, k)
    saw = script.launch(60, 3, error=ErrorCode.GRID_ZERO, argument=2).run(block, 80)
    assert changes(saw.port("room")[25:]) == {0: ALL_ROOM, 57 - 25: 0b1110, 66 - 25: ALL_ROOM}
    assert [c for c in range(20, 80) if not saw.port("pace")[c]] == [26, 27, 36, 37, 46, 47, 56, 57]


@pytest.mark.rule("kernel_queue", 3, 5)
def test_places_for_records_run_out_and_come_back_with_a_pop(block):
    """Of 20 places 16 launches and three PREEMPTs take 19."""
    script = Script()
    for k in range(16):
        script.at(20 + 4 * k, sent=1 | (k % 4) << 1)
    for cycle in (100, 130, 160, 190):
        script.preempt(cycle, 0)
    saw = script.at(200, record_taken=1).run(block, 210)
    assert changes(saw.port("records_left")) == {0: 0, 1: 1, 162: 0, 202: 1}
    codes = {101: OK, 131: OK, 161: OK, 191: ErrorCode.COMPLETION_FULL}
    assert saw.pulses("command_answer", "code") == codes


@pytest.mark.rule("kernel_queue", 4, 6, 10, 11, 12)
def test_a_launch_waits_at_checked_until_the_one_before_is_accepted(block):
    """The second one is offered from 31 on; the inbox is empty again from 34 on."""
    saw = Script().launch(30, 0).launch(32, 0).run(block, 60)
    assert saw.cycles("checked__ready") == [30, 35]
    answers = {34: (1, 1, OK), 39: (2, 2, OK)}
    assert saw.pulses("answer", "ticket", "count", "code") == answers


def refused(block, script, answered):
    """Return code and argument of the refusal that is answered in a cycle."""
    saw = script.run(block, answered + 1)
    answers = saw.pulses("answer", "ticket", "count", "code", "argument")
    ticket, count, code, argument = answers[answered]
    assert (ticket, count) == (0, 0)
    return code, argument


@pytest.mark.rule("kernel_queue", 6, 10)
def test_the_first_reason_to_refuse_is_answered(block):
    """Each case has reasons that rank lower as well; stream 0 has a launch of priority 0."""
    error = {"error": ErrorCode.GRID_ZERO, "argument": 2}
    ahead, reached = (1, 1), (1, 0)

    def second(*waits, after=Script, **fields):
        script = after().launch(30, 0)
        return script.launch(60, 0, *waits, **{"priority": 1, **fields})

    def closed():
        return Script().during(61, 90, soft_reset_active=1, no_sm=1)

    def no_sm():
        return Script().during(61, 90, no_sm=1)

    assert refused(block, second(ahead, after=closed, **error), 67) == (HostError.RESET, 0)
    assert refused(block, second(ahead, after=no_sm, **error), 67) == (ErrorCode.GRID_ZERO, 2)
    assert refused(block, second(ahead, ahead, after=no_sm), 67) == (QueueCode.WAIT_AHEAD, 28)
    assert refused(block, second(reached, ahead, after=no_sm), 67) == (QueueCode.WAIT_AHEAD, 29)
    assert refused(block, second(after=no_sm), 64) == (ErrorCode.STREAM_PRIORITY, 0)
    assert refused(block, second(after=no_sm, priority=0), 64) == (ErrorCode.NO_SM, 0)
    late = Script().during(62, 90, soft_reset_active=1, no_sm=1).launch(60, 0)
    assert late.run(block, 70).pulses("answer", "ticket", "code") == {64: (1, OK)}


@pytest.mark.rule("kernel_queue", 8, 10, 15, 16, 17)
def test_a_lost_sm_breaks_the_stream_until_it_is_cleared(block):
    """The waiting launch fails, a new one is refused, and one after the clear runs."""
    script = Script().resident(30, 0, 50, 60).launch(40, 0)
    script.end(60, 0, Fate.FAILED, ErrorCode.SM_LOST).launch(80, 0).clear(90, 0)
    saw = script.launch(100, 0).run(block, 112)
    assert saw.records("ticket", "fate", "code") == {
        65: (1, FinalFate.FAILED, ErrorCode.SM_LOST),
        73: (2, FinalFate.FAILED, ErrorCode.STREAM_BROKEN),
    }
    assert saw.pulses("timeline", "stream", "count") == {64: (0, 1), 72: (0, 2)}
    answers = saw.pulses("answer", "ticket", "code")
    assert {c: answers[c] for c in (84, 104)} == {84: (0, ErrorCode.STREAM_BROKEN), 104: (3, OK)}
    assert saw.cycles("clear_stream__ready") == [92]
    assert saw.cycles("request__valid") == [37, 107]


@pytest.mark.rule("kernel_queue", 16, 20, 21, 22)
def test_launches_of_a_stream_run_one_after_the_other(block):
    """The second one's request comes seven cycles behind the end of the first."""
    script = Script().resident(30, 0, 50, 60).launch(40, 0).end(60, 0, Fate.FINISHED)
    saw = script.run(block, 80)
    assert saw.transfers("start", "entry") == {42: 0, 72: 1}
    assert saw.cycles("request__valid") == [37, 67]


@pytest.mark.rule("kernel_queue", 11, 16, 17, 21)
def test_a_launch_waits_for_its_pairs_one_after_the_other(block):
    """Launch 3 waits for streams 0 and 2, which end in 100 and in 120."""
    script = (
        Script().resident(30, 0, 50, 100).resident(35, 2, 60, 120).launch(70, 1, (0, 1), (2, 1))
    )
    saw = script.end(100, 0, Fate.FINISHED).end(120, 2, Fate.FINISHED).run(block, 160)
    assert saw.pulses("answer", "ticket") == {34: 1, 39: 2, 77: 3}
    assert list(saw.records("ticket")) == [105, 125]
    assert saw.cycles("request__valid")[-1] == 125 + 10
    early = Script().resident(30, 0, 50, 60).launch(70, 1, (0, 1)).end(60, 0, Fate.FINISHED)
    assert early.run(block, 90).cycles("request__valid") == [37, 80], "a reached pair is dropped"


@pytest.mark.rule("kernel_queue", 7, 17)
def test_looks_come_in_rounds_the_lowest_stream_first(block):
    """Three streams wait for one; a LOOK of `tiny` takes seven cycles."""
    script = Script().resident(30, 0, 50, 100).end(100, 0, Fate.FINISHED)
    for taken, stream in ((60, 3), (70, 1), (80, 2)):
        script.launch(taken, stream, (0, 1))
    saw = script.run(block, 150)
    assert saw.transfers("start", "stream") == {42: 0, 120: 1, 127: 2, 134: 3}
    assert saw.cycles("request__valid") == [37, 115, 122, 129]


def prepared_last(block, *launches):
    """Return who starts when, behind a request of stream 0 that is decided in 90."""
    script = Script().undecided().launch(30, 0)
    for taken, stream, priority in launches:
        script.launch(taken, stream, priority=priority)
    for k in range(len(launches) + 1):
        script.decide(90 + 6 * k)
    return script.run(block, 130).transfers("start", "stream")


@pytest.mark.rule("kernel_queue", 20, 21)
def test_equal_heads_are_chosen_in_turn_from_the_last_one_on(block):
    """Stream 2 is chosen first, as it was alone; then come 3 and 1."""
    started = prepared_last(block, (40, 2, 0), (50, 1, 0), (60, 3, 0))
    assert started == {91: 0, 97: 2, 103: 3, 109: 1}


@pytest.mark.rule("kernel_queue", 20, 21)
def test_a_higher_priority_takes_the_choice_over(block):
    """Stream 2 was chosen; the urgent stream 5 comes before it, and the turn goes on behind 5."""
    started = prepared_last(block, (40, 2, 0), (50, 1, 0), (60, 3, 0), (70, 5, 3))
    assert started == {91: 0, 97: 5, 103: 1, 109: 2, 115: 3}


@pytest.mark.rule("kernel_queue", 20, 21)
def test_a_request_comes_a_cycle_later_where_the_best_priority_changes(block):
    """The choice is made in the register of the cycle before."""
    assert Script().launch(30, 0).run(block, 50).cycles("request__valid") == [37]
    assert Script().launch(30, 0, priority=2).run(block, 50).cycles("request__valid") == [38]


@pytest.mark.rule("kernel_queue", 21)
def test_a_head_does_not_enter_while_an_event_of_its_stream_is_served(block):
    """It would enter in 37; the next launch's ACCEPT is served in 37 and 38."""
    script = Script().launch(30, 0, priority=2).launch(35, 0, priority=2)
    assert script.run(block, 50).cycles("request__valid") == [40]


@pytest.mark.rule("kernel_queue", 22)
def test_without_indices_a_head_starts_two_cycles_after_it_enters(block):
    """It enters in 36."""
    saw = Script(replace(TINY, index_memory_warps=0)).launch(30, 0).run(block, 50)
    assert saw.transfers("start", "stream") == {38: 0}


@pytest.mark.rule("kernel_queue", 23, 26)
@pytest.mark.parametrize(("cause", "again"), [("made", 64), ("release", 68)])
def test_a_request_that_waits_for_a_release_makes_room_for_another_one(block, cause, again):
    """Stream 0 asks from 37 on, and again after a generation in 60, or a release in 64."""
    script = Script().undecided().launch(30, 0).launch(35, 1).during(40, 41, needs_release=1)
    if cause == "made":
        script.at(60, made=1)
    else:
        script.level("begun", 1, 55).end(60, 1, Fate.FINISHED)
    saw = script.decide(48).decide(again + 4).run(block, 100)
    assert saw.cycles("cancel") == [41]
    assert saw.cycles("request__valid") == [37, 44, again]
    assert saw.transfers("start", "stream") == {49: 1, again + 5: 0}


@pytest.mark.rule("kernel_queue", 23)
@pytest.mark.parametrize(("decided", "cancels"), [(40, []), (41, [41]), (42, [41])])
def test_a_decision_that_meets_a_cancel_counts(block, decided, cancels):
    """The filter needs a release in 40."""
    script = Script().undecided().launch(30, 0).at(40, needs_release=1).decide(decided)
    saw = script.run(block, 60)
    assert saw.cycles("cancel") == cancels
    assert saw.transfers("start", "stream") == {decided + 1: 0}


@pytest.mark.rule("kernel_queue", 25, 26)
def test_a_head_that_is_held_up_holds_nobody_until_it_has_started(block):
    """The urgent head asks in 68, is cancelled in 71, tried again in 86, and starts in 92."""
    script = Script().resident(30, 0, 50).undecided().decide(41).launch(60, 1, priority=3)
    script.at(70, needs_release=1).at(82, made=1).decide(91)
    saw = script.run(block, 110)
    assert saw.cycles("request__valid") == [37, 68, 86]
    assert saw.transfers("start", "stream") == {42: 0, 92: 1}
    assert saw.span("hold") == [(66, 74), (95, 109)]


@pytest.mark.rule("kernel_queue", 21, 26)
@pytest.mark.parametrize("fate", [Fate.KILLED, Fate.FINISHED])
def test_a_head_that_is_held_up_is_asked_before_lower_ones_that_the_release_lets_go_on(block, fate):
    """The low run ends in 100: its reference is given back in 104.

    Its stream has another head at once: the killed launch, or the next one. A choice of that head
    begins in 105, and is given up in 107 for the urgent one, which was cancelled in 71.
    """
    script = Script().resident(30, 0, 50, 100).undecided().decide(41).launch(50, 0)
    script.launch(60, 1, priority=3).at(70, needs_release=1).end(100, 0, fate)
    saw = script.decide(114).decide(120).run(block, 130)
    assert saw.cycles("release__valid") == [104]
    assert saw.cycles("request__valid") == [37, 68, 110, 116]
    assert saw.transfers("start", "stream") == {42: 0, 115: 1, 121: 0}


def ended(block, script, fate, code=0, *, begun=50):
    """Return the record of a run that ends in 100, by the cycle of its first word."""
    script.resident(30, 0, begun, 100).end(100, 0, fate, code, first=51, cycles=44)
    names = ("fate", "code", "offered", "word2", "first_offer")
    return script.run(block, 120).records(*names)


@pytest.mark.rule("kernel_queue", 8, 13)
def test_a_run_that_is_final_has_the_record_of_the_first_reason_that_holds(block):
    """In each case those that rank lower hold as well."""
    run = (1, 44, 51)

    def closed():
        return Script().during(98, 120, soft_reset_active=1, no_sm=1)

    def aborted():
        return closed().abort(60, 1)

    assert ended(block, aborted(), Fate.FAILED, 17) == {105: (FinalFate.FAILED, 17, *run)}
    assert ended(block, aborted(), Fate.FINISHED) == {105: (FinalFate.FINISHED, OK, *run)}
    assert ended(block, aborted(), Fate.KILLED) == {105: (FinalFate.ABORTED, OK, *run)}
    assert ended(block, closed(), Fate.KILLED) == {105: (FinalFate.ABORTED, OK, *run)}
    no_sm = Script().during(98, 120, no_sm=1)
    assert ended(block, no_sm, Fate.KILLED) == {105: (FinalFate.FAILED, ErrorCode.NO_SM, *run)}
    idle = (FinalFate.FINISHED, OK, 0, 0, 0)
    assert ended(block, Script(), Fate.FINISHED, begun=None) == {105: idle}
    assert ended(block, Script(), Fate.KILLED) == {}, "it runs again"


@pytest.mark.rule("kernel_queue", 8, 12, 13, 14, 16)
def test_a_record_is_written_word_by_word(block):
    """Without loops. The end transfers in 100; word 7 is the clock of the cycle before it."""
    script = (
        Script(NO_LOOPS).resident(30, 3, 50, 100).end(100, 3, Fate.FINISHED, first=51, cycles=44)
    )
    saw = script.run(block, 120)
    assert saw.cycles("ended__ready") == [100]
    assert saw.pulses("record", "word", "data", "last") == {
        105: (1, 1 << 24 | 3 << 18, 0),
        106: (2, 44, 0),
        107: (0, 1, 0),
        108: (5, 30, 0),
        109: (6, 51, 0),
        110: (7, 109, 1),
    }
    assert dict(saw.recording.transfers("release")) == {104: HISTORY}
    assert saw.pulses("timeline", "stream", "count") == {104: (3, 1)}
    assert saw.cycles("killed") == []
    assert saw.span("idle")[-1] == (111, 119)


@pytest.mark.rule("kernel_queue", 13)
@pytest.mark.parametrize(
    ("mode", "idempotent", "begun", "said"),
    [
        (Mode.RESET, 0, 50, 1),
        (Mode.RESET, 1, 50, 0),
        (Mode.DRAIN, 0, 50, 0),
        (Mode.RESET, 0, 80, 0),
    ],
)
def test_a_reset_that_was_a_drain_is_said(block, mode, idempotent, begun, said):
    """Held from 62 to 72."""
    script = Script().resident(30, 0, begun, 100, mode=mode, idempotent=idempotent)
    script.preempt(60, 0).resume(70, 0).end(100, 0, Fate.FINISHED)
    records = script.run(block, 130).records("ticket", "reset_as_drain")
    assert records[105] == (1, said)


@pytest.mark.rule("kernel_queue", 8, 13)
def test_an_end_waits_for_the_writer(block):
    """Without loops. Two ends in 100: the writer is busy from 104 to 109, and not in 106 + 4."""
    script = Script(NO_LOOPS).resident(30, 0, 50, 100).resident(40, 1, 60, 120)
    saw = script.end(100, 0, Fate.FINISHED).end(100, 1, Fate.FINISHED).run(block, 130)
    assert saw.cycles("ended__ready") == [100, 106]
    assert list(saw.records("ticket").items()) == [(105, 1), (111, 2)]


@pytest.mark.rule("kernel_queue", 30)
def test_words_come_two_cycles_after_fetch(block):
    """Entry 0 of priority 1 has the number 4."""
    script = Script().launch(30, 0, priority=1, code=0x1234).during(40, 40, fetch=4)
    saw = script.run(block, 44)
    assert saw.fields("words", saw.port("words")[42], ("ticket", "code")) == (1, 0x1234)
