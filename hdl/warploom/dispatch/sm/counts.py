"""How many blocks one SM holds, and whether it has room for one more."""

from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from warploom.dispatch._fit_table import fit_news, table_row
from warploom.lib.unnamed import unnamed_write_port
from warploom_spec import Config


def both(bit: Value) -> Value:
    """Return the bit for each of the two places."""
    return bit.replicate(2)


def by_place(role: Value, placing: Value, other: Value) -> Value:
    """Return both places' bits, given those of the placing launch, of place ``role``, and other."""
    return Cat(Mux(role, other, placing), Mux(role, placing, other))


def count(m: Module, name: str, bits: int, up: Value, down: Value) -> Signal:
    """Return a counter that goes one up and one down."""
    counter = Signal(bits, name=name)
    with m.If(up ^ down):
        m.d.sync += counter.eq(counter + Cat(C(1, 1), down.replicate(bits - 1)))
    return counter


class LaunchNews(wiring.Signature):
    """Signals of the resident launches, common to all SMs.

    Members: ``fit``, how many blocks fit; ``role``, the head's place; ``shift``, the other place
    becomes the head's at the end of the cycle; ``late``, by place, an SM with an unreported block
    of it is lost at the end of the cycle; ``kill_before``, by place, ``kill`` of the last cycle.
    """

    def __init__(self, config: Config) -> None:
        super().__init__(
            {
                "fit": Out(fit_news(config)),
                "role": Out(1),
                "shift": Out(1),
                "late": Out(2),
                "kill_before": Out(2),
            }
        )


class SmCounts(wiring.Component):
    """Count the blocks of the launch that is being placed, and of the other one.

    Counts go by role: ``placing`` is the launch of the head's place. Only of it blocks are placed.

    Parameters
    ----------
    config : Config
        ``block_slots``, ``reclaim``.
    """

    placed: Signal
    returned: Signal
    hits: Signal
    news: Any
    full: Signal
    held: Signal
    out: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                # A block was decided for the SM in the last cycle.
                "placed": In(1),
                # By place: a block returned; counted in the next cycle.
                "returned": In(2),
                # By place: a block was reported; counted in the next cycle.
                "hits": In(2),
                # The head's place, and how many blocks fit.
                "news": In(LaunchNews(config)),
                # In the next cycle the SM has no room for the head (combinational).
                "full": Out(1),
                # By place: blocks that have not returned; blocks without a report that counts.
                "held": Out(2),
                "out": Out(2),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        bits = self._config.slot_bits + 1
        placing = Signal(bits)
        other = Signal(bits)
        back = Signal()
        other_back = Signal()
        following = Signal(bits)
        role = self.news.role
        m.d.comb += [
            back.eq(Mux(role, self.returned[1], self.returned[0])),
            other_back.eq(Mux(role, self.returned[0], self.returned[1])),
            following.eq(
                placing + Cat(self.placed ^ back, (back & ~self.placed).replicate(bits - 1))
            ),
        ]
        m.d.sync += [placing.eq(following), other.eq(other - other_back)]
        with m.If(self.news.shift):
            m.d.sync += [placing.eq(0), other.eq(following)]
        some, other_some = placing.any(), other.any()
        m.d.comb += self.held.eq(by_place(role, some, other_some))
        self._room(m, placing, other, other_some)
        if self._config.reclaim == "in_order":
            for place in range(2):
                up = self.placed & (role == place)
                unreported = count(m, f"unreported_{place}", bits, up, self.hits[place])
                m.d.comb += self.out[place].eq(unreported.any())
        else:
            m.d.comb += self.out.eq(self.held)
        return m

    def _room(self, m: Module, placing: Signal, other: Signal, other_some: Value) -> None:
        """Judge whether one block more fits beside the other launch's."""
        news = self.news.fit
        bits = self._config.slot_bits
        table: Memory = Memory(shape=table_row(self._config), depth=1 << bits, init=[])
        m.submodules.table = table
        write = unnamed_write_port(table)
        read = table.read_port(domain="comb")
        last = Signal(bits)
        over = Signal()
        over_switched = Signal()
        sum_ = Signal(bits + 3)
        over_other = Signal(bits + 3)
        m.d.comb += [
            write.en.eq(news.write),
            write.addr.eq(news.row),
            write.data.eq(news.entry),
            read.addr.eq(other[:bits]),
            last.eq(Mux(other_some, read.data.last, news.alone)),
            # placing + placed > last, as the carry of a sum: `last` is kept inverted.
            sum_.eq(Cat(self.placed, placing) + Cat(self.placed, ~last, C(1, 1))),
            over.eq(sum_[bits + 2] | (other_some & (~news.known | read.data.none))),
            # The present launch's blocks beside one of the next launch.
            over_other.eq(Cat(C(0, 1), placing) + Cat(C(0, 1), ~news.beside)),
            over_switched.eq(self.placed | (placing.any() & (~news.known | over_other[bits + 2]))),
            self.full.eq(Mux(self.news.shift, over_switched, over)),
        ]
