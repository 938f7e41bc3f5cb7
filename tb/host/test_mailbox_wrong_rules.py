"""Mailbox's rules of launches, closing and results, wrong in RTL and model alike: each is found.

A comparison of the two cannot find them.
"""

import pytest

from tb.host import accesses
from tb.host import test_mailbox_launches as rules
from tb.host import test_mailbox_rules as task_rules
from tb.host.test_mailbox_rules import TINY
from tb.support.planted import Change
from tb.support.wrong_rules import WrongRule, demand_found
from warploom.host import mailbox
from warploom.host._launch_answers import LaunchAnswers
from warploom.host._outcome import Outcome
from warploom.host._verdict import Verdict
from warploom.host.mailbox import Mailbox
from warploom_golden.host import Mailbox as Model
from warploom_golden.host.mailbox import Section
from warploom_golden.host.mailbox_launches import LaunchSide, SendQueue
from warploom_spec.host_commands import Opcode

INTERRUPTED = "closed and s.doorbell and not s.awaits"
KEEPS_TICKET = 'self.outcome = {k: v for k, v in self.outcome.items() if k == "RESULT0"}'


def boxed(test):
    """Return the test of a mailbox, RTL or model, as one that makes it."""
    return lambda block, *arguments: test(block(TINY), *arguments)


WRONG = {
    "the last word with a value too large is named": WrongRule(
        boxed(rules.test_the_first_word_with_a_value_too_large_is_named),
        (
            Change(Verdict, "_too_large", "-words.by_name", "words.by_name"),
            Change(Model, "_too_large", "min(words", "max(words"),
        ),
    ),
    "a launch's answer has no argument": WrongRule(
        boxed(rules.test_the_answer_to_a_launch_is_seen_from_the_second_cycle_on),
        (
            Change(
                mailbox,
                "explain_answers",
                "launched), code, argument",
                "launched), code, argument & 0",
            ),
            Change(LaunchSide, "take_answers", ' | launch["argument"] << 16', ""),
        ),
        ("ERROR",),
    ),
    "an answer goes to the neighbour's section": WrongRule(
        boxed(rules.test_answers_go_to_the_sections_in_the_order_of_the_launches),
        (
            Change(LaunchAnswers, "_in_order", "(queue.r_data,", "(queue.r_data ^ 1,"),
            Change(LaunchSide, "take_answers", "self._sent.popleft()", "self._sent.popleft() ^ 1"),
        ),
    ),
    "a ticket outlives the next command's doorbell": WrongRule(
        boxed(rules.test_answers_go_to_the_sections_in_the_order_of_the_launches),
        (
            Change(Mailbox, "_keep_answers", "(held | launched) & ~rings", "held | launched"),
            Change(Section, "ring", "self.outcome.clear()", KEEPS_TICKET),
            # With loops the RTL hides a ticket while the doorbell is 1.
            Change(Model, "_read_word", "in CORE_WORDS", 'in (*CORE_WORDS, "RESULT0")'),
        ),
    ),
    "an abort does not wait until it is taken": WrongRule(
        boxed(rules.test_an_abort_stands_until_it_is_taken_and_answered),
        (
            Change(LaunchAnswers, "_send", "~valid | to.ready", "1"),
            Change(SendQueue, "advance", "self.shown is None or ready", "1"),
        ),
    ),
    "a launch that was sent is interrupted": WrongRule(
        boxed(rules.test_a_launch_that_was_sent_is_answered_while_the_mailbox_is_closed),
        (
            Change(Mailbox, "elaborate", "doorbell & ~awaits & closed", "doorbell & closed"),
            Change(Mailbox, "elaborate", "completed.any()", "(completed & doorbell).any()"),
            Change(Model, "tick", INTERRUPTED, "closed and s.doorbell"),
        ),
        (1,),
    ),
    "a section that was answered is interrupted": WrongRule(
        boxed(rules.test_a_section_that_was_answered_keeps_its_words_when_the_mailbox_closes),
        (
            Change(Mailbox, "elaborate", "doorbell & ~awaits & closed", "~awaits & closed"),
            Change(Mailbox, "elaborate", "completed.any()", "(completed & doorbell).any()"),
            Change(Model, "tick", INTERRUPTED, "closed and not s.awaits"),
        ),
    ),
    "a command is not judged while the mailbox is shut": WrongRule(
        boxed(rules.test_a_command_that_was_rung_before_the_mailbox_is_shut_is_handed_on),
        (
            Change(
                Mailbox,
                "_launch_side",
                "side.ringing.eq(rings.any())",
                "side.ringing.eq(rings.any() & ~self.soft_reset_active)",
            ),
            Change(
                Mailbox,
                "elaborate",
                "serving.eq(rings)",
                "serving.eq(rings & ~self.soft_reset_active.replicate(sections))",
            ),
            Change(Model, "tick", "judged is not None", "judged is not None and not self._shut"),
        ),
        (Opcode.LAUNCH, 3),
    ),
    "the mailbox closes a cycle too early": WrongRule(
        boxed(
            rules.test_a_task_that_ends_in_the_last_cycle_before_the_mailbox_closes_has_its_error
        ),
        (
            Change(Mailbox, "_close", "closed.eq(active & settles)", "closed.eq(active & shut)"),
            Change(Model, "tick", "self._closed", "all(list(self._active_before)[1:])"),
        ),
    ),
    "the error of a task is that of its end's cycle": WrongRule(
        task_rules.test_a_completion_is_seen_from_the_next_cycle_on,
        (
            Change(
                Mailbox,
                "_keep_outcomes",
                "outcome.error.eq(self.error[k])",
                'outcome.error.eq(before(m, f"late_{k}", self.error[k]))',
            ),
            Change(
                Model,
                "_take_unit_answer",
                "self._ended.append(unit)",
                "self._ended = [unit]; self._take_unit_errors(inputs)",
            ),
        ),
    ),
    "a write passes in the cycle after a completion": WrongRule(
        boxed(task_rules.test_first_rule_that_holds_answers_a_write),
        (
            Change(
                Mailbox,
                "_write",
                'before(m, "rung", (here & (doorbell | rings)).any())',
                "Array(doorbell)[place]",
            ),
            Change(Model, "_refuses", " or self._sections[section].doorbell_before", ""),
        ),
    ),
    "a task's end is heard while the mailbox is closed": WrongRule(
        boxed(rules.test_a_task_that_runs_when_the_mailbox_closes_ends_with_reset_and_nothing_else),
        (
            Change(
                Mailbox,
                "elaborate",
                "closed, ended, explained",
                "closed, Cat(done.valid for done in self.done), explained",
            ),
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
        boxed(rules.test_every_access_is_refused_while_the_mailbox_is_shut),
        (
            Change(Mailbox, "_read", "answers & ~shut", "answers"),
            Change(Model, "_read_word", "place is None or self._shut", "place is None"),
        ),
    ),
    "writes pass while the mailbox is closed": WrongRule(
        boxed(rules.test_every_access_is_refused_while_the_mailbox_is_shut),
        (
            Change(
                Mailbox, "_write", "shut | wrong | (altering & rung)", "wrong | (altering & rung)"
            ),
            Change(Model, "_refuses", "self._shut or ", ""),
        ),
    ),
}


@pytest.mark.parametrize("rule", WRONG)
def test_a_rule_wrong_in_rtl_and_model_alike_is_found(rule, monkeypatch):
    demand_found(WRONG[rule], (Mailbox, Model), accesses, monkeypatch)
