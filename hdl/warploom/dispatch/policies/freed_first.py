"""`freed_first`: the SM whose slot came back first, else the order table's."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring

from warploom.dispatch.policies._candidate import bit_of
from warploom.dispatch.policies._freed_queue import FreedQueue
from warploom.dispatch.policies._order_table import OrderTable
from warploom.dispatch.room import Room
from warploom.lib.bits import crossed
from warploom.lib.pipes import held
from warploom_spec import Config


class FreedFirst(Room):
    """Choose the SM at the head of a queue of freed slots; without one, that of the order table.

    There is one candidate at a time: nothing is searched. The part ``freed_first`` of
    ``docs/dispatch/block_dispatcher.md`` has each cycle.
    """

    READS_RETURNS = True

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._number = Signal(config.sm_bits, name="candidate_number")
        self._has = Signal(name="has")

    def finds(self, room: Signal) -> Value:
        """Return whether the candidate has room."""
        return self._has

    def choose(self, m: Module, room: Signal, out: Signal) -> Value:
        """Return the candidate if it has room."""
        m.submodules.queue = queue = FreedQueue(self._config)
        m.submodules.table = table = OrderTable(self._config)
        wiring.connect(m, wiring.flipped(self.swap), table.swap)
        wiring.connect(m, table.swap_refused, wiring.flipped(self.swap_refused))
        aside = Signal()
        by_table = Signal()
        # Of the head and of the table's SM at once: which of them is the candidate comes last.
        head_has = bit_of(m, "head_has", queue.head, room)
        table_has = bit_of(m, "table_has", table.at, room) & ~table.swaps
        head_out = bit_of(m, "head_out", queue.head, out)
        more = Signal()
        drop = Signal()
        m.d.comb += [
            by_table.eq(aside | ~queue.head_valid),
            self._has.eq(Mux(by_table, table_has, head_has)),
            self._number.eq(Mux(by_table, table.at.number, queue.head.number)),
            more.eq(self.known & room.any()),
            drop.eq(self.go & ~by_table & more & ~head_has & ~head_out),
            queue.pop.eq(drop | (self.go & ~by_table & head_has)),
            table.moves.eq(self.go & by_table & ~table.swaps & (table_has | more)),
            queue.freed.eq(self.freed),
            queue.freed_sm.eq(self.freed_sm),
            queue.quiet.eq(self.quiet),
            table.quiet.eq(self.quiet),
            table.boot.eq(self.boot),
            table.boot_sm.eq(self.boot_sm),
        ]
        m.d.sync += aside.eq((aside | drop) & ~self.picks)
        column = Mux(by_table, table.at.column, queue.head.column)
        table_row = table.at.row & ~table.swaps.replicate(len(table.at.row))
        row = Mux(by_table, table_row, queue.head.row)
        return crossed(column, row, self._config.sms) & room

    def number(self, m: Module) -> Value:
        """Return the number of the SM that was picked in the cycle before; 0 without one."""
        return held(m, "picked_number", self._number, clear=~self.picks)
