"""BlockToWarps hands on each warp once, in order, and reports a block once, after its warps."""

from dataclasses import dataclass
from typing import Any, Final

from amaranth.hdl import Array, Mux, Value

from warploom.sm_side import BlockToWarps
from warploom_dev.formal.formal_bench import THE_CORE, FormalBench
from warploom_dev.planted import Change
from warploom_spec import BlockStatus, Config, timing

CONFIG: Final = Config(
    block_slots=2, warp_size=8, warp_slots=4, max_threads=24, index_memory_warps=4
)

#: Seeded bugs in the block's source. ``repeats``: each warp has the number 0. ``one_less``: a
#: block's last warp is left out. ``kill_unseen``: a kill drops nothing. ``full``: every warp is
#: full. ``wrong_total``: every block has one warp. ``forgets``: of two ends in a row one counts.
#: ``keeps_status``: a slot's status stays for the next block.
PLANTED: Final = {
    bug: Change(BlockToWarps, method, old, new)
    for bug, method, old, new in (
        ("repeats", "_hand_on", "warp.warp.eq(warp.warp + 1)", "warp.warp.eq(0)"),
        ("one_less", "_hand_on", "moves & (left == 1)", "moves & (left <= 2)"),
        (
            "kill_unseen",
            "_hand_on",
            "self.warp.valid.eq(~killed), dropping.eq(killed)",
            "self.warp.valid.eq(1)",
        ),
        ("full", "_hand_on", "(~last).replicate", "(~last | 1).replicate"),
        (
            "wrong_total",
            "_count",
            "totals_write.data.eq(self.words.warps)",
            "totals_write.data.eq(1)",
        ),
        ("forgets", "_count", "counted_valid & (counted.slot == end.slot)", "0"),
        (
            "keeps_status",
            "_count",
            "Mux(booting | over, 0, total)",
            "Mux(booting, 0, Mux(over, total.status << len(total.warps), total))",
        ),
    )
}


@dataclass
class _Held:
    """The block that is held, from the page: a shadow of rules 1 to 5."""

    #: Whether the boot goes on, a block is held, and its warps that are left are dropped.
    boot: Value
    holds: Value
    dropping: Value
    #: The block, its warps, how many of them were handed on, and the last one's lanes.
    block: Any
    warps: Value
    number: Value
    last_mask: Value
    #: What happens: a block is taken, a warp transfers, warps are dropped.
    takes: Value
    moves: Value
    drops: Value


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; it follows the held block, and a slot, which may be any one."""
    b = FormalBench(
        "block_to_warps", CONFIG, "2 block slots, 3 warps, W = 8, 4 rows", fault, PLANTED
    )
    dut: Any = BlockToWarps(CONFIG)
    free = {"stream": 1, "slot": 1, "bx": 1, "index_address": 0b11}
    b.drive(dut, offer__payload=free, words={"warps": 0b11, "last_mask": 0b11})
    held = _follow(b, dut)
    slot = b.constant(CONFIG.slot_bits, "slot")
    _state_warps(b, dut, held)
    _state_fields(b, dut, held, slot)
    _state_end(b, dut, held, slot)
    b.check_held(dut.warp, "warp")
    return b.close()


def _follow(b: FormalBench, dut: Any) -> _Held:
    """Follow the block that is held, and assume what the dispatcher sends."""
    offer = dut.offer.payload
    boots = b.register(range(timing(CONFIG).boot + 1), "boots")
    boot = b.value(boots != timing(CONFIG).boot, "boot")
    b.m.d.sync += boots.eq(boots + boot)
    holds, dropping = b.register(1, "holds"), b.register(1, "dropping")
    block = b.register(offer.shape(), "block")
    warps, number = (b.register(CONFIG.warps_bits, name) for name in ("warps", "number"))
    takes = b.value(dut.offer.valid & dut.offer.ready, "takes")
    moves = b.value(dut.warp.valid & b.inputs["warp__ready"], "moves")
    drops = b.value(dropping & ~b.inputs["ended_valid"], "drops")
    given, last_mask = dut.words, b.register(CONFIG.warp_size, "last_mask")
    with b.m.If(takes):
        b.m.d.sync += [holds.eq(1), block.eq(offer), warps.eq(given.warps), number.eq(0)]
        b.m.d.sync += dropping.eq(dut.kill.bit_select(offer.stream, 1))
        b.m.d.sync += last_mask.eq(given.last_mask)
    with b.m.If(moves):
        last = number + 1 == warps
        b.m.d.sync += [number.eq(number + 1), holds.eq(~last)]
        b.m.d.sync += dropping.eq(~last & dut.kill.bit_select(block.stream, 1))
    with b.m.If(drops):
        b.m.d.sync += [holds.eq(0), dropping.eq(0)]

    out = [b.register(1, f"out_{s}") for s in range(CONFIG.block_slots)]
    for s in range(CONFIG.block_slots):
        mine = takes & (offer.slot == s)
        b.m.d.sync += out[s].eq(mine | (out[s] & ~_over(dut, s)))
    b.assume(
        "slot",
        "a block comes only into a slot whose last block was reported",
        ~dut.offer.valid | ~Array(out)[offer.slot],
        source="block_dispatcher.slot",
    )
    b.assume(
        "warps",
        "a block has a warp or more",
        ~dut.offer.valid | (given.warps != 0),
        source="launch_path.handed_fits",
    )
    return _Held(boot, holds, dropping, block, warps, number, last_mask, takes, moves, drops)


def _over(dut: Any, slot: Any) -> Value:
    over: Value = dut.over_valid & (dut.over.slot == slot)
    return over


def _state_warps(b: FormalBench, dut: Any, held: _Held) -> None:
    """State which warps are handed on, and with which fields."""
    warp, shown = dut.warp.payload, dut.warp.valid
    b.check(
        "order",
        "a block's warps come in order, each once, beside their block",
        ~shown | ((warp.warp == held.number) & (dut.block == held.block)),
        fault="repeats",
        cover=("a block of three warps is handed on whole", held.moves & (held.number == 2)),
    )
    b.check(
        "all",
        "while a block is held its next warp is there, until all were handed on or are dropped",
        (shown == (held.holds & ~held.dropping)) & (dut.offer.ready == (~held.holds & ~held.boot)),
        fault="one_less",
        cover=("a drop waits for an end", held.dropping & ~held.drops),
    )
    new = b.first(dut.warp, "warp")
    killed = b.before(dut.kill, "was_killed").bit_select(held.block.stream, 1)
    b.check(
        "kill",
        "no warp is new in the cycle after a kill of its stream",
        ~(new & killed),
        fault="kill_unseen",
        cover=("a warp was handed on, one is dropped", held.drops & (held.number == 1)),
    )


def _state_fields(b: FormalBench, dut: Any, held: _Held, slot: Value) -> None:
    """State the fields of the followed slot's warps: of no other one are the ends legal."""
    warp = dut.warp.payload
    shown = b.value(dut.warp.valid & (held.block.slot == slot), "shown")
    last = b.value(held.number + 1 == held.warps, "last")
    full = (1 << CONFIG.warp_size) - 1
    row = (held.block.index_address + held.number)[: CONFIG.index_address_bits]
    b.check(
        "fields",
        "a warp has its block's slot, all lanes or those of the last warp, and its row of indices",
        ~shown
        | (
            (warp.slot == slot) & (warp.mask == Mux(last, held.last_mask, full)) & (warp.row == row)
        ),
        fault="full",
        cover=("the last of two warps has a lane", shown & last & (warp.warp == 1) & warp.mask[0]),
    )


def _state_end(b: FormalBench, dut: Any, held: _Held, slot: Value) -> None:
    """State when the block of a slot is reported, and how."""
    mine = b.value(held.block.slot == slot, "mine")
    taken = b.value(held.takes & (dut.offer.payload.slot == slot), "taken")
    ended = b.value(b.inputs["ended_valid"] & ~held.boot & (dut.ended.slot == slot), "ended")
    # Warps that the core has, with the one that it gets in this cycle.
    bits = CONFIG.warps_bits
    runs = b.register(bits, "runs")
    has = b.value((runs + (held.moves & mine))[:bits], "has")
    b.m.d.sync += runs.eq(has - Mux(ended, dut.ended.warps, 0))
    b.assume(
        "ends",
        "each warp that was handed on ends once, and no other warp does",
        ~ended | ((dut.ended.warps != 0) & (dut.ended.warps <= has)),
        source=THE_CORE,
    )
    out, status = b.register(1, "out"), b.register(2, "status")
    reported = b.value(_over(dut, slot), "reported")
    b.m.d.sync += out.eq(taken | (out & ~reported))
    drops = b.value(held.drops & mine, "drops_mine")
    with b.m.If(taken):
        b.m.d.sync += status.eq(0)
    with b.m.Elif(drops):
        b.m.d.sync += status.eq(status | BlockStatus.KILLED)
    with b.m.Elif(ended):
        b.m.d.sync += status.eq(status | dut.ended.status)
    over = b.value(out & (runs == 0) & ~(held.holds & mine), "over")
    counted = b.register(2, "counted")
    with b.m.If(taken | ended):
        b.m.d.sync += counted.eq(Mux(taken, 0, counted + ~counted.all()))
    b.check(
        "one_report",
        "a block is over once: all its warps were handed on or dropped, and have ended",
        ~reported | over,
        fault="wrong_total",
        cover=("three warps ended one by one", reported & (counted == 3)),
    )
    # The report itself stands in the queue a cycle later.
    late = timing(CONFIG).warps_end - 1
    b.check(
        "reported",
        "a block is over a cycle after its last end",
        ~over | reported,
        fault="forgets",
        cover=("the last two ends came in a row", reported & _in_a_row(b, ended, late)),
        slow=True,
    )
    worst = Mux(status[0], BlockStatus.FAULT, status & BlockStatus.KILLED)
    b.check(
        "status",
        "its status is the worst of the block's ends, and of no other block's",
        ~reported | (dut.over.status == worst),
        fault="keeps_status",
        cover=("a warp failed, others were dropped", reported & status.all() & (counted == 1)),
    )


def _in_a_row(b: FormalBench, ended: Value, late: int) -> Any:
    """Return whether ends of the followed block came so many cycles ago and in the cycle before."""
    return b.past(ended, late, "end") & b.past(ended, late + 1, "end_before")
