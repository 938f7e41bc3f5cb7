"""Packed indices of all block shapes in use: one warp written and one read in every cycle."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.unnamed import UNNAMED, unnamed_write_port
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
                # Pulse: a region is about to be written.
                "accepted": In(layouts.index_region(config).layout()),
                # One warp; `ready` is always 1. Each write shortens the oldest pending region by
                # one warp.
                "write": In(stream.Signature(layouts.packed_warp(config).layout())),
                # `ready` is combinational in `data.ready`, the request and the write of the same
                # cycle: a request for the warp being written is granted and gets the new data.
                "read": In(stream.Signature(layouts.index_read(config).layout())),
                # One cycle after the request was granted, until taken; all 0 for a warp that has no
                # indices.
                "data": Out(stream.Signature(layouts.index_data(config).layout())),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        config = self._config
        request = self.read.payload
        place = Signal(config.index_address_bits)
        room = Signal(name=UNNAMED)
        present = Signal(name=UNNAMED)
        stalled = Signal(name=UNNAMED)
        granted = Signal(name=UNNAMED)
        unwritten = self._pending(m, place)
        written_now = self.write.valid & (self.write.payload.address == place)
        m.d.comb += [
            place.eq(request.address + request.warp),
            present.eq(request.warp < request.index_warps),
            stalled.eq(present & unwritten & ~written_now),
            self.write.ready.eq(1),
            room.eq(~self.data.valid | self.data.ready),
            self.read.ready.eq(room & ~stalled),
            granted.eq(self.read.valid & self.read.ready),
        ]
        with m.If(granted):
            m.d.sync += self.data.valid.eq(1)
        with m.Elif(self.data.ready):
            m.d.sync += self.data.valid.eq(0)
        self._store(m, place, room, present, written_now)
        return m

    def _store(
        self, m: Module, place: Signal, room: Signal, present: Signal, written_now: Value
    ) -> None:
        """Write a warp and read a warp; a row that is being written is read from a register beside.

        The memory's port never reads the row that is being written. For such a read synthesis would
        add gates around the memory, or build the whole memory of registers. The port may read
        without a grant, since that data is never shown: so its enable does not wait for the pending
        regions.
        """
        config = self._config
        layout = layouts.index_data(config).layout()
        storage: memory.Memory = memory.Memory(
            shape=layout, depth=1 << config.index_address_bits, init=[]
        )
        m.submodules.storage = storage
        writer = unnamed_write_port(storage)
        reader = storage.read_port()
        beside = data.View(layout, Signal(layout.size, name="beside", reset_less=True))
        shown = Signal()
        m.d.comb += [
            writer.addr.eq(self.write.payload.address),
            writer.data.words.eq(self.write.payload.words),
            writer.data.mask.eq(self.write.payload.mask),
            writer.en.eq(self.write.valid),
            reader.addr.eq(place),
            reader.en.eq(room & ~written_now),
            self.data.payload.eq(Mux(shown, beside, reader.data)),
        ]
        with m.If(room):
            m.d.sync += [shown.eq(written_now | ~present), beside.eq(writer.data)]
        # A warp at or beyond `index_warps` reads 0, by the registers' reset: that takes no gates.
        with m.If(room & ~present):
            m.d.sync += beside.eq(0)

    def _pending(self, m: Module, place: Signal) -> Value:
        """Keep the regions that are accepted and not wholly written, oldest first.

        Returns whether ``place`` is in such a region and was not written before this cycle.
        """
        bits = self._config.index_address_bits + 1
        depth = timing(self._config).done_depth
        region = data.StructLayout({"next": bits, "end": bits})
        queue = [Signal(region, name=f"pending_{k}") for k in range(depth)]
        held = [Signal(name=f"pending_{k}_held") for k in range(depth)]
        push = Signal(name=UNNAMED)
        pop = Signal()
        new = Signal(region)
        oldest = queue[0]
        after = Signal(bits)
        m.d.comb += [
            push.eq(self.accepted.valid & (self.accepted.warps != 0)),
            new.next.eq(self.accepted.address),
            new.end.eq(self.accepted.address + self.accepted.warps),
            after.eq(oldest.next + 1),
            pop.eq(self.write.valid & held[0] & (self.write.payload.last | (after == oldest.end))),
        ]
        with m.If(self.write.valid):
            m.d.sync += oldest.next.eq(after)
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
            within = (place >= queue[k].next) & (place < queue[k].end)
            unwritten = unwritten | (held[k] & within)
        return unwritten
