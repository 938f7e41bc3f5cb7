"""What a warp keeps between its turns beside its registers: pcs and lanes."""

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.memory import Memory

from simt_core.warp_table import WarpTable
from warploom_spec import Config


@dataclass(frozen=True)
class Context:
    """Pcs and lanes of the current warp: as they are, and as they are after its turn."""

    before: Any
    after: Any


def short_pc(pc: Any, memory_bits: int) -> Any:
    """Return a pc as it is kept: its bits within the memory, and whether it is beyond it."""
    return Cat(pc[:memory_bits], pc[memory_bits:].any())


def add_contexts(
    m: Module, config: Config, table: WarpTable, words: Any, memory_bits: int
) -> Context:
    """Keep each warp's short pcs and its lanes.

    A warp that comes is written at once; at the end of a turn the table refuses warps.
    """
    lanes = config.warp_size
    pcs = (memory_bits + 1) * lanes
    layout = data.StructLayout({"pcs": pcs, "running": lanes, "waiting": lanes})
    memory: Memory = Memory(shape=layout, depth=config.warp_slots, init=[])
    m.submodules.contexts = memory
    read = memory.read_port()
    write = memory.write_port()
    after = Signal(layout, name="after")
    begin = Signal(layout, name="begin")
    m.d.comb += begin.pcs.eq(short_pc(words.code[:32], memory_bits).replicate(lanes))
    m.d.comb += [begin.running.eq(table.start.payload.mask), read.addr.eq(table.picked)]
    m.d.comb += read.en.eq(table.take)
    m.d.comb += write.en.eq(table.turned | table.start.valid & table.start.ready)
    m.d.comb += write.addr.eq(Mux(table.turned, table.current, table.entry))
    m.d.comb += write.data.eq(Mux(table.turned, after.as_value(), begin.as_value()))
    return Context(read.data, after)
