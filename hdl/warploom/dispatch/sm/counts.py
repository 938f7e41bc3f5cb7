"""How many blocks one SM holds, and whether it has room for one more."""

from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from warploom.dispatch._fit_table import fit_layout, table_row
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


class WalkState(wiring.Signature):
    """Which place is walked.

    Members: ``starts``, the first cycle of a walk, in which there is no head yet; ``place``, which
    is walked now or was walked last; ``role``, the same a cycle later: the head's place;
    ``role_changes``, the two differ, in a walk's first cycle. All are registers.
    """

    def __init__(self) -> None:
        super().__init__({name: Out(1) for name in ("starts", "place", "role", "role_changes")})


class LaunchState(wiring.Signature):
    """Signals of the resident launches, common to all SMs.

    Members: ``fit``, how many blocks fit; ``walk``, which place is walked; ``late``, by place, an
    SM with an unreported block of it is lost at the end of the cycle; ``kill_before``, by place,
    ``kill`` of the last cycle.
    """

    def __init__(self, config: Config, preempts: bool = False) -> None:
        super().__init__(
            {
                "fit": Out(fit_layout(config, preempts)),
                "walk": Out(WalkState()),
                "late": Out(2),
                "kill_before": Out(2),
            }
        )


class SmCounts(wiring.Component):
    """Count the blocks of the launch that is being placed, and of the other one.

    Counts go by role: ``placing`` is the launch of the head's place. Only of it blocks are placed.
    A walk of the other place swaps the roles at the end of its first cycle.

    Parameters
    ----------
    config : Config
        ``block_slots``, ``reclaim``.
    preempts : bool, optional
        Whether a walk may be interrupted: a launch whose walk begins may have blocks, and each
        place has a table of what fits.
    """

    placed: Signal
    returned: Signal
    hits: Signal
    launches: Any
    full: Signal
    held: Signal
    out: Signal

    def __init__(self, config: Config, *, preempts: bool = False) -> None:
        self._config = config
        self._preempts = preempts
        super().__init__(
            {
                # A block was decided for the SM in the last cycle.
                "placed": In(1),
                # By place: a block returned; counted in the next cycle.
                "returned": In(2),
                # By place: a block was reported; counted in the next cycle.
                "hits": In(2),
                # The head's place, and how many blocks fit.
                "launches": In(LaunchState(config, preempts)),
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
        walk = self.launches.walk
        # Blocks of the place that is not walked, and one of them returned.
        beside = Signal(bits)
        beside_back = Signal()
        one_less = Signal(bits)
        beside_next = Signal(bits)
        # They differ in a walk's first cycle alone, in which the counts change their roles.
        own = walk.place if self._preempts else walk.role
        m.d.comb += [
            one_less.eq(beside - 1),
            back.eq(Mux(own, self.returned[1], self.returned[0])),
            beside.eq(Mux(walk.role_changes, placing, other)),
            beside_back.eq(Mux(walk.place, self.returned[0], self.returned[1])),
            # `returned` comes late: it only selects.
            beside_next.eq(Mux(beside_back, one_less, beside)),
        ]
        step = Cat(self.placed ^ back, (back & ~self.placed).replicate(bits - 1))
        if self._preempts:
            # A launch whose walk was interrupted has blocks. A walk's first cycle places none.
            walked = Mux(walk.role_changes, other, placing)
            m.d.sync += [placing.eq(walked + step), other.eq(beside_next)]
        else:
            m.d.sync += [placing.eq(placing + step), other.eq(beside_next)]
            with m.If(walk.role_changes):
                m.d.sync += placing.eq(0)
        m.d.comb += self.held.eq(by_place(walk.role, placing.any(), other.any()))
        blocked = beside.any()
        if self._preempts:
            blocked = placing.any() | other.any()
        self._room(m, blocked, placing, beside, beside_back, beside_next)
        if self._config.reclaim == "in_order":
            for place in range(2):
                up = self.placed & (walk.role == place)
                unreported = count(m, f"unreported_{place}", bits, up, self.hits[place])
                m.d.comb += self.out[place].eq(unreported.any())
        else:
            m.d.comb += self.out.eq(self.held)
        return m

    def _room(
        self,
        m: Module,
        blocked: Value,
        placing: Signal,
        beside: Signal,
        beside_back: Signal,
        beside_next: Signal,
    ) -> None:
        """Judge whether one block more fits beside the other launch's.

        In a walk's first cycle ``blocked`` says that it does not.
        """
        fit, walk = self.launches.fit, self.launches.walk
        bits = self._config.slot_bits
        if self._preempts:
            rows = [self._table(m, f"table_{p}", fit[f"place{p}"], beside_next) for p in range(2)]
            row: Any = Signal(table_row(self._config), name="table_row")
            m.d.comb += row.eq(Mux(walk.place, rows[1], rows[0]))
        else:
            row = self._table(m, "table", fit, beside_next)
        # One less than the most blocks beside the other launch's; no block fits. The table is read
        # a cycle ahead, because it is slow.
        last = Signal(bits, reset_less=True)
        none = Signal()
        some_next = Signal()
        sum_ = Signal(bits + 3)
        # A walk's first block goes only where no block of the other place is. A walk that changes
        # no role begins before the fit is known: `none` says the same. With `preempts` it may have
        # blocks of its own, and goes where no block is at all.
        begins = walk.starts if self._preempts else walk.role_changes
        m.d.comb += [
            some_next.eq(beside.any() & ~((beside == 1) & beside_back)),
            # placing + placed > last, as the carry of a sum: `last` is kept inverted.
            sum_.eq(Cat(self.placed, placing) + Cat(self.placed, ~last, C(1, 1))),
            self.full.eq(Mux(begins, blocked, sum_[bits + 2] | none)),
        ]
        m.d.sync += [
            last.eq(Mux(some_next, row.last, fit.alone)),
            none.eq(some_next & (~fit.known | row.none)),
        ]

    def _table(self, m: Module, name: str, writes: Any, beside_next: Signal) -> Any:
        """Add a table of what fits beside the other launch's blocks; return the row of a number."""
        bits = self._config.slot_bits
        table: Memory = Memory(shape=table_row(self._config), depth=1 << bits, init=[])
        m.submodules[name] = table
        write = table.write_port()
        read = table.read_port(domain="comb")
        m.d.comb += [
            write.en.eq(writes.write),
            write.addr.eq(writes.row),
            write.data.eq(writes.entry),
            read.addr.eq(beside_next[:bits]),
        ]
        return read.data
