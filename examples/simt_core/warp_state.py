"""What a warp keeps beside its pcs: registers and indices; and what its block is."""

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.memory import Memory

from simt_core.index_reader import IndexReader
from simt_core.warp_table import WarpTable
from warploom_spec import Config
from warploom_spec.layouts import BLOCK_FIELD_BITS

#: Register a0.
ARGUMENTS = 10
#: Place of a lane's number among the CSRs.
_LANE = 12


@dataclass(frozen=True)
class Origin:
    """Where the current warp comes from: its block and launch words, and its number there.

    ``starting`` are the words of the warp that starts in this cycle.
    """

    block: Any
    words: Any
    warp: Any
    starting: Any


def add_origins(m: Module, config: Config, table: WarpTable, block: Any, words: Any) -> Origin:
    """Keep each slot's block and words, and each warp's number; return the current warp's."""
    layout = data.StructLayout({"block": block.shape(), "words": words.shape()})
    blocks: Memory = Memory(shape=layout, depth=config.block_slots, init=[])
    m.submodules.blocks = blocks
    starting = blocks.read_port(domain="comb")
    numbers: Memory = Memory(shape=config.warps_bits, depth=config.warp_slots, init=[])
    m.submodules.numbers = numbers
    write = blocks.write_port()
    read = blocks.read_port()
    number_write = numbers.write_port()
    number = numbers.read_port()
    m.d.comb += [
        write.en.eq(table.block_valid),
        write.addr.eq(table.block_slot),
        write.data.block.eq(block),
        write.data.words.eq(words),
        starting.addr.eq(table.start.payload.slot),
        read.addr.eq(table.picked_slot),
        read.en.eq(table.take),
        number_write.en.eq(table.start.valid & table.start.ready),
        number_write.addr.eq(table.entry),
        number_write.data.eq(table.start.payload.warp),
        number.addr.eq(table.picked),
        number.en.eq(table.take),
    ]
    return Origin(read.data.block, read.data.words, number.data, starting.data.words)


def add_indices(
    m: Module, config: Config, table: WarpTable, reader: IndexReader, packed: Any
) -> list[Any]:
    """Keep each warp's packed indices; return the current warp's, a word for each lane."""
    lanes, bits = config.warp_size, config.word_bits
    memory: Memory = Memory(shape=lanes * bits, depth=config.warp_slots, init=[])
    m.submodules.indices = memory
    write = memory.write_port()
    read = memory.read_port()
    m.d.comb += [
        write.en.eq(reader.got),
        write.addr.eq(reader.got_entry),
        write.data.eq(packed),
        read.addr.eq(table.picked),
        read.en.eq(table.take),
    ]
    return [read.data.word_select(n, bits) for n in range(lanes)]


class Registers:
    """Registers of all warps, a row of lanes each.

    A register that a warp has not written yet has its initial value: 0, or the arguments' address.
    The first write writes all lanes.

    Parameters
    ----------
    m : Module
        Gets the memory.
    config : Config
        Its size.
    """

    def __init__(self, m: Module, config: Config) -> None:
        self._lanes = config.warp_size
        shape, depth = 32 * self._lanes, 32 * config.warp_slots
        memory: Memory = Memory(shape=shape, depth=depth, init=[])
        m.submodules.registers = memory
        self._reads = [memory.read_port() for _ in range(2)]
        self._write = memory.write_port(granularity=32)

    def read(
        self, m: Module, fetching: Any, warp: Any, fetched: Any, written: Any, first: Any
    ) -> list[list[Signal]]:
        """Read rs1 and rs2 of the word that is fetched; return the values of each lane.

        They are there from the next cycle on. ``written`` says which registers were written, and
        ``first`` is the initial value of a0.
        """
        rows: list[list[Signal]] = []
        for port, low in zip(self._reads, (15, 20), strict=True):
            number = fetched[low : low + 5]
            m.d.comb += [port.addr.eq(Cat(number, warp)), port.en.eq(fetching)]
            known, is_a0 = Signal(), Signal()
            with m.If(fetching):
                m.d.sync += known.eq(written.bit_select(number, 1))
                m.d.sync += is_a0.eq(number == ARGUMENTS)
            initial = Mux(is_a0, first, 0)
            row = [Signal(32, name=f"rs{len(rows) + 1}_{n}") for n in range(self._lanes)]
            for n, value in enumerate(row):
                m.d.comb += value.eq(Mux(known, port.data.word_select(n, 32), initial))
            rows.append(row)
        return rows

    def write(
        self, m: Module, enable: Any, warp: Any, rd: Any, values: Any, lanes: Any, first: Any
    ) -> None:
        """Write rd of the chosen lanes; the first time the others get the initial value.

        ``first`` is whether this is the first time, and the initial value of a0.
        """
        fresh, initial = first
        m.d.comb += [
            self._write.addr.eq(Cat(rd, warp)),
            self._write.en.eq(Mux(enable, Mux(fresh, (1 << self._lanes) - 1, lanes), 0)),
        ]
        for n in range(self._lanes):
            value = Mux(lanes[n], values[n], Mux(rd == ARGUMENTS, initial, 0))
            m.d.comb += self._write.data.word_select(n, 32).eq(value)


def csr_values(m: Module, number: Any, packed: list[Any], origin: Origin) -> tuple[Any, list[Any]]:
    """Return what lanes read from the CSR 0xCC0 + ``number``: all the same, and each its own.

    One of the two is 0. ``packed`` has a word for each lane: x, y and z of its index.
    """
    words = origin.words
    common = Signal(32, name="csr_common")
    values = [
        *(origin.block[f"b{axis}"] for axis in "xyz"),
        *(words[f"d{axis}"] for axis in "xyz"),
        *(words[f"g{axis}"] for axis in "xyz"),
        0,
        origin.warp,
    ]
    m.d.comb += common.eq(Array([0, 0, 0, *values])[number])
    # Where the index of the axis begins in a word, and its bits.
    first = Signal(range(len(packed[0]) + 1))
    mask = Signal(max(BLOCK_FIELD_BITS))
    x, y, z = (words[f"width_{axis}"] for axis in "xyz")
    for n, (begin, width) in enumerate(((0, x), (x, y), (x + y, z))):
        with m.If(number == n):
            m.d.comb += [first.eq(begin), mask.eq((1 << width) - 1)]
    own = [Signal(32, name=f"csr_{lane}") for lane in range(len(packed))]
    for lane, value in enumerate(own):
        m.d.comb += value.eq(Mux(number == _LANE, lane, (packed[lane] >> first) & mask))
    return common, own
