"""BlockAtATime runs one block at a time and reports each one once; a kill is the core's reset."""

from typing import Any, Final

from amaranth.hdl import Array, Mux

from warploom.sm_side import BlockAtATime, OfferQueue
from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.planted import Change
from warploom_spec import BlockStatus, Config

CONFIG: Final = Config(block_slots=2, max_threads=64, index_memory_warps=0, stream_bits=1)
_SLOTS: Final = range(CONFIG.block_slots)

#: Seeded bugs. ``early_start``: the reset falls with the offer. ``twice``: a block that is taken
#: goes on waiting. ``of_the_bus``: what runs is the block on the bus. ``kill_wins``: a kill wins
#: over `done`. ``kill_unseen``: a kill does not end a block. ``other_words``: the words are those
#: of stream 0. ``eager``: a killed block runs. ``eager_drop``: any kill drops any block that waits.
PLANTED: Final = {
    bug: Change(owner, method, old, new)
    for bug, owner, method, old, new in (
        (
            "early_start",
            BlockAtATime,
            "elaborate",
            "core_reset.eq(~self.start)",
            "core_reset.eq(~self.start & ~self.offer)",
        ),
        (
            "twice",
            OfferQueue,
            "elaborate",
            "waiting & ~(takes << front) & ~drop",
            "waiting & ~drop",
        ),
        (
            "of_the_bus",
            BlockAtATime,
            "elaborate",
            "running.eq(queue.first)",
            "running.eq(self.block)",
        ),
        (
            "kill_wins",
            BlockAtATime,
            "elaborate",
            "Mux(self.done, status,",
            "Mux(self.done & ~self.kill.bit_select(running.stream, 1), status,",
        ),
        (
            "kill_unseen",
            BlockAtATime,
            "elaborate",
            "(self.done | self.kill.bit_select(running.stream, 1))",
            "self.done",
        ),
        (
            "other_words",
            BlockAtATime,
            "elaborate",
            "asked[0].eq(self.running.stream)",
            "asked[0].eq(0)",
        ),
        (
            "eager",
            BlockAtATime,
            "elaborate",
            "~self.start & ~self.kill.bit_select(queue.first.stream, 1)",
            "~self.start",
        ),
        (
            "eager_drop",
            OfferQueue,
            "_drop",
            "self.kill.bit_select(streams.now(look), 1)",
            "self.kill.any()",
        ),
    )
}


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; it follows a slot, which may be any one."""
    b = FormalBench("block_at_a_time", CONFIG, "2 block slots, 2 streams", fault, PLANTED)
    dut: Any = BlockAtATime(CONFIG)
    b.drive(dut, block={"stream": 1, "slot": 1, "bx": 1}, words={"threads": 0b11})
    slot = b.constant(CONFIG.slot_bits, "slot")
    report = b.value(dut.report.valid & b.inputs["report__ready"], "report")
    # Which slots have a block that is not reported; the followed one's block and its threads.
    out = [b.register(1, f"out_{s}") for s in _SLOTS]
    for s in _SLOTS:
        b.m.d.sync += out[s].eq(
            (dut.offer & (dut.block.slot == s))
            | (out[s] & ~(report & (dut.report.payload.slot == s)))
        )
    b.assume(
        "slot",
        "a block comes only into a slot whose last block was reported",
        ~dut.offer | ~Array(out)[dut.block.slot],
        source="block_dispatcher.slot",
    )
    comes = b.value(dut.offer & (dut.block.slot == slot), "comes")
    runs = b.value(dut.start & (dut.running.slot == slot), "runs")
    reported = b.value(report & (dut.report.payload.slot == slot), "reported")
    mine = b.value(Array(out)[slot], "mine")
    # Whether the block has run, and how it ended: nothing yet, by itself, or by a kill.
    block, ran = b.register(dut.block.shape(), "block"), b.register(1, "ran")
    threads = b.register(CONFIG.threads_bits, "threads")
    over, status = b.register(1, "over"), b.register(2, "status")
    kill = b.value(dut.kill.bit_select(block.stream, 1), "kill")
    was_killed = b.register(1, "was_killed")
    b.assume(
        "words",
        "a stream's words are the same until its blocks are reported",
        ~(dut.offer & mine & (dut.block.stream == block.stream)) | (dut.words.threads == threads),
        source="launch_path.own_words",
    )
    with b.m.If(comes):
        b.m.d.sync += threads.eq(dut.words.threads)
        b.m.d.sync += [block.eq(dut.block), ran.eq(0), over.eq(0), was_killed.eq(0)]
    with b.m.Else():
        b.m.d.sync += [ran.eq(ran | runs), was_killed.eq(was_killed | kill)]
        with b.m.If(runs & (dut.done | kill)):
            ended = Mux(dut.fault, BlockStatus.FAULT, BlockStatus.OK)
            b.m.d.sync += [over.eq(1), status.eq(Mux(dut.done, ended, BlockStatus.KILLED))]
    b.check(
        "one_report",
        "a block is reported once, with its slot, after it has run, or without if it was killed",
        ~reported | (mine & ~runs & (over | (~ran & was_killed))),
        fault="eager_drop",
        cover=("one is reported that never ran", reported & ~ran),
    )
    b.check(
        "runs_once",
        "a block runs only once, from its offer to its report",
        ~runs | (mine & ~over),
        fault="twice",
        cover=("the other slot's block runs while it waits", mine & ~ran & dut.start & ~runs),
    )
    b.check(
        "its_own",
        "`running` is the block as it came",
        ~runs | (dut.running == block),
        fault="of_the_bus",
        cover=("it runs while another one comes", runs & dut.offer),
    )
    b.check(
        "words",
        "`running_words` are those of its offer",
        ~runs | (dut.running_words.threads == threads),
        fault="other_words",
        cover=("the bus has others", runs & (dut.words.threads != threads)),
    )
    return _state_kill(b, dut, runs, reported, over, status)


def _state_kill(
    b: FormalBench, dut: Any, runs: Any, reported: Any, over: Any, status: Any
) -> FormalBench:
    """State what ends a block, and how it is reported."""
    kill = b.value(dut.kill.bit_select(dut.running.stream, 1), "kills_it")
    ended = b.before(dut.start & (dut.done | kill), "ended")
    was = b.before(dut.start, "was")
    b.check(
        "kill",
        "in the cycle after `done` or a kill of its stream the core is in reset",
        ~ended | dut.core_reset,
        fault="kill_unseen",
        cover=("a block that ran is killed", b.before(dut.start & kill & ~dut.done, "killed")),
    )
    b.check(
        "in_reset",
        "the core is in reset in each cycle in which no block runs, so once between two blocks",
        (dut.core_reset == ~dut.start) & ~(was & ended & dut.start),
        fault="early_start",
        cover=("a block runs in the second cycle after another", dut.start & _gap(b, dut)),
    )
    killed_before = b.before(dut.kill, "kill_before").bit_select(dut.running.stream, 1)
    b.check(
        "never_begins",
        "a block does not begin to run in the cycle after a kill of its stream",
        ~(dut.start & ~was & killed_before),
        fault="eager",
        cover=("a block begins while another stream is killed", dut.start & ~was & dut.kill.any()),
    )
    b.check(
        "status",
        "a block that ran ends by `done`, `FAULT` with `fault` and else `OK`, or by a kill",
        ~(reported & over) | (dut.report.payload.status == status),
        fault="kill_wins",
        cover=("one fails", reported & over & (status == BlockStatus.FAULT)),
    )
    return b.close()


def _gap(b: FormalBench, dut: Any) -> Any:
    """Return whether a block ran two cycles ago and none in the cycle before."""
    return b.past(dut.start, 2, "earlier") & ~b.before(dut.start, "gap")
