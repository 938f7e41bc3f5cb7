"""Gives each block of an SM a contiguous range of each resource, and holds it back until then."""

from typing import Any

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from warploom.sm_side._cell_runs import CellRuns
from warploom_spec import Config, layouts, sm_packets
from warploom_spec.resident_packets import resident_block
from warploom_spec.resources import RANGED, Resource


class ResourceRanges(wiring.Component):
    """Give each block the lowest run of free cells of each resource.

    One block at a time is looked for, in steps of one cell: to find a run of n cells takes n
    cycles, and so does to mark them. A block that finds none is looked for again and again.

    Parameters
    ----------
    config : Config
        ``block_slots``, and how much an SM has of each resource in `RANGED`, in which cells.
    """

    offer: stream.Interface
    words: Any
    kill: Signal
    report: Any
    report_valid: Signal
    o: stream.Interface
    held_back: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                # Blocks. `ready` is combinational in `o.ready`. The words are those of this block.
                "offer": In(stream.Signature(resident_block(config).layout())),
                "words": In(layouts.launch_words(config).layout()),
                # As at the SM's port.
                "kill": In(1 << config.stream_bits),
                # A pulse: a block that left at `o` is over.
                "report": In(layouts.block_report(config).layout()),
                "report_valid": In(1),
                # Blocks with the first unit of each of their ranges, 0 if killed.
                "o": Out(stream.Signature(sm_packets.placed_block(config).layout())),
                # A search for the block that is next has found no range, and none has since.
                "held_back": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the block."""
        del platform
        m = Module()
        searches = [CellRuns(resource.cells(self._config)) for resource in RANGED]
        for resource, search in zip(RANGED, searches, strict=True):
            m.submodules[resource.name] = search
        leaves = Signal()
        block, valid = self._measure(m, searches, leaves)
        kill = Signal.like(self.kill)
        killed = Signal()
        m.d.sync += kill.eq(self.kill)
        m.d.comb += killed.eq(valid & kill.bit_select(block.stream, 1))
        found = self._search(m, searches, valid, leaves)
        takes = Signal()
        m.d.comb += [
            takes.eq(found & ~killed),
            leaves.eq((killed | found) & (~self.o.valid | self.o.ready)),
        ]
        with m.If(leaves):
            m.d.sync += self.o.valid.eq(1)
            for name in block.shape().members:
                m.d.sync += self.o.payload[name].eq(block[name])
            for resource, search in zip(RANGED, searches, strict=True):
                first = search.first << exact_log2(resource.cell_units(self._config))
                m.d.sync += self.o.payload[f"{resource.name}_first"].eq(Mux(takes, first, 0))
        with m.Elif(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        self._remember(m, block.slot, searches, leaves, takes)
        return m

    def _measure(self, m: Module, searches: list[CellRuns], leaves: Signal) -> tuple[Any, Signal]:
        """Take offers; return the block whose size is known, and whether there is one."""
        shape = resident_block(self._config).layout()
        arrived: Any = Signal(shape)
        arrived_valid = Signal()
        measured: Any = Signal(shape)
        measured_valid = Signal()
        goes_on = Signal()
        m.d.comb += [
            goes_on.eq(~measured_valid | leaves),
            self.offer.ready.eq(~arrived_valid | goes_on),
        ]
        with m.If(self.offer.ready):
            m.d.sync += [arrived.eq(self.offer.payload), arrived_valid.eq(self.offer.valid)]
        with m.If(goes_on):
            m.d.sync += [measured.eq(arrived), measured_valid.eq(arrived_valid)]
        for resource, search in zip(RANGED, searches, strict=True):
            cells = self._cells(m, resource)
            size = Signal.like(search.size, name=f"{resource.name}_size")
            m.d.comb += search.size.eq(size)
            with m.If(goes_on):
                m.d.sync += size.eq(cells)
        return measured, measured_valid

    def _cells(self, m: Module, resource: Resource) -> Value:
        """Return the cells that the block in *arrived* needs."""
        assert resource.field is not None
        amount = self.words[resource.field.name]
        terms = (
            _terms(self.words.warps, amount, self._config.max_warps)
            if resource.field.of_warp
            else [amount]
        )
        kept = []
        for number, term in enumerate(terms):
            width = resource.capacity(self._config).bit_length()
            part = Signal(width, name=f"arrived_{resource.name}_{number}")
            with m.If(self.offer.ready):
                m.d.sync += part.eq(term)
            kept.append(part)
        units = resource.cell_units(self._config)
        total: Value = sum(kept[1:], kept[0]) + (units - 1)
        return total[exact_log2(units) :]

    def _search(self, m: Module, searches: list[CellRuns], valid: Signal, leaves: Signal) -> Value:
        """Look for runs until each resource has one; return whether they are marked."""
        searching = Signal()
        marking = Signal()
        busy = Signal()
        judged = Signal()
        finds = Signal()
        look = Signal()
        m.d.comb += [
            busy.eq(Cat(search.busy for search in searches).any()),
            judged.eq(searching & ~busy),
            finds.eq(judged & Cat(search.found for search in searches).all()),
            look.eq((valid & ~searching & ~marking) | (judged & ~finds)),
        ]
        with m.If(leaves):
            m.d.sync += [searching.eq(0), marking.eq(0), self.held_back.eq(0)]
        with m.Else():
            m.d.sync += [searching.eq(look | (searching & ~finds)), marking.eq(marking | finds)]
            with m.If(judged):
                m.d.sync += self.held_back.eq(~finds)
        for search in searches:
            m.d.comb += [search.look.eq(look), search.choose.eq(finds)]
        return marking & ~busy

    def _remember(
        self, m: Module, slot: Value, searches: list[CellRuns], leaves: Signal, takes: Signal
    ) -> None:
        """Keep each slot's cells; free those of the block that was reported a cycle ago."""
        runs = Cat(search.run for search in searches)
        memory: Memory = Memory(shape=len(runs), depth=1 << len(slot), init=[])
        m.submodules.runs = memory
        write = memory.write_port()
        read = memory.read_port(domain="comb")
        reported = Signal()
        reported_slot = Signal(len(slot))
        m.d.sync += [reported.eq(self.report_valid), reported_slot.eq(self.report.slot)]
        m.d.comb += [
            write.addr.eq(slot),
            write.data.eq(Mux(takes, runs, 0)),
            write.en.eq(leaves),
            read.addr.eq(reported_slot),
            Cat(search.freed for search in searches).eq(read.data & reported.replicate(len(runs))),
        ]
        for search in searches:
            m.d.comb += search.take.eq(leaves & takes)


def _terms(warps: Value, amount: Value, most: int) -> list[Value]:
    """Return two numbers whose sum is ``amount`` times ``warps``, ``most`` at most: only adders.

    Two bits of ``warps`` select a multiple of the amount.
    """
    once, twice = amount, amount << 1
    multiples = Array([C(0, 1), once, twice, once + twice])
    highest: Value
    low = range(0, len(warps) - 2, 2)
    top = 2 * len(low)
    if most >= 3 << top:
        highest = multiples[warps[top:]]
    else:
        # The two highest bits are never both 1.
        highest = Mux(warps[top], once, 0) | Mux(warps[top + 1 :].any(), twice, 0)
    digits = [multiples[warps[k : k + 2]] << k for k in low]
    return [sum(digits[1:], digits[0]), highest << top] if digits else [highest]
