"""Each of the dispatcher's rules, wrong in RTL and model alike, is found by its own test."""

import pytest

from tb.dispatch import test_block_dispatcher_error_rules as errors
from tb.dispatch import test_block_dispatcher_stall_rules as stalls
from tb.dispatch import test_block_dispatcher_two_kills_rules as two_kills
from tb.dispatch.placement import test_freed_first as freed_first
from tb.support import dispatch_rules
from tb.support.planted import Change
from tb.support.wrong_rules import WrongRule, demand_found
from warploom.dispatch import BlockDispatcher
from warploom.dispatch._resident_places import ResidentPlaces
from warploom.dispatch.placement import freed_first as freed_first_rtl
from warploom.dispatch.placement.freed_first import FreedFirst as FreedFirstRtl
from warploom_dev.rewrite import Rewrite
from warploom_golden.dispatch import BlockDispatcher as Model
from warploom_golden.dispatch.placement.freed_first import FreedFirst

#: In the model's `choose`: a block by the queue, the table's position, the pointer behind it.
BY_QUEUE = "if head is not None and eligible[head]:\n    return head"
BY_TABLE = "position = first_from([eligible[sm] for sm in self.table], self._table_pointer)"
ON = "self._table_pointer = (position + 1) % len(self.table)"
MOVES = "self._entry_pointer = (entering + 1) % len(self._waiting)"
FOLLOWING = "Cat(C(0, 1), Mux(some_ahead, ahead_up_to, up_to))"
STAYING = f'Mux(some_ahead, ahead_up_to, up_to) if name == "waiting" else {FOLLOWING}'


def stall(old: str, new: str) -> Change:
    """Return a change of the RTL's stall counters."""
    return Change(BlockDispatcher, "_count_stalls", old, new)


def causes(old: str, new: str) -> Change:
    """Return a change of what the model counts."""
    return Change(Model, "_causes", old, new)


#: The RTL's side of each rule.
RTL = {
    "freed_first: of several that wait the lowest enters": (
        Change(
            FreedFirstRtl,
            "_queue",
            'rotating(m, "waiting", waiting, enters)',
            "waiting & (~waiting + 1)",
        ),
    ),
    "freed_first: the SM that entered is first again": (
        Change(freed_first_rtl, "rotating", FOLLOWING, STAYING),
    ),
    "freed_first: the rotating pointer stays while nothing is resident": (
        Change(FreedFirstRtl, "_queue", "waiting, enters)", "waiting, enters & self.resident)"),
    ),
    "freed_first: the table's pointer moves with every block": (
        Rewrite(
            FreedFirstRtl,
            "choose",
            "self.decided & ~head_fits",
            "self.decided",
        ),
    ),
    "freed_first: the table's pointer stays while the queue holds an entry": (
        Rewrite(
            FreedFirstRtl,
            "choose",
            "[head_fits.eq((self.eligible & at_head).any()),"
            " use_table.eq(self.decided & ~head_fits)]",
            "[head_fits.eq((self.eligible & at_head).any()),"
            " use_table.eq(self.decided & ~at_head.any())]",
        ),
    ),
    "order_table: the second position that does not exist is told": (
        Change(
            FreedFirstRtl,
            "_swap",
            "Mux(bad[0], first, second)",
            "Mux(bad[1], second, first)",
        ),
    ),
    "error_count wraps": (
        Change(BlockDispatcher, "_report", "any_error & ~self.error_count.all()", "any_error"),
    ),
    "stalls: SMs out of use count": (stall("port.in_use & (port", "(port"),),
    "stalls: a resource counts where every SM is full": (stall(".any()", ".all()"),),
    "stalls: of several resources the first counts": (
        stall("table.lacks", "(table.lacks & (~table.lacks + 1))"),
    ),
    "stalls: a cycle with a decision counts": (
        stall("head.active & ~placement.decided", "head.active"),
    ),
    "stalls: a stopped head counts": (
        Change(
            ResidentPlaces,
            "elaborate",
            "active, wanted = walked & ~walk.starts & ~halt, walked & ~waits",
            "active, wanted = walked & ~walk.starts, walked & ~waits",
        ),
    ),
    "stalls: an offer counts where its SM has no room": (
        stall(
            "~Cat(port.closed for port in ports).all() & ~head.barred",
            "Cat(port.in_use for port in ports).any()",
        ),
    ),
    "stalls: order counts for the second place alone": (
        Change(ResidentPlaces, "_choose", "(candidate & held).any()", "(candidate & held)[1]"),
    ),
    "stalls: the counters stay at their highest value": (
        stall(
            "counters.step.eq(step)",
            "counters.step.eq(step & ~Cat(value.all() for value in counters.values))",
        ),
    ),
    "a stop of both places means the first alone": (
        Change(ResidentPlaces, "_stop", "for p in range(2)", "for p in range(1)"),
    ),
}

#: The test that finds each rule, the model's side of it, and what the test gets.
WRONG = {
    "freed_first: of several that wait the lowest enters": (
        freed_first.test_of_sms_freed_in_one_cycle_the_first_behind_the_last_one_to_enter_is_first,
        (Change(FreedFirst, "tick", MOVES, "self._entry_pointer = 0"),),
    ),
    "freed_first: the SM that entered is first again": (
        freed_first.test_an_sm_freed_twice_lets_the_others_go_before_it_enters_again,
        (Change(FreedFirst, "tick", MOVES, "self._entry_pointer = entering"),),
    ),
    "freed_first: the rotating pointer stays while nothing is resident": (
        freed_first.test_the_rotating_pointer_outlives_a_launch_and_moves_with_what_enters_in_vain,
        (Change(FreedFirst, "tick", MOVES, f"if resident:\n            {MOVES}"),),
    ),
    "freed_first: the table's pointer moves with every block": (
        freed_first.test_the_table_s_pointer_stays_while_blocks_go_by_the_queue,
        (
            Rewrite(
                FreedFirst,
                "choose",
                BY_QUEUE,
                BY_QUEUE.replace("return", f"{BY_TABLE}; {ON}; return"),
            ),
        ),
    ),
    "freed_first: the table's pointer stays while the queue holds an entry": (
        freed_first.test_the_table_s_pointer_moves_while_the_queue_is_not_empty,
        (
            Rewrite(
                FreedFirst,
                "choose",
                ON,
                f"if not self._queue:\n    {ON}",
            ),
        ),
    ),
    "order_table: the second position that does not exist is told": (
        freed_first.test_a_swap_s_refusal_names_its_first_position_that_does_not_exist,
        (Change(Model, "_swap", "bad[0]", "bad[-1]"),),
        (5, 7, 5),
    ),
    "error_count wraps": (
        errors.test_the_count_stays_at_its_highest_value,
        (
            Change(
                Model,
                "_show_error",
                "min(self._error_count + 1, highest)",
                "(self._error_count + 1) % (highest + 1)",
            ),
        ),
        (pytest.MonkeyPatch,),
    ),
    "stalls: SMs out of use count": (
        stalls.test_an_sm_out_of_use_does_not_count,
        (causes("for sm in self._sms if sm.in_use]", "for sm in self._sms]"),),
        (0b10, 30 - 7, stalls.LAST - 6),
    ),
    "stalls: a resource counts where every SM is full": (
        stalls.test_an_sm_out_of_use_does_not_count,
        (causes("not all(room) and", "not any(room) and"),),
        (0b10, 30 - 7, stalls.LAST - 6),
    ),
    "stalls: of several resources the first counts": (
        stalls.test_a_launch_that_is_limited_by_everything_counts_everything,
        (
            causes(
                "{resource for resource, limits in limiting if limits}",
                "set([resource for resource, limits in limiting if limits][:1])",
            ),
        ),
    ),
    "stalls: a cycle with a decision counts": (
        stalls.test_no_cycle_with_a_decision_counts,
        (causes("chosen is not None or not self._may_decide()", "not self._may_decide()"),),
        ("registers",),
    ),
    "stalls: a stopped head counts": (
        stalls.test_a_stopped_head_counts_no_more,
        (causes("not self._may_decide()", "self._cycle < self._head_since"),),
    ),
    "stalls: an offer counts where its SM has no room": (
        stalls.test_an_offer_does_not_count_where_its_sm_has_no_room,
        (causes("if any(room):", "if room:"),),
    ),
    "stalls: order counts for the second place alone": (
        stalls.test_a_launch_in_the_first_place_counts_as_well,
        (causes("if candidate[1] else", "if candidate[1] and candidate[0].number else"),),
    ),
    "stalls: the counters stay at their highest value": (
        stalls.test_the_counters_wrap,
        (
            Change(
                Model,
                "_count_stalls",
                "(self._counters[cause] + 1) % wrap",
                "min(self._counters[cause] + 1, wrap - 1)",
            ),
        ),
        (pytest.MonkeyPatch,),
    ),
    "a stop of both places means the first alone": (
        two_kills.test_both_are_killed_and_end_one_after_the_other,
        (Change(Model, "_take_stops", "if asked:", "if asked and not place.number:"),),
        (two_kills.TINY, 0),
    ),
}


@pytest.mark.parametrize("rule", WRONG)
def test_a_rule_wrong_in_rtl_and_model_alike_is_found(rule, monkeypatch):
    finder, model, *arguments = WRONG[rule]
    wrong = WrongRule(finder, (*RTL[rule], *model), *arguments)
    demand_found(wrong, (BlockDispatcher, Model), dispatch_rules, monkeypatch)
