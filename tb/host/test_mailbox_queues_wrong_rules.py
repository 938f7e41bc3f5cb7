"""Mailbox's queues and its first verdict, wrong in RTL and model alike: each is found."""

import pytest

from tb.host import accesses
from tb.host import test_mailbox_queues as queues
from tb.host import test_mailbox_rules as rules
from tb.support.record import made
from tb.support.wrong_rules import WrongRule, demand_found
from warploom.host._launch_answers import LaunchAnswers
from warploom.host._verdict import Verdict
from warploom.host.mailbox import Mailbox
from warploom_dev.rewrite import Rewrite
from warploom_golden.host import Mailbox as Model
from warploom_golden.host.mailbox_launches import SendQueue

SENDS = "self._queue.append(packet)"
DISCONNECTED = """if has_unit and self._disconnected[number]:
    return Verdict(HostError.DISCONNECTED)
"""
UNKNOWN = """if opcode is None or (opcode in LAUNCH_COMMANDS and not self._launches):
    return Verdict(HostError.BAD_OPCODE)
"""
FIRST = "(disconnected, HostError.DISCONNECTED)"


def boxed(test, config):
    """Return the test of a mailbox, RTL or model, as one that makes it."""
    return lambda block, *arguments: test(made(block, config), *arguments)


WRONG = {
    "BAD_OPCODE comes before DISCONNECTED": WrongRule(
        boxed(rules.test_disconnected_is_told_before_anything_else, rules.TINY),
        (
            Rewrite(Verdict, "elaborate", FIRST, FIRST.replace(",", " & known,", 1)),
            Rewrite(Model, "_verdict", DISCONNECTED + UNKNOWN, UNKNOWN + DISCONNECTED),
        ),
        (3,),
    ),
    "a busy section refuses writes without bytes": WrongRule(
        boxed(rules.test_a_write_without_bytes_to_a_busy_section_is_not_refused, rules.TINY),
        (
            Rewrite(
                Mailbox,
                "_write",
                "shut | wrong | (altering & rung)",
                "shut | wrong | rung",
            ),
            Rewrite(
                Model,
                "_refuses",
                "if not write['strobes']:\n    return False",
                "if not write['strobes']:\n    held = self._sections[section]\n"
                "    return bool(held.doorbell or held.doorbell_before)",
            ),
        ),
    ),
    # The register behind the queue holds one abort.
    "the queue of aborts is one place short": WrongRule(
        boxed(queues.test_every_section_aborts_while_no_abort_is_taken, queues.CONFIG),
        (
            Rewrite(
                LaunchAnswers,
                "_send",
                "SyncFIFO(width=width, depth=self._sections)",
                "SyncFIFO(width=width, depth=self._sections - 2)",
            ),
            Rewrite(
                SendQueue,
                "add",
                SENDS,
                f"if len(self._queue) < {queues.SECTIONS - 2}:\n    {SENDS}",
            ),
        ),
    ),
}


@pytest.mark.parametrize("rule", WRONG)
def test_a_rule_wrong_in_rtl_and_model_alike_is_found(rule, monkeypatch):
    demand_found(WRONG[rule], (Mailbox, Model), accesses, monkeypatch)
