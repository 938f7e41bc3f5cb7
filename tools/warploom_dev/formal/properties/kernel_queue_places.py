"""KernelQueue with launches: each record has a place, and none is accepted without one."""

from dataclasses import replace
from typing import Any, Final

from warploom.launch._queue_commands import RoomNumbers
from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.formal.properties import kernel_queue_launches
from warploom_dev.formal.queue_view import QueueView
from warploom_dev.planted import Change
from warploom_spec import ErrorCode
from warploom_spec.queue import RecordKind
from warploom_spec.queue_packets import QueueOpcode

CONFIG: Final = replace(kernel_queue_launches.CONFIG, queue_depth=1)
SIZE: Final = "2 streams, 2 priorities, 1 entry each, no pairs, 8 records"
#: Cycles that are searched, until launches and PREEMPTs have reserved or filled all places.
FILLED: Final = 16
#: Likewise, up to the record of a launch that was put back, and some more.
MADE: Final = 17
PLANTED: Final = {
    # A PREEMPT reserves no record: launches are accepted without one.
    "unreserved": Change(
        RoomNumbers,
        "build",
        "_moved(reserved, self.accepts, self.preempts, was_taken)",
        "_moved(reserved, self.accepts, 0, was_taken)",
    ),
    "passes_twice": kernel_queue_launches.PLANTED["passes_twice"],
}


class Reserved:
    """The places that are reserved, counted from the ports alone.

    Attributes
    ----------
    after : Value
        Accepted launches and PREEMPTs, less records that were taken.
    unmade : Signal
        Accepted launches and PREEMPTs, less records that were made.
    """

    def __init__(self, view: QueueView) -> None:
        b, dut = view.b, view.dut
        asked = dut.command.valid & (dut.command.opcode == int(QueueOpcode.PREEMPT))
        named = b.before(asked, "preempt")
        launch, command = dut.answer, dut.command_answer
        preempts = b.value(named & command.valid & (command.code == 0), "accepts_preempt")
        more = b.value(launch.valid & (launch.code == 0), "accepts_launch") + preempts
        before, self.unmade = b.register(5, "reserved"), b.register(3, "unmade")
        self.after = b.value(before + more, "reserved_after", 5)
        b.m.d.sync += [
            before.eq(self.after - view.taken),
            self.unmade.eq(self.unmade + more - dut.record.valid),
        ]


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; its seeded bugs stand in `PLANTED`, and in `queue_view.BUGS`."""
    b = FormalBench("kernel_queue_places", CONFIG, SIZE, fault, PLANTED)
    view = QueueView(b)
    reserved = Reserved(view)
    _state_reserved(view, reserved)
    _state_made(view, reserved)
    return b.close()


def _state_reserved(view: QueueView, reserved: Reserved) -> None:
    """State that no more is accepted than there are places."""
    answer: Any = view.dut.answer
    refused = answer.valid & (answer.code == int(ErrorCode.COMPLETION_FULL))
    view.b.check(
        "reserved",
        "a launch or PREEMPT is accepted only if fewer than 4 `queue_depth` + 4 were accepted "
        "whose records are not taken",
        reserved.after <= CONFIG.records,
        fault="unreserved",
        cover=(
            "a launch is refused beside one that has no record",
            refused & reserved.unmade.any(),
        ),
        bound=FILLED,
    )


def _state_made(view: QueueView, reserved: Reserved) -> None:
    """State that what makes a record has a place for it."""
    b, record = view.b, view.dut.record
    is_launch = record.valid & (record.kind == int(RecordKind.LAUNCH))
    back, popped = b.register(1, "came_back"), b.register(1, "popped")
    b.m.d.sync += [back.eq(back | view.dut.put_back.valid), popped.eq(popped | view.taken)]
    b.check(
        "own",
        "a record is made only for a launch or PREEMPT that was accepted, and one for each",
        ~record.valid | reserved.unmade.any(),
        fault="passes_twice",
        cover=(
            "of the only one without a record, which was put back",
            is_launch & back & (reserved.unmade == 1),
        ),
        bound=MADE,
        slow=True,
    )
    b.check(
        "place",
        "a record is made only if fewer than 4 `queue_depth` + 4 are made and not taken",
        ~(record.valid & (view.outstanding == CONFIG.records)),
        fault="early_taken",
        cover=(
            "a launch has the last place after one was taken",
            is_launch & popped & (view.outstanding == CONFIG.records - 1),
        ),
        bound=FILLED,
        slow=True,
    )
