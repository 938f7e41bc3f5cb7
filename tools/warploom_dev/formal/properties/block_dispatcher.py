"""BlockDispatcher over-commits no SM, offers each block once, and heeds hold, mode and stop."""

from typing import Any, Final

from amaranth.hdl import Array, C, Cat, Mux, Signal, Value

from warploom.dispatch.block_dispatcher import BlockDispatcher
from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.formal.properties.kernel_queue import APART
from warploom_spec import BlockStatus, Config, Fate, capacities, timing

CONFIG: Final = Config(
    sms=1,
    warp_size=8,
    block_slots=2,
    warp_slots=2,
    register_units=2,
    shared_units=2,
    barriers=2,
    max_threads=16,
    grid_bits=(2, 1, 1),
    index_memory_warps=0,
    inline_args=0,
    stream_bits=1,
    priority_bits=1,
    task_bits=1,
    max_tables=1,
    kill_timeout=12,
    queue_depth=1,
    launch_waits=0,
)
SIZE: Final = (
    "1 SM with 2 slots and 2 of each resource, 2 streams, grids of up to 3 blocks in a row"
)
#: What a block takes of an SM beside its slot, and how much of it there is.
CAPACITY: Final = {name: size for name, size in capacities(CONFIG).items() if name != "slots"}
#: Cycles from a hold, and from a change of `enable`, to the first offer that heeds it.
HEEDS: Final = timing(CONFIG).resident_offer + 2
#: Cycles that are searched: boot, first offer, a report, and the offer that sees it.
BOUND: Final = timing(CONFIG).resident_boot + 28
_SLOTS: Final = range(CONFIG.block_slots)
_STREAMS: Final = range(1 << CONFIG.stream_bits)
#: Free bits of a launch.
FREE: Final = {
    **dict.fromkeys(("stream", "priority", "wait_mode", "entry"), 0b1),
    **dict.fromkeys(CAPACITY, 0b11),
    "gx": 0b11,
    "gy": 0b1,
    "gz": 0b1,
}


class _Blocks:
    """Launches and blocks as the page has them, from the ports alone.

    Attributes
    ----------
    starts, ends, reports, offers : Value
        What transfers, or is offered, in this cycle.
    resident, launch, placed, stopped, failed : list
        For each stream: whether a launch is resident; the launch; how many of its blocks were
        offered; whether a stop of it was seen; whether a block of it was reported not `OK`.
    out, block_of : list
        For each slot: whether a block is out there; of which stream.
    """

    def __init__(self, b: FormalBench) -> None:
        self.b = b
        dut: Any = BlockDispatcher(CONFIG)
        self.dut = dut
        self.given: Any = b.partly(dut.start.payload.shape(), FREE, "given", b.free, port="start")
        self.stop, self.hold = b.free(len(_STREAMS), "stop"), b.free(len(_STREAMS), "hold")
        self.enable = b.free(1, "enable")
        self.report: Any = b.partly(
            dut.report[0].payload.shape(), {"slot": 1, "status": 3}, "report", b.free
        )
        self._follow_blocks()
        self._follow_launches()
        self._assume()
        self._drive()

    def _follow_blocks(self) -> None:
        """Follow what is out: a block from its offer to its report, once."""
        b, m, dut = self.b, self.b.m, self.dut
        self.offers = b.value(dut.offer[0], "offers")
        self.out = [b.register(1, f"out_{k}") for k in _SLOTS]
        self.block_of = [b.register(CONFIG.stream_bits, f"block_of_{k}") for k in _SLOTS]
        self.size = {name: [b.register(2, f"{name}_{k}") for k in _SLOTS] for name in CAPACITY}
        runs = Array(self.out)[self.report.slot]
        self.sent = b.value(b.free(1, "report_valid") & runs, "report_sent")
        self.reports = b.value(self.sent & dut.report[0].ready, "reports")
        self.launch: list[Any] = [b.register(self.given.shape(), f"launch_{s}") for s in _STREAMS]
        for k in _SLOTS:
            comes = b.value(self.offers & (dut.block.slot == k), f"comes_{k}")
            leaves = b.value(self.reports & (self.report.slot == k), f"leaves_{k}")
            m.d.sync += self.out[k].eq((self.out[k] & ~leaves) | comes)
            with m.If(comes):
                m.d.sync += self.block_of[k].eq(dut.block.stream)
                m.d.sync += [
                    self.size[name][k].eq(self.of_block(lambda s, n=name: self.launch[s][n]))
                    for name in CAPACITY
                ]

    def of_block(self, of: Any) -> Any:
        """Return the value of the offered block's stream."""
        return Mux(self.dut.block.stream[0], of(1), of(0))

    def has(self, s: int) -> Any:
        """Return whether a block of a stream is out."""
        return Cat(out & (of == s) for out, of in zip(self.out, self.block_of, strict=True)).any()

    def _follow_launches(self) -> None:
        """Follow each stream's resident launch."""
        b, m, dut = self.b, self.b.m, self.dut
        self.starts = b.value(b.free(1, "start__valid") & dut.start.ready, "starts")
        self.ends = b.value(dut.ended.valid & b.free(1, "ended__ready"), "ends")
        names = ("resident", "stopped", "failed")
        flags = {name: [b.register(1, f"{name}_{s}") for s in _STREAMS] for name in names}
        self.resident, self.stopped, self.failed = (flags[name] for name in names)
        self.placed = [b.register(3, f"placed_{s}") for s in _STREAMS]
        self.recent = []
        of = Array(self.block_of)[self.report.slot]
        for s in _STREAMS:
            enters = b.value(self.starts & (self.given.stream == s), f"enters_{s}")
            leaves = b.value(self.ends & (dut.ended.payload.stream == s), f"ended_{s}")
            past = [b.past(leaves, k, f"ended_{s}_{k}") for k in range(APART)]
            self.recent.append(b.value(Cat(past).any(), f"recent_{s}"))
            bad = self.reports & (of == s) & (self.report.status != int(BlockStatus.OK))
            mine = b.value(self.offers & (dut.block.stream == s), f"offers_{s}")
            m.d.sync += [
                self.resident[s].eq((self.resident[s] & ~leaves) | enters),
                self.placed[s].eq(self.placed[s] + mine),
                self.stopped[s].eq(self.stopped[s] | self.stop[s]),
                self.failed[s].eq(self.failed[s] | bad),
            ]
            with m.If(enters):
                m.d.sync += [self.launch[s].eq(self.given), self.placed[s].eq(0)]
                # A stop in the cycle of the start does not speak of it.
                m.d.sync += [self.stopped[s].eq(0), self.failed[s].eq(0)]

    def blocks(self, s: int) -> Any:
        """Return how many blocks a stream's launch has: gz is 1."""
        launch = self.launch[s]
        return Mux(launch.gx == 1, 1, Mux(launch.gx == 2, 2, 3))

    def _assume(self) -> None:
        """State what KernelQueue and LaunchCheck send."""
        b, given, starts = self.b, self.given, self.starts
        stream = given.stream[0]
        b.assume(
            "one_resident",
            "a launch starts only in a stream without a resident one,"
            f" {APART} cycles after that one's transfer at `ended` or later",
            ~starts
            | ~Mux(stream, self.resident[1] | self.recent[1], self.resident[0] | self.recent[0]),
            source="kernel_queue.one_resident",
        )
        b.assume(
            "grid",
            "no dimension of a grid is 0",
            ~starts | Cat(given[f"g{axis}"] != 0 for axis in "xyz").all(),
            source="launch_path.handed_grid",
        )
        b.assume(
            "fits",
            "a block has a warp or more and fits an SM that is empty",
            ~starts
            | (Cat(given[name] <= most for name, most in CAPACITY.items()).all())
            & (given.warps != 0),
            source="launch_path.handed_fits",
        )

    def _drive(self) -> None:
        """Connect the block; with a seeded bug it sees something else than it is sent."""
        b, fault, given = self.b, self.b.fault, self.given
        seen: Any = Signal(given.shape(), name="bench_seen")
        told: Any = Signal(self.report.shape(), name="bench_told")
        b.m.d.comb += [seen.eq(given), told.eq(self.report)]
        changed: dict[str | None, list[Any]] = {
            "entry_unseen": [seen.entry.eq(0)],
            "large": [seen.gx.eq(Mux(given.gx == 1, 2, given.gx))],
            "mode_unseen": [seen.wait_mode.eq(0)],
            "light": [seen[name].eq(name == "warps") for name in CAPACITY],
            "status_unseen": [told.status.eq(int(BlockStatus.OK))],
        }
        b.m.d.comb += changed.get(fault, [])
        b.drive(
            self.dut,
            start__payload=seen,
            stop=self.stop,
            hold=0 if fault == "hold_unseen" else self.hold,
            enable=1 if fault == "enable_unseen" else self.enable,
            report__0__payload=told,
            report__0__valid=1 if fault == "phantom_report" else self.sent,
            clock=0,
            restart=0,
        )


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; an SM reports a block once, after its offer, with any status.

    Its own seeded bugs: the block sees every entry as 0 (``entry_unseen``), grids of two blocks
    for one (``large``), no mode `wait` (``mode_unseen``), blocks of one warp that take nothing
    else (``light``), each report as `OK` (``status_unseen``), no hold (``hold_unseen``), each SM
    enabled (``enable_unseen``), a report in every cycle (``phantom_report``).
    """
    b = FormalBench("block_dispatcher", CONFIG, SIZE, fault)
    blocks = _Blocks(b)
    _state_room(blocks)
    _state_blocks(blocks)
    _state_holds(blocks)
    _state_ends(blocks)
    return b.close()


def _state_room(blocks: _Blocks) -> None:
    """State that an SM is never over-committed."""
    b, dut, offers = blocks.b, blocks.dut, blocks.offers
    slot = dut.block.slot
    b.check(
        "slot",
        "a block is offered only in a slot whose last block was reported",
        ~offers | (~Array(blocks.out)[slot] & (slot < len(_SLOTS))),
        fault="phantom_report",
        cover=("a slot is used again", offers & Array(_used(blocks))[slot]),
        bound=BOUND,
        slow=True,
    )
    for name, most in CAPACITY.items():
        new = blocks.of_block(lambda s, n=name: blocks.launch[s][n])
        beside: Any = C(0, 3)
        for k in _SLOTS:
            beside = beside + Mux(blocks.out[k], blocks.size[name][k], 0)
        total = b.value(new + beside, f"total_{name}")
        b.check(
            name,
            f"blocks that are out never need more {name} than the SM has",
            ~offers | (total <= most),
            fault="light" if name != "warps" else "phantom_report",
            cover=(
                "two of both streams take all of it",
                offers
                & (total == most)
                & (beside != 0)
                & Cat(blocks.has(s) & (dut.block.stream != s) for s in _STREAMS).any(),
            ),
            bound=BOUND,
            slow=True,
        )
    b.check(
        "enabled",
        f"no block is offered from {HEEDS} cycles after `enable` fell on, until it is 1 again",
        ~offers | b.past(blocks.enable, HEEDS, "enable"),
        fault="enable_unseen",
        cover=("it has fallen since", offers & ~blocks.enable),
        bound=BOUND,
        slow=True,
    )


def _used(blocks: _Blocks) -> list[Any]:
    """Return for each slot whether it had a block that was reported."""
    b = blocks.b
    used = [b.register(1, f"used_{k}") for k in _SLOTS]
    for k in _SLOTS:
        b.m.d.sync += used[k].eq(used[k] | (blocks.reports & (blocks.report.slot == k)))
    return used


def _state_blocks(blocks: _Blocks) -> None:
    """State that each block is offered once, lowest first, with what is its launch's."""
    b, dut, offers = blocks.b, blocks.dut, blocks.offers
    block = dut.block
    number = b.value(blocks.of_block(lambda s: blocks.placed[s]), "number")
    size = b.value(blocks.of_block(lambda s: blocks.blocks(s)), "blocks")
    held = [b.register(1, f"was_held_{s}") for s in _STREAMS]
    for s in _STREAMS:
        b.m.d.sync += held[s].eq((held[s] | blocks.hold[s]) & (blocks.placed[s] != 0))
    b.check(
        "order",
        "the blocks of a launch are offered once each, the lowest first, with their numbers",
        ~offers | ((block.block_number == number) & (block.bx == number) & (number < size)),
        fault="large",
        cover=(
            "the last one after a hold and another stream's block",
            offers & (number == 2) & Mux(block.stream[0], held[1], held[0]),
        ),
        bound=BOUND,
        slow=True,
    )
    resident = blocks.of_block(lambda s: blocks.resident[s])
    own = Cat(
        block[name] == blocks.of_block(lambda s, n=name: blocks.launch[s][n])
        for name in ("entry", "warps")
    ).all()
    b.check(
        "own",
        "a block has the entry and the warps of its stream's launch, which is resident",
        ~offers | (resident & own),
        fault="entry_unseen",
        cover=("one of either stream", offers & blocks.of_block(lambda s: blocks.placed[1 - s])[0]),
        bound=BOUND,
        slow=True,
    )


def _state_holds(blocks: _Blocks) -> None:
    """State that a held launch is not placed, and that a launch of mode `wait` is placed whole."""
    b, offers = blocks.b, blocks.offers
    held, whole = [], []
    for s in _STREAMS:
        mine = b.value(offers & (blocks.dut.block.stream == s), f"mine_{s}")
        waits = b.value(blocks.launch[s].wait_mode & (blocks.placed[s] != 0), f"stays_{s}")
        held.append(mine & b.past(blocks.hold[s], HEEDS, f"hold_{s}") & ~waits)
        other = 1 - s
        left = (blocks.placed[other] != 0) & (blocks.placed[other] < blocks.blocks(other))
        goes_on = ~blocks.stopped[other] & ~blocks.failed[other] & blocks.resident[other]
        whole.append(mine & blocks.launch[other].wait_mode & left & goes_on)
    since = Cat(offers & (blocks.dut.block.stream == s) & blocks.hold[s] for s in _STREAMS).any()
    b.check(
        "held",
        f"no block of a stream is offered from {HEEDS} cycles after its `hold` on, until it is 0"
        " again, but of a launch of mode `wait` that has begun",
        ~Cat(held).any(),
        fault="hold_unseen",
        cover=("one is offered in the hold's first cycles", since),
        bound=BOUND,
        slow=True,
    )
    b.check(
        "wait_whole",
        "from the first block of a launch of mode `wait` to its last one no other launch's block is"
        " offered, unless it is stopped or a block of it was reported not `OK`, whatever is held",
        ~Cat(whole).any(),
        fault="mode_unseen",
        cover=(
            "its second block while it is held and another one is resident",
            offers
            & Cat(
                (blocks.dut.block.stream == s)
                & blocks.launch[s].wait_mode
                & (blocks.placed[s] == 1)
                & blocks.hold[s]
                & blocks.resident[1 - s]
                for s in _STREAMS
            ).any(),
        ),
        bound=BOUND,
        slow=True,
    )


def _state_ends(blocks: _Blocks) -> None:
    """State what `ended` and `kill` say: nothing of the launch is out."""
    b, dut = blocks.b, blocks.dut
    end = dut.ended.payload
    wrong, kills = [], []
    for s in _STREAMS:
        its = dut.ended.valid & (end.stream == s)
        all_well = (blocks.placed[s] == blocks.blocks(s)) & ~blocks.failed[s]
        finished = end.fate == int(Fate.FINISHED)
        over = blocks.resident[s] & ~blocks.has(s) & (~finished | all_well)
        wrong.append(its & ~over)
        fell = b.before(dut.kill[s], f"kill_{s}") & ~dut.kill[s]
        kills.append(b.value(fell & blocks.has(s), f"kill_fell_{s}"))
    killed: Value = dut.ended.valid & (end.fate == int(Fate.KILLED))
    b.check(
        "ended",
        "a launch at `ended` is resident and has no block out; it is finished only if each of its"
        " blocks was offered and reported `OK`",
        ~Cat(wrong).any(),
        fault="status_unseen",
        cover=("a killed one that had begun", killed & Cat(blocks.placed).any()),
        bound=BOUND,
        slow=True,
    )
    b.check(
        "kill",
        "a stream's `kill` stays until its blocks are reported",
        ~Cat(kills).any(),
        fault="phantom_report",
        cover=("it falls", Cat(b.before(k, f"k{n}") & ~k for n, k in enumerate(dut.kill)).any()),
        bound=BOUND,
        slow=True,
    )
