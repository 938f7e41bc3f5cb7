"""LaunchPath's waiting queue: launches that are accepted and not yet handed over."""

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.bits import lowest_number
from warploom_spec import Config, layouts, timing
from warploom_spec.layouts import TICKET_BITS


def waiting_launch(config: Config) -> data.StructLayout:
    """Return the layout of a launch that waits: a checked one without its verdict."""
    fields = layouts.checked_launch(config).present
    return data.StructLayout(
        {f.name: f.bits for f in fields if f.name not in ("error", "argument")}
    )


class LaunchQueue(wiring.Component):
    """Hold accepted launches in order; present their configurations; take launches back.

    Parameters
    ----------
    config : Config
        Widths; the depth is ``timing.launch_queue``, a power of two.

    Attributes
    ----------
    accept, launch, ticket : In
        A launch enters at the end of this cycle; only while not ``full``.
    full : Out(1)
        As many launches wait as there are places (state).
    request : Stream[index_config], out
        Configuration to look up. ``valid`` may fall when its launch is taken back.
    cancel : Out(1)
        Take the configuration in flight back. A decision in the same cycle comes first.
    decision, decision_valid : In
        The index generator's decision; ``decided_ticket`` says whose it is.
    oldest, oldest_ticket, oldest_entry : Out
        The oldest launch.
    ready_to_go, taken_back, prepared, torn : Out(1)
        Of the oldest launch: its indices are decided and nobody took it back; it was taken back
        and no configuration of it is in flight; its indices are decided; its stream is broken.
    breaks, break_stream, mends, mend_stream : In
        The stream is broken, or mended, at the end of the cycle; a break wins.
    leave : In(1)
        The oldest launch leaves.
    sought, mark : In
        Take the launch with the ticket ``sought`` back, if it is here (``found``).
    found, found_oldest : Out(1)
        The launch ``sought`` is in the queue; it is the oldest one.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._depth = timing(config).launch_queue
        super().__init__(
            {
                "accept": In(1),
                "launch": In(waiting_launch(config)),
                "ticket": In(TICKET_BITS),
                "full": Out(1),
                "request": Out(stream.Signature(layouts.index_config(config).layout())),
                "cancel": Out(1),
                "decision": In(layouts.index_decision(config).layout()),
                "decision_valid": In(1),
                "decided_ticket": Out(TICKET_BITS),
                "oldest": Out(waiting_launch(config)),
                "oldest_ticket": Out(TICKET_BITS),
                "oldest_entry": Out(config.entry_bits),
                "ready_to_go": Out(1),
                "taken_back": Out(1),
                "prepared": Out(1),
                "torn": Out(1),
                "breaks": In(1),
                "break_stream": In(config.stream_bits),
                "mends": In(1),
                "mend_stream": In(config.stream_bits),
                "leave": In(1),
                "sought": In(TICKET_BITS),
                "mark": In(1),
                "found": Out(1),
                "found_oldest": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the block."""
        del platform
        m = Module()
        slots = range(self._depth)
        self._head = Signal(range(self._depth))
        self._occupied = Array(Signal(name=f"occupied_{n}") for n in slots)
        self._tickets = Array(Signal(TICKET_BITS, name=f"ticket_{n}") for n in slots)
        self._presented = Array(Signal(name=f"presented_{n}") for n in slots)
        self._prepared = Array(Signal(name=f"prepared_{n}") for n in slots)
        self._marked = Array(Signal(name=f"marked_{n}") for n in slots)
        self._entries = Array(Signal(self._config.entry_bits, name=f"entry_{n}") for n in slots)
        flying = Signal()
        flight = Signal(range(self._depth))

        tail = self._enter(m)
        self._present(m, flying, flight, tail)
        self._decide(m, flying, flight)
        self._show_oldest(m, tail, flying, flight)
        self._mark(m)
        self._tear(m, tail)
        return m

    def _enter(self, m: Module) -> Signal:
        """Let an accepted launch enter; return the place where the next one will stand."""
        tail = Signal(range(self._depth))
        m.d.comb += self.full.eq(Cat(self._occupied).all())
        with m.If(self.accept):
            m.d.sync += [
                tail.eq(tail + 1),
                self._occupied[tail].eq(1),
                self._tickets[tail].eq(self.ticket),
                self._presented[tail].eq(0),
                self._prepared[tail].eq(0),
                self._marked[tail].eq(0),
            ]
        with m.If(self.leave):
            m.d.sync += [self._head.eq(self._head + 1), self._occupied[self._head].eq(0)]
        return tail

    def _present(self, m: Module, flying: Signal, flight: Signal, tail: Signal) -> None:
        """Present the oldest configuration that was not presented, one at a time."""
        shape = self.request.payload.shape()
        shapes: memory.Memory = memory.Memory(shape=shape, depth=self._depth, init=[])
        m.submodules.shapes = shapes
        write, read = shapes.write_port(), shapes.read_port(domain="comb")
        launch = self.launch
        m.d.comb += [write.addr.eq(tail), write.en.eq(self.accept)]
        m.d.comb += [
            write.data.address.eq(launch.index_address),
            *(write.data[f"d{axis}"].eq(launch[f"d{axis}"]) for axis in "xyz"),
            write.data.warps.eq(launch.warps),
        ]
        # Launches stand in the order of their places, from the oldest one's on, cyclically.
        waits, ahead = Signal(self._depth), Signal(self._depth)
        from_head = Signal(self._depth, init=(1 << self._depth) - 1)
        candidate, exists = Signal(range(self._depth)), Signal()
        with m.If(self.leave):
            m.d.sync += from_head.eq(Cat(C(0, 1), from_head[:-1]))
            with m.If(self._head == self._depth - 1):
                m.d.sync += from_head.eq(-1)
        m.d.comb += [
            waits.eq(
                Cat(
                    self._occupied[n] & ~self._presented[n] & ~self._marked[n]
                    for n in range(self._depth)
                )
            ),
            ahead.eq(waits & from_head),
            exists.eq(waits.any()),
            candidate.eq(Mux(ahead.any(), lowest_number(ahead), lowest_number(waits))),
        ]
        m.d.comb += [
            read.addr.eq(candidate),
            self.request.payload.eq(read.data),
            self.request.valid.eq(exists & ~flying),
        ]
        with m.If(self.request.valid & self.request.ready):
            m.d.sync += [flying.eq(1), flight.eq(candidate), self._presented[candidate].eq(1)]

    def _decide(self, m: Module, flying: Signal, flight: Signal) -> None:
        """Follow the configuration in flight to its decision, or take it back."""
        cancelled = Signal()
        m.d.comb += [
            self.cancel.eq(flying & self._marked[flight] & ~cancelled & ~self.decision_valid),
            self.decided_ticket.eq(self._tickets[flight]),
        ]
        m.d.sync += cancelled.eq(self.cancel)
        with m.If(flying & self.decision_valid):
            m.d.sync += [
                flying.eq(0),
                self._prepared[flight].eq(1),
                self._entries[flight].eq(self.decision.entry),
            ]
        with m.Elif(cancelled):
            m.d.sync += flying.eq(0)

    def _show_oldest(self, m: Module, tail: Signal, flying: Signal, flight: Signal) -> None:
        shape = self.launch.shape()
        bodies: memory.Memory = memory.Memory(shape=shape, depth=self._depth, init=[])
        m.submodules.bodies = bodies
        write, read = bodies.write_port(), bodies.read_port(domain="comb")
        m.d.comb += [
            write.addr.eq(tail),
            write.en.eq(self.accept),
            write.data.eq(self.launch),
            read.addr.eq(self._head),
            self.oldest.eq(read.data),
        ]
        head = self._head
        here = self._occupied[head]
        m.d.comb += [
            self.oldest_ticket.eq(self._tickets[head]),
            self.oldest_entry.eq(self._entries[head]),
            self.prepared.eq(here & self._prepared[head]),
            self.ready_to_go.eq(self.prepared & ~self._marked[head]),
            self.taken_back.eq(here & self._marked[head] & ~(flying & (flight == head))),
        ]

    def _mark(self, m: Module) -> None:
        """Mark the launch that is sought; one that enters in this cycle is not here yet."""
        hits = [self._occupied[n] & (self._tickets[n] == self.sought) for n in range(self._depth)]
        for n, hit in enumerate(hits):
            with m.If(self.mark & hit):
                m.d.sync += self._marked[n].eq(1)
        m.d.comb += [
            self.found.eq(Cat(hits).any()),
            self.found_oldest.eq(Array(hits)[self._head]),
        ]

    def _tear(self, m: Module, tail: Signal) -> None:
        """Keep for each launch whether its stream is broken."""
        torn = Array(Signal(name=f"torn_{n}") for n in range(self._depth))
        streams = Array(
            Signal.like(self.break_stream, name=f"stream_{n}") for n in range(self._depth)
        )
        for n in range(self._depth):
            with m.If(self.breaks & (streams[n] == self.break_stream)):
                m.d.sync += torn[n].eq(1)
            with m.Elif(self.mends & (streams[n] == self.mend_stream)):
                m.d.sync += torn[n].eq(0)
        with m.If(self.accept):
            # A launch of a broken stream is refused.
            stream_ = self.launch.stream
            m.d.sync += [
                streams[tail].eq(stream_),
                torn[tail].eq(self.breaks & (stream_ == self.break_stream)),
            ]
        m.d.comb += self.torn.eq(torn[self._head])
