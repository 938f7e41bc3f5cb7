"""BlockAtATime runs one block at a time and reports each one once; a kill is the core's reset."""

from typing import Any, Final

from amaranth.hdl import Mux

from warploom.sm_side import BlockAtATime
from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.planted import Change
from warploom_spec import BlockStatus, Config

CONFIG: Final = Config(block_slots=4, max_threads=64, index_memory_warps=0)

#: Seeded bugs in the block's source. ``lost_kill``: a block that is offered while its place is
#: killed is not reported. ``early_start``: the reset falls with the offer. ``eager``: a block is
#: taken while another one runs. ``kill_wins``: a kill wins over `done`. ``kill_unseen``: a kill
#: does not end a block. ``threads_later``: `thread_count` follows the launch words.
PLANTED: Final = {
    bug: Change(BlockAtATime, "elaborate", old, new)
    for bug, old, new in (
        ("lost_kill", "report.valid.eq(killed)", "report.valid.eq(0)"),
        (
            "early_start",
            "core_reset.eq(~self.start)",
            "core_reset.eq(~self.start & ~self.offer.valid)",
        ),
        ("eager", "self.offer.ready.eq(~self.start)", "self.offer.ready.eq(1)"),
        ("kill_wins", "Mux(self.done, status,", "Mux(self.done & ~killed, status,"),
        ("kill_unseen", "with m.If(self.done | killed):", "with m.If(self.done):"),
        (
            "threads_later",
            "with m.If(self.start):",
            "m.d.sync += self.thread_count.eq(threads)\n    with m.If(self.start):",
        ),
    )
}


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; every input is free."""
    b = FormalBench("block_at_a_time", CONFIG, "whole: 4 block slots, 64 threads", fault, PLANTED)
    dut: Any = BlockAtATime(CONFIG)
    b.drive(dut)
    offer, report = dut.offer, dut.report
    transfer = b.value(offer.valid & offer.ready, "transfer")
    # The last block that transferred, its threads then, and whether it is not reported yet.
    out, ran = b.register(1, "out"), b.register(1, "ran")
    block, threads = b.register(offer.payload.shape(), "block"), b.register(7, "threads")
    given = Mux(offer.payload.place, dut.words[1].threads, dut.words[0].threads)
    b.m.d.sync += [out.eq(transfer | (out & ~report.valid)), ran.eq(dut.start)]
    with b.m.If(transfer):
        b.m.d.sync += [block.eq(offer.payload), threads.eq(given)]
    b.check(
        "one_report",
        "a block is reported once, with its slot, and nothing is reported that was not taken",
        ~report.valid | (out & (report.payload.slot == block.slot)),
        fault="eager",
        cover=("one is reported while the next one is taken", report.valid & transfer),
    )
    b.check(
        "one_block",
        "no block is taken while one runs: the last one is reported, in this cycle at the latest",
        ~transfer | ~out | report.valid,
        fault="eager",
        cover=("a block waits while another one runs", offer.valid & ~transfer & dut.start),
    )
    b.check(
        "none_lost",
        "a block that was taken runs until it is reported, and nothing else runs",
        dut.start == (out & ~report.valid),
        fault="lost_kill",
        cover=("a block is reported that never ran", report.valid & ~ran),
    )
    b.check(
        "its_own",
        "`block` and `thread_count` are those of the block that runs, as they were when it came",
        ~dut.start | ((dut.block == block) & (dut.thread_count == threads)),
        fault="threads_later",
        cover=("its place has other words by now", dut.start & (_threads(dut, block) != threads)),
    )
    _state_kill(b, dut, transfer)
    return b.close()


def _threads(dut: Any, block: Any) -> Any:
    return Mux(block.place, dut.words[1].threads, dut.words[0].threads)


def _state_kill(b: FormalBench, dut: Any, transfer: Any) -> None:
    """State what ends a block, and how it is reported."""
    report = dut.report
    place = Mux(dut.start, dut.block.place, dut.offer.payload.place)
    kill = b.value(dut.kill.bit_select(place, 1), "kill")
    ended = b.before(dut.start & dut.done, "ended")
    killed = b.before((dut.start | transfer) & kill, "killed")
    failed, was = b.before(dut.fault, "failed"), b.before(dut.start, "was")
    b.check(
        "kill",
        "in the cycle after a kill of its place a block is reported, and the core is in reset",
        ~killed | (report.valid & dut.core_reset),
        fault="kill_unseen",
        cover=("a block that ran is killed", killed & was),
    )
    b.check(
        "in_reset",
        "the core is in reset in each cycle in which no block runs, so once between two blocks",
        (dut.core_reset == ~dut.start) & ~(was & (ended | killed) & dut.start),
        fault="early_start",
        cover=("a block runs in the second cycle after another", dut.start & _gap(b, dut)),
    )
    b.check(
        "status",
        "a block ends by `done`, `FAULT` with `fault` and else `OK`, or by a kill, `KILLED`",
        ~report.valid
        | (
            (ended | killed)
            & (
                report.payload.status
                == Mux(ended, Mux(failed, BlockStatus.FAULT, BlockStatus.OK), BlockStatus.KILLED)
            )
        ),
        fault="kill_wins",
        cover=("one fails while it is killed", report.valid & ended & killed & failed),
    )


def _gap(b: FormalBench, dut: Any) -> Any:
    """Return whether a block ran two cycles ago and none in the cycle before."""
    return b.past(dut.start, 2, "earlier") & ~b.before(dut.start, "gap")
