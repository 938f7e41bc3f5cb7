"""IndexMemory gives what was written last, the write of the very cycle included, and holds it."""

from typing import Final

from amaranth.hdl import Mux

from warploom.index_memory import IndexMemory
from warploom_sim.formal.bench import Bench
from warploom_spec import Config

CONFIG: Final = Config(warp_size=8, max_threads=16, index_memory_warps=4, word_bits=8)
#: The lane that is followed: each has registers of its own and all are made alike.
_LANE: Final = 3


def bench(fault: str | None = None) -> Bench:
    """Return the bench; it follows one row, which may be any one, from its first write on."""
    b = Bench("index_memory", CONFIG, "4 rows, W = 8, words of 8 bits", fault)
    dut = IndexMemory(CONFIG, fault=fault if fault in IndexMemory.FAULTS else None)
    b.drive(dut)
    row = b.constant(CONFIG.index_address_bits, "row")
    wrote = dut.write.valid & (dut.write.payload.address == row)
    # The memory keeps its rows through a reset, and so does what is known of them.
    known = b.register(1, "known", keeps=True)
    kept = b.register(CONFIG.word_bits, "kept", keeps=True)
    word = dut.write.payload.words.word_select(_LANE, CONFIG.word_bits)
    now_known = b.value(known | wrote, "now_known")
    now = b.value(Mux(wrote, word, kept), "now")
    b.m.d.sync += [known.eq(now_known), kept.eq(now)]

    read, ready = dut.read.payload, b.inputs["data__ready"]
    granted = b.value(dut.read.valid & dut.read.ready, "granted")
    inside = read.warp < read.index_warps
    here = (read.address + read.warp)[: CONFIG.index_address_bits] == row
    due, expects = b.register(1, "due"), b.register(1, "expects")
    outside, expected = b.register(1, "outside"), b.register(CONFIG.word_bits, "expected")
    with b.m.If(granted):
        b.m.d.sync += [due.eq(1), expects.eq(inside & here & now_known)]
        b.m.d.sync += [outside.eq(~inside), expected.eq(now)]
    with b.m.Elif(ready):
        b.m.d.sync += due.eq(0)
    got = dut.data.payload.words.word_select(_LANE, CONFIG.word_bits)
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
