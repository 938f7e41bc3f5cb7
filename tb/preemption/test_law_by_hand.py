"""The law's check of the first offer, on events written by hand: `tiny`, one urgent launch."""

import pytest

from tb.preemption.rtl_runs import TINY, workload
from warploom_golden.replay.event_tables import columns
from warploom_sim.methods.preempt.law_check import LawCheck
from warploom_sim.methods.preempt.port_figures import Blocks

#: The urgent launch is accepted in 35, the low one in 10. Indices of its shape, entry 1, were made
#: long before. The low one starts in 60, and the urgent one in 66.
ACCEPTED, LOW, URGENT = 35, 0, 3
DECISIONS = ((2, 9, 0, 1), (59, 1, 1, 0), (65, 2, 1, 1))
WARPS = ((8, 1),)


def verdict(first, cancels=(), decisions=DECISIONS, warps=WARPS, done=(), low=60):
    """Return the verdict on an urgent launch whose one block is offered in ``first``."""
    sent = workload("reset", ((2, 1, 10),))
    events = {
        "sent": columns([(1, 0), (2, 1)], ("cycle", "urgent")),
        "offers": columns([(first, 0, 0, 2, 0)], ("cycle", "sm", "slot", "ticket", "block_number")),
        "reports": columns([(first + 9, 0, 0, 0)], ("cycle", "sm", "slot", "status")),
        "ended": columns(
            [(first + 20, 2, URGENT, ACCEPTED, 0, 0), (300, 1, LOW, 10, 0, 0)],
            ("cycle", "ticket", "stream", "accepted", "fate", "code"),
        ),
        "killed": columns([], ("cycle", "stream")),
        "kills": columns([], ("cycle", "stream")),
        "starts": columns([(low, LOW), (66, URGENT)], ("cycle", "stream")),
        "decisions": columns(decisions, ("cycle", "ticket", "hit", "entry")),
        "done": columns(done, ("cycle", "entry")),
        "cancels": columns(cancels, ("cycle", "stream")),
        "warps": columns(warps, ("cycle", "last")),
    }
    return LawCheck(events, Blocks(events), [*sent.low, *sent.urgent], TINY).run()


def said(found):
    """Return what a violation says of the terms."""
    (violation,) = found.violations
    return violation.partition("offered ")[2]


def test_the_start_of_the_head_before_it_allows_19_cycles():
    """That start is in 60: the first offer may come in 79. From the acceptance it may in 71."""
    found = verdict(79)
    assert (found.violations, found.slack) == ([], {"next_start": 0})
    terms = "(idle_launch 36, next_start 44, report_to_offer 11)"
    assert said(verdict(80)) == f"45 cycles later; the law allows 44 {terms}"


def test_a_start_before_the_acceptance_allows_nothing():
    found = verdict(71, low=34)
    assert (found.violations, found.slack) == ([], {"idle_launch": 0})
    terms = "(idle_launch 36, report_to_offer 11)"
    assert said(verdict(72, low=34)) == f"37 cycles later; the law allows 36 {terms}"


def test_its_own_decision_counts_and_not_a_later_one_of_another_head():
    """The head behind it has its decision in 70, before the first offer: a miss."""
    found = verdict(80, decisions=(*DECISIONS, (70, 3, 0, 0)))
    assert (found.checked, dict(found.outside)) == (1, {})
    assert found.violations


def test_the_end_of_its_indices_allows_17_cycles():
    """Their last warp is written in 63."""
    assert verdict(80, warps=((63, 1),)).slack == {"indices_made": 0}
    assert "indices_made 45" in said(verdict(81, warps=((63, 1),)))


def test_the_answer_that_leaves_before_its_own_may_come_counts_like_that_end():
    """Five decisions: the answer to the first one leaves in 63, and makes place for the fifth."""
    before = ((2, 9, 0, 1), (20, 8, 1, 0), (26, 7, 1, 0), (59, 1, 1, 0), (65, 2, 1, 1))
    more = {"decisions": before, "done": ((63, 1), (64, 0), (65, 0), (66, 0), (67, 1))}
    assert verdict(80, **more).slack == {"indices_made": 0}
    assert "indices_made 45" in said(verdict(81, **more))


@pytest.mark.parametrize(
    ("cancel", "excused"),
    [((50, URGENT), True), ((50, LOW), False), ((34, URGENT), False), ((64, URGENT), False)],
    ids=["its own", "another head's", "before its acceptance", "too late: its decision comes"],
)
def test_only_its_own_configuration_that_is_taken_back_holds_a_launch_up(cancel, excused):
    found = verdict(90, cancels=(cancel,))
    assert (bool(found.violations), dict(found.outside)) == (
        (False, {"held_up": 1}) if excused else (True, {})
    )
