"""ResourceRanges gives ranges that never overlap, loses no block, and frees what is reported."""

from itertools import combinations
from typing import Any, Final

from amaranth.hdl import Array, Cat, Mux, Signal, Value
from amaranth.utils import exact_log2

from warploom.sm_side import ResourceRanges
from warploom.sm_side._cell_runs import CellRuns
from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.planted import Change
from warploom_spec import Config, timing
from warploom_spec.resources import RANGED

CONFIG: Final = Config(
    block_slots=2,
    warp_size=8,
    max_threads=8,
    register_units=6,
    register_cell=2,
    shared_units=1,
    index_memory_warps=0,
)
_SLOTS: Final = range(CONFIG.block_slots)
#: Blocks that came and have not left, at most.
_MOST: Final = 3
#: Free bits of what is offered, and of its launch words.
_OFFER: Final = {"stream": 1, "slot": 1, "bx": 1}
#: Streams that have blocks here.
_STREAMS: Final = range(2)
_WORDS: Final = {"warps": 1, "warp_registers": 0b111, "shared": 1}
#: Cycles that are searched of what is not proved for all time.
_BOUND: Final = 16

#: Seeded bugs in the block's source. ``no_mark``: cells that are given stay free. ``beyond``: the
#: last cell of a run is called its first. ``overwrites``: a block is measured while another one
#: stands there. ``steps_on``: a step is never counted. ``leak``: no cell is freed.
PLANTED: Final = {
    bug: Change(owner, method, old, new)
    for bug, owner, method, old, new in (
        ("no_mark", CellRuns, "elaborate", "Mux(self.take, run, 0)", "0"),
        ("beyond", CellRuns, "elaborate", "~(run << 1)", "~(run >> 1)"),
        ("overwrites", ResourceRanges, "_measure", "eq(~measured_valid | leaves)", "eq(1)"),
        ("steps_on", CellRuns, "elaborate", "steps.eq(steps - 1)", "steps.eq(steps)"),
        ("leak", CellRuns, "elaborate", " & ~self.freed", ""),
    )
}


class _Blocks:
    """The blocks of all slots, from the page: which are out, how large they are, where they lie.

    Parameters
    ----------
    b : FormalBench
        The bench.
    dut : ResourceRanges
        The block.
    """

    def __init__(self, b: FormalBench, dut: Any) -> None:
        self.b, self.dut = b, dut
        offer, shown = dut.offer.payload, dut.o.payload
        self.takes = b.value(dut.offer.valid & dut.offer.ready, "takes")
        self.gives = b.value(dut.o.valid & b.inputs["o__ready"], "gives")
        words = dut.words
        #: What the block that is offered needs of each resource, in whole cells.
        self.needs = []
        for resource in RANGED:
            assert resource.field is not None
            amount = words[resource.field.name]
            units = resource.cell_units(CONFIG)
            total = amount * words.warps if resource.field.of_warp else amount
            need = ((total + (units - 1)) >> exact_log2(units)) << exact_log2(units)
            self.needs.append(b.value(need, f"needs_{resource.name}"))
        # Of each slot: whether its block is taken and not reported, handed on and not reported, has
        # ranges; its stream, its size, its first units.
        self.out = [b.register(1, f"out_{s}") for s in _SLOTS]
        self.given = [b.register(1, f"given_{s}") for s in _SLOTS]
        self.ranged = [b.register(1, f"ranged_{s}") for s in _SLOTS]
        self.stream = [b.register(1, f"stream_{s}") for s in _SLOTS]
        widths = [r.capacity(CONFIG).bit_length() for r in RANGED]
        self.size = [[b.register(n, f"size_{s}_{k}") for k, n in enumerate(widths)] for s in _SLOTS]
        self.first = [
            [b.register(n, f"first_{s}_{k}") for k, n in enumerate(widths)] for s in _SLOTS
        ]
        #: The size that is offered: it fits an SM, and so it is as narrow.
        self.offered = Cat(need[:n] for need, n in zip(self.needs, widths, strict=True))
        #: The first units of the block at `o`, and whether it may use them.
        self.firsts = [shown[f"{r.name}_first"] for r in RANGED]
        self.uses = b.value(~dut.kill.bit_select(shown.stream, 1), "uses")
        report = b.inputs["report_valid"]
        for s in _SLOTS:
            reported = b.value(report & (dut.report.slot == s), f"reported_{s}")
            comes = b.value(self.takes & (offer.slot == s), f"comes_{s}")
            goes = b.value(self.gives & (shown.slot == s), f"goes_{s}")
            b.m.d.sync += [
                self.out[s].eq(comes | (self.out[s] & ~reported)),
                self.given[s].eq((goes | self.given[s]) & ~reported),
                self.ranged[s].eq(((goes & self.uses) | self.ranged[s]) & ~reported),
            ]
            with b.m.If(comes):
                b.m.d.sync += self.stream[s].eq(offer.stream)
                b.m.d.sync += Cat(self.size[s]).eq(self.offered)
            with b.m.If(goes):
                b.m.d.sync += Cat(self.first[s]).eq(Cat(self.firsts))
        #: Whether a stream has a block that is out.
        self.has = [
            b.value(
                Cat(o & (at == p) for o, at in zip(self.out, self.stream, strict=True)).any(),
                f"has_{p}",
            )
            for p in _STREAMS
        ]

    def assume(self) -> None:
        """Assume what the dispatcher and the SM promise."""
        b, dut = self.b, self.dut
        offer = dut.offer.payload
        b.assume(
            "slot",
            "a block comes only into a slot whose last block was reported",
            ~dut.offer.valid | (~Array(self.out)[offer.slot] & (offer.slot < len(_SLOTS))),
            source="block_dispatcher.slot",
        )
        for k, resource in enumerate(RANGED):
            total: Value = self.needs[k]
            for s in _SLOTS:
                total = total + Mux(self.out[s], self.size[s][k], 0)
            b.assume(
                resource.name,
                f"blocks that are out never need more of {resource.name} than an SM has",
                ~dut.offer.valid | (total <= resource.capacity(CONFIG)),
                source=f"block_dispatcher.{resource.name}",
            )
        reported = dut.report.slot
        at_o = self.gives & (dut.o.payload.slot == reported)
        b.assume(
            "report",
            "a block is reported once, not before it was handed on",
            ~b.inputs["report_valid"]
            | ((reported < len(_SLOTS)) & (Array(self.given)[reported] | at_o)),
            source="block_to_warps.one_report",
        )
        kills = []
        for p in _STREAMS:
            fell = b.before(dut.kill[p], f"kill_{p}") & ~dut.kill[p]
            kills.append(b.value(~self.has[p] | ~fell, f"keeps_kill_{p}"))
        b.assume(
            "kill",
            "a stream's kill stays until its blocks are reported",
            Cat(kills).all(),
            source="block_dispatcher.kill",
        )


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench."""
    size = "2 block slots, 1 warp, 3 cells of 2 register units, 1 of shared memory"
    b = FormalBench("resource_ranges", CONFIG, size, fault, PLANTED)
    dut: Any = ResourceRanges(CONFIG)
    b.drive(dut, offer__payload=_OFFER, words=_WORDS)
    blocks = _Blocks(b, dut)
    blocks.assume()
    _state_ranges(b, dut, blocks)
    _state_pipeline(b, dut, blocks)
    _state_waiting(b, dut, blocks)
    b.check_held(dut.o, "o")
    return b.close()


def _state_ranges(b: FormalBench, dut: Any, blocks: _Blocks) -> None:
    """State where the ranges are of the block at `o`."""
    slot = dut.o.payload.slot
    shown = b.value(dut.o.valid & blocks.uses, "shown")
    sizes = [b.value(Array(s[k] for s in blocks.size)[slot], f"size_at_o_{k}") for k in _KINDS]
    ends = [
        b.value(f + n, f"end_at_o_{k}")
        for k, (f, n) in enumerate(zip(blocks.firsts, sizes, strict=True))
    ]
    inside = Cat(e <= r.capacity(CONFIG) for e, r in zip(ends, RANGED, strict=True)).all()
    last = b.value(ends[0] == RANGED[0].capacity(CONFIG), "ends_last")
    b.check(
        "inside",
        "a block's ranges end where the SM's units end, or before",
        ~shown | inside,
        fault="beyond",
        cover=("one has the last cell alone", shown & last & (sizes[0] == 2)),
        slow=True,
    )
    apart, two = [], []
    for s, t in combinations(_SLOTS, 2):
        both = blocks.ranged[s] & blocks.ranged[t]
        two.append(both & (Cat(blocks.size[s]) != Cat(blocks.size[t])))
        for k in _KINDS:
            (one, length), (other, rest) = ((blocks.first[n][k], blocks.size[n][k]) for n in (s, t))
            empty = (length == 0) | (rest == 0)
            beside = (one + length <= other) | (other + rest <= one)
            apart.append(b.value(~both | empty | beside, f"apart_{s}_{t}_{k}"))
    b.check(
        "apart",
        "ranges of blocks that were handed on and are not reported do not overlap",
        Cat(apart).all(),
        fault="no_mark",
        cover=("two blocks have ranges of different sizes", Cat(two).any()),
        bound=_BOUND,
        slow=True,
    )


_KINDS: Final = range(len(RANGED))


def _state_pipeline(b: FormalBench, dut: Any, blocks: _Blocks) -> None:
    """State that blocks leave in order, none is lost, and one goes on each cycle."""
    shape = Cat(dut.offer.payload.as_value()).shape()
    queue = [b.register(shape, f"queue_{k}") for k in range(_MOST + 1)]
    count: Signal = b.register(range(_MOST + 2), "count")
    goes = b.value(blocks.gives & (count != 0), "goes")
    left = b.value((count - goes)[: len(count)], "left")
    full = count == _MOST + 1
    b.m.d.sync += count.eq(left + (blocks.takes & ~full))
    for k, entry in enumerate(queue):
        after = queue[k + 1] if k < _MOST else entry
        new = blocks.takes & (left == k)
        b.m.d.sync += entry.eq(Mux(new, dut.offer.payload, Mux(goes, after, entry)))
    oldest: Any = b.value(queue[0], "oldest", dut.offer.payload.shape())
    same = Cat(dut.o.payload[name] == oldest[name] for name in oldest.shape().members).all()
    b.check(
        "order",
        "blocks leave in the order in which they came, each once, with their fields",
        (~dut.o.valid | ((count != 0) & same)) & ~full,
        fault="overwrites",
        cover=("two are on their way", dut.o.valid & (count == 2)),
    )
    # Cycles in which a block was on its way, none stood at `o`, and none was held back.
    most = max(resource.cells(CONFIG) for resource in RANGED)
    late = timing(CONFIG).ranges + timing(CONFIG).ranges_cell * (most - 1)
    idle = b.register(range(late + 1), "idle")
    waits = b.value((count != 0) & ~dut.o.valid & ~dut.held_back, "waits")
    b.m.d.sync += idle.eq(Mux(waits, idle + (idle != late), 0))
    b.check(
        "goes_on",
        f"a block stands at `o` {late} cycles after it came, if none is before it or held back",
        idle + waits < late,
        fault="steps_on",
        cover=("as late as that", dut.o.valid & (idle == late - 1)),
    )


def _state_waiting(b: FormalBench, dut: Any, blocks: _Blocks) -> None:
    """State when a block is held back."""
    # Whether blocks of two sizes have come since the SM was empty.
    kept = b.register(len(blocks.offered), "kept")
    was_mixed = b.register(1, "was_mixed")
    empty = ~Cat(blocks.out).any()
    other = b.value(blocks.takes & ~empty & (blocks.offered != kept), "other")
    mixed = b.value(other | (was_mixed & ~(blocks.takes & empty)), "mixed")
    b.m.d.sync += was_mixed.eq(mixed)
    with b.m.If(blocks.takes):
        b.m.d.sync += kept.eq(blocks.offered)
    b.check(
        "alike",
        "while all blocks have had one size since the SM was empty, none is held back",
        ~dut.held_back | mixed,
        fault="leak",
        cover=("one is held back, and goes on", dut.o.valid & b.past(dut.held_back, 1, "was_held")),
        slow=True,
    )
