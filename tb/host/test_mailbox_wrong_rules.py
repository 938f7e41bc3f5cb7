"""Mailbox's rules of launches, closing and results, wrong in RTL and model alike: each is found.

A comparison of the two cannot find them.
"""

import pytest

from tb.host import mailbox_script
from tb.host import test_mailbox_launches as rules
from tb.host import test_mailbox_rules as task_rules
from tb.host.test_mailbox_rules import TINY
from tb.support.planted import Change
from tb.support.wrong_rules import WrongRule, demand_found
from warploom.host._launch_answers import LaunchAnswers
from warploom.host._outcome import Outcome
from warploom.host.mailbox import Mailbox
from warploom_golden.host import Mailbox as Model
from warploom_golden.host.mailbox import Section
from warploom_spec.host_commands import Opcode

INTERRUPTED = "closed and s.doorbell and not s.awaits"
KEEPS_TICKET = 'section.outcome = {k: v for k, v in section.outcome.items() if k == "RESULT0"}'


def boxed(test):
    """Return the test of a mailbox, RTL or model, as one that makes it."""
    return lambda block, *arguments: test(block(TINY), *arguments)


WRONG = {
    "the last word with a value too large is named": WrongRule(
        boxed(rules.test_the_first_word_with_a_value_too_large_is_named),
        (
            Change(Mailbox, "_too_large", "-words.by_name", "words.by_name"),
            Change(Model, "_too_large", "min(words", "max(words"),
        ),
    ),
    "a launch's answer has no argument": WrongRule(
        boxed(rules.test_the_answer_to_a_launch_is_seen_from_the_next_cycle_on),
        (
            Change(Mailbox, "elaborate", "launched.code, launched.argument", "launched.code, C(0)"),
            Change(Model, "_take_launch_path_answers", ' | launch["argument"] << 16', ""),
        ),
        ("ERROR",),
    ),
    "an answer goes to the neighbour's section": WrongRule(
        boxed(rules.test_answers_go_to_the_sections_in_the_order_of_the_launches),
        (
            Change(LaunchAnswers, "_in_order", "queue.r_data == k", "queue.r_data == k ^ 1"),
            Change(
                Model,
                "_take_launch_path_answers",
                "self._launched.popleft()",
                "self._launched.popleft() ^ 1",
            ),
        ),
    ),
    "a ticket outlives the next command's doorbell": WrongRule(
        boxed(rules.test_answers_go_to_the_sections_in_the_order_of_the_launches),
        (
            Change(Mailbox, "_keep_tickets", "(held | launched) & ~rings", "held | launched"),
            Change(
                Section,
                "ring",
                "self.outcome.clear()",
                KEEPS_TICKET.replace("section", "self"),
            ),
        ),
    ),
    "an abort drains": WrongRule(
        boxed(rules.test_an_abort_stands_until_it_is_taken_and_answered),
        (
            Change(
                LaunchAnswers,
                "elaborate",
                "self.stop.payload.ticket.eq(stops.r_data)",
                "self.stop.payload.eq(Cat(stops.r_data, 1))",
            ),
            Change(Model, "_serve", '"drain": 0', '"drain": 1'),
        ),
    ),
    "an abort does not wait until it is taken": WrongRule(
        boxed(rules.test_an_abort_stands_until_it_is_taken_and_answered),
        (
            Change(LaunchAnswers, "elaborate", "r_en.eq(self.stop.ready)", "r_en.eq(1)"),
            Change(Model, "_send_stop", ' and inputs["stop__ready"]', ""),
        ),
    ),
    "a launch that was sent is interrupted": WrongRule(
        boxed(rules.test_a_launch_that_was_sent_is_answered_while_the_mailbox_is_closed),
        (
            Change(Mailbox, "elaborate", "doorbell & ~awaits & closed", "doorbell & closed"),
            Change(Model, "tick", INTERRUPTED, "closed and s.doorbell"),
        ),
        (1,),
    ),
    "a section that was answered is interrupted": WrongRule(
        boxed(rules.test_a_section_that_was_answered_keeps_its_words_when_the_mailbox_closes),
        (
            Change(Mailbox, "elaborate", "doorbell & ~awaits & closed", "~awaits & closed"),
            Change(Model, "tick", INTERRUPTED, "closed and not s.awaits"),
            # The RTL keeps a ticket until the next doorbell.
            Change(Model, "tick", "section.outcome.clear()", KEEPS_TICKET),
        ),
    ),
    "a launch is sent while the mailbox is closed": WrongRule(
        boxed(rules.test_a_command_is_not_judged_while_the_mailbox_is_closed),
        (
            Change(Mailbox, "elaborate", "serving & ~closed.replicate(sections)", "serving"),
            Change(Model, "tick", "judged is not None and not closed", "judged is not None"),
            Change(Model, "_sent_launch", 'or inputs["closed"] ', ""),
        ),
        (Opcode.LAUNCH,),
    ),
    "a task's end is heard while the mailbox is closed": WrongRule(
        boxed(rules.test_a_task_that_runs_when_the_mailbox_closes_ends_with_reset_and_nothing_else),
        (
            Change(Mailbox, "_keep_outcomes", "m.If(~closed)", "m.If(C(1))"),
            Change(Model, "_take_unit_answers", "if not closed:", "if True:"),
        ),
    ),
    "results show while their task runs": WrongRule(
        boxed(task_rules.test_results_show_with_the_status_and_not_while_the_task_runs),
        (
            Change(Outcome, "_keep_results", " & ~self.doorbell", ""),
            Change(Model, "_read_word", " and held.doorbell", " and not held"),
        ),
    ),
    "reads pass while the mailbox is closed": WrongRule(
        boxed(rules.test_every_access_is_refused_while_the_mailbox_is_closed),
        (
            Change(Mailbox, "_read", "inside & named & ~closed", "inside & named"),
            Change(Model, "_read_word", "place is None or closed", "place is None"),
        ),
    ),
    "writes pass while the mailbox is closed": WrongRule(
        boxed(rules.test_every_access_is_refused_while_the_mailbox_is_closed),
        (
            Change(Mailbox, "_write", "closed\n                | ~inside", "~inside"),
            Change(Model, "_refuses", 'inputs.get("closed", 0) or ', ""),
        ),
    ),
}


@pytest.mark.parametrize("rule", WRONG)
def test_a_rule_wrong_in_rtl_and_model_alike_is_found(rule, monkeypatch):
    demand_found(WRONG[rule], (Mailbox, Model), mailbox_script, monkeypatch)
