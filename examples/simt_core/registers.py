"""The registers of all warps."""

from amaranth.hdl import C, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from warploom.lib.bits import lowest_number
from warploom_spec import Config

#: Registers of a lane.
_COUNT = 32
#: Register a0.
_ARGUMENTS = 10


class Registers(wiring.Component):
    """Keep the registers of each entry's warp, a row of lanes each.

    A warp that starts finds the arguments' address in a0, and 0 in all others: when it has ended,
    its entry's registers are cleared, one in each cycle without another write.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        entry, width = range(config.warp_slots), 32 * config.warp_size
        super().__init__(
            {
                # Operands: the numbers of two registers of the current warp. Their values come in
                # the next cycle, and stay.
                "current": In(entry),
                "read": In(1),
                "rs1": In(5),
                "rs2": In(5),
                "a": Out(width),
                "b": Out(width),
                # A result, of the lanes that are chosen. It is 0 if none is.
                "rd": In(5),
                "lanes": In(config.warp_size),
                "values": In(width),
                # A warp starts in this entry; no lane is chosen in this cycle.
                "starts": In(1),
                "entry": In(entry),
                "arguments": In(32),
                # Entries that wait to be cleared; they are from the next cycle on.
                "dirty": In(config.warp_slots),
                "cleared": Out(config.warp_slots),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        lanes = self._config.warp_size
        depth = _COUNT * self._config.warp_slots
        rows: Memory = Memory(shape=32 * lanes, depth=depth, init=[])
        m.submodules.rows = rows
        for number, value in ((self.rs1, self.a), (self.rs2, self.b)):
            port = rows.read_port()
            m.d.comb += [port.addr.eq(Cat(number, self.current)), port.en.eq(self.read)]
            m.d.comb += value.eq(port.data)
        write = rows.write_port(granularity=32)
        turned = self.lanes.any()
        sweeping = Signal()
        number = Signal(range(_COUNT))
        entry = Signal.like(self.entry)
        address = Mux(self.starts, Cat(C(_ARGUMENTS, 5), self.entry), Cat(number, entry))
        first = Mux(self.starts, self.arguments, 0)
        m.d.comb += write.addr.eq(Mux(turned, Cat(self.rd, self.current), address))
        m.d.comb += write.data.eq(self.values | first.replicate(lanes))
        m.d.comb += write.en.eq(self.lanes | (self.starts | sweeping & ~turned).replicate(lanes))
        sweeps = sweeping & ~turned & ~self.starts
        last = sweeps & number.all()
        m.d.comb += self.cleared.eq(Mux(last, 1 << entry, 0))
        with m.If(sweeps):
            m.d.sync += number.eq(number + 1)
        with m.If(last):
            m.d.sync += sweeping.eq(0)
        with m.Elif(~sweeping):
            m.d.sync += [entry.eq(lowest_number(self.dirty)), sweeping.eq(self.dirty.any())]
        return m
