"""What a warp keeps beside its pcs and registers: indices; and what its block is."""

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.memory import Memory

from simt_core.index_reader import IndexReader
from simt_core.warp_table import WarpTable
from warploom_spec import Config
from warploom_spec.layouts import BLOCK_FIELD_BITS

#: Place of a lane's number among the CSRs.
_LANE = 12
#: Axes of an index; the first CSRs.
_AXES = 3


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
    m.d.comb += [write.en.eq(table.block_valid), write.addr.eq(table.block_slot)]
    m.d.comb += [write.data.block.eq(block), write.data.words.eq(words)]
    m.d.comb += [starting.addr.eq(table.start.payload.slot), read.addr.eq(table.picked_slot)]
    m.d.comb += [read.en.eq(table.take), number_write.en.eq(table.start.valid & table.start.ready)]
    m.d.comb += [number_write.addr.eq(table.entry), number_write.data.eq(table.start.payload.warp)]
    m.d.comb += [number.addr.eq(table.picked), number.en.eq(table.take)]
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
    m.d.comb += [write.en.eq(reader.got), write.addr.eq(reader.got_entry), write.data.eq(packed)]
    m.d.comb += [read.addr.eq(table.picked), read.en.eq(table.take)]
    return [read.data.word_select(n, bits) for n in range(lanes)]


def csr_values(m: Module, number: Any, packed: list[Any], origin: Origin) -> tuple[Any, list[Any]]:
    """Return what lanes read from the CSR 0xCC0 + ``number``: all the same, and each its own.

    One of the two is 0. ``packed`` has a word for each lane: x, y and z of its index; that is its
    value for each of the three, see `axis_of`.
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
    own = [Signal(32, name=f"csr_{lane}") for lane in range(len(packed))]
    for lane, value in enumerate(own):
        indices = Mux(number < _AXES, packed[lane], 0)
        m.d.comb += value.eq(Mux(number == _LANE, lane, indices))
    return common, own


def axis_of(m: Module, number: Any, words: Any) -> tuple[Any, Any]:
    """Return where axis ``number`` of an index begins in a packed word, and a mask of its bits."""
    first = Signal(5)
    mask = Signal(max(BLOCK_FIELD_BITS))
    x, y, z = (words[f"width_{axis}"] for axis in "xyz")
    for n, (begin, width) in enumerate(((0, x), (x, y), (x + y, z))):
        with m.If(number == n):
            m.d.comb += [first.eq(begin), mask.eq((1 << width) - 1)]
    return first, mask
