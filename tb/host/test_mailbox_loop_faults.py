"""Mailbox's loops with a fault in the RTL each: a test by hand, or the lockstep, finds it."""

import pytest

from tb.host import test_mailbox_loops as by_hand
from tb.host.test_mailbox import LOOPS, case
from tb.support.deep_values import deep_but
from tb.support.planted import Change, plant
from tb.support.record import made
from warploom.host import mailbox
from warploom.host._launch_side import LaunchSide
from warploom.host._loop_side import LoopSide
from warploom.host._verdict import Verdict
from warploom.host.mailbox import Mailbox
from warploom_sim.cosim.lockstep import LockstepError, run
from warploom_spec.host_errors import HostError

REFUSED = {"code": HostError.FIELD_RANGE, "argument": 4}
#: A fault each, and the test of `by_hand` that finds it with its arguments.
WRONG = {
    "a step is taken beside a host's write": (
        Change(LoopSide, "_take", "step.valid & ~ports.writing", "step.valid"),
        by_hand.test_a_hosts_write_goes_first_and_the_step_stands,
    ),
    "a step commits while the mailbox is shut": (
        Change(LoopSide, "_take", "opens = (~ports.shut)", "opens = C(1, 1)"),
        by_hand.test_an_end_that_commits_as_the_mailbox_is_shut_is_dropped,
        (45, True),
    ),
    "a word is written with the host's strobes": (
        Change(Mailbox, "_write", "strobes | loop.takes.replicate(len(strobes))", "strobes"),
        by_hand.test_a_ring_is_judged_and_its_launch_sent_with_what_stands_in_the_words,
    ),
    "a word goes to the section that the host names": (
        Change(Mailbox, "_write", "Mux(loop.takes, loop.section, section)", "section"),
        by_hand.test_a_ring_is_judged_and_its_launch_sent_with_what_stands_in_the_words,
    ),
    "an answer completes a loop": (
        Change(mailbox, "whose", "ends = launched & ~loop.loops", "ends = launched"),
        by_hand.test_an_answer_completes_no_loop_and_is_told_in_the_next_cycle,
        (by_hand.answer(77, count=9), "accepted"),
    ),
    "a refusal is told as accepted": (
        Change(LoopSide, "elaborate", "answered & ~fails", "answered"),
        by_hand.test_an_answer_completes_no_loop_and_is_told_in_the_next_cycle,
        (by_hand.answer(0, **REFUSED), "refused"),
    ),
    "no room ends a loop": (
        Change(mailbox, "whose", "turned_away & ~loop.loops", "turned_away"),
        by_hand.test_a_launch_that_finds_no_room_is_rung_again,
        "room",
    ),
    "a refusal of the mailbox is not told": (
        Change(LoopSide, "elaborate", " | ports.refuses[first:]", ""),
        by_hand.test_a_launch_with_a_value_that_does_not_exist_is_refused_at_its_judgement,
    ),
    "a refusal is not kept for ERROR": (
        Change(mailbox, "explain_verdict", "completes | loop.refuses", "completes"),
        by_hand.test_a_launch_with_a_value_that_does_not_exist_is_refused_at_its_judgement,
    ),
    "an end says nothing of its own": (
        Change(mailbox, "explain_verdict", "loop.over & explains", "loop.over & 0"),
        by_hand.test_an_end_completes_the_section_two_cycles_later_with_what_was_kept,
        ({"ticket": 78, "count": 10}, 59 | 3 << 16, 59 | 3 << 16),
    ),
    "an end without data clears what was kept": (
        Change(mailbox, "explain_verdict", "loop.over & explains", "loop.over"),
        by_hand.test_an_end_completes_the_section_two_cycles_later_with_what_was_kept,
        (REFUSED, 0, HostError.FIELD_RANGE | 4 << 16),
    ),
    "a refused launch takes the ticket's place": (
        Change(mailbox, "whose", "launched & ~(loop.loops & loop.refused)", "launched"),
        by_hand.test_an_end_completes_the_section_two_cycles_later_with_what_was_kept,
        (REFUSED, 0, HostError.FIELD_RANGE | 4 << 16),
    ),
    "a ticket is shown while the loop runs": (
        Change(Mailbox, "_keep_answers", "held & ~doorbell", "held"),
        by_hand.test_an_answer_completes_no_loop_and_is_told_in_the_next_cycle,
        (by_hand.answer(77, count=9), "accepted"),
    ),
    "a ticket outlives a soft reset": (
        Change(Mailbox, "_keep_answers", "rings | interrupted", "rings"),
        by_hand.test_a_loops_launch_that_was_sent_is_answered_before_its_section_is_reset,
    ),
    "ERROR is shown while the loop runs": (
        Change(Mailbox, "_shown", "doorbell[first:]", "C(0, 8)"),
        None,
    ),
    "a section loops on behind its end": (
        Change(LoopSide, "elaborate", " & ~ports.completed[first:]", ""),
        by_hand.test_a_loops_launch_that_waits_is_dropped_with_its_section,
    ),
    "results outlive the next command": (
        Change(LoopSide, "elaborate", " & ~ports.rung[first:]", ""),
        by_hand.test_results_of_a_loop_that_has_ended_are_the_expanders,
        "RESULT2",
    ),
    "a host's launch without room is told": (
        Change(
            LoopSide, "elaborate", "ports.turns_away[first:] & loops", "ports.turns_away[first:]"
        ),
        None,
    ),
    "a host's launch has a loop": (
        Change(
            LaunchSide, "_of_loop", "ports.loops.bit_select(section, 1)", "(section == section)"
        ),
        by_hand.test_answers_of_loops_and_of_a_host_find_their_own,
    ),
    "any section can loop": (
        Change(
            Verdict, "elaborate", "is_loop & ~self.serving[config.first_loop_section :].any()", "0"
        ),
        by_hand.test_a_loop_that_cannot_be_is_refused,
        (1, 0, HostError.NO_LOOP),
    ),
    "the last slot is not judged": (
        Change(Verdict, "_wrong_slots", ", words.last_slot[bits:]", ""),
        by_hand.test_a_loop_that_cannot_be_is_refused,
        (2, 1 << 11, HostError.FIELD_RANGE | 2 << 16),
    ),
}
#: Those that no test by hand is for.
RANDOM = [name for name, (_, test, *_) in WRONG.items() if test is None]


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in WRONG if name not in RANDOM])
def test_a_test_by_hand_finds_a_fault_of_mailboxs_loops(name, monkeypatch):
    change, test, *arguments = WRONG[name]
    plant(monkeypatch, [change])
    arguments = arguments[0] if arguments and isinstance(arguments[0], tuple) else arguments
    with pytest.raises(AssertionError):
        test(made(Mailbox, by_hand.LOOPS), *arguments)


@pytest.mark.parametrize("name", deep_but([], WRONG, thorough=RANDOM))
def test_lockstep_finds_a_fault_of_mailboxs_loops(name, seed, monkeypatch):
    plant(monkeypatch, [WRONG[name][0]])
    with pytest.raises(LockstepError):
        run([case(LOOPS, seed + k, 3000) for k in range(16)], "amaranth", waves=False)
