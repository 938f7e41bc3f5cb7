"""IndexMemory gives what was written last, the write of the very cycle included, and holds it."""

from typing import Any, Final

from amaranth.hdl import Cat, Mux, Value

from warploom.index import IndexMemory
from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.planted import Change
from warploom_spec import Config

CONFIG: Final = Config(warp_size=8, max_threads=16, index_memory_warps=4, word_bits=8)

#: Seeded bugs in the block's source. ``no_bypass``: a read of the warp that is being written gets
#: the old words.
PLANTED: Final = {
    "no_bypass": Change(
        *(IndexMemory, "elaborate", "present, written_now)"), "present, Value.cast(0))"
    ),
}


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; it follows a lane of a row, which may be any ones, from a write on."""
    b = FormalBench("index_memory", CONFIG, "4 rows, W = 8, words of 8 bits", fault, PLANTED)
    dut = IndexMemory(CONFIG)
    b.drive(dut)
    row = b.constant(CONFIG.index_address_bits, "row")
    number = b.constant((CONFIG.warp_size - 1).bit_length(), "lane")
    wrote = dut.write.valid & (dut.write.payload.address == row)
    given = b.value(_lane(dut.write.payload, number), "given")
    # The memory keeps its rows through a reset, and so does what is known of them.
    known = b.register(1, "known", keeps=True)
    kept = b.register(len(given), "kept", keeps=True)
    now_known = b.value(known | wrote, "now_known")
    now = b.value(Mux(wrote, given, kept), "now")
    b.m.d.sync += [known.eq(now_known), kept.eq(now)]

    read, ready = dut.read.payload, b.inputs["data__ready"]
    granted = b.value(dut.read.valid & dut.read.ready, "granted")
    inside = read.warp < read.index_warps
    here = (read.address + read.warp)[: CONFIG.index_address_bits] == row
    due, expects = b.register(1, "due"), b.register(1, "expects")
    outside, expected = b.register(1, "outside"), b.register(len(given), "expected")
    with b.m.If(granted):
        b.m.d.sync += [due.eq(1), expects.eq(inside & here & now_known)]
        b.m.d.sync += [outside.eq(~inside), expected.eq(now)]
    with b.m.Elif(ready):
        b.m.d.sync += due.eq(0)
    got = _lane(dut.data.payload, number)
    b.check(
        "latest",
        "a read row is as it was written last, in the cycle of the read at the latest",
        ~(due & expects) | (got == expected),
        fault="no_bypass",
        cover=("a row is read twice", due & expects & granted & inside & here & ~wrote),
    )
    b.check(
        "one_each",
        "each granted read has its data in the next cycle, without a row outside the block",
        (dut.data.valid == due) & (~(due & outside) | ((got == 0) & (dut.data.payload.mask == 0))),
        fault="deaf_data",
        cover=("a read outside after one inside", due & ~outside & granted & ~inside),
    )
    b.check_held(dut.data, "data")
    return b.close()


def _lane(row: Any, number: Value) -> Value:
    """Return a lane's word and its mask bit."""
    return Cat(row.words.word_select(number, CONFIG.word_bits), row.mask.bit_select(number, 1))
