"""Each of LaunchPath's rules, wrong in RTL and model alike, is found by its own test."""

import pytest

from tb.launch import test_launch_path_restart as restart
from tb.launch import test_launch_path_rules as rules
from tb.support import path_rules
from tb.support.planted import Change
from tb.support.wrong_rules import WrongRule, demand_found
from warploom.launch import LaunchPath
from warploom.launch._launch_streams import LaunchStreams
from warploom_dev.rewrite import Rewrite
from warploom_golden.launch import LaunchPath as Model
from warploom_golden.launch.launch_waiting import Streams
from warploom_spec import ErrorCode

CLEARS = "if cleared is not None:"
BREAKS = "self._broken[record.stream] = True"
OTHER = 'self._streams.has_other_priority(stream, launch["priority"])'
BROKEN = "if self._streams.is_broken(stream)"
ALL_LOST = "self._no_sm"


def streams(old: str, new: str) -> Change:
    return Change(LaunchStreams, "elaborate", old, new)


COUNTS = "self._error_count = min(self._error_count + 1, highest)"

WRONG = {
    "the count of unknown stops wraps": WrongRule(
        rules.test_the_count_of_unknown_stops_stays_at_its_highest_value,
        (
            Rewrite(
                *(LaunchPath, "_stop", "nowhere & ~self.error_count.all()"),
                "nowhere",
            ),
            Rewrite(
                *(Model, "_follow_stop", COUNTS),
                "self._error_count = (self._error_count + 1) % (highest + 1)",
            ),
        ),
        (pytest.MonkeyPatch,),
    ),
    "a stream that breaks and is mended in one cycle is sound": WrongRule(
        rules.test_a_stream_that_breaks_and_is_mended_in_one_cycle_is_broken,
        (
            streams(
                "m.If(state.breaks & (state.broken == n))",
                "m.If(state.breaks & (state.broken == n) & ~(state.mends & (state.mended == n)))",
            ),
            Change(Streams, "settle", BREAKS, BREAKS.replace("True", "record.stream != cleared")),
        ),
        (68, 0, ErrorCode.STREAM_BROKEN),
    ),
    "a break keeps every stream from being mended": WrongRule(
        rules.test_a_break_of_one_stream_lets_another_one_be_mended_in_its_cycle,
        (
            streams("m.Elif(state.mends &", "m.Elif(state.mends & ~state.breaks &"),
            Change(
                Streams,
                "settle",
                CLEARS,
                "if cleared is not None and not ("
                'record and record.fields["code"] == ErrorCode.SM_LOST):',
            ),
        ),
    ),
    "STREAM_BROKEN comes before STREAM_PRIORITY": WrongRule(
        rules.test_another_priority_is_told_before_a_broken_stream,
        (
            streams("Mux(other, Err", "Mux(other & ~is_broken, Err"),
            Change(Model, "_refusal", OTHER, f"{OTHER} and not self._streams.is_broken(stream)"),
        ),
    ),
    "NO_SM comes before STREAM_BROKEN": WrongRule(
        rules.test_a_broken_stream_is_told_before_no_sm,
        (
            streams("Mux(is_broken, ", "Mux(is_broken & ~self.no_sm, "),
            Change(Model, "_refusal", BROKEN, f"{BROKEN} and not {ALL_LOST}"),
        ),
    ),
    "a waiting launch fails for NO_SM first": WrongRule(
        rules.test_a_waiting_launch_of_a_broken_stream_fails_for_that_when_every_sm_is_lost_too,
        (
            Change(
                LaunchPath,
                "_record",
                "ends.eq(record)",
                "[ends.eq(record), ends.code.eq(Mux(self._dispatcher.lost.all()"
                " & ~queue.oldest.taken_back, ErrorCode.NO_SM, record.code))]",
            ),
            Change(
                Model,
                "_wires",
                'self._streams.was_broken(oldest.launch["stream"])',
                "not self._no_sm",
            ),
        ),
    ),
    "COMPLETION_FULL comes before NO_SM": WrongRule(
        rules.test_no_place_for_a_record_is_told_after_no_sm,
        (
            streams("Mux(self.no_sm, ", "Mux(self.no_sm & ~no_place, "),
            Change(
                Model,
                "_refusal",
                ALL_LOST,
                f"{ALL_LOST} and self._reserved != self._timing.end_records",
            ),
        ),
    ),
    "a soft reset lets waiting launches wait": WrongRule(
        restart.test_waiting_launches_are_skipped_whatever_becomes_of_those_in_a_place,
        (
            Change(LaunchPath, "_build", "back.eq(closed)", "back.eq(0)"),
            Change(Model, "_follow_stop", "if self._closed:", "if False:"),
        ),
    ),
    "after the highest ticket comes 0": WrongRule(
        rules.test_after_the_highest_ticket_comes_1,
        (
            Change(LaunchPath, "_tickets", "ticket + 1 + ticket.all()", "ticket + 1"),
            Change(
                Model,
                "_answer_leaving",
                "ticket % ((1 << TICKET_BITS) - 1) + 1",
                "(ticket + 1) % (1 << TICKET_BITS)",
            ),
        ),
    ),
}


@pytest.mark.parametrize("rule", WRONG)
def test_a_rule_wrong_in_rtl_and_model_alike_is_found(rule, monkeypatch):
    demand_found(WRONG[rule], (LaunchPath, Model), path_rules, monkeypatch)
