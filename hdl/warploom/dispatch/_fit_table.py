"""How many blocks of the resident launches fit on one SM, alone and beside each other."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from warploom_spec import RESOURCES, Config, capacities
from warploom_spec.layouts import PLACES


def amounts(config: Config) -> data.StructLayout:
    """Return the layout of what a block takes of each resource; it takes one slot always."""
    return data.StructLayout(
        {r: n.bit_length() for r, n in capacities(config).items() if r != "slots"}
    )


def table_row(config: Config) -> data.StructLayout:
    """Return the layout of a row: one less than the most blocks; ``none``: no block fits."""
    return data.StructLayout({"last": config.slot_bits, "none": 1})


def fit_layout(config: Config, preempts: bool = False) -> data.StructLayout:
    """Return the layout of the fit table's outputs to all SMs.

    ``alone``: one less than the most blocks of the walked place's launch on an empty SM, as of the
    next cycle; all slots until that is known. ``known``: the newest launch's table stands.
    ``write``, ``row`` and ``entry`` write the table; row n, modulo the power of two at or above the
    slots, is what fits beside n blocks. With ``preempts`` each place has a table: ``known`` is of
    the walked place's, and ``place0`` and ``place1`` have the three fields that write.
    """
    writes = {"write": 1, "row": config.slot_bits, "entry": table_row(config)}
    tables = {f"place{p}": data.StructLayout(writes) for p in range(PLACES)}
    return data.StructLayout(
        {"alone": config.slot_bits, "known": 1, **(tables if preempts else writes)}
    )


class FitTable(wiring.Component):
    """Work out by repeated addition how many blocks of each launch fit on an SM.

    Each place has a ledger that counts its launch's blocks alone. The newest launch's ledger then
    walks down beside 1, 2, ... blocks of the other one. With A blocks alone, a launch that is
    ``begun`` in T is counted in T + A + 3. Its table stands in T + 2 A + B + 6, if B blocks of the
    other launch fit.

    With ``preempts`` the older launch's ledger begins anew when a newer launch is ``begun``, or
    when its first count is over: its table stands as if its launch were begun then. What its first
    count found stays known.

    Parameters
    ----------
    config : Config
        The SM's resources and slots.
    preempts : bool, optional
        Whether each place has a table.
    """

    begun: Signal
    newest: Signal
    walked: Signal
    needs: "list[data.View[data.StructLayout]]"
    none: Signal
    lacks: Signal
    fit: "data.View[data.StructLayout]"

    def __init__(self, config: Config, *, preempts: bool = False) -> None:
        self._config = config
        self._preempts = preempts
        super().__init__(
            {
                # The place's launch is new, and `needs` says what its blocks take.
                "begun": In(2),
                # The place that got the last launch.
                "newest": In(1),
                # The place that is walked.
                "walked": In(1),
                # What one block of each place's launch takes.
                "needs": In(amounts(config)).array(2),
                # By place: from the next cycle on it is known that not even one block fits
                # (combinational).
                "none": Out(2),
                # Of the walked place's launch: the resources that one block more than fit would
                # lack; 0 until known.
                "lacks": Out(len(RESOURCES)),
                # For all SMs.
                "fit": Out(fit_layout(config, preempts)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        fit = self.fit
        a, b = (self._ledger(m, place) for place in range(2))
        m.d.comb += [
            fit.alone.eq(Mux(self.walked, b.alone_next, a.alone_next)),
            self.none.eq(Cat(a.none_next, b.none_next)),
            self.lacks.eq(Mux(self.walked, b.lacks, a.lacks)),
        ]
        if self._preempts:
            self._fill_both(m, a, b)
        else:
            self._fill_newest(m, a, b)
        return m

    def _fill_both(self, m: Module, a: "_Ledger", b: "_Ledger") -> None:
        """Write each place's table from its ledger."""
        known = Signal(PLACES)
        for place, own in enumerate((a, b)):
            table = self.fit[f"place{place}"]
            m.d.sync += [
                table.write.eq(own.grows & (own.row != 0)),
                table.row.eq(own.row),
                table.entry.last.eq(own.last),
                table.entry.none.eq(own.last[-1]),
                known[place].eq(~own.begins & ~own.busy),
            ]
        # The walked place changes at once, and its launch is judged in the same cycle.
        m.d.comb += self.fit.known.eq(Mux(self.walked, known[1], known[0]))

    def _fill_newest(self, m: Module, a: "_Ledger", b: "_Ledger") -> None:
        """Write the table from the newest launch's ledger."""
        fit, newest = self.fit, self.newest
        grows = Signal()
        last = Signal.like(a.last)
        row = Signal.like(a.row)
        m.d.comb += [
            grows.eq(Mux(newest, b.grows, a.grows)),
            last.eq(Mux(newest, b.last, a.last)),
            row.eq(Mux(newest, b.row, a.row)),
        ]
        m.d.sync += [
            fit.write.eq(grows & (row != 0)),
            fit.row.eq(row),
            fit.entry.last.eq(last),
            fit.entry.none.eq(last[-1]),
            fit.known.eq(~self.begun.any() & ~Mux(newest, b.busy, a.busy)),
        ]

    def _ledger(self, m: Module, place: int) -> "_Ledger":
        """Subtract blocks from an empty SM's resources; a result below 0 is judged a cycle later.

        A step of the walk subtracts one more block of the other launch, or adds one own block.
        """
        own = _Ledger(self._config, place)
        counting = Signal(name=f"counting_{place}")
        walking = Signal(name=f"walking_{place}")
        under = Signal(name=f"under_{place}")
        begun = self.begun[place]
        counts = Signal(name=f"counts_{place}")
        found = Signal(name=f"found_{place}")
        back = Signal(name=f"back_{place}")
        m.d.comb += [
            counts.eq(counting & ~under),
            found.eq(counting & under),
            own.grows.eq(walking & ~under),
            back.eq(under & (counting | (walking & ~own.last[-1]))),
            own.busy.eq(counting | walking),
        ]
        m.d.comb += [
            own.none_next.eq(own.none | (found & own.last[-1])),
            own.alone_next.eq(Mux(found, own.last, own.alone)),
        ]
        begins = self._begins(m, place, found) if self._preempts else begun
        signs = self._take(m, place, own.grows, back, counts, under, begins)
        m.d.sync += own.none.eq(own.none_next)
        with m.If(counts | (back & walking)):
            m.d.sync += own.last.eq(own.last + Cat(C(1, 1), under.replicate(len(own.last) - 1)))
        with m.If(own.grows):
            m.d.sync += own.row.eq(own.row + 1)
        with m.If(found):
            m.d.sync += [
                counting.eq(0),
                walking.eq(1),
                own.alone.eq(own.alone_next),
                own.lacks.eq(signs),
            ]
        with m.Elif(walking & under & own.last[-1]):
            m.d.sync += walking.eq(0)
        fresh = [own.alone.eq(own.alone.init), own.none.eq(0), own.lacks.eq(0)]
        with m.If(begins):
            m.d.sync += [
                counting.eq(1),
                walking.eq(0),
                own.last.eq(own.last.init),
                own.row.eq(0),
                *([] if self._preempts else fresh),
            ]
        if self._preempts:
            m.d.comb += own.begins.eq(begins)
            with m.If(begun):
                m.d.sync += fresh
        return own

    def _begins(self, m: Module, place: int, found: Value) -> Value:
        """Return when the ledger begins: for its own launch, or anew beside a newer one."""
        own, newer = self.begun[place], self.begun[1 - place]
        # The launch's first count is not over; a newer launch waits for that.
        first = Signal(name=f"first_count_{place}")
        pending = Signal(name=f"anew_{place}")
        anew = Signal(name=f"begins_anew_{place}")
        m.d.comb += anew.eq((pending | newer) & ~first)
        m.d.sync += [
            first.eq(own | (first & ~found)),
            pending.eq((pending | newer) & first & ~own),
        ]
        return own | anew

    def _take(
        self,
        m: Module,
        place: int,
        grows: Value,
        back: Value,
        counts: Value,
        under: Signal,
        begins: Value,
    ) -> Value:
        """Subtract a block from each resource, or add one; return the signs of what is left."""
        own, other = self.needs[place], self.needs[1 - place]
        steps = counts | back | grows
        signs, carries = [], []
        for resource, capacity in capacities(self._config).items():
            bits = capacity.bit_length() + 1
            left = Signal(bits, init=capacity, name=f"left_{resource}_{place}")
            after = Signal(bits + 1, name=f"left_{resource}_{place}_after")
            amount: Value = C(1, 1)
            if resource != "slots":
                amount = Mux(grows, other[resource], own[resource])
            step = Signal(bits, name=f"step_{resource}_{place}")
            m.d.comb += [
                # One adder subtracts, by complement and carry, and adds while `under` is 1.
                step.eq(amount ^ (~under).replicate(bits)),
                after.eq(Cat(~under, left) + Cat(~under, step)),
            ]
            with m.If(steps):
                m.d.sync += left.eq(after[1:])
            with m.If(begins):
                m.d.sync += left.eq(capacity)
            signs.append(left[-1])
            carries.append(after[bits])
        m.d.sync += under.eq(steps & Cat(carries).any() & ~begins)
        return Cat(signs)


class _Ledger:
    """One place's count and walk.

    ``last``: one less than the own blocks taken, which is -1 at the end of the walk; two less while
    they are counted. ``row``: blocks of the other launch taken. ``alone``, ``none`` and ``lacks``
    are the count's result. ``grows``: the state stands for a row of the table. ``busy``: not done.
    ``begins``: it begins in this cycle; set with ``preempts`` alone.
    """

    def __init__(self, config: Config, place: int) -> None:
        bits = config.slot_bits
        self.last = Signal(bits + 1, init=(1 << (bits + 1)) - 2, name=f"last_{place}")
        self.row = Signal(bits + 1, name=f"row_{place}")
        self.alone = Signal(bits, init=config.block_slots - 1, name=f"alone_{place}")
        self.alone_next = Signal(bits, name=f"alone_{place}_next")
        self.none = Signal(name=f"none_{place}")
        self.none_next = Signal(name=f"none_next_{place}")
        self.lacks = Signal(len(RESOURCES), name=f"lacks_{place}")
        self.grows = Signal(name=f"grows_{place}")
        self.busy = Signal(name=f"busy_{place}")
        self.begins = Signal(name=f"begins_{place}")
