"""Each of the dispatcher's rules, wrong in RTL and model alike, is found by its own test."""

import pytest

from tb.dispatch import test_block_dispatcher_error_rules as errors
from tb.dispatch import test_block_dispatcher_stall_rules as stalls
from tb.dispatch import test_block_dispatcher_two_kills_rules as two_kills
from tb.dispatch.placement import test_freed_first_rules as freed_first
from tb.support import dispatch_rules
from tb.support.planted import Change
from tb.support.wrong_rules import WrongRule, demand_found
from warploom.dispatch import BlockDispatcher
from warploom.dispatch._resident_places import ResidentPlaces
from warploom.dispatch.placement import placement
from warploom.dispatch.placement.placement import Placement
from warploom.dispatch.sm.port import SmPort
from warploom_golden.dispatch import BlockDispatcher as Model
from warploom_golden.dispatch.placement.placement import FreedFirst

MOVES = "self._entry_pointer = (entering + 1) % len(self._waiting)"
FOLLOWING = "Cat(C(0, 1), Mux(some_ahead, ahead_up_to, up_to))"
STAYING = f'Mux(some_ahead, ahead_up_to, up_to) if name == "waiting" else {FOLLOWING}'
STALLED = "places.active & ~placement.decided"
LACKING = "lacking = reduce(or_, (port.lacks & port.in_use.replicate(5) for port in ports))"
ALONE = "lacking = lacking | Cat(C(0, 1), alone & full.replicate(4))"
HAS_ROOM = "self._has_room(sm, head)"
SOME_LACKS = "any(lacks[resource] for lacks in lacking)"
#: What every SM in use lacks; a lack that the fit table tells is an SM's own as well.
EVERY = """lacking = reduce(lambda one, other: one & other, (
            port.lacks | Cat(C(0, 1), alone & port.full.replicate(4))
            | ~port.in_use.replicate(5) for port in ports
        ))"""
KILLS = "kills = [(sm, kill_mask(sm, killed)) for sm in silent]"
#: While the first place has blocks on an SM and is being killed, the second place's are not named.
FIRST_PLACE_FIRST = """kills = [
        (sm, kill_mask(sm, [p for p in killed if not (p.number and vars(sm).get("first"))]))
        for sm in silent
    ]
    for sm in self._sms:
        sm.first = any(b.place.number == 0 and b.place.stop is Stop.KILL for b in sm.held())
"""


def stall(old: str, new: str) -> Change:
    return Change(BlockDispatcher, "_count_stalls", old, new)


def model_stall(old: str, new: str) -> Change:
    return Change(Model, "_count_stalls", old, new)


WRONG = {
    "freed_first: of several that wait the lowest enters": WrongRule(
        freed_first.test_of_sms_freed_in_one_cycle_the_first_behind_the_last_one_to_enter_is_first,
        (
            Change(
                Placement,
                "_queue",
                '_rotating(m, "waiting", waiting, enters)',
                'first_of(m, "waiting", waiting)',
            ),
            Change(FreedFirst, "tick", MOVES, "self._entry_pointer = 0"),
        ),
    ),
    "freed_first: the SM that entered is first again": WrongRule(
        freed_first.test_an_sm_freed_twice_lets_the_others_go_before_it_enters_again,
        (
            Change(placement, "_rotating", FOLLOWING, STAYING),
            Change(FreedFirst, "tick", MOVES, "self._entry_pointer = entering"),
        ),
    ),
    "freed_first: the rotating pointer stays while nothing is resident": WrongRule(
        freed_first.test_the_rotating_pointer_outlives_a_launch_and_moves_with_what_enters_in_vain,
        (
            Change(Placement, "_queue", "waiting, enters)", "waiting, enters & self.resident)"),
            Change(FreedFirst, "tick", MOVES, f"if resident:\n            {MOVES}"),
        ),
    ),
    "order_table: the second position that does not exist is told": WrongRule(
        freed_first.test_a_swap_s_refusal_names_its_first_position_that_does_not_exist,
        (
            Change(
                Placement,
                "_freed_first",
                "Mux(bad[0], self.first, self.second)",
                "Mux(bad[1], self.second, self.first)",
            ),
            Change(Model, "_swap", "bad[0]", "bad[-1]"),
        ),
        (5, 7, 5),
    ),
    "error_count wraps": WrongRule(
        errors.test_the_count_stays_at_its_highest_value,
        (
            Change(BlockDispatcher, "_report", "some & ~self.error_count.all()", "some"),
            Change(
                Model,
                "_record",
                "min(self._error_count + 1, highest)",
                "(self._error_count + 1) % (highest + 1)",
            ),
        ),
        (pytest.MonkeyPatch,),
    ),
    "stalls: what SMs out of use lack counts": WrongRule(
        stalls.test_an_sm_out_of_use_lacks_nothing,
        (
            stall("port.lacks & port.in_use.replicate(5)", "port.lacks"),
            stall("port.in_use & port.full", "port.full"),
            model_stall("[sm for sm in self._sms if sm.in_use]", "self._sms"),
            model_stall(HAS_ROOM, f"sm.in_use and {HAS_ROOM}"),
        ),
        (0b10, stalls.LAST - 4, 30 - 20),
    ),
    "stalls: what every SM lacks counts": WrongRule(
        stalls.test_what_one_sm_lacks_counts_and_what_another_lacks_as_well,
        (
            stall(LACKING, EVERY),
            stall(ALONE, "pass"),
            model_stall(SOME_LACKS, "all(lacks[resource] for lacks in lacking)"),
        ),
    ),
    "stalls: of several resources the first counts": WrongRule(
        stalls.test_a_block_that_lacks_everything_counts_everything,
        (
            stall(ALONE, f"{ALONE}\n    lacking = lacking & (~lacking + 1)[:5]"),
            model_stall(SOME_LACKS, f"{SOME_LACKS} and not any(counts[1:6])"),
        ),
    ),
    "stalls: a cycle with a decision counts": WrongRule(
        stalls.test_no_cycle_with_a_decision_counts,
        (
            stall(STALLED, "places.active"),
            model_stall(" and chosen is None", ""),
            model_stall(HAS_ROOM, f"{HAS_ROOM} and not self._port_free(sm, inputs)"),
        ),
        ("registers",),
    ),
    "stalls: a stopped head counts": WrongRule(
        stalls.test_a_stopped_head_counts_no_more,
        (
            stall(STALLED, "places.head_valid & ~placement.decided"),
            model_stall(" and not head.stop", ""),
        ),
    ),
    "stalls: an offer counts where its SM has no room": WrongRule(
        stalls.test_an_offer_does_not_count_where_its_sm_has_no_room,
        (
            stall("port.room & ~port.open", "port.in_use & ~port.open"),
            model_stall(HAS_ROOM, "not self._port_free(sm, inputs)"),
        ),
    ),
    "stalls: order counts for the second place alone": WrongRule(
        stalls.test_a_launch_in_the_first_place_counts_as_well,
        (
            Change(ResidentPlaces, "_choose", "(could & ordered).any()", "(could & ordered)[1]"),
            Change(Model, "_next_to_walk", "return None, True", "return None, place.number == 1"),
        ),
    ),
    "stalls: the counters stay at their highest value": WrongRule(
        stalls.test_the_counters_wrap,
        (
            stall(
                "counters.step.eq(causes)",
                "counters.step.eq(causes & ~Cat(value.all() for value in counters.values))",
            ),
            model_stall("(total + one) % wrap", "min(total + one, wrap - 1)"),
        ),
        (pytest.MonkeyPatch,),
    ),
    "a kill names the blocks of one launch alone": WrongRule(
        two_kills.test_one_kill_names_the_blocks_of_both_and_its_acknowledgement_ends_both,
        (
            Change(
                SmPort,
                "_kill",
                "doomed.eq(self.stop_kill & self.present)",
                "doomed.eq((both := self.stop_kill & self.present) & Cat(1, ~both[0]))",
            ),
            Change(Model, "_process", KILLS, FIRST_PLACE_FIRST),
        ),
        (two_kills.OUT_OF_ORDER, 39),
    ),
}


@pytest.mark.parametrize("rule", WRONG)
def test_a_rule_wrong_in_rtl_and_model_alike_is_found(rule, monkeypatch):
    demand_found(WRONG[rule], (BlockDispatcher, Model), dispatch_rules, monkeypatch)
