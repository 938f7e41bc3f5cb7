"""IndexIterator's lanes equal the definition by division, and it never leaves its region."""

from typing import Any, Final

from amaranth.hdl import Cat, Mux, Value

from warploom.index import IndexIterator
from warploom.index.index_iterator import _Walk
from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.planted import Change
from warploom_spec import Config, layouts

CONFIG: Final = Config(warp_size=8, max_threads=32, index_memory_warps=8, word_bits=8)
#: Free bits of a configuration: legal and illegal shapes, regions that wrap.
FREE: Final = {"address": 0b111, "warps": 0b111, "dx": 0b1111, "dy": 0b111, "dz": 0b11}
#: Configurations under way, at most: one in setup, and one for each warp behind it.
_UNDER_WAY: Final = 16

#: Seeded bugs in the block's source. ``carry_y``: x's wrap from one warp to the next does not count
#: for y.
PLANTED: Final = {
    "carry_y": Change(
        # The low bit above x takes the borrow: it is 1 before the step, and seen inverted.
        _Walk,
        "_step",
        "place.as_value() - step.as_value()",
        "(place.as_value() | 1 << whole[0]) - step.as_value() ^ 1 << whole[0]",
    )
}


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; it follows a configuration that equals a constant, which may be any one."""
    b = FormalBench("index_iterator", CONFIG, "W = 8, blocks up to 32 threads", fault, PLANTED)
    dut = IndexIterator(CONFIG)
    given = b.partly(dut.i.payload.shape(), FREE, "given", b.free, port="i")
    shape = b.partly(dut.i.payload.shape(), FREE, "shape", b.constant)
    b.drive(dut, i__payload=_seen(given, fault))
    turn, warp = _follow(b, dut, given, shape)
    out = dut.o.payload
    at_end = warp + 1 == shape.warps
    b.check(
        "region",
        "whatever the shape, warps come in order from the region's first on, and none past its end",
        ~turn
        | (
            (out.address == (shape.address + warp)[: len(out.address)])
            & (out.first == (warp == 0))
            & (warp < shape.warps)
            & (out.last | ~at_end)
        ),
        fault="one_more",
        cover=("a shape of no threads with three warps", turn & (warp == 2) & (shape.dx == 0)),
        bound=20,
        slow=True,
    )
    _state_lanes(b, dut, shape, turn, warp)
    b.check_held(dut.o, "o")
    return b.close()


def _seen(given: Any, fault: str | None) -> Value:
    """Return what the block sees; seeded bugs: a warp more than given, or y and z exchanged."""
    fields = {name: Value.cast(given[name]) for name in given.shape().members}
    if fault == "one_more":
        fields["warps"] = (given.warps + given.warps.any())[: CONFIG.warps_bits]
    if fault == "crossed":
        fields["dy"], fields["dz"] = Cat(given.dz, given.dy[7:]), given.dy[:7]
    return Cat(fields.values())


def _follow(b: FormalBench, dut: IndexIterator, given: Any, shape: Any) -> tuple[Value, Value]:
    """Return whether the warp at ``o`` is one of the followed configuration's, and which."""
    m = b.m
    # A configuration without warps emits nothing and is not counted.
    enters = b.value(dut.i.valid & dut.i.ready & given.warps.any(), "enters")
    taken = b.value(dut.o.valid & b.inputs["o__ready"], "taken")
    ended = b.value(taken & dut.o.payload.last, "ended")
    under_way = b.register(range(_UNDER_WAY), "under_way")
    m.d.sync += under_way.eq(under_way + enters - ended)
    followed, ahead = b.register(1, "followed"), b.register(range(_UNDER_WAY), "ahead")
    warp = b.register(CONFIG.warps_bits, "warp")
    picked = enters & b.free(1, "pick") & ~followed & (given.as_value() == shape.as_value())
    turn = b.value(followed & (ahead == 0) & dut.o.valid, "turn")
    with m.If(picked):
        m.d.sync += [followed.eq(1), ahead.eq(under_way - ended), warp.eq(0)]
    with m.Else():
        m.d.sync += [
            followed.eq(followed & ~(turn & ended)),
            ahead.eq(ahead - (ended & (ahead != 0))),
            warp.eq(warp + (turn & taken)),
        ]
    return turn, warp


def _state_lanes(b: FormalBench, dut: IndexIterator, shape: Any, turn: Value, warp: Value) -> None:
    """State one lane's index, by the quotients and remainders of its thread's number.

    Quotient and remainder are constants of which every value is tried: those count for which
    thread = x + dx (y + dy z), with x < dx and y < dy; there is exactly one such triple.
    """
    out, config = dut.o.payload, CONFIG
    lane = b.constant((config.warp_size - 1).bit_length(), "lane")
    bits = config.max_threads.bit_length()
    x, y, z = (b.constant(bits, axis) for axis in "xyz")
    size = [shape[f"d{axis}"][:bits] for axis in "xyz"]
    threads = b.value(size[0] * size[1] * size[2], "threads")
    legal = b.value(
        (threads != 0)
        & (threads <= config.max_threads)
        & (shape.warps == (threads + config.warp_size - 1) >> 3),
        "legal",
    )
    thread = Cat(lane, warp)
    divided = b.value(
        (x < size[0]) & (y < size[1]) & (thread == x + size[0] * (y + size[1] * z)), "divided"
    )
    mine = b.value(turn & legal & divided, "mine")
    widths = [_bits(d) for d in size]
    placed = b.value(x | (y << widths[0]) | (z << (widths[0] + widths[1])[:3]), "placed")
    word = out.lanes.word_select(lane, layouts.lane_bits(config))
    valid = out.mask.bit_select(lane, 1)
    b.check(
        "lanes",
        "a lane's word is x, y and z of its thread by division, and its mask is z < dz",
        ~mine | ((valid == (z < size[2])) & (~valid | (word == placed[: len(word)]))),
        fault="carry_y",
        cover=("thread 29 of 5 x 3 x 2", mine & (thread == 29) & (size[0] == 5) & (size[1] == 3)),
        bound=18,
        slow=True,
    )
    right = Cat(out[f"width_{a}"] == w for a, w in zip("xyz", widths, strict=True)).all()
    b.check(
        "widths",
        "widths go with each warp, and `last` with the block's last one",
        ~(turn & legal) | (right & (out.last == (warp + 1 == shape.warps))),
        fault="crossed",
        cover=("the last of two warps", turn & legal & (warp == 1)),
        bound=20,
        slow=True,
    )


def _bits(size: Value) -> Value:
    """Return how many bits an index below ``size`` needs."""
    count: Value = Mux(size > 1, 1, 0)
    for k in range(1, len(size)):
        count = Mux(size > (1 << k), k + 1, count)
    return count
