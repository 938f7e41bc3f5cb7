"""`freed_first`: the SM whose slot came back first, else the order table's."""

from amaranth.hdl import Module, Mux, Signal, Value

from warploom.dispatch.room import Room
from warploom.lib.pipes import held
from warploom.lib.rows import Rows
from warploom_spec import Config, ErrorCode


class FreedFirst(Room):
    """Choose the SM at the head of a queue of freed slots; without one, that of the order table.

    There is one candidate at a time: nothing is searched. The part ``freed_first`` of
    ``docs/dispatch/block_dispatcher.md`` has each cycle.
    """

    READS_RETURNS = True

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        bits = config.sm_bits
        self._table, self._head = Signal(bits, name="table_sm"), Signal(bits, name="head")
        self._number = Signal(bits, name="candidate_number")
        self._by_table, self._has = Signal(name="by_table"), Signal(name="has")

    def finds(self, room: Signal) -> Value:
        """Return whether the candidate has room."""
        return self._has

    def choose(self, m: Module, room: Signal, out: Signal) -> Value:
        """Return the candidate if it has room."""
        sms = self._config.sms
        candidate = Signal(sms)
        aside = Signal()
        head_valid = Signal()
        more = Signal()
        drop = Signal()
        pop = Signal()
        on_way = Signal()
        at = Signal.like(self._head)
        number = self._number
        m.d.comb += [
            number.eq(Mux(self._by_table, self._table, self._head)),
            *(candidate[k].eq(number == k) for k in range(sms)),
            self._by_table.eq(aside | ~head_valid),
            self._has.eq((candidate & room).any()),
            on_way.eq((candidate & out).any()),
            more.eq(self.known & room.any()),
            drop.eq(self.go & ~self._by_table & more & ~self._has & ~on_way),
            pop.eq(~self._by_table & (self.picks | drop)),
        ]
        m.d.sync += aside.eq((aside | drop) & ~self.picks)
        following = Signal.like(self._head)
        m.d.comb += following.eq(at)
        with m.If(self._by_table & (self.picks | (self.go & more))):
            m.d.comb += following.eq(Mux(at == sms - 1, 0, at + 1))
        m.d.sync += at.eq(following)
        self._queue(m, head_valid, pop)
        self._order_table(m, following)
        return candidate & self._has.replicate(sms)

    def number(self, m: Module) -> Value:
        """Return the number of the SM that was picked in the cycle before; 0 without one."""
        return held(m, "picked_number", self._number, clear=~self.picks)

    def _queue(self, m: Module, head_valid: Signal, pop: Signal) -> None:
        """Keep the freed slots' SMs: a block memory, its output, the head."""
        config = self._config
        depth = 1 << (config.sms * config.block_slots).bit_length()
        line = Rows(m, "freed_line", config.sm_bits, depth, block=True)
        write = Signal(range(depth))
        read = Signal(range(depth))
        following = Signal(range(depth), init=1)
        valid = Signal(name="output_valid")
        take = Signal()
        line.write(self.freed, write, self.freed_sm)
        # Both are read: what is taken is known late.
        output = Mux(held(m, "took", take), line.later(following), line.later(read))
        m.d.comb += take.eq(valid & (~head_valid | pop))
        m.d.sync += [
            write.eq(write + self.freed),
            valid.eq(Mux(take, following != write, read != write)),
            head_valid.eq(take | (head_valid & ~pop)),
        ]
        with m.If(take):
            m.d.sync += [self._head.eq(output), read.eq(following), following.eq(following + 1)]
        with m.If(self.quiet):
            m.d.sync += [read.eq(write), following.eq(write + 1), valid.eq(0), head_valid.eq(0)]

    def _order_table(self, m: Module, at: Signal) -> None:
        """Keep the table: a boot fills it, a swap takes two cycles.

        Its SM at a place stands in a register in the next cycle, also one that is being written.
        """
        bits, sms = self._config.sm_bits, self._config.sms
        table = Rows(m, "order", bits, 1 << bits)
        swap = self.swap.payload
        first, second, of_first, of_second = (
            Signal(bits, name=name) for name in ("first", "second", "of_first", "of_second")
        )
        writes = Signal()
        ends = Signal()
        refusing = Signal()
        taken = Signal()
        wrong = Signal()
        wrong_first = Signal()
        m.d.comb += [
            self.swap.ready.eq(~self.boot & ~writes & ~ends & ~refusing),
            taken.eq(self.swap.valid & self.swap.ready),
            wrong_first.eq(swap.first >= sms),
            wrong.eq(wrong_first | (swap.second >= sms)),
        ]
        m.d.sync += [
            first.eq(swap.first),
            writes.eq(taken & ~wrong & self.quiet),
            ends.eq(writes),
            of_first.eq(table.now(swap.first)),
            of_second.eq(table.now(swap.second)),
        ]
        with m.If(taken):
            m.d.sync += second.eq(swap.second)
        kept = Signal(bits, name="kept_of_first")
        m.d.sync += kept.eq(of_first)
        place, sm = Signal(bits, name="written_place"), Signal(bits, name="written_sm")
        m.d.comb += [
            place.eq(Mux(self.boot, self.boot_sm, Mux(writes, first, second))),
            sm.eq(Mux(self.boot, self.boot_sm, Mux(writes, of_second, kept))),
        ]
        written = self.boot | writes | ends
        table.write(written, place, sm)
        m.d.sync += self._table.eq(Mux(written & (place == at), sm, table.now(at)))
        refused = self.swap_refused
        m.d.comb += [refused.valid.eq(refusing), refused.payload.valid.eq(refusing)]
        with m.If(taken & (wrong | ~self.quiet)):
            m.d.sync += [
                refusing.eq(1),
                refused.payload.code.eq(
                    Mux(wrong, int(ErrorCode.ORDER_RANGE), int(ErrorCode.ORDER_BUSY))
                ),
                refused.payload.argument.eq(
                    Mux(wrong, Mux(wrong_first, swap.first, swap.second), 0)
                ),
            ]
        with m.Elif(refused.ready):
            m.d.sync += refusing.eq(0)
