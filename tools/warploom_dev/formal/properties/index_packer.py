"""IndexPacker keeps every warp as it came, with the lanes that are no threads cleared."""

from typing import Final

from amaranth.hdl import Cat, Mux

from warploom.index import IndexPacker
from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.planted import Change
from warploom_spec import Config, layouts

CONFIG: Final = Config(warp_size=8, max_threads=16, index_memory_warps=4, word_bits=8)
#: What goes along with the lanes.
_BESIDE: Final = ("address", "mask", "first", "last", "width_x", "width_y", "width_z")

#: Seeded bugs in the block's source. ``unmasked``: lanes are not cleared.
PLANTED: Final = {"unmasked": Change(IndexPacker, "elaborate", "& ~lanes.mask[lane]", "& 0")}


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench: all inputs are free, and so is the number of a lane."""
    b = FormalBench("index_packer", CONFIG, "W = 8, words of 8 bits", fault, PLANTED)
    dut = IndexPacker(CONFIG)
    b.drive(dut)
    warp, held = b.register(dut.i.payload.shape(), "warp"), b.register(1, "held")
    with b.m.If(~held | b.inputs["o__ready"]):
        b.m.d.sync += [held.eq(dut.i.valid), warp.eq(dut.i.payload)]
    out = dut.o.payload
    lane = b.constant((CONFIG.warp_size - 1).bit_length(), "lane")
    given = warp.lanes.word_select(lane, layouts.lane_bits(CONFIG))
    word = out.words.word_select(lane, CONFIG.word_bits)
    thread = warp.mask.bit_select(lane, 1)
    b.check(
        "words",
        "a word is its lane's, or 0 where the lane is no thread; all else is as it came",
        ~dut.o.valid
        | ((word == Mux(thread, given, 0)) & Cat(out[n] == warp[n] for n in _BESIDE).all()),
        fault="unmasked",
        cover=("a lane that is no thread has a value", dut.o.valid & ~thread & given.any()),
    )
    b.check(
        "one_each",
        "each warp comes once, a cycle later or when it is taken",
        (dut.o.valid == held) & (dut.i.ready == (~held | b.inputs["o__ready"])),
        fault="deaf_o",
        cover=("one leaves as the next comes", held & dut.i.ready & dut.i.valid),
    )
    b.check_held(dut.o, "o")
    return b.close()
