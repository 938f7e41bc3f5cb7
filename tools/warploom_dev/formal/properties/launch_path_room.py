"""LaunchPath's ``room`` promises a place in both queues, each of them full once."""

from dataclasses import replace
from typing import Any, Final

from amaranth.hdl import Signal

from warploom.launch import LaunchPath
from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.formal.properties import launch_path
from warploom_spec import ErrorCode, timing

#: Indices take time, and more places in no queue.
CONFIG: Final = replace(launch_path.CONFIG, index_memory_warps=0)
ANSWER: Final = launch_path.ANSWER
_COUNT_BITS: Final = 5
#: Cycles that are searched: up to the cover of each, and two more.
FULL_QUEUE: Final = 18
FULL_RECORDS: Final = 27


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; no SM is enabled, and a soft reset ends launches.

    With ``room_unseen`` the source takes ``room`` as 1.
    """
    size = "no indices, launches of one block that is never offered"
    b = FormalBench("launch_path_room", CONFIG, size, fault)
    # Its ports are made from a dictionary: no type checker sees them.
    dut: Any = LaunchPath(CONFIG, soft_reset=True)
    sent = b.free(1, "launch__valid")
    layout = dut.launch.payload.shape()
    launch: Any = Signal(layout, name="bench_launch")
    ones = dict.fromkeys(("gy", "gz", "dx", "dy", "dz"), 1)
    b.m.d.comb += [launch.gx.eq(b.free(1, "gx")), *(launch[name].eq(1) for name in ones)]
    streams = ("stop", "clear_stream", "report__0")
    unused = [f"{name}__{part}" for name in streams for part in ("valid", "payload")]
    nothing = dict.fromkeys(["enable", "tables", "restart", *unused], 0)
    b.drive(dut, launch__payload=launch, **nothing)
    answer = dut.answer
    room = b.value(dut.room | (b.fault == "room_unseen"), "room")
    polite = Signal(name="bench_polite", init=1)
    b.m.d.sync += polite.eq(polite & (~sent | room))
    its = b.value(answer.valid & polite & b.past(sent, ANSWER, "sent"), "answered_politely")
    accepted = b.value(its & answer.ticket.any(), "accepted")
    # Records that are reserved by launches that were answered.
    reserved = b.register(_COUNT_BITS, "reserved")
    given = answer.valid & answer.ticket.any()
    b.m.d.sync += reserved.eq(reserved + given - (dut.ended.valid & b.inputs["ended__ready"]))
    last = b.value(accepted & ~b.past(dut.room, ANSWER - 1, "room_after"), "last")
    records = timing(CONFIG).end_records
    # With so few records it is the waiting queue that is full.
    few = records - ANSWER - 1
    for name, code, what, case, bound in (
        (
            "queue",
            ErrorCode.QUEUE_FULL,
            "the waiting queue is full",
            last & (reserved < few),
            FULL_QUEUE,
        ),
        (
            "records",
            ErrorCode.COMPLETION_FULL,
            "every record is reserved",
            last & (reserved == records - 1),
            FULL_RECORDS,
        ),
    ):
        b.check(
            name,
            f"no launch is refused because {what} if each was sent in a cycle with `room`",
            ~(its & (answer.code == int(code))),
            fault="room_unseen",
            cover=("the last one for which there was room is accepted", case),
            bound=bound,
        )
    return b.close()
