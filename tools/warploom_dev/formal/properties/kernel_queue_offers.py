"""KernelQueue: a launch that was put back is offered again as soon as nothing keeps it."""

from typing import Any, Final

from amaranth.hdl import Cat, Mux

from warploom.launch._queue_streams import QueueStreams
from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.formal.properties.kernel_queue_launches import CONFIG, SIZE, OneLaunch
from warploom_dev.formal.queue_view import QueueView
from warploom_dev.planted import Change
from warploom_spec.queue import RecordKind
from warploom_spec.queue_packets import QueueOpcode

#: Cycles in which nothing keeps the launch, up to its offer.
OFFERED: Final = 3
#: Cycles that are searched: it is stopped, put back, and nothing keeps it any more.
BOUND: Final = 19
PLANTED: Final = {
    # What is put back is not suspended: no one chooses it again.
    "never_suspended": Change(
        QueueStreams,
        "_started",
        "(self.suspended[k] & ~chosen & stays[k]) | suspends",
        "self.suspended[k] & ~chosen & stays[k]",
    ),
}


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; its seeded bugs are those of `PLANTED`."""
    b = FormalBench("kernel_queue_offers", CONFIG, SIZE, fault, PLANTED)
    view = QueueView(b)
    launch = OneLaunch(view)
    waits = b.register(range(OFFERED + 1), "waits")
    away = launch.recorded | launch.made | launch.in_place | launch.ends | launch.offered
    lies = b.value(launch.alone & launch.came_back & ~away & ~_keeps(view), "lies")
    b.m.d.sync += waits.eq(Mux(lies, Mux(waits == OFFERED, OFFERED, waits + 1), 0))
    b.check(
        "offered_again",
        f"a launch that was put back is offered again within {OFFERED} cycles in which it is the "
        "only one without a record, no PREEMPT holds a stream, no command comes, and no launch was "
        "aborted",
        waits != OFFERED,
        fault="never_suspended",
        cover=("in the last of them", launch.offered & (waits == OFFERED - 1)),
        bound=BOUND,
    )
    return b.close()


def _keeps(view: QueueView) -> Any:
    """Return whether a command or an ABORT may keep a launch: rather too often than too seldom.

    A PREEMPT holds until all streams were resumed, and its record has come. An ABORT or an
    ABORT_STREAMS may be of this launch, which then passes with its record.
    """
    b, dut = view.b, view.dut
    held, pending, asked = (b.register(1, f"preempt_{n}") for n in ("holds", "is_pending", "asked"))
    aborted = b.register(1, "aborted_some")
    opcode = dut.command.opcode
    preempts = dut.command.valid & (opcode == int(QueueOpcode.PREEMPT))
    resumes = dut.command.valid & (opcode == int(QueueOpcode.RESUME)) & dut.command.mask.all()
    done = dut.record.valid & (dut.record.kind == int(RecordKind.PREEMPT))
    aborts = dut.command.valid & (opcode >= int(QueueOpcode.ABORT_STREAMS))
    b.m.d.sync += [
        aborted.eq(aborted | aborts | dut.abort.valid),
        pending.eq((pending & ~done) | preempts),
        asked.eq(((asked & pending) | resumes) & ~preempts),
        held.eq((held & ~(asked & ~pending)) | preempts),
    ]
    return Cat(held, pending, dut.command.valid, aborted, dut.abort.valid).any()
