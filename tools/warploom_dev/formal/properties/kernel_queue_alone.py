"""KernelQueue neither loses nor doubles the one launch that there is, over kills and commands."""

from dataclasses import replace
from typing import Any, Final

from amaranth.hdl import Cat, Mux

from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.formal.properties import kernel_queue
from warploom_dev.formal.resident_view import Followed, ResidentView
from warploom_spec import Config
from warploom_spec.queue_packets import QueueOpcode

CONFIG: Final[Config] = replace(kernel_queue.CONFIG, queue_depth=1, launch_waits=0)
SIZE: Final = "2 streams, 2 priorities, 1 entry each, no pairs; 1 launch"
#: Cycles in which a launch that nothing keeps is not at `start`, at most.
AGAIN: Final = 8
#: Cycles that are searched: until a launch that was killed and forgotten is late; until one that
#: was killed and started again has its record.
LATE: Final = 36
RECORDED: Final = 44
PLANTED: Final = {bug: kernel_queue.PLANTED[bug] for bug in ("twice", "forgotten")}


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; its seeded bugs stand in `PLANTED`."""
    b = FormalBench("kernel_queue_alone", CONFIG, SIZE, fault, PLANTED)
    view = ResidentView(b, launches=1)
    mine = Followed(view)
    _state_again(view, mine)
    _state_record(view, mine)
    return b.close()


def _state_again(view: ResidentView, mine: Followed) -> None:
    """State that the launch is not lost: when nothing keeps it, it comes to `start`."""
    b, dut = view.b, view.dut
    free = b.value(
        mine.accepted & ~mine.running & ~mine.ended & ~_kept(view, mine) & ~dut.start.valid,
        "nothing_keeps",
    )
    count = b.register(4, "waits_for_start")
    b.m.d.sync += count.eq(Mux(free & ~mine.leaves & ~view.commands, count + ~count.all(), 0))
    b.check(
        "again",
        "a launch whose stream is not preempted, without an ABORT, is at `start`, or its record was"
        f" made, {AGAIN} cycles after it was answered, its run was taken or a command came, at the"
        " latest",
        count <= AGAIN,
        fault="forgotten",
        cover=("it starts again", mine.mine_starts & (mine.runs == 1)),
        bound=LATE,
        slow=True,
    )


def _kept(view: ResidentView, mine: Followed) -> Any:
    """Return whether its stream is preempted, or an ABORT came, of any kind."""
    b, answer = view.b, view.dut.command_answer
    asked = b.before(view.commands & view.dut.command.ready, "asked")
    opcode = b.before(view.command.opcode, "asked_opcode")
    mask = b.before(view.command.mask, "asked_mask")
    done = asked & answer.valid & (answer.code == 0)
    held, aborted = b.register(len(mask), "preempted_streams"), b.register(1, "one_aborted")
    with b.m.If(done & (opcode == int(QueueOpcode.PREEMPT))):
        b.m.d.sync += held.eq(held | mask)
    with b.m.If(done & (opcode == int(QueueOpcode.RESUME))):
        b.m.d.sync += held.eq(held & ~mask)
    stops = view.commands & (view.command.opcode >= int(QueueOpcode.ABORT_STREAMS))
    b.m.d.sync += aborted.eq(aborted | stops | view.aborts)
    mine_held = Cat(held[s] & (mine.stream == s) for s in view.streams).any()
    return mine_held | aborted


def _state_record(view: ResidentView, mine: Followed) -> None:
    """State that the launch has one record, however often it starts."""
    view.b.check(
        "one_record",
        "a launch has its record after it was accepted, when it does not run, and once",
        ~mine.mine_recorded | (~mine.running & ~mine.ended),
        fault="twice",
        cover=("after its second run", mine.mine_recorded & (mine.runs == 2)),
        bound=RECORDED,
        slow=True,
    )
