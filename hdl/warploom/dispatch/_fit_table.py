"""How many blocks of the resident launches fit on one SM, alone and beside each other."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.timers import timer
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
    """Return the width of a number of blocks on one SM: one more than its slots has its own."""
    return (config.block_slots + 1).bit_length()


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
        ``most``: how many blocks of the place alone fit. ``row`` n of the table, modulo the power
        of two at or above the slots, is what fits beside n blocks.
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
        beside = Signal(count_bits(config), init=-1)
        ledgers = [self._place(m, place) for place in range(2)]
        # Of the older launch's alone.
        grows, gives = (
            Cat(getattr(ledger, name) for ledger in ledgers).any() for name in ("grows", "gives")
        )
        m.d.comb += [
            self.news.newest.eq(self.newest),
            self.news.write.eq(gives),
            self.news.row.eq(Mux(self.newest, ledgers[0].number, ledgers[1].number)),
            self.news.entry.most.eq(beside),
            self.news.entry.lacks.eq(Mux(self.newest, ledgers[0].signs, ledgers[1].signs)),
        ]
        with m.If(grows):
            m.d.sync += beside.eq(beside + 1)
        with m.If(self.accepted.any()):
            m.d.sync += beside.eq(-1)

        known = self.news.known
        ready = timer(m, "table", timing(config).fit_table - 3, self.accepted.any())
        m.d.sync += known.eq(known | ready)
        with m.If(self.accepted.any()):
            m.d.sync += known.eq(0)
        return m

    def _place(self, m: Module, place: int) -> "_Ledger":
        """Take blocks from an empty SM: what is left is the state.

        It is let fall below 0 once, and that is judged in the next cycle. In the walk beside the
        older launch's blocks, one of them is taken away where no more of the newer one's fit.
        """
        counting, walking = Signal(name=f"counting_{place}"), Signal(name=f"walking_{place}")
        restart = self.accepted[place] | (self.accepted[1 - place] & ~counting)
        ledger = _Ledger(self._config, place)
        number, stuck = ledger.number, ledger.stuck
        m.d.comb += [ledger.grows.eq(walking & ~stuck), ledger.gives.eq(walking & stuck)]
        self._take(m, place, ledger, (counting & ~stuck) | walking, restart)
        with m.If((counting & ~stuck) | ledger.gives):
            m.d.sync += number.eq(number + Cat(C(1, 1), ledger.gives.replicate(len(number) - 1)))
        with m.If(restart):
            m.d.sync += number.eq(0)
        with m.If(stuck):
            m.d.sync += counting.eq(0)
        with m.If(restart):
            m.d.sync += counting.eq(1)
        # A newer launch that comes while this one is counted finds it counted; else it is counted
        # again, from the first block.
        newer = (self.newest != place) | self.accepted[1 - place]
        with m.If(counting & stuck):
            m.d.sync += walking.eq(newer)
        with m.Elif(number == 1):
            m.d.sync += walking.eq(walking & ~stuck)
        with m.If(restart):
            m.d.sync += walking.eq(0)
        self._result(m, place, ledger, counting)
        return ledger

    def _take(self, m: Module, place: int, ledger: "_Ledger", move: Value, restart: Value) -> None:
        """Subtract a block from each resource and from the slots, or add one of the own launch."""
        own, other = self.needs[place], self.needs[1 - place]
        grows, gives = ledger.grows, ledger.gives

        def amount_of(resource: str) -> Value:
            return C(1) if resource == "slots" else Mux(grows, other[resource], own[resource])

        signs, stuck = [], []
        for resource, capacity in [
            *capacities(self._config).items(),
            ("slots", self._config.block_slots),
        ]:
            capacity += int(self._fault == "overcommit" and resource == "warps")
            bits = capacity.bit_length() + 1
            # After a reset as after a restart: else either takes gates.
            left = Signal(bits, init=capacity, name=f"left_{resource}_{place}")
            after = Signal(bits + 1, name=f"left_{resource}_{place}_after")
            amount = Signal(bits, name=f"step_{resource}_{place}")
            m.d.comb += [
                amount.eq(amount_of(resource) ^ (~gives).replicate(bits)),
                # Subtracted by complement and carry: one adder.
                after.eq(Cat(~gives, left) + Cat(~gives, amount)),
            ]
            with m.If(move):
                m.d.sync += left.eq(after[1:])
            with m.If(restart):
                m.d.sync += left.eq(capacity)
            signs.append(left[-1])
            stuck.append(after[-1])
        # Slots are the last.
        m.d.comb += ledger.signs.eq(Cat(signs[:-1]))
        with m.If(move):
            m.d.sync += ledger.stuck.eq(Cat(stuck).any())
        with m.If(restart):
            m.d.sync += ledger.stuck.eq(0)

    def _result(self, m: Module, place: int, ledger: "_Ledger", counting: Value) -> None:
        """Keep what the first count says: a launch is counted again for the table beside it."""
        number, stop = ledger.number, ledger.stuck
        done = Signal(name=f"done_{place}")
        most = Signal.like(number, name=f"most_{place}")
        last = Signal.like(number, name=f"last_{place}")
        counted: Value = done | (counting & stop)
        m.d.comb += [
            self.news.counted[place].eq(counted),
            self.news.most[place].eq(most),
            self.news.last[place].eq(last | (~counted).replicate(len(last))),
        ]
        with m.If(~done & ~stop):
            m.d.sync += [most.eq(number), last.eq(most)]
        with m.If(~done):
            m.d.sync += self.lacks[place].eq(ledger.signs)
        with m.If(counting & stop):
            m.d.sync += done.eq(1)
        with m.If(self.accepted[place]):
            m.d.sync += done.eq(0)


class _Ledger:
    """What is left of an SM for one place, in how many steps from empty.

    ``stuck``: something is less than nothing: a resource, by ``signs``, or slots. In the walk that
    makes the table the newer launch's blocks grow by one, or the own launch gives one up.
    """

    def __init__(self, config: Config, place: int) -> None:
        self.number = Signal(count_bits(config), name=f"number_{place}")
        self.stuck = Signal(name=f"stuck_{place}")
        self.grows = Signal(name=f"grows_{place}")
        self.gives = Signal(name=f"gives_{place}")
        self.signs = Signal(4, name=f"signs_{place}")
