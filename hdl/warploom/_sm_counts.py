"""How many blocks of each resident launch one SM holds, and whether another one fits."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from warploom._fit_table import count_bits, next_fit, table_row
from warploom_spec import Config


class SmCounts(wiring.Component):
    """Count one SM's blocks of each place: up at a decision, down at a return.

    Parameters
    ----------
    config : Config
        The SM's slots.
    most : int
        Blocks of one place that may be returned in one cycle.

    Attributes
    ----------
    decided : In(2)
        A block of the place is decided for this SM in this cycle.
    returned : In(array of 2)
        Blocks of the place that return what they hold at the end of this cycle.
    wipe, stays : In(2)
        At the end of this cycle all of the place's blocks end but the one that stays, if any.
    fit : In(next_fit)
        What fits in the next cycle.
    fits : Out(1)
        The head's warps, registers, shared units and barriers are there, and that is known.
    alone, lacks : Out
        Why not: what its own launch lacks alone; resources lacked beside the other launch's blocks.
    some : Out(2)
        The SM holds a block of the place.
    more : Out(2)
        It holds more than those that ``expected`` counts.
    expected : In(array of 2)
        0 to 2 blocks.
    """

    decided: Signal
    returned: data.View
    wipe: Signal
    stays: Signal
    fit: data.View
    fits: Signal
    alone: Signal
    lacks: Signal
    some: Signal
    expected: data.View
    more: Signal

    def __init__(self, config: Config, most: int) -> None:
        self._config = config
        self._most = most
        super().__init__(
            {
                "decided": In(2),
                "returned": In(data.ArrayLayout(most.bit_length(), 2)),
                "wipe": In(2),
                "stays": In(2),
                "fit": In(next_fit(config)),
                "fits": Out(1),
                "alone": Out(1),
                "lacks": Out(4),
                "some": Out(2),
                "expected": In(data.ArrayLayout(2, 2)),
                "more": Out(2),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        config = self._config
        counts, after = [], []
        for place in range(2):
            count = Signal(count_bits(config), name=f"count_{place}")
            following = Signal.like(count, name=f"count_{place}_after")
            m.d.comb += following.eq(count + self._change(place))
            m.d.sync += count.eq(following)
            with m.If(self.wipe[place]):
                m.d.sync += count.eq(self.stays[place])
            counts.append(count)
            after.append(Mux(self.wipe[place], self.stays[place], following))
        m.d.comb += [
            self.some.eq(Cat(count.any() for count in counts)),
            self.more.eq(Cat(counts[p] != self.expected[p] for p in range(2))),
        ]
        self._fit(m, after)
        return m

    def _change(self, place: int) -> Value:
        """Return how a count changes but for a wipe, modulo the count's range: for one adder."""
        up: Value = self.decided[place]
        down: Value = self.returned[place]
        if self._most > 1:
            return up - down
        return Cat(up ^ down, (down & ~up).replicate(count_bits(self._config) - 1))

    def _fit(self, m: Module, after: list[Value]) -> None:
        """Compare the next cycle's counts with what fits."""
        config, fit = self._config, self.fit
        memory: Memory = Memory(shape=table_row(config), depth=1 << config.slot_bits, init=[])
        m.submodules.table = memory
        write, read = memory.write_port(), memory.read_port(domain="comb")
        own, others = Signal(count_bits(config)), Signal(count_bits(config))
        m.d.comb += [
            write.en.eq(fit.write),
            write.addr.eq(fit.row),
            write.data.eq(fit.entry),
            own.eq(Mux(fit.place, after[1], after[0])),
            others.eq(Mux(fit.place, after[0], after[1])),
            read.addr.eq(others),
        ]
        single, full, beside = Signal(), Signal(), Signal()
        m.d.comb += [
            single.eq(others == 0),
            full.eq(single & fit.counted & (own == fit.most)),
            beside.eq(~single & fit.known & (own == read.data.most)),
        ]
        m.d.sync += [
            self.fits.eq(~full & ~beside & (single | fit.known)),
            self.alone.eq(full),
            self.lacks.eq(read.data.lacks & beside.replicate(4)),
        ]
