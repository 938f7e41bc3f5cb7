"""Mailbox loses no abort: each is offered to the launch path, as long as it is not taken."""

from typing import Any, Final

from amaranth.hdl import Cat

from warploom.host import Mailbox
from warploom.host._launch_answers import LaunchAnswers
from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.formal.mailbox_view import CONFIG, Doorbells
from warploom_dev.formal.properties.mailbox import assume_neighbours, free_inputs
from warploom_dev.planted import Change

_COUNT_BITS: Final = 3
#: Cycles that are searched.
OFFERED: Final = 18

#: Seeded bugs in the block's source.
PLANTED: Final = {
    "short": Change(
        LaunchAnswers,
        "_send",
        "depth=self._sections",
        'depth=self._sections - (name == "abort")',
    ),
}


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; it counts the aborts of both sections.

    With ``short`` the queue of aborts is one place shorter.
    """
    size = "2 sections, 1 unit of 2 cores"
    b = FormalBench("mailbox_aborts", CONFIG, size, fault, PLANTED)
    dut: Any = Mailbox(CONFIG)
    given = free_inputs(b, dut)
    b.drive(dut, **given, read=0)
    bells = Doorbells(b, dut, given["write"])
    assume_neighbours(b, dut, bells)
    aborts = Cat(bells.aborts).any()
    taken = dut.abort.valid & dut.abort.ready
    waiting = b.register(_COUNT_BITS, "waiting")
    b.m.d.sync += waiting.eq(waiting + b.before(aborts, "aborted_before") - taken)
    b.check(
        "offered",
        "`abort` is valid from two cycles after an abort was judged until as many were taken",
        dut.abort.valid == (waiting != 0),
        fault="short",
        cover=("the second of two", dut.abort.valid & (waiting == 1) & b.before(taken, "taken")),
        bound=OFFERED,
    )
    return b.close()
