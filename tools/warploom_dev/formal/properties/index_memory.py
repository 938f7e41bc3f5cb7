"""IndexMemory gives what was written last when a read leaves the row register, and holds it."""

from typing import Any, Final

from amaranth.hdl import Cat, Mux, Value

from warploom.index import IndexMemory
from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.planted import Change
from warploom_spec import Config, timing

CONFIG: Final = Config(warp_size=8, max_threads=16, index_memory_warps=4, word_bits=8)
#: Requests without data, at most.
_MOST: Final = timing(CONFIG).index_read

#: Seeded bugs in the block's source. ``reads_on``: the memory reads the next row while data are not
#: taken.
PLANTED: Final = {
    "reads_on": Change(IndexMemory, "_store", "reader.en.eq(moves & ", "reader.en.eq(1 & "),
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
    b.m.d.sync += [known.eq(known | wrote), kept.eq(Mux(wrote, given, kept))]

    ready = b.inputs["data__ready"]
    moves = b.value(~dut.data.valid | ready, "moves")
    # What the row held in the cycles in which the last two requests could leave the row register.
    # While it is written it tells nothing.
    told = [b.register(1, f"told_{k}") for k in range(2)]
    held = [b.register(len(given), f"held_{k}") for k in range(2)]
    with b.m.If(moves):
        b.m.d.sync += [told[0].eq(known & ~wrote), held[0].eq(kept)]
        b.m.d.sync += [told[1].eq(told[0]), held[1].eq(held[0])]

    asked = _Requests(b, dut, row)
    got = _lane(dut.data.payload, number)
    b.check(
        "latest",
        "a row is given as it was written last before its read left the row register",
        ~(dut.data.valid & asked.of_row & told[1]) | (got == held[1]),
        fault="reads_on",
        cover=("a row is given twice, first refused", dut.data.valid & asked.of_row & asked.again),
    )
    b.check(
        "one_each",
        "data come in the order of the requests, once for each; without a row beyond the block's",
        (~dut.data.valid | (asked.count != 0))
        & (~(dut.data.valid & asked.outside) | ((got == 0) & (dut.data.payload.mask == 0))),
        fault="deaf_data",
        cover=("data of three requests in a row", dut.data.valid & (asked.count == _MOST)),
    )
    b.check(
        "few",
        f"at the end of a cycle {_MOST} requests have no data yet, at most",
        asked.count <= _MOST,
        fault="deaf_data",
        cover=("a request waits for a row", (asked.count == 1) & ~dut.read.ready & ~dut.data.valid),
    )
    b.check_held(dut.data, "data")
    return b.close()


class _Requests:
    """The requests without data, the oldest first: whether each is of the row, or of none."""

    def __init__(self, b: FormalBench, dut: Any, row: Value) -> None:
        read = dut.read.payload
        inside = read.warp < read.index_warps
        here = (read.address + read.warp)[: CONFIG.index_address_bits] == row
        new = b.value(Cat(inside & here, ~inside), "request")
        # One more than there may be: a block that forgets one is seen.
        queue = [b.register(2, f"request_{k}") for k in range(_MOST + 1)]
        #: How many there are.
        self.count = b.register(range(_MOST + 2), "requests")
        granted = b.value(dut.read.valid & dut.read.ready, "granted")
        taken = b.value(dut.data.valid & b.inputs["data__ready"] & (self.count != 0), "taken")
        left = b.value((self.count - taken)[: len(self.count)], "requests_left")
        full = self.count == _MOST + 1
        b.m.d.sync += self.count.eq(left + (granted & ~full))
        for k, entry in enumerate(queue):
            after = queue[k + 1] if k < _MOST else entry
            b.m.d.sync += entry.eq(Mux(granted & (left == k), new, Mux(taken, after, entry)))
        #: Whether the oldest one is of the row that is followed, or of no row.
        self.of_row, self.outside = queue[0][0], queue[0][1]
        #: Whether the one behind it is of the row, too, and the oldest one's data were refused.
        refused = b.before(dut.data.valid & ~b.inputs["data__ready"], "was_refused")
        self.again = b.value(queue[1][0] & (self.count > 1) & refused, "again")


def _lane(row: Any, number: Value) -> Value:
    """Return a lane's word and its mask bit."""
    return Cat(row.words.word_select(number, CONFIG.word_bits), row.mask.bit_select(number, 1))
