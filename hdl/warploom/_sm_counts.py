"""How many blocks of each resident launch one SM holds, and whether another one fits."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from warploom._fit_table import count_bits, fit_news, table_row
from warploom_spec import Config


def follows(number: Value, before: Value) -> Value:
    """Return whether a number is one more than another of its width, without a carry chain.

    number - before - 1 is number + ~before: all its bits are 0 if and only if at each bit the sum
    of the two is what the bit below carries, and a bit below that sums to 0 carries if either is 1.
    """
    other = ~before[: len(number)]
    carries = Cat(C(0, 1), (number | other)[:-1])
    return ~((number ^ other ^ carries).any())


class SmCounts(wiring.Component):
    """Count one SM's blocks of each place: up at a decision, down at a return.

    What fits is known from registers: a decision, which is late in its cycle, only chooses.

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
        At the end of this cycle all of the place's blocks end but the one that stays, if any. The
        place is stopped.
    head_place : In(1)
        Whose block the head is.
    news : In(fit_news)
        What fits.
    fits : Out(1)
        The head's warps, registers, shared units and barriers are there, and that is known.
    alone, lacks : Out
        Why not: what its own launch lacks alone; resources lacked beside the other launch's blocks.
    some : Out(2)
        The SM holds a block of the place.
    expected : In(array of 2), more : Out(2)
        The place has more blocks here than that many (0 to 2).
    """

    decided: Signal
    returned: data.View
    wipe: Signal
    stays: Signal
    head_place: Signal
    news: data.View
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
                "head_place": In(1),
                "news": In(fit_news(config)),
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
        news, bits = self.news, count_bits(self._config)
        counts = [Signal(bits, name=f"count_{place}") for place in range(2)]
        full, some = Signal(2), self.some
        newer, older = Mux(news.newest, *counts[::-1]), Mux(news.newest, *counts)
        entry = self._entry(m, older)
        if self._most == 1:
            beside = self._step(m, counts, full, newer, entry.most)
        else:
            beside = self._leap(m, counts, full, entry.most)
        # The table is looked up without what is decided of the older launch in this cycle.
        known = news.known & ~Mux(news.newest, self.decided[0], self.decided[1])
        blocked, lacks = Signal(), Signal(4)
        m.d.sync += [blocked.eq(known & beside), lacks.eq(entry.lacks)]
        for place in range(2):
            with m.If(self.wipe[place]):
                m.d.sync += [
                    counts[place].eq(self.stays[place]),
                    some[place].eq(self.stays[place]),
                    full[place].eq(0),
                ]
        single = ~Mux(self.head_place, some[0], some[1])
        m.d.comb += [
            self.more.eq(Cat(counts[p] != self.expected[p] for p in range(2))),
            self.alone.eq(single & Mux(self.head_place, full[1], full[0])),
            self.lacks.eq(lacks & (blocked & ~single).replicate(4)),
        ]
        return m

    def _step(
        self, m: Module, counts: list[Signal], full: Signal, newer: Value, most: Value
    ) -> Value:
        """Count by one; return whether no more of the newer launch fit beside the older one.

        All is known from registers for both cases, a decision for this SM and none: the decision,
        the latest signal of all, only chooses.
        """
        news, some = self.news, self.some
        down = Mux(news.newest, self.returned[1], self.returned[0])
        stay = ~down & (newer == most)
        grow = Mux(down, newer == most, follows(most, newer))
        fit, kept = Signal(2), []
        for place, count in enumerate(counts):
            up, back = self.decided[place], self.returned[place]
            kept.append(some[place] & ~(back & (count == 1)))
            with m.If(up ^ back):
                m.d.sync += [
                    count.eq(count + Cat(C(1, 1), back.replicate(len(count) - 1))),
                    full[place].eq(up & (count == news.last[place])),
                    some[place].eq(up | (count != 1)),
                ]
        for place, count in enumerate(counts):
            back, others = self.returned[place], kept[1 - place]
            # Of a wiped launch one block is left, or none.
            others = Mux(self.wipe[1 - place], self.stays[1 - place], others)
            filled = Mux(back, full[place], count == news.last[place])
            idle = Mux(others, news.known & ~stay, ~(full[place] & ~back))
            given = Mux(others, news.known & ~grow, ~filled) & (self.head_place == place)
            m.d.sync += fit[place].eq(Mux(self.decided.any(), given, idle))
        m.d.comb += self.fits.eq(Mux(self.head_place, fit[1], fit[0]))
        up = Mux(news.newest, self.decided[1], self.decided[0])
        return Mux(up, grow, stay)

    def _leap(self, m: Module, counts: list[Signal], full: Signal, most: Value) -> Value:
        """Count by any number; return the same as `_step`."""
        news, fit, after = self.news, Signal(), []
        for place, count in enumerate(counts):
            following = Signal.like(count, name=f"count_{place}_after")
            m.d.comb += following.eq(count + self.decided[place] - self.returned[place])
            m.d.sync += [
                count.eq(following),
                full[place].eq(news.counted[place] & (following == news.most[place])),
                self.some[place].eq(following != 0),
            ]
            after.append(following)
        beside = Mux(news.newest, after[1], after[0]) == most
        known = news.known & ~Mux(news.newest, self.decided[0], self.decided[1])
        m.d.sync += fit.eq(known & ~beside)
        single = ~Mux(self.head_place, self.some[0], self.some[1])
        m.d.comb += self.fits.eq(Mux(single, ~self.alone, fit))
        return beside

    def _entry(self, m: Module, older: Value) -> "data.View[data.StructLayout]":
        """Look up what fits beside the older launch's blocks that are not returned now."""
        memory: Memory = Memory(
            shape=table_row(self._config), depth=1 << self._config.slot_bits, init=[]
        )
        m.submodules.table = memory
        write, read = memory.write_port(), memory.read_port(domain="comb")
        wipe = Mux(self.news.newest, self.wipe[0], self.wipe[1])
        down = Mux(self.news.newest, self.returned[0], self.returned[1])
        left = Signal.like(older, name="older_left")
        m.d.comb += [
            write.en.eq(self.news.write),
            write.addr.eq(self.news.row),
            write.data.eq(self.news.entry),
            left.eq(older - down),
            # Of a wiped launch one block is left, or none.
            read.addr.eq(Mux(wipe, 1, left)),
        ]
        entry: data.View[data.StructLayout] = read.data
        return entry
