"""What stays in Mailbox, wrong in RTL and model alike: each is found by its own test."""

import pytest

from tb.host import accesses
from tb.host import test_mailbox_kept_rules as rules
from tb.support.planted import Change
from tb.support.record import made
from tb.support.wrong_rules import WrongRule, demand_found
from warploom.host._launch_answers import LaunchAnswers
from warploom.host._task_words import TaskWords
from warploom.host._verdict import Verdict
from warploom.host.mailbox import Mailbox
from warploom_golden.host import Mailbox as Model
from warploom_golden.host.mailbox_launches import LaunchSide

RUNG = "before = [section.doorbell for section"
#: Answers to what a wrong rule did not run: the model does not count them.
COMPLETED = Change(Mailbox, "elaborate", "completed.any()", "(completed & doorbell).any()")
INTERRUPTED = "closed and s.doorbell and not s.awaits"


def boxed(test):
    """Return the test of a mailbox, RTL or model, as one that makes it."""
    return lambda block, *arguments: test(made(block, rules.TINY), *arguments)


WRONG = {
    "`completed` does not tell of sections that a soft reset interrupts": WrongRule(
        boxed(rules.test_each_way_in_which_a_section_completes_is_told_once),
        (
            Change(Mailbox, "elaborate", "completed.any()", "(completed & ~interrupted).any()"),
            Change(
                Model,
                "tick",
                RUNG,
                "before = [section.doorbell and (section.awaits or not self._closed) for section",
            ),
        ),
        ("soft reset",),
    ),
    "a command right behind its unit's reset is still DISCONNECTED": WrongRule(
        boxed(rules.test_a_command_behind_its_unit_s_reset_is_run),
        (
            Change(
                Verdict,
                "elaborate",
                "stays = self.disconnected & ~self.unit_reset",
                "stays = self.disconnected",
            ),
            COMPLETED,
            Change(Model, "tick", RUNG, f"was = list(self._disconnected)\n    {RUNG}"),
            Change(
                Model,
                "tick",
                "self._active_before.popleft()",
                "self._active_before.popleft()\n    self._was = was",
            ),
            Change(
                Model,
                "_verdict",
                "self._disconnected[number]",
                'getattr(self, "_was", self._disconnected)[number]',
            ),
        ),
        (11, True),
    ),
    "a unit's reset connects all sections": WrongRule(
        rules.test_a_section_stays_disconnected_alone_and_until_its_own_unit_s_reset,
        (
            Change(
                Verdict,
                "elaborate",
                "stays = self.disconnected & ~self.unit_reset",
                "stays = self.disconnected & ~self.unit_reset.any().replicate(config.units)",
            ),
            Change(
                Verdict,
                "elaborate",
                "        & ~self.unit_reset\n",
                "        & ~self.unit_reset.any().replicate(config.units)\n",
            ),
            Change(Model, "_take_unit_answers", 'inputs["unit_reset"] >> unit & 1', "any_reset"),
            Change(
                Model,
                "_take_unit_answers",
                "for unit in",
                'any_reset = inputs["unit_reset"]\n    for unit in',
            ),
        ),
    ),
    "a soft reset interrupts an abort that was sent": WrongRule(
        boxed(rules.test_an_abort_is_taken_and_answered_while_the_mailbox_is_closed),
        (
            Change(LaunchAnswers, "elaborate", "self.aborts | self.commands)", "self.commands)"),
            COMPLETED,
            Change(LaunchSide, "hand_on", "return True", "return opcode is not Opcode.ABORT"),
        ),
    ),
    "a unit's reset ends its section's command": WrongRule(
        boxed(rules.test_a_unit_s_reset_does_not_end_its_section_s_command),
        (
            Change(
                Mailbox,
                "elaborate",
                "closed.replicate(sections)",
                "(closed.replicate(sections) | self.unit_reset)",
            ),
            COMPLETED,
            Change(
                Model,
                "tick",
                INTERRUPTED,
                INTERRUPTED.replace("closed", '(closed or inputs["unit_reset"] & 1)'),
            ),
        ),
    ),
    "a unit's reset clears its section's words": WrongRule(
        rules.test_an_outcome_stays_until_its_section_s_next_doorbell,
        (
            Change(
                Mailbox,
                "_keep_outcomes",
                "outcome.clear.eq(rings[k] | ",
                "outcome.clear.eq((self.unit_reset[k] if k < config.units else 0) | rings[k] | ",
            ),
            Change(
                Mailbox,
                "_keep_outcomes",
                'before(m, "rung_before", rings)',
                'before(m, "rung_before", rings | self.unit_reset)',
            ),
            Change(
                Model,
                "_take_unit_answers",
                "self._disconnected[unit] = 0",
                "self._disconnected[unit] = 0; self._sections[unit].outcome.clear()",
            ),
        ),
    ),
    "a doorbell that is rung again while its command runs counts": WrongRule(
        boxed(rules.test_a_refused_write_leaves_a_running_command_alone),
        (
            Change(
                Mailbox,
                "_write",
                "may_ring & free.replicate(self._config.sections)",
                "may_ring",
            ),
            Change(
                Model,
                "tick",
                "not self._refuses(write)",
                '(not self._refuses(write) or write["address"] & 0x7F == 0)',
            ),
        ),
        ("DOORBELL",),
    ),
    "a task word takes writes that are refused": WrongRule(
        boxed(rules.test_task_words_outlive_commands_soft_resets_and_refused_writes),
        (
            Change(TaskWords, "elaborate", "strobes & self.performs.replicate(4)", "strobes"),
            COMPLETED,
            Change(
                Model,
                "tick",
                "not self._refuses(write)",
                '(not self._refuses(write) or write["address"] & 0x7F >= 0x20)',
            ),
        ),
    ),
}


@pytest.mark.parametrize("rule", WRONG)
def test_a_rule_wrong_in_rtl_and_model_alike_is_found(rule, monkeypatch):
    demand_found(WRONG[rule], (Mailbox, Model), accesses, monkeypatch)
