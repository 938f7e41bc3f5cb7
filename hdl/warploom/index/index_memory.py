"""Packed indices of all block shapes in use: one warp written and one read in every cycle."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom_spec import Config, layouts, timing


class IndexMemory(wiring.Component):
    """Hold packed warps; a read of a warp that is accepted and not yet written waits.

    Parameters
    ----------
    config : Config
        ``index_memory_warps``, ``warp_size``, ``word_bits``.
    """

    accepted: data.View
    write: stream.Interface
    read: stream.Interface
    data: stream.Interface

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                # Pulse: a region will be written, three cycles later at the earliest.
                "accepted": In(layouts.index_region(config).layout()),
                # One warp; `ready` is always 1. Each write shortens the oldest pending region by
                # one warp; `last` ends the region.
                "write": In(stream.Signature(layouts.packed_warp(config).layout())),
                # `ready` is combinational in `data.ready` alone: a request for a warp that is not
                # written yet is taken and waits inside.
                "read": In(stream.Signature(layouts.index_read(config).layout())),
                # `timing.index_read` cycles after the request at the earliest, until taken; all 0
                # for a warp that has no indices.
                "data": Out(stream.Signature(layouts.index_data(config).layout())),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        request = self.read.payload
        # The row register: a request, and what is known of it since the cycle before.
        held = Signal(name="row_held")
        row = Signal(self._config.index_address_bits, name="row", reset_less=True)
        absent = Signal(name="row_absent", reset_less=True)
        waits = Signal(name="row_waits", reset_less=True)
        row_next = Signal.like(row, name="row_next")
        absent_next = Signal(name="row_absent_next")
        moves = Signal()
        m.d.comb += [
            moves.eq(~self.data.valid | self.data.ready),
            self.write.ready.eq(1),
            self.read.ready.eq(moves & ~(held & waits)),
            row_next.eq(Mux(self.read.ready, request.address + request.warp, row)),
            absent_next.eq(Mux(self.read.ready, request.warp >= request.index_warps, absent)),
        ]
        m.d.sync += [
            held.eq(Mux(self.read.ready, self.read.valid, held)),
            row.eq(row_next),
            absent.eq(absent_next),
            # Judged anew in every cycle, one cycle ahead.
            waits.eq(self._pending(m, row_next) & ~absent_next),
        ]
        self._store(m, row, held & ~waits, absent, moves)
        return m

    def _store(self, m: Module, row: Signal, leaves: Value, absent: Signal, moves: Signal) -> None:
        """Write a warp and read a warp; a register stands behind the block memories.

        The row register's row is read in every cycle that moves, whether its request leaves or
        not: so the memory's enable does not wait for the pending regions. A row that is being
        written is not read. Its request waits then; but only so does synthesis know it, and adds
        no gates for a read of old data.
        """
        config = self._config
        layout = layouts.index_data(config).layout()
        storage: memory.Memory = memory.Memory(
            shape=layout, depth=1 << config.index_address_bits, init=[]
        )
        m.submodules.storage = storage
        writer = storage.write_port()
        reader = storage.read_port()
        reading = Signal()
        reading_absent = Signal(reset_less=True)
        shown = data.View(layout, Signal(layout.size, name="data_shown", reset_less=True))
        m.d.comb += [
            writer.addr.eq(self.write.payload.address),
            writer.data.words.eq(self.write.payload.words),
            writer.data.mask.eq(self.write.payload.mask),
            writer.en.eq(self.write.valid),
            reader.addr.eq(row),
            reader.en.eq(moves & ~(writer.en & (writer.addr == reader.addr))),
            self.data.payload.eq(shown),
        ]
        with m.If(moves):
            m.d.sync += [
                reading.eq(leaves),
                reading_absent.eq(absent),
                self.data.valid.eq(reading),
                shown.eq(reader.data),
            ]
            # A warp at or beyond `index_warps` reads 0, by the registers' reset: that takes no
            # gates.
            with m.If(reading_absent):
                m.d.sync += shown.eq(0)

    def _pending(self, m: Module, row: Signal) -> Value:
        """Keep the regions that are accepted and not wholly written, oldest first.

        Returns whether ``row`` is in such a region and was not written before this cycle.
        """
        bits = self._config.index_address_bits + 1
        depth = timing(self._config).done_depth
        region = data.StructLayout({"next": bits, "end": bits})
        queue = [Signal(region, name=f"pending_{k}", reset_less=True) for k in range(depth)]
        held = [Signal(name=f"pending_{k}_held") for k in range(depth)]
        # A region that was accepted stands here for a cycle: its end is a sum.
        new = Signal(region, name="accepted_region", reset_less=True)
        push = Signal(name="accepted_held")
        pop = Signal()
        oldest = queue[0]
        m.d.sync += [
            push.eq(self.accepted.valid & (self.accepted.warps != 0)),
            new.next.eq(self.accepted.address),
            new.end.eq(self.accepted.address + self.accepted.warps),
        ]
        m.d.comb += pop.eq(self.write.valid & held[0] & self.write.payload.last)
        with m.If(self.write.valid):
            m.d.sync += oldest.next.eq(oldest.next + 1)
        for k in range(depth):
            above = held[k + 1] if k + 1 < depth else 0
            below = held[k - 1] if k else 1
            with m.If(pop):
                m.d.sync += held[k].eq(above | (push & held[k]))
                m.d.sync += queue[k].eq(Mux(above, queue[k + 1], new) if k + 1 < depth else new)
            with m.Elif(push & below & ~held[k]):
                m.d.sync += [held[k].eq(1), queue[k].eq(new)]
        unwritten: Value = Value.cast(0)
        for k in range(depth):
            within = (row >= queue[k].next) & (row < queue[k].end)
            unwritten = unwritten | (held[k] & within)
        return unwritten
