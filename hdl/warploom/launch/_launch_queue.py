"""LaunchPath's waiting queue: launches that are accepted and not yet handed over."""

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.launch._launch_streams import StreamState
from warploom.lib.bits import lowest_number
from warploom_spec import Config, layouts, timing
from warploom_spec.layouts import TICKET_BITS


def waiting_launch(config: Config) -> data.StructLayout:
    """Return the layout of a launch that waits: a checked one without its verdict."""
    fields = layouts.checked_launch(config).present
    return data.StructLayout(
        {f.name: f.bits for f in fields if f.name not in ("error", "argument")}
    )


class Acceptance(wiring.Signature):
    """A launch that is accepted in this cycle, with its ticket."""

    def __init__(self, config: Config) -> None:
        super().__init__(
            {
                "valid": Out(1),
                "launch": Out(waiting_launch(config)),
                "ticket": Out(TICKET_BITS),
            }
        )


class OldestLaunch(wiring.Signature):
    """The launch that has waited longest.

    Members: ``launch``, ``ticket``, ``entry``, the history entry of its indices; ``prepared``, its
    indices are decided; ``ready_to_go``, and nobody took it back; ``taken_back``, it was taken back
    and no configuration of it is in flight; ``stream_broken``.
    """

    def __init__(self, config: Config) -> None:
        super().__init__(
            {
                "launch": Out(waiting_launch(config)),
                "ticket": Out(TICKET_BITS),
                "entry": Out(config.entry_bits),
                "prepared": Out(1),
                "ready_to_go": Out(1),
                "taken_back": Out(1),
                "stream_broken": Out(1),
            }
        )


class TicketSearch(wiring.Signature):
    """Search for a ticket, combinational.

    Members: ``ticket``; ``take_back``, the launch is taken back if it is here; ``found``, it is
    here; ``is_oldest``, it is the oldest one.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "ticket": Out(TICKET_BITS),
                "take_back": Out(1),
                "found": In(1),
                "is_oldest": In(1),
            }
        )


@dataclass(frozen=True)
class _Waiting:
    """Registers of each place of the queue, and pointers to places.

    ``head`` and ``tail``: places of the oldest launch and of the next one. ``in_flight``: a
    configuration is; ``in_flight_place``: its launch's place.
    """

    head: Signal
    tail: Signal
    in_flight: Signal
    in_flight_place: Signal
    occupied: Array
    tickets: Array
    presented: Array
    prepared: Array
    taken_back: Array
    entries: Array


class LaunchQueue(wiring.Component):
    """Hold accepted launches in order; present their configurations; take launches back.

    Parameters
    ----------
    config : Config
        Widths; the depth is ``timing.launch_queue``, a power of two.
    soft_reset : bool, optional
        Whether there is a port ``take_all_back``.

    Attributes
    ----------
    accepted : In(Acceptance)
        A launch enters at the end of this cycle; only while not ``full``.
    full : Out(1)
        As many launches wait as there are places (state).
    request : Stream[index_config], out
        Configuration to look up. ``valid`` may fall when its launch is taken back.
    cancel : Out(1)
        Take the configuration in flight back. A decision in the same cycle comes first.
    decision : In(stream of index_decision)
        The index generator's decision, always taken.
    decided_ticket : Out
        The launch that the decision belongs to.
    oldest : Out(OldestLaunch)
        The oldest launch.
    leave : In(1)
        The oldest launch leaves.
    state : In(StreamState)
        Streams that are broken or mended.
    search : In(TicketSearch)
        Whether a launch is here; take it back.
    take_all_back : In(1)
        Every launch here is taken back.
    """

    accepted: Any
    full: Signal
    request: stream.Interface
    cancel: Signal
    decision: stream.Interface
    decided_ticket: Signal
    oldest: Any
    leave: Signal
    state: Any
    search: Any
    take_all_back: Signal

    def __init__(self, config: Config, *, soft_reset: bool = False) -> None:
        self._config = config
        self._soft_reset = soft_reset
        self._depth = timing(config).launch_queue
        super().__init__(
            {
                "accepted": In(Acceptance(config)),
                "full": Out(1),
                "request": Out(stream.Signature(layouts.index_config(config).layout())),
                "cancel": Out(1),
                "decision": In(stream.Signature(layouts.index_decision(config).layout())),
                "decided_ticket": Out(TICKET_BITS),
                "oldest": Out(OldestLaunch(config)),
                "leave": In(1),
                "state": In(StreamState(config)),
                "search": In(TicketSearch()),
                **({"take_all_back": In(1)} if soft_reset else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the block."""
        del platform
        m = Module()
        waiting = self._waiting()
        self._enter(m, waiting)
        self._present(m, waiting)
        self._decide(m, waiting)
        self._show_oldest(m, waiting)
        self._take_back(m, waiting)
        self._break(m, waiting)
        return m

    def _waiting(self) -> _Waiting:
        places = range(self._depth)

        def bit(name: str) -> Array:
            return Array(Signal(name=f"{name}_{n}") for n in places)

        entry_bits = self._config.entry_bits
        return _Waiting(
            head=Signal(places, name="head"),
            tail=Signal(places, name="tail"),
            in_flight=Signal(name="in_flight"),
            in_flight_place=Signal(places, name="in_flight_place"),
            occupied=bit("occupied"),
            tickets=Array(Signal(TICKET_BITS, name=f"ticket_{n}") for n in places),
            presented=bit("presented"),
            prepared=bit("prepared"),
            taken_back=bit("taken_back"),
            entries=Array(Signal(entry_bits, name=f"entry_{n}") for n in places),
        )

    def _enter(self, m: Module, waiting: _Waiting) -> None:
        """Let an accepted launch enter at the tail, and the oldest one leave."""
        head, tail = waiting.head, waiting.tail
        m.d.comb += self.full.eq(Cat(waiting.occupied).all())
        with m.If(self.accepted.valid):
            m.d.sync += [
                tail.eq(tail + 1),
                waiting.occupied[tail].eq(1),
                waiting.tickets[tail].eq(self.accepted.ticket),
                waiting.presented[tail].eq(0),
                waiting.prepared[tail].eq(0),
                waiting.taken_back[tail].eq(0),
            ]
        with m.If(self.leave):
            m.d.sync += [head.eq(head + 1), waiting.occupied[head].eq(0)]

    def _present(self, m: Module, waiting: _Waiting) -> None:
        """Present the oldest configuration that was not presented, one at a time."""
        shape = self.request.payload.shape()
        shapes: memory.Memory = memory.Memory(shape=shape, depth=self._depth, init=[])
        m.submodules.shapes = shapes
        write, read = shapes.write_port(), shapes.read_port(domain="comb")
        launch = self.accepted.launch
        m.d.comb += [write.addr.eq(waiting.tail), write.en.eq(self.accepted.valid)]
        m.d.comb += [
            write.data.address.eq(launch.index_address),
            *(write.data[f"d{axis}"].eq(launch[f"d{axis}"]) for axis in "xyz"),
            write.data.warps.eq(launch.warps),
        ]
        # Launches stand in the order of their places, from the oldest one's on, cyclically.
        waits = Signal(self._depth)
        ahead = Signal(self._depth)
        from_head = Signal(self._depth, init=(1 << self._depth) - 1)
        candidate = Signal(range(self._depth))
        exists = Signal()
        with m.If(self.leave):
            m.d.sync += from_head.eq(Cat(C(0, 1), from_head[:-1]))
            with m.If(waiting.head == self._depth - 1):
                m.d.sync += from_head.eq(-1)
        m.d.comb += [
            waits.eq(
                Cat(
                    waiting.occupied[n] & ~waiting.presented[n] & ~waiting.taken_back[n]
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
            self.request.valid.eq(exists & ~waiting.in_flight),
        ]
        with m.If(self.request.valid & self.request.ready):
            m.d.sync += [
                waiting.in_flight.eq(1),
                waiting.in_flight_place.eq(candidate),
                waiting.presented[candidate].eq(1),
            ]

    def _decide(self, m: Module, waiting: _Waiting) -> None:
        """Follow the configuration in flight to its decision, or take it back."""
        place = waiting.in_flight_place
        cancelled = Signal()
        decided = self.decision.valid
        m.d.comb += [
            self.decision.ready.eq(1),
            self.cancel.eq(waiting.in_flight & waiting.taken_back[place] & ~cancelled & ~decided),
            self.decided_ticket.eq(waiting.tickets[place]),
        ]
        m.d.sync += cancelled.eq(self.cancel)
        with m.If(waiting.in_flight & decided):
            m.d.sync += [
                waiting.in_flight.eq(0),
                waiting.prepared[place].eq(1),
                waiting.entries[place].eq(self.decision.payload.entry),
            ]
        with m.Elif(cancelled):
            m.d.sync += waiting.in_flight.eq(0)

    def _show_oldest(self, m: Module, waiting: _Waiting) -> None:
        """Show the launch at the head."""
        shape = waiting_launch(self._config)
        bodies: memory.Memory = memory.Memory(shape=shape, depth=self._depth, init=[])
        m.submodules.bodies = bodies
        write, read = bodies.write_port(), bodies.read_port(domain="comb")
        head, oldest = waiting.head, self.oldest
        m.d.comb += [
            write.addr.eq(waiting.tail),
            write.en.eq(self.accepted.valid),
            write.data.eq(self.accepted.launch),
            read.addr.eq(head),
            oldest.launch.eq(read.data),
        ]
        here = waiting.occupied[head]
        looked_up = waiting.in_flight & (waiting.in_flight_place == head)
        m.d.comb += [
            oldest.ticket.eq(waiting.tickets[head]),
            oldest.entry.eq(waiting.entries[head]),
            oldest.prepared.eq(here & waiting.prepared[head]),
            oldest.ready_to_go.eq(oldest.prepared & ~waiting.taken_back[head]),
            oldest.taken_back.eq(here & waiting.taken_back[head] & ~looked_up),
        ]

    def _take_back(self, m: Module, waiting: _Waiting) -> None:
        """Mark the launch that is sought; one that enters in this cycle is not here yet."""
        search = self.search
        hits = [
            waiting.occupied[n] & (waiting.tickets[n] == search.ticket) for n in range(self._depth)
        ]
        for n, hit in enumerate(hits):
            sought: Value = search.take_back & hit
            if self._soft_reset:
                sought = sought | (self.take_all_back & waiting.occupied[n])
            with m.If(sought):
                m.d.sync += waiting.taken_back[n].eq(1)
        m.d.comb += [
            search.found.eq(Cat(hits).any()),
            search.is_oldest.eq(Array(hits)[waiting.head]),
        ]

    def _break(self, m: Module, waiting: _Waiting) -> None:
        """Keep for each launch whether its stream is broken."""
        state, stream_ = self.state, self.accepted.launch.stream
        broken = Array(Signal(name=f"stream_broken_{n}") for n in range(self._depth))
        streams = Array(Signal.like(stream_, name=f"stream_{n}") for n in range(self._depth))
        for n in range(self._depth):
            with m.If(state.breaks & (streams[n] == state.broken)):
                m.d.sync += broken[n].eq(1)
            with m.Elif(state.mends & (streams[n] == state.mended)):
                m.d.sync += broken[n].eq(0)
        with m.If(self.accepted.valid):
            # A launch of a broken stream is refused.
            m.d.sync += [
                streams[waiting.tail].eq(stream_),
                broken[waiting.tail].eq(state.breaks & (stream_ == state.broken)),
            ]
        m.d.comb += self.oldest.stream_broken.eq(broken[waiting.head])
