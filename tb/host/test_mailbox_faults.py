"""Mailbox beside its model, with a fault in the RTL: each is found."""

import pytest

from tb.host import test_mailbox_commands as commands
from tb.host import test_mailbox_pace as pace
from tb.host.test_mailbox import ODD, case
from tb.support.planted import Change, plant
from tb.support.record import made
from warploom.host._errors import Errors
from warploom.host._launch_answers import LaunchAnswers
from warploom.host._launch_turns import LaunchTurns
from warploom.host._verdict import Verdict
from warploom.host.mailbox import Mailbox
from warploom_sim.cosim.lockstep import LockstepError, run

WRONG = {
    "a doorbell that is refused takes no read": Change(
        Mailbox, "elaborate", "(m, asks, rung,", "(m, rung.any(), rung,"
    ),
    "two answers explain one command": Change(Errors, "_latest", "(held & stays)", "held"),
    "a reset's ERROR is that of the answer before it": Change(
        Errors, "elaborate", '"is_reset", self.interrupted', '"is_reset", self.interrupted & 0'
    ),
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
        LaunchAnswers, "_in_order", "(queue.r_data, answer", "(self.section, answer"
    ),
    "a command that was sent is interrupted": Change(
        LaunchAnswers, "elaborate", "self.aborts | self.commands)", "self.aborts)"
    ),
    "a launch that was turned away awaits no answer": Change(
        LaunchAnswers, "elaborate", "judged | left)", "judged | (left & self.goes.replicate(64)))"
    ),
    "another section's launch is shown": Change(
        LaunchTurns, "elaborate", " & (was_read == section)", ""
    ),
    "a launch goes while a stream is being mended": Change(
        LaunchTurns, "elaborate", " & ~self.clearing", ""
    ),
    "a launch goes without the pace": Change(LaunchTurns, "elaborate", " & self.pace", ""),
    "a launch goes without a place for its record": Change(
        LaunchTurns, "elaborate", "room & self.records_left", "room"
    ),
    "room is that of priority 0": Change(
        LaunchTurns, "elaborate", "bit_select(self.priority, 1)", "bit_select(0, 1)"
    ),
    "no place for a record is QUEUE_FULL": Change(
        LaunchTurns, "elaborate", "Mux(room, completion_full, queue_full)", "queue_full"
    ),
    "launches that wait outlive the closing": Change(
        LaunchTurns, "_queue", 'ResetInserter({"sync": self.closed})(queue)', "queue"
    ),
    "the oldest launch outlives the closing": Change(
        LaunchTurns, "_queue", "with m.If(self.closed):", "with m.If(0):"
    ),
    "a launch overtakes those that wait": Change(
        LaunchTurns, "_queue", "Mux(queue.r_rdy, queue.r_data, judged)", "judged"
    ),
    "T5's reserved bit is not looked at": Change(
        Verdict, "_too_large", "widths[RESERVED_FIELD] = 0", "pass"
    ),
    "ticket and number outlive the next doorbell": Change(
        Mailbox, "_keep_answers", "(held | launched) & ~rings", "held | launched"
    ),
    "a completion beside a command is not told": Change(
        Mailbox, "elaborate", "completed.any()", "completed.any() & ~self.command.valid"
    ),
}


#: Those that random hosts seldom show, and the test by hand that finds each; the last arguments
#: are its own.
BY_HAND = {
    "every pair exists": (
        commands.test_a_wait_that_this_configuration_does_not_have_is_refused,
        commands.TINY,
        "a pair that no launch has",
    ),
    "a launch that was turned away awaits no answer": (
        pace.test_a_launch_that_leaves_in_the_last_cycle_before_the_mailbox_closes_is_answered,
        pace.CONFIG,
        True,
    ),
    "launches that wait outlive the closing": (
        pace.test_however_short_the_closing_is_no_launch_of_any_section_waits_behind_it,
        pace.CONFIG,
        22,
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in WRONG if name not in BY_HAND])
def test_lockstep_finds_a_wrong_rule(name, seed, monkeypatch):
    plant(monkeypatch, [WRONG[name]])
    with pytest.raises(LockstepError):
        run([case(ODD, seed + k, 3000) for k in range(40)], "amaranth", waves=False)


@pytest.mark.parametrize("name", BY_HAND)
def test_a_test_by_hand_finds_what_random_hosts_seldom_show(name, monkeypatch):
    plant(monkeypatch, [WRONG[name]])
    test, config, *arguments = BY_HAND[name]
    with pytest.raises(AssertionError):
        test(made(Mailbox, config), *arguments)
