"""Mailbox loses no abort: each goes to the launch path, and its section completes in time."""

from typing import Any, Final

from amaranth.hdl import Cat, Mux

from warploom.host import Mailbox
from warploom.host._launch_answers import LaunchAnswers
from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.formal.mailbox_view import CONFIG, Doorbells, OneSection
from warploom_dev.formal.properties.launch_path import (
    ABORT_ANSWERED,
    ABORT_REFUSED,
    in_a_row,
)
from warploom_dev.formal.properties.mailbox import assume_neighbours, free_inputs
from warploom_dev.planted import Change

_COUNT_BITS: Final = 3
#: Cycles from an abort's judgement to its section's completion: the other section's abort may have
#: been judged one cycle earlier. An abort is on its way for two cycles, and its answer counts a
#: cycle late.
COMPLETES: Final = 2 * (ABORT_REFUSED + 1) + 1 + ABORT_ANSWERED
#: Cycles that are searched of what is not proved for all time.
BOUND: Final = 34
#: Likewise of what is offered, which takes longest.
OFFERED: Final = 18

#: Seeded bugs in the block's source.
PLANTED: Final = {
    "short": Change(
        LaunchAnswers,
        "_send_aborts",
        "width=TICKET_BITS, depth=self._sections",
        "width=TICKET_BITS, depth=self._sections - 1",
    ),
}


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; it follows one section, which may be either.

    With ``short`` the queue of aborts is one place shorter.
    """
    size = "2 sections, 1 unit of 2 cores"
    b = FormalBench("mailbox_aborts", CONFIG, size, fault, PLANTED)
    dut: Any = Mailbox(CONFIG)
    given = free_inputs(b, dut)
    b.drive(dut, **given, read=0)
    bells = Doorbells(b, dut, given["write"])
    one = OneSection(b, bells)
    assume_neighbours(b, dut, bells)
    aborts = Cat(bells.aborts).any()
    taken, answered = dut.abort.valid & dut.abort.ready, dut.abort_answer.valid
    waiting, unanswered = b.register(_COUNT_BITS, "waiting"), b.register(_COUNT_BITS, "aborts")
    b.m.d.sync += [
        waiting.eq(waiting + b.before(aborts, "aborted_before") - taken),
        unanswered.eq(unanswered + taken - answered),
    ]
    _assume_launch_path(b, dut, unanswered, answered)
    b.check(
        "offered",
        "`abort` is valid from two cycles after an abort was judged until as many were taken",
        dut.abort.valid == (waiting != 0),
        fault="short",
        cover=("the second of two", dut.abort.valid & (waiting == 1) & b.before(taken, "taken")),
        bound=OFFERED,
        slow=True,
    )
    age = b.register(5, "age")
    waits = one.aborted[0]
    b.m.d.sync += age.eq(Mux(waits, age + ~age.all(), 0))
    b.check(
        "completes",
        f"an abort's section completes {COMPLETES} cycles after its judgement at the latest",
        ~waits | (age < COMPLETES),
        fault="short",
        cover=("behind another's, as late as that", one.aborted[1] & (age == COMPLETES - 1)),
        bound=BOUND,
    )
    return b.close()


def _assume_launch_path(b: FormalBench, dut: Any, unanswered: Any, answered: Any) -> None:
    """State how soon the launch path takes an abort and answers it."""
    b.assume(
        "abort_was_taken",
        "an abort is answered after it was taken, and once; no other is taken before its answer",
        (~answered | (unanswered != 0))
        & ((unanswered == 0) | answered | ~b.inputs["abort__ready"]),
        source="launch_path.abort_answer",
    )
    b.assume(
        "abort_answered",
        f"an abort is answered {ABORT_ANSWERED} cycles after it was taken at the latest",
        in_a_row(b, (unanswered != 0) & ~answered, "waits") < ABORT_ANSWERED,
        source="launch_path.abort_in_time",
    )
    b.assume(
        "abort_taken",
        f"`abort` is refused in {ABORT_REFUSED} cycles in a row at most",
        in_a_row(b, ~b.inputs["abort__ready"], "refused") <= ABORT_REFUSED,
        source="launch_path.abort_taken",
    )
