"""Reads each warp's packed indices once, one warp after the other."""

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.bits import decoded, lowest_number
from warploom_spec import Config, layouts


class IndexReader(wiring.Component):
    """Ask for the indices of warps that started; hand on which warp's have come.

    It has one read outstanding at a time. The data of a warp that ended meanwhile are dropped.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        entry = range(config.warp_slots)
        super().__init__(
            {
                # A warp has started in this entry; its indices stand in this row.
                "started": In(1),
                "entry": In(entry),
                "row": In(config.index_address_bits),
                # Entries whose warps end in this cycle.
                "cleared": In(config.warp_slots),
                # The product's port for index reads.
                "read": Out(stream.Signature(layouts.index_read(config).layout())),
                "data_valid": In(1),
                # The data in this cycle are those of this entry's warp.
                "got": Out(1),
                "got_entry": Out(entry),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        count = self._config.warp_slots
        rows = Array(Signal.like(self.row, name=f"row_{n}") for n in range(count))
        wanted = Signal(count)
        asking = Signal()
        awaiting = Signal()
        dropped = Signal()
        row = Signal.like(self.row)
        drop = dropped | self.cleared.bit_select(self.got_entry, 1)
        m.d.comb += [
            self.read.valid.eq(asking),
            # The row alone says which warp it is.
            self.read.payload.address.eq(row),
            self.read.payload.index_warps.eq(1),
            self.got.eq(awaiting & self.data_valid & ~drop),
        ]
        chosen = Signal(range(count))
        m.d.comb += chosen.eq(lowest_number(wanted))
        take = Signal()
        m.d.comb += take.eq(wanted.any() & ~asking & ~awaiting)
        with m.If(take):
            m.d.sync += [asking.eq(1), self.got_entry.eq(chosen), row.eq(rows[chosen])]
            m.d.sync += dropped.eq(self.cleared.bit_select(chosen, 1))
        with m.Else():
            m.d.sync += dropped.eq(drop)
        with m.If(asking & self.read.ready):
            m.d.sync += [asking.eq(0), awaiting.eq(1)]
        with m.If(awaiting & self.data_valid):
            m.d.sync += awaiting.eq(0)
        starts = decoded(m, "starts", self.entry, count, self.started)
        takes = decoded(m, "takes", chosen, count, take)
        m.d.sync += wanted.eq(wanted & ~self.cleared & ~takes | starts)
        with m.If(self.started):
            m.d.sync += rows[self.entry].eq(self.row)
        return m
