"""How many blocks of the resident launches fit on one SM, alone and beside each other."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from warploom_spec import Config, timing


def capacities(config: Config) -> dict[str, int]:
    """Return what one SM has of each resource that blocks take by amount."""
    return {
        "warps": config.warp_slots,
        "registers": config.register_units,
        "shared": config.shared_units,
        "barriers": config.barriers,
    }


def amounts(config: Config) -> data.StructLayout:
    """Return the layout of an amount of each resource."""
    return data.StructLayout({r: n.bit_length() for r, n in capacities(config).items()})


def count_bits(config: Config) -> int:
    """Return the width of a number of blocks on one SM: two more than its slots have their own."""
    return (config.block_slots + 2).bit_length()


def table_row(config: Config) -> data.StructLayout:
    """Return the layout of a row: the most blocks, the resources that one more would lack."""
    return data.StructLayout({"most": count_bits(config), "lacks": 4})


def fit_news(config: Config) -> data.StructLayout:
    """Return the layout of what every SM hears of the fit table.

    ``newest`` is the place that may meet blocks of the other one. ``most`` and ``counted`` are
    those of `FitTable`, ``last`` is one less than ``most``, and no number of blocks before it is
    counted. ``known``: the table is ready for decisions of the next cycle. ``write``, ``row`` and
    ``entry`` write it.
    """
    return data.StructLayout(
        {
            "newest": 1,
            "counted": 2,
            "most": data.ArrayLayout(count_bits(config), 2),
            "last": data.ArrayLayout(count_bits(config), 2),
            "known": 1,
            "write": 1,
            "row": config.slot_bits,
            "entry": table_row(config),
        }
    )


class FitTable(wiring.Component):
    """Work out by repeated addition how many blocks of each launch fit on an SM.

    A launch accepted in T is counted from T + 1 on, a block a cycle, as fast as its blocks can be
    placed. For the newer launch of two a table says how many fit beside 1, 2, ... blocks of the
    older one: its last row is written in T + `fit_table` - 2 at the latest.

    Parameters
    ----------
    config : Config
        The SM's resources and slots.
    fault : str, optional
        ``"overcommit"``: a warp more than there is.

    Attributes
    ----------
    accepted : In(2)
        The place gets a launch at the end of the cycle.
    newest : In(1)
        The place that got the last one.
    needs : In(array of 2)
        What one block of each place's launch needs.
    lacks : Out(array of 2)
        Resources that one block more than ``most`` would lack; valid one cycle after ``counted``.
    news : Out(fit_news)
        ``counted``: the place's ``most`` is final. Before, every SM has room for one more at least.
        ``most``: how many blocks of the place alone fit; one more than there are slots if slots
        bound them. ``row`` n of the table, modulo the power of two at or above the slots, is what
        fits beside n blocks.
    """

    accepted: Signal
    newest: Signal
    needs: "list[data.View[data.StructLayout]]"
    lacks: list[Signal]
    news: "data.View[data.StructLayout]"

    def __init__(self, config: Config, *, fault: str | None = None) -> None:
        self._config = config
        self._fault = fault
        super().__init__(
            {
                "accepted": In(2),
                "newest": In(1),
                "needs": In(amounts(config)).array(2),
                "lacks": Out(4).array(2),
                "news": Out(fit_news(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        config = self._config
        counting, walking, signs = Signal(2), Signal(), Signal(4)
        # A step of the walk beside the older launch takes one of its blocks away.
        back = Signal()
        taken = [self._place(m, place, counting, walking, back) for place in range(2)]
        older = Mux(self.newest, taken[0].signs, taken[1].signs)
        number = Mux(self.newest, taken[0].number, taken[1].number)
        beside = Signal(count_bits(config), init=-1)
        full = beside == config.block_slots
        ready = ~Mux(self.newest, counting[0], counting[1])
        m.d.comb += [
            self.news.newest.eq(self.newest),
            signs.eq(older),
            back.eq(signs.any() | full),
            self.news.write.eq(walking & back),
            self.news.row.eq(number),
            self.news.entry.most.eq(beside),
            self.news.entry.lacks.eq(signs),
            walking.eq(ready & (number != 0)),
        ]
        with m.If(walking & ~back):
            m.d.sync += beside.eq(beside + 1)
        with m.If(self.accepted.any()):
            m.d.sync += beside.eq(-1)

        wait = timing(config).fit_table - 2
        left = Signal(range(wait + 1), init=wait)
        m.d.comb += self.news.known.eq(left == 0)
        with m.If(left != 0):
            m.d.sync += left.eq(left - 1)
        with m.If(self.accepted.any()):
            m.d.sync += left.eq(wait)
        return m

    def _place(
        self, m: Module, place: int, counting: Signal, walking: Value, back: Value
    ) -> "_Taken":
        """Take blocks from an empty SM: what is left is the state.

        It is let fall below 0 once, and the sign judged in the next cycle.
        """
        config = self._config
        own, other = self.needs[place], self.needs[1 - place]
        mine = self.newest != place
        enter, running = self.accepted[place], counting[place]
        restart = self.accepted[1 - place] & ~running
        number = Signal(count_bits(config), name=f"number_{place}")
        walks, stop = Signal(name=f"walks_{place}"), Signal(name=f"stop_{place}")
        signs = Signal(4, name=f"signs_{place}")
        m.d.comb += [
            walks.eq(walking & mine),
            stop.eq(signs.any() | (number == config.block_slots + 2)),
        ]
        lefts = []
        for resource, capacity in capacities(config).items():
            capacity += int(self._fault == "overcommit" and resource == "warps")
            bits = capacity.bit_length() + 1
            left = Signal(bits, name=f"left_{resource}_{place}")
            after = Signal(bits + 1, name=f"left_{resource}_{place}_after")
            amount = Signal(bits, name=f"step_{resource}_{place}")
            give = walks & back
            m.d.comb += [
                amount.eq(Mux(walks & ~back, other[resource], own[resource])),
                after.eq(Cat(~give, left) + Cat(~give, amount ^ (~give).replicate(bits))),
            ]
            with m.If(running & ~stop | walks):
                m.d.sync += left.eq(after[1:])
            with m.If(enter | restart):
                m.d.sync += left.eq(capacity)
            lefts.append(left[-1])
        m.d.comb += signs.eq(Cat(lefts))
        step: Value = running & ~stop | walks & back
        with m.If(step):
            m.d.sync += number.eq(Mux(walks, number - 1, number + 1))
        with m.If(enter | restart):
            m.d.sync += number.eq(0)
        with m.If(stop):
            m.d.sync += counting[place].eq(0)
        with m.If(enter | restart):
            m.d.sync += counting[place].eq(1)
        # A launch is counted again for the table beside another one; its own result stays.
        done = Signal(name=f"done_{place}")
        counted: Value = done | (running & stop)
        most = Signal.like(number, name=f"most_{place}")
        last = Signal.like(number, name=f"last_{place}")
        m.d.comb += [
            self.news.counted[place].eq(counted),
            self.news.most[place].eq(most),
            self.news.last[place].eq(last | (~counted).replicate(len(last))),
        ]
        with m.If(~done & ~stop):
            m.d.sync += [most.eq(number), last.eq(most)]
        with m.If(~done):
            m.d.sync += self.lacks[place].eq(signs)
        with m.If(running & stop):
            m.d.sync += done.eq(1)
        with m.If(enter):
            m.d.sync += done.eq(0)
        return _Taken(signs, number)


class _Taken:
    """A place's signs of what is left, and the number of its blocks that were taken."""

    def __init__(self, signs: Signal, number: Signal) -> None:
        self.signs: Any = signs
        self.number = number
