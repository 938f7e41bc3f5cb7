"""How many blocks of each resident launch one SM holds, and whether another one fits."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from warploom.dispatch._fit_table import count_bits, fit_news, table_row
from warploom_spec import Config


def both(bit: Value) -> Value:
    """Return the bit for each of the two places."""
    return bit.replicate(2)


class SmCounts(wiring.Component):
    """Count one SM's blocks of each place: up at a decision, down at a return.

    What is returned is known a cycle ahead. So a register has the blocks that stay after this
    cycle, but for one that is decided in it: what fits in the next cycle follows from registers,
    and a decision, which is late in its cycle, only chooses.

    Parameters
    ----------
    config : Config
        The SM's slots.
    most : int
        Blocks of one place that may be returned in one cycle.

    Attributes
    ----------
    placed, head_place : In(1)
        The head, a block of that place, is decided for this SM in this cycle.
    ending : In(array of 2)
        Blocks of the place that return what they hold at the end of the next cycle.
    wipe : In(2)
        At the end of the next cycle all of the place's blocks end but one that is left, if any. The
        place is stopped; wins over ``ending``.
    left, ends : In
        The place has such a block; a block that ends then by itself is that one.
    news : In(fit_news)
        What fits.
    fits_placed, fits_else : Out(2)
        In the next cycle there are warps, registers, shared units and barriers for one more block
        of the place, and that is known: if the head is placed here in this cycle, if it is not.
        No decision goes into them.
    alone, lacks : Out
        Why the head does not fit: what its own launch lacks alone; resources lacked beside the
        other launch's blocks.
    some : Out(2)
        The SM holds a block of the place.
    remaining : Out(2)
        It holds one after this cycle, but for what is decided in it.
    stays : Out(2)
        The block that is left does not end then.
    killed : Out(2)
        A wipe, told of in the last cycle, ends a block that would not end by itself.
    """

    placed: Signal
    head_place: Signal
    ending: data.View
    wipe: Signal
    left: Signal
    ends: Signal
    stays: Signal
    news: data.View
    fits_placed: Signal
    fits_else: Signal
    alone: Signal
    lacks: Signal
    some: Signal
    remaining: Signal
    killed: Signal

    def __init__(self, config: Config, most: int) -> None:
        self._config = config
        self._most = most
        super().__init__(
            {
                "placed": In(1),
                "head_place": In(1),
                "ending": In(data.ArrayLayout(most.bit_length(), 2)),
                "wipe": In(2),
                "left": In(2),
                "ends": In(1),
                "stays": Out(2),
                "news": In(fit_news(config)),
                "fits_placed": Out(2),
                "fits_else": Out(2),
                "alone": Out(1),
                "lacks": Out(4),
                "some": Out(2),
                "remaining": Out(2),
                "killed": Out(2),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        news, bits = self.news, count_bits(self._config)
        rests = [Signal(bits, name=f"rest_{place}") for place in range(2)]
        decided, alike, filled = Signal(2), Signal(2), Signal(2)
        m.d.comb += decided.eq(Cat(~self.head_place, self.head_place) & self.placed.replicate(2))
        remaining = self.remaining
        for place, rest in enumerate(rests):
            self._count(m, place, rest, decided[place])
            m.d.comb += [
                remaining[place].eq(rest.any()),
                alike[place].eq(news.counted[place] & (rest == news.most[place])),
                filled[place].eq(rest == news.last[place]),
            ]
        m.d.sync += self.some.eq(decided | remaining)

        # The table is looked up without what is decided of the older launch in this cycle.
        newer, older = Mux(news.newest, *rests[::-1]), Mux(news.newest, *rests)
        entry = self._entry(m, older)
        stay, grow = Signal(), Signal()
        m.d.comb += [stay.eq(newer == entry.most), grow.eq(entry.most == (newer + 1)[:bits])]
        others, known = Cat(remaining[1], remaining[0]), both(news.known)
        own = Cat(~self.head_place, self.head_place)
        m.d.comb += [
            self.fits_placed.eq(own & (others & known & both(~grow) | ~others & ~filled)),
            self.fits_else.eq(others & known & both(~stay) | ~others & ~alike),
        ]

        full, lacks = Signal(2), Signal(4)
        up_before, unknown_before, grown, stayed = Signal(), Signal(), Signal(), Signal()
        up, unknown = Mux(news.newest, *decided[::-1]), Mux(news.newest, *decided)
        m.d.sync += [
            full.eq(decided & filled | ~decided & alike),
            up_before.eq(up),
            unknown_before.eq(unknown),
            grown.eq(news.known & grow),
            stayed.eq(news.known & stay),
            lacks.eq(entry.lacks),
        ]
        blocked = ~unknown_before & Mux(up_before, grown, stayed)
        single = ~Mux(self.head_place, self.some[0], self.some[1])
        m.d.comb += [
            self.alone.eq(single & Mux(self.head_place, full[1], full[0])),
            self.lacks.eq(lacks & (blocked & ~single).replicate(4)),
        ]
        return m

    def _count(self, m: Module, place: int, rest: Signal, up: Value) -> None:
        """Count up and down; see whether a wipe kills."""
        back, left = self.ending[place], self.left[place]
        stays = left & ~(back.any() & self.ends)
        if self._most == 1:
            with m.If(up ^ back):
                m.d.sync += rest.eq(rest + Cat(C(1, 1), back.replicate(len(rest) - 1)))
        else:
            m.d.sync += rest.eq(rest + up - back)
        with m.If(self.wipe[place]):
            m.d.sync += rest.eq(stays)
        m.d.comb += self.stays[place].eq(stays)
        # Judged when the wipe is over: in its own cycle it is known late which block ends.
        was = Signal.like(rest, name=f"rest_{place}_before")
        ended, kept, wiped = (
            Signal(name=f"{n}_{place}_before") for n in ("ended", "kept", "wiped")
        )
        m.d.sync += [
            was.eq(rest),
            ended.eq(back.any()),
            kept.eq(stays),
            wiped.eq(self.wipe[place]),
        ]
        m.d.comb += self.killed[place].eq(wiped & (was != Cat(ended ^ kept, ended & kept)))

    def _entry(self, m: Module, older: Value) -> "data.View[data.StructLayout]":
        """Look up what fits beside that many blocks of the older launch."""
        memory: Memory = Memory(
            shape=table_row(self._config), depth=1 << self._config.slot_bits, init=[]
        )
        m.submodules.table = memory
        write, read = memory.write_port(), memory.read_port(domain="comb")
        m.d.comb += [
            write.en.eq(self.news.write),
            write.addr.eq(self.news.row),
            write.data.eq(self.news.entry),
            read.addr.eq(older),
        ]
        entry: data.View[data.StructLayout] = read.data
        return entry
