"""LaunchPath's ``room`` promises an entry and a record, each of them used up once."""

from typing import Any, Final

from amaranth.hdl import C, Cat, Signal, Value

from warploom.launch import LaunchPath
from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.formal.properties import launch_path
from warploom_spec import ErrorCode
from warploom_spec.queue_packets import QueueOpcode

CONFIG: Final = launch_path.CONFIG
ANSWER: Final = launch_path.ANSWER
_COUNT_BITS: Final = 5
#: Cycles that are searched: up to the cover of each, and some more.
FULL_QUEUE: Final = 16
FULL_RECORDS: Final = 20


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; no SM is enabled, PREEMPTs take records, and a soft reset ends launches.

    With ``room_unseen`` the source takes ``room`` as 1.
    """
    size = "2 streams, 2 entries, 8 records; launches of one block that is never offered; no pops"
    b = FormalBench("launch_path_room", CONFIG, size, fault)
    # Its ports are made from a dictionary: no type checker sees them.
    dut: Any = LaunchPath(CONFIG)
    sent, preempts = b.free(1, "launch__valid"), b.free(1, "preempts")
    launch: Any = Signal(dut.launch.payload.shape(), name="bench_launch")
    ones = dict.fromkeys(("gy", "gz", "dx", "dy", "dz"), 1)
    b.m.d.comb += [
        launch.gx.eq(b.free(1, "gx")),
        launch.priority.eq(b.free(1, "priority")),
        launch.stream.eq(b.free(1, "stream")),
        *(launch[name].eq(1) for name in ones),
    ]
    command = Cat(preempts, C(int(QueueOpcode.PREEMPT), 2), C(-1, len(Value.cast(dut.command)) - 3))
    streams = ("abort", "report__0")
    unused = [f"{name}__{part}" for name in streams for part in ("valid", "payload")]
    nothing = ("enable", "tables", "restart", "pop", "launch_timeout", "clear_stream", *unused)
    b.drive(dut, launch__payload=launch, command=command, **dict.fromkeys(nothing, 0))
    answer = dut.answer
    room = dut.room.bit_select(launch.priority, 1) | (b.fault == "room_unseen")
    polite = Signal(name="bench_polite", init=1)
    b.m.d.sync += polite.eq(polite & (~sent | room))
    its = b.value(answer.valid & polite & b.past(sent, ANSWER, "sent"), "answered_politely")
    accepted = b.value(its & answer.ticket.any(), "accepted")
    # Nothing is popped: each ticket and each accepted PREEMPT keeps its record.
    reserved = b.register(_COUNT_BITS, "reserved")
    command_answer = dut.command_answer
    b.m.d.sync += reserved.eq(
        reserved
        + (answer.valid & answer.ticket.any())
        + (command_answer.valid & (command_answer.code == 0))
    )
    of_launch = b.past(launch.priority, ANSWER, "priority")
    for name, code, what, case, bound in (
        (
            "queue",
            ErrorCode.QUEUE_FULL,
            "its priority's entries are taken",
            accepted & ~dut.room.bit_select(of_launch, 1) & dut.room.any(),
            FULL_QUEUE,
        ),
        (
            "records",
            ErrorCode.COMPLETION_FULL,
            "every record is reserved",
            accepted & (reserved == CONFIG.records - 1),
            FULL_RECORDS,
        ),
    ):
        b.check(
            name,
            f"no launch is refused because {what} if each was sent in a cycle with its priority's "
            "bit of `room`",
            ~(its & (answer.code == int(code))),
            fault="room_unseen",
            cover=("the last one for which there was room is accepted", case),
            bound=bound,
        )
    return b.close()
