"""`freed_first`: the SM whose slot became free first, else the next of the order table."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib.memory import Memory

from warploom.dispatch.placement._rotating import rotating
from warploom.dispatch.placement.placement import PlacementPolicy
from warploom.lib.bits import decoded, number_of


class FreedFirst(PlacementPolicy):
    """Choose the SM at the head of a queue of SMs whose slots became free.

    If that SM is not eligible the block goes to the first eligible SM in the order table, from the
    table's pointer on, cyclically. A swap of the table counts from the next cycle on; it is refused
    while a launch is resident.
    """

    READS_RETURNS = True

    def choose(self, m: Module) -> Value:
        """Return the queue's first SM if it is eligible, else one by the order table."""
        sms, bits = self._config.sms, self._config.sm_bits
        head, some = self._queue(m)
        order = Array(Signal(bits, name=f"order_{k}", init=k) for k in range(sms))
        head_fits = Signal()
        use_table = Signal()
        at_head = decoded(m, "at_head", head, sms, some)
        m.d.comb += [
            head_fits.eq((self.eligible & at_head).any()),
            use_table.eq(self.decided & ~head_fits),
        ]
        by_position = Signal(sms)
        eligible = Array(self.eligible)
        m.d.comb += by_position.eq(Cat(eligible[sm] for sm in order))
        position = rotating(m, "position", by_position, use_table)
        from_table = [
            Cat(position[k] & (order[k] == sm) for k in range(sms)).any() for sm in range(sms)
        ]
        self._swap(m, order)
        return Mux(head_fits, at_head, Cat(from_table))

    def _swap(self, m: Module, order: Array) -> None:
        """Swap two positions of the table, or say why not."""
        positions, refused = self.swap.payload, self.refused
        first, second = positions.first, positions.second
        bad = [position >= self._config.sms for position in (first, second)]
        m.d.comb += [
            self.swap.ready.eq(1),
            refused.range.eq(self.swap.valid & (bad[0] | bad[1])),
            refused.position.eq(Mux(bad[0], first, second)),
            refused.busy.eq(self.swap.valid & self.resident & ~refused.range),
        ]
        with m.If(self.swap.valid & ~self.resident & ~refused.range):
            m.d.sync += [
                order[first].eq(order[second]),
                order[second].eq(order[first]),
            ]

    def _queue(self, m: Module) -> tuple[Value, Value]:
        """Queue numbers of SMs whose slots became free; return its head and whether it has one."""
        config = self._config
        depth = config.sms * config.block_slots
        memory: Memory = Memory(shape=config.sm_bits, depth=depth, init=[])
        m.submodules.memory = memory
        write = memory.write_port()
        read = memory.read_port(domain="comb")
        entries = Signal(range(depth + 1))
        waiting = Signal(config.sms)
        enters = Signal()
        leaves = Signal()
        empty = ~self.resident
        entering = Signal(config.sms)
        m.d.comb += [
            enters.eq((entries != depth) & waiting.any()),
            leaves.eq(self.decided & (entries != 0)),
            entering.eq(Mux(enters, rotating(m, "waiting", waiting, enters), 0)),
            write.data.eq(number_of(entering)),
            write.en.eq(enters),
        ]
        for k in range(config.sms):
            counter = Signal(range(depth + 1), name=f"waiting_{k}")
            m.d.comb += waiting[k].eq(counter != 0)
            m.d.sync += counter.eq(Mux(empty, 0, counter + self.freed[k] - entering[k]))
        m.d.sync += entries.eq(Mux(empty, 0, entries + enters - leaves))
        for port, step in ((write, enters), (read, leaves)):
            with m.If(empty):
                m.d.sync += port.addr.eq(0)
            with m.Elif(step):
                m.d.sync += port.addr.eq(Mux(port.addr == depth - 1, 0, port.addr + 1))
        return read.data, entries != 0
