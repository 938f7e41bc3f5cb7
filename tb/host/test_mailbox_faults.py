"""Mailbox beside its model, with a fault in the RTL: each is found."""

import pytest

from tb.host.test_mailbox import ODD, case
from tb.support.deep_values import deep_but
from tb.support.planted import Change, plant
from warploom.host._launch_answers import LaunchAnswers
from warploom.host._verdict import Verdict
from warploom.host.mailbox import Mailbox
from warploom_sim.cosim.lockstep import LockstepError, run

WRONG = {
    "an empty mask is sent": Change(Verdict, "_wrong_mask", "~words.mask.any() | ", ""),
    "a stream that does not exist is sent": Change(
        Verdict, "_wrong_mask", "(above.any() if len(above) else 0)", "0"
    ),
    "RESUME is PREEMPT": Change(
        Verdict, "elaborate", "self.opcode.eq(int(number))", "self.opcode.eq(int(number) & 2)"
    ),
    "a pair without its flag is judged": Change(
        Verdict, "_wrong_waits", "launch.flags[k] & wrong", "wrong"
    ),
    "every pair exists": Change(Verdict, "_wrong_waits", "k < self._config.launch_waits", "True"),
    "an answer goes to the section that is judged": Change(
        LaunchAnswers, "_a_cycle_later", "(section == k)", "(self.section == k)"
    ),
    "a command that was sent is interrupted": Change(
        LaunchAnswers,
        "elaborate",
        "self.launches | self.aborts | self.commands",
        "self.launches | self.aborts",
    ),
    "ticket and number outlive the next doorbell": Change(
        Mailbox, "_keep_answers", "(held | launched) & ~rings", "held | launched"
    ),
    "a completion beside a command is not told": Change(
        Mailbox, "elaborate", "completed.any()", "completed.any() & ~self.command.valid"
    ),
}


#: All but the slowest are thorough, not deep.
SOON = tuple(name for name in WRONG if name != "every pair exists")


@pytest.mark.parametrize("name", deep_but([], WRONG, thorough=SOON))
def test_lockstep_finds_a_wrong_rule(name, seed, monkeypatch):
    plant(monkeypatch, [WRONG[name]])
    with pytest.raises(LockstepError):
        run([case(ODD, seed + k, 3000) for k in range(12)], "amaranth", waves=False)
