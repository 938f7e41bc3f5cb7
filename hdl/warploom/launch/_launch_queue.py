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
    indices are decided. Registers: ``can_go``, it may be handed over; ``must_end``, it ends from
    the queue; ``taken_back``, why: nothing else if 0; ``stream_broken``, its stream was broken in
    the cycle before.
    """

    def __init__(self, config: Config) -> None:
        super().__init__(
            {
                "launch": Out(waiting_launch(config)),
                "ticket": Out(TICKET_BITS),
                "entry": Out(config.entry_bits),
                "prepared": Out(1),
                "can_go": Out(1),
                "must_end": Out(1),
                "taken_back": Out(1),
                "stream_broken": Out(1),
            }
        )


class TicketSearch(wiring.Signature):
    """Search for a stop's ticket.

    Tickets are compared in the cycle before: where no stop is ``held``, with ``next_ticket``.

    Members: ``next_ticket``, of the stop that is held from the next cycle on; ``ticket``, of the
    one that is held; ``held``, a launch that is found is taken back; ``found``, the launch is here;
    ``is_oldest``, it is the oldest one; ``enters``, it enters in this cycle.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "next_ticket": Out(TICKET_BITS),
                "ticket": Out(TICKET_BITS),
                "held": Out(1),
                "found": In(1),
                "is_oldest": In(1),
                "enters": In(1),
            }
        )


@dataclass(frozen=True)
class _Waiting:
    """Registers of each entry of the queue, and pointers to entries.

    ``head`` and ``tail``: entries of the oldest launch and of the next one, ``head_is`` and
    ``tail_is`` one bit an entry. ``in_flight``: a configuration is; ``in_flight_place``: its
    launch's entry. ``presented``: its configuration was transferred to the index generator.
    """

    head: Signal
    tail: Signal
    head_is: Signal
    tail_is: Signal
    in_flight: Signal
    in_flight_place: Signal
    occupied: Signal
    presented: Signal
    prepared: Signal
    taken_back: Signal
    broken: Signal
    tickets: Array
    entries: Array


@dataclass(frozen=True)
class _Events:
    """What happens in this cycle, one bit an entry.

    ``enters``: a launch does; ``presents``: its configuration transfers; ``flight_done``: the
    flight of its configuration ends; ``decides``: with a decision; ``cancel_match``: its launch is
    taken back.
    """

    enters: Signal
    presents: Signal
    flight_done: Signal
    decides: Signal
    cancel_match: Signal


def _generator_ports(config: Config) -> dict[str, Any]:
    """Return the ports that are absent where nothing makes indices.

    Without them a launch is prepared as soon as it is here.
    """
    return {
        # Configuration to look up. `valid` may fall when its launch is taken back.
        "request": Out(stream.Signature(layouts.index_config(config).layout())),
        # Take the configuration in flight back. A decision in the same cycle comes first.
        "cancel": Out(1),
        # The index generator's decision, always taken.
        "decision": In(stream.Signature(layouts.index_decision(config).layout())),
        # The launch that the decision belongs to.
        "decided_ticket": Out(TICKET_BITS),
    }


class LaunchQueue(wiring.Component):
    """Hold accepted launches in order; present their configurations; take launches back.

    Parameters
    ----------
    config : Config
        Widths; the depth is ``timing.launch_queue``, a power of two.
    soft_reset : bool, optional
        Whether there is a port ``take_all_back``.
    """

    accepted: Any
    full: Signal
    request: stream.Interface
    cancel: Signal
    decision: stream.Interface
    decided_ticket: Signal
    oldest: Any
    leave: Signal
    no_sm: Signal
    state: Any
    search: Any
    take_all_back: Signal

    def __init__(self, config: Config, *, soft_reset: bool = False) -> None:
        self._config = config
        self._soft_reset = soft_reset
        self._depth = timing(config).launch_queue
        super().__init__(
            {
                # A launch enters at the end of this cycle; only while not `full`.
                "accepted": In(Acceptance(config)),
                # As many launches wait as there are entries. A register.
                "full": Out(1),
                **(_generator_ports(config) if config.makes_indices else {}),
                # The oldest launch.
                "oldest": Out(OldestLaunch(config)),
                # The oldest launch leaves.
                "leave": In(1),
                # Every SM was lost in the cycle before. A register.
                "no_sm": In(1),
                # Streams that are broken or cleared.
                "state": In(StreamState(config)),
                # Whether a launch is here; take it back.
                "search": In(TicketSearch()),
                # Every launch here is taken back.
                **({"take_all_back": In(1)} if soft_reset else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the block."""
        del platform
        m = Module()
        waiting, events = self._waiting(), self._events()
        self._enter(m, waiting, events)
        if self._config.makes_indices:
            self._present(m, waiting, events)
            self._decide(m, waiting, events)
        self._search(m, waiting, events)
        self._break(m, waiting, events)
        self._flag(m, waiting, events)
        self._show_oldest(m, waiting, events)
        return m

    def _waiting(self) -> _Waiting:
        depth = self._depth
        places = range(depth)
        entry_bits = self._config.entry_bits
        return _Waiting(
            head=Signal(places, name="head"),
            tail=Signal(places, name="tail"),
            head_is=Signal(depth, name="head_is", init=1),
            tail_is=Signal(depth, name="tail_is", init=1),
            in_flight=Signal(name="in_flight"),
            in_flight_place=Signal(places, name="in_flight_place"),
            occupied=Signal(depth, name="occupied"),
            presented=Signal(depth, name="presented"),
            prepared=Signal(depth, name="prepared"),
            taken_back=Signal(depth, name="taken_back"),
            broken=Signal(depth, name="stream_broken"),
            tickets=Array(Signal(TICKET_BITS, name=f"ticket_{n}") for n in places),
            entries=Array(Signal(entry_bits, name=f"entry_{n}") for n in places),
        )

    def _events(self) -> _Events:
        names = ("enters", "presents", "flight_done", "decides", "cancel_match")
        bits = {name: Signal(self._depth, name=name) for name in names}
        return _Events(**bits)

    def _enter(self, m: Module, waiting: _Waiting, events: _Events) -> None:
        """Let an accepted launch enter at the tail, and the oldest one leave."""
        head, tail, occupied = waiting.head, waiting.tail, waiting.occupied
        m.d.comb += events.enters.eq(waiting.tail_is & self.accepted.valid.replicate(self._depth))
        with m.If(self.accepted.valid):
            m.d.sync += [tail.eq(tail + 1), waiting.tail_is.eq(waiting.tail_is.rotate_left(1))]
        with m.If(self.leave):
            m.d.sync += [head.eq(head + 1), waiting.head_is.eq(waiting.head_is.rotate_left(1))]
        leaves = waiting.head_is & self.leave.replicate(self._depth)
        m.d.sync += occupied.eq((occupied | events.enters) & ~leaves)
        # The queue is full once the last free entry is taken: the one before an occupied one.
        last = (waiting.tail_is.rotate_left(1) & occupied).any()
        m.d.sync += self.full.eq(~self.leave & Mux(self.accepted.valid, last, self.full))
        for n in range(self._depth):
            with m.If(events.enters[n]):
                m.d.sync += waiting.tickets[n].eq(self.accepted.ticket)

    def _present(self, m: Module, waiting: _Waiting, events: _Events) -> None:
        """Present the oldest configuration that was not presented, one at a time."""
        shape = self.request.payload.shape()
        shapes: memory.Memory = memory.Memory(shape=shape, depth=self._depth, init=[])
        m.submodules.shapes = shapes
        write = shapes.write_port()
        read = shapes.read_port(domain="comb")
        launch = self.accepted.launch
        m.d.comb += [write.addr.eq(waiting.tail), write.en.eq(self.accepted.valid)]
        m.d.comb += [
            write.data.address.eq(launch.index_address),
            *(write.data[f"d{axis}"].eq(launch[f"d{axis}"]) for axis in "xyz"),
            write.data.warps.eq(launch.warps),
        ]
        candidate, exists = self._candidate(m, waiting, events)
        fires = Signal()
        m.d.comb += [
            read.addr.eq(candidate),
            self.request.payload.eq(read.data),
            self.request.valid.eq(exists & ~waiting.in_flight),
            fires.eq(self.request.valid & self.request.ready),
            events.presents.eq(Cat(fires & (candidate == n) for n in range(self._depth))),
        ]
        with m.If(fires):
            m.d.sync += [waiting.in_flight.eq(1), waiting.in_flight_place.eq(candidate)]

    def _candidate(self, m: Module, waiting: _Waiting, events: _Events) -> tuple[Signal, Signal]:
        """Return the entry of the oldest launch to present, and whether there is one: registers.

        In the cycle after a transfer they still name its launch; its configuration is in flight.
        """
        waits = Signal(self._depth)
        ahead = Signal(self._depth)
        from_head = Signal(self._depth, init=(1 << self._depth) - 1)
        candidate = Signal(range(self._depth))
        exists = Signal()
        # Launches stand in the order of their entries, from the oldest one's on, cyclically.
        with m.If(self.leave):
            m.d.sync += from_head.eq(Cat(C(0, 1), from_head[:-1]))
            with m.If(waiting.head_is[-1]):
                m.d.sync += from_head.eq(-1)
        m.d.comb += [
            waits.eq(
                waiting.occupied & ~waiting.presented & ~waiting.taken_back & ~events.cancel_match
            ),
            ahead.eq(waits & from_head),
        ]
        oldest = Mux(ahead.any(), lowest_number(ahead), lowest_number(waits))
        m.d.sync += [
            candidate.eq(Mux(waits.any(), oldest, waiting.tail)),
            exists.eq(waits.any() | self.accepted.valid),
        ]
        return candidate, exists

    def _decide(self, m: Module, waiting: _Waiting, events: _Events) -> None:
        """Follow the configuration in flight to its decision, or take it back."""
        place, in_flight = waiting.in_flight_place, waiting.in_flight
        cancelled = Signal()
        decided = self.decision.valid
        taken_back = waiting.taken_back.bit_select(place, 1)
        flying = self._flying(waiting)
        m.d.comb += [
            self.decision.ready.eq(1),
            self.cancel.eq(in_flight & taken_back & ~cancelled & ~decided),
            self.decided_ticket.eq(waiting.tickets[place]),
            events.decides.eq(flying & decided.replicate(self._depth)),
            events.flight_done.eq(flying & (decided | cancelled).replicate(self._depth)),
        ]
        m.d.sync += cancelled.eq(self.cancel)
        with m.If(in_flight & (decided | cancelled)):
            m.d.sync += in_flight.eq(0)
        for n in range(self._depth):
            with m.If(events.decides[n]):
                m.d.sync += waiting.entries[n].eq(self.decision.payload.entry)

    def _flying(self, waiting: _Waiting) -> Value:
        """Return whose configuration is in flight, one bit an entry."""
        place = waiting.in_flight_place
        return Cat(waiting.in_flight & (place == n) for n in range(self._depth))

    def _search(self, m: Module, waiting: _Waiting, events: _Events) -> None:
        """Mark the launch that is cancel_match; one that enters in this cycle is not here yet."""
        search, accepted, occupied = self.search, self.accepted, waiting.occupied
        hits = Signal(self._depth)
        entering = Signal()
        here = Signal()
        same = Cat(waiting.tickets[n] == search.next_ticket for n in range(self._depth))
        m.d.comb += [
            here.eq(accepted.ticket == search.ticket),
            search.enters.eq(accepted.valid & here),
            entering.eq(Mux(search.held, here, accepted.ticket == search.next_ticket)),
            search.found.eq(hits.any()),
            search.is_oldest.eq((hits & waiting.head_is).any()),
        ]
        cancel_match: Value = hits & search.held.replicate(self._depth)
        if self._soft_reset:
            cancel_match = cancel_match | (occupied & self.take_all_back.replicate(self._depth))
        m.d.comb += events.cancel_match.eq(cancel_match)
        stays = ~(waiting.head_is & self.leave.replicate(self._depth))
        m.d.sync += hits.eq(
            (Mux(search.held, hits, same & occupied) & stays)
            | (events.enters & entering.replicate(self._depth))
        )

    def _break(self, m: Module, waiting: _Waiting, events: _Events) -> None:
        """Keep for each launch whether its stream is broken."""
        state, stream_ = self.state, self.accepted.launch.stream
        for n in range(self._depth):
            its_stream = Signal.like(stream_, name=f"stream_{n}")
            with m.If(state.breaks & (its_stream == state.broken)):
                m.d.sync += waiting.broken[n].eq(1)
            with m.Elif(state.mends & (its_stream == state.mended)):
                m.d.sync += waiting.broken[n].eq(0)
            with m.If(events.enters[n]):
                # A launch of a broken stream is refused.
                breaks = state.breaks & (stream_ == state.broken)
                m.d.sync += [its_stream.eq(stream_), waiting.broken[n].eq(breaks)]

    def _flag(self, m: Module, waiting: _Waiting, events: _Events) -> None:
        """Set each entry's flags; a launch that enters has none."""
        for flag, event in (
            (waiting.presented, events.presents),
            (waiting.prepared, events.decides),
            (waiting.taken_back, events.cancel_match),
        ):
            m.d.sync += flag.eq((flag | event) & ~events.enters)

    def _show_oldest(self, m: Module, waiting: _Waiting, events: _Events) -> None:
        """Show the launch at the head."""
        launch = waiting_launch(self._config)
        shape = data.StructLayout({"launch": launch, "ticket": TICKET_BITS})
        bodies: memory.Memory = memory.Memory(shape=shape, depth=self._depth, init=[])
        m.submodules.bodies = bodies
        write = bodies.write_port()
        read = bodies.read_port(domain="comb")
        head, oldest = waiting.head, self.oldest
        # Where nothing makes indices, nothing is to be decided.
        known: Value = waiting.prepared if self._config.makes_indices else C(-1, self._depth)
        m.d.comb += [
            write.addr.eq(waiting.tail),
            write.en.eq(self.accepted.valid),
            write.data.launch.eq(self.accepted.launch),
            write.data.ticket.eq(self.accepted.ticket),
            read.addr.eq(head),
            oldest.launch.eq(read.data.launch),
            oldest.ticket.eq(read.data.ticket),
            oldest.entry.eq(waiting.entries[head]),
            oldest.prepared.eq((waiting.occupied & known & waiting.head_is).any()),
        ]
        flying = events.presents | (self._flying(waiting) & ~events.flight_done)
        taken_back = waiting.occupied & (waiting.taken_back | events.cancel_match)
        ready = waiting.occupied & (known | events.decides) & ~taken_back
        # A break and lost SMs are late: they count a cycle after they are known.
        stopped = waiting.broken | self.no_sm.replicate(self._depth)
        can_go = ready & ~stopped
        if not self._config.makes_indices:
            # A launch that enters was accepted a moment ago: nothing stops it yet.
            can_go = can_go | events.enters
        later = waiting.head_is.rotate_left(1)
        # For the oldest launch and for the one after it: `leave` is late and only selects. A launch
        # that enters has none of these flags in the next cycle, but `can_go` where nothing makes
        # indices.
        for flag, each in (
            (oldest.can_go, can_go),
            (oldest.must_end, (taken_back & ~flying) | (ready & stopped)),
            (oldest.taken_back, taken_back & ~flying),
            (oldest.stream_broken, waiting.broken),
        ):
            stays, comes = (each & waiting.head_is).any(), (each & later).any()
            m.d.sync += flag.eq(Mux(self.leave, comes, stays))
