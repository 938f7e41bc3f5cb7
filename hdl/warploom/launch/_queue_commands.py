"""KernelQueue's commands: PREEMPT, RESUME, ABORT_STREAMS; tickets, room and reserved records."""

from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value

from warploom.launch._queue_shapes import CLOCK_BITS, QueueShape, hit, spread
from warploom.launch._queue_streams import QueueStreams
from warploom_spec import ErrorCode, Fate, timing
from warploom_spec.errors import ERROR_CODE_BITS
from warploom_spec.host_errors import HostError
from warploom_spec.layouts import TICKET_BITS
from warploom_spec.queue import QueueCode
from warploom_spec.queue_packets import QueueOpcode

#: Clock domain of the registers that `restart` leaves alone.
PERSISTENT = "persistent"
_COUNT_BITS = 3


class RoomNumbers:
    """Tickets, reserved records, and the numbers that ``room`` is made of: kept by a restart.

    Attributes
    ----------
    sent, sent_priority, refused, refused_priority, freed, freed_priority : Signal
        What changes the numbers; priorities have one bit each.
    taken : Signal
        A record was taken.
    accepts, preempts : Signal
        A launch, a PREEMPT is accepted.
    ticket, records_full, room, records_left : Signal
        Registers; ``records_left``: a PREEMPT finds a record if a launch is sent, or not.
    nothing : Signal
        No launch is here.
    """

    def __init__(self, shape: QueueShape, first_ticket: int) -> None:
        self._shape = shape
        p = shape.priorities
        self.sent = Signal()
        self.refused = Signal()
        self.freed = Signal()
        self.taken = Signal()
        self.sent_priority = Signal(p)
        self.refused_priority = Signal(p)
        self.freed_priority = Signal(p)
        self.accepts, self.preempts = Signal(name="accepts"), Signal(name="preempts")
        self.ticket = Signal(TICKET_BITS, init=first_ticket, name="next_ticket")
        self.records_full = Signal()
        self.room = Signal(p, init=-1)
        self.record_left = Signal()
        self.nothing = Signal()

    def build(self, m: Module) -> None:
        """Add the numbers."""
        shape, sync = self._shape, m.d[PERSISTENT]
        limit = shape.config.records
        spare = timing(shape.config).launch_check + 3
        reserved = Signal(range(limit + spare), name="reserved_records")
        was_taken, was_refused, was_freed = (
            Signal(name="was_taken"),
            Signal(shape.priorities, name="was_refused"),
            Signal(shape.priorities, name="was_freed"),
        )
        refused = spread(self.refused, self.refused_priority)
        freed = spread(self.freed, self.freed_priority)
        sync += [
            was_taken.eq(self.taken),
            was_refused.eq(refused),
            was_freed.eq(freed),
            reserved.eq(_moved(reserved, self.accepts, self.preempts, was_taken)),
        ]
        m.d.comb += self.records_full.eq(reserved >= limit)
        with m.If(self.accepts):
            # 0 is no ticket: after the highest comes 1.
            sync += self.ticket.eq(self.ticket + 1 + self.ticket.all())
        ahead = Signal(range(limit + spare), name="records_ahead")
        follows = Signal.like(ahead, name="records_ahead_next")
        m.d.comb += [
            follows.eq(_moved(ahead, self.sent, self.preempts, was_refused.any(), was_taken)),
            self.record_left.eq(ahead + self.sent < limit),
        ]
        sync += ahead.eq(follows)
        numbers = []
        for p in range(shape.priorities):
            number = Signal(range(shape.depth + spare), name=f"launches_ahead_{p}")
            following = Signal.like(number, name=f"launches_ahead_next_{p}")
            sends = self.sent & self.sent_priority[p]
            m.d.comb += following.eq(_moved(number, sends, 0, was_refused[p], was_freed[p]))
            sync += [
                number.eq(following),
                self.room[p].eq((following < shape.depth) & (follows < limit)),
            ]
            numbers.append(number)
        m.d.comb += self.nothing.eq(~Cat(*numbers).any())


def _moved(number: Signal, up: Any, also_up: Any, down: Any, also_down: Any = 0) -> Value:
    """Return a number with single steps up and down, from one adder: ``up`` is its carry."""
    up, also_up, down, also_down = (Value.cast(step)[0] for step in (up, also_up, down, also_down))
    falls = (down & also_down) | ((down | also_down) & ~also_up)
    step = Cat(up, also_up ^ down ^ also_down, falls.replicate(len(number) - 1))
    return (Cat(C(1, 1), number) + step)[1 : len(number) + 1]


class QueueCommands:
    """Judge commands, and follow a PREEMPT to its record.

    Attributes
    ----------
    command : view
        The port.
    answer_valid, answer_code : Signal
        Registers.
    record_left, clock : Signal
        A PREEMPT finds a record; the port.
    preempts, aborts, resumes : Signal
        Streams that a PREEMPT, an ABORT_STREAMS, a RESUME names in this cycle.
    acts : Signal
        Streams whose RESUME acts in this cycle.
    met_here, wait_here : Signal
        A met launch is in stage, line, place or end register; one of mode `wait` has begun.
    put_back, put_fate, finished : Signal
        A met launch comes back with this fate, or has finished.
    others_record : Signal
        Another record is made in this cycle.
    pending, makes : Signal
        A PREEMPT is pending; its record is made in this cycle.
    since, counts
        Its time, and counts of launches finished, killed, drained, skipped.
    """

    def __init__(self, shape: QueueShape, command: Any) -> None:
        self._shape = shape
        streams = shape.streams
        self.command = command
        self.answer_valid, self.answer_code = (
            Signal(name="answer_valid"),
            Signal(ERROR_CODE_BITS, name="answer_code"),
        )
        self.record_left, self.clock = Signal(name="record_left"), Signal(CLOCK_BITS, name="clock")
        self.preempts = Signal(streams)
        self.aborts = Signal(streams)
        self.resumes = Signal(streams)
        self.accepts = Signal(name="preempt_accepted")
        self.acts = Signal(streams, name="resume_acts")
        self.met_here, self.wait_here = Signal(name="met_here"), Signal(name="wait_here")
        self.put_back, self.finished = Signal(name="put_back"), Signal(name="finished")
        self.put_fate = Signal(3)
        self.others_record = Signal()
        self.pending, self.makes = Signal(name="preempt_pending"), Signal(name="makes")
        self.since = Signal(CLOCK_BITS, name="preempt_since")
        names = ("finished", "killed", "drained", "skipped")
        self.counts = [Signal(_COUNT_BITS, name=f"met_{name}") for name in names]

    def build(self, m: Module, streams: QueueStreams) -> None:
        """Add answers, holds and the PREEMPT's record."""
        command, code = self.command, Signal(ERROR_CODE_BITS, name="code")
        valid = command.valid & ~streams.closed
        preempt = command.opcode == QueueOpcode.PREEMPT
        resume = command.opcode == QueueOpcode.RESUME
        held = hit(command.mask, streams.held)
        with m.If(streams.closed):
            m.d.comb += code.eq(HostError.RESET)
        with m.Elif(preempt & self.pending):
            m.d.comb += code.eq(QueueCode.PREEMPT_PENDING)
        with m.Elif(preempt & ~self.record_left):
            m.d.comb += code.eq(ErrorCode.COMPLETION_FULL)
        with m.Elif(resume & ~held):
            m.d.comb += code.eq(QueueCode.NOT_PREEMPTED)
        m.d.comb += [
            self.accepts.eq(valid & preempt & ~self.pending & self.record_left),
            self.preempts.eq(spread(self.accepts, command.mask)),
            self.resumes.eq(spread(valid & resume, command.mask)),
            self.aborts.eq(spread(valid & ~preempt & ~resume, command.mask)),
        ]
        m.d.sync += [self.answer_valid.eq(command.valid), self.answer_code.eq(code)]
        self._follow(m, streams)

    def _follow(self, m: Module, streams: QueueStreams) -> None:
        """Count what became of met launches; say when a RESUME acts."""
        mask = Signal(self._shape.streams, name="preempt_mask")
        waits = spread(self.pending & ~self.wait_here, mask)
        m.d.comb += [
            self.makes.eq(self.pending & ~self.met_here & ~self.others_record),
            self.acts.eq(
                streams.resuming & ~waits & ~streams.closed.replicate(self._shape.streams)
            ),
        ]
        for count, counted in zip(
            self.counts,
            (
                self.finished,
                *(
                    self.put_back & (self.put_fate == fate)
                    for fate in (Fate.KILLED, Fate.DRAINED, Fate.SKIPPED)
                ),
            ),
            strict=True,
        ):
            m.d.sync += count.eq(count + counted)
            with m.If(self.accepts):
                m.d.sync += count.eq(0)
        with m.If(self.accepts):
            m.d.sync += [
                self.pending.eq(1),
                self.since.eq(self.clock),
                mask.eq(self.command.mask),
            ]
        with m.Elif(self.makes):
            m.d.sync += self.pending.eq(0)


class QueueAbort:
    """One ABORT: look at the places, then at one entry a cycle.

    Attributes
    ----------
    valid, ready, ticket : Signal
        The port.
    answer_valid, answer_code : Signal
        Registers.
    in_place : Signal
        For each place: it has a launch with the ticket that is looked for.
    place_entry, place_number : list
        Its entry and stream.
    found_number, found_ticket : Signal
        What stands in the entry that is compared; the number as soon as its launch entered.
    taken, ended : Signal
        The entry is taken; its launch has ended in the list.
    entered, entered_entry, entered_ticket : Signal
        The launch that was accepted in the cycle before.
    entry, stream, number : Signal
        What the ABORT acts on, ``stream`` one bit each.
    next_number, next_stream : Signal
        Those of the next cycle, unless its launch is in a place.
    acting : Signal
        The stream on a launch of which it acts, one bit each; 0 if it does not act.
    acts, acted : Signal
        It acts; it acted in the cycle before.
    over : Signal
        It is over at the end of this cycle.
    search_entry : Signal
        Address of the next entry.
    """

    def __init__(self, shape: QueueShape) -> None:
        self._shape = shape
        bits, streams = shape.entry_bits, shape.config.stream_bits
        self.valid, self.ready = Signal(name="valid"), Signal(name="ready")
        self.ticket = Signal(TICKET_BITS)
        self.held_ticket = Signal(TICKET_BITS, name="abort_ticket")
        self.answer_valid, self.answer_code = (
            Signal(name="answer_valid"),
            Signal(ERROR_CODE_BITS, name="answer_code"),
        )
        self.in_place = Signal(2)
        self.place_entry = [Signal(bits, name=f"place_entry_{p}") for p in range(2)]
        self.place_number = [Signal(streams, name=f"place_number_{p}") for p in range(2)]
        self.found_number, self.found_ticket = (
            Signal(streams, name="found_number"),
            Signal(TICKET_BITS, name="found_ticket"),
        )
        self.taken, self.ended = Signal(name="taken"), Signal(name="ended")
        self.entered = Signal()
        self.entered_entry, self.entered_ticket = (
            Signal(bits, name="entered_entry"),
            Signal(TICKET_BITS, name="entered_ticket"),
        )
        self.entry, self.number = Signal(bits, name="abort_entry"), Signal(streams, name="number")
        self.stream = Signal(shape.streams, name="abort_stream")
        self.next_number = Signal(streams, name="abort_next_number")
        self.next_stream = Signal(shape.streams, name="abort_next_stream")
        self.acting = Signal(shape.streams, name="abort_acting")
        self.acts, self.acted = Signal(name="abort_acts"), Signal(name="abort_acted")
        self.over = Signal()
        self.search_entry = Signal(bits)

    def build(self, m: Module) -> None:
        """Add the search."""
        idle, looks, searches, nowhere = (
            Signal(name=f"abort_{n}", init=n == "idle")
            for n in ("idle", "looks", "searches", "nowhere")
        )
        first = Signal(name="abort_first")
        last = self.entry == self._shape.entries - 1
        fresh = self.entered & (self.entered_entry == self.entry)
        same, entering = (
            self.found_ticket == self.held_ticket,
            self.entered_ticket == self.held_ticket,
        )
        matches, unknown = Signal(name="matches"), Signal(name="unknown")
        found = Signal.like(self.number)
        m.d.comb += [
            self.ready.eq(idle),
            matches.eq(searches & self.taken & Mux(fresh, entering, same)),
            found.eq(self.found_number),
            # What acts in the next cycle, if an ABORT does but for a place's launch.
            self.next_number.eq(Mux(searches, found, self.number)),
            self.next_stream.eq(Mux(searches, self._decoded(found), self.stream)),
            unknown.eq(~self.taken | self.ended),
            self.search_entry.eq(Mux(searches, self.entry + 1, 0)),
        ]
        m.d.sync += [
            first.eq((looks & self.in_place.any()) | matches),
            self.acted.eq(self.acts),
            self.answer_valid.eq(nowhere | first),
            self.answer_code.eq(Mux(nowhere | unknown, QueueCode.TICKET_UNKNOWN, 0)),
            looks.eq(idle & self.valid),
            searches.eq((looks & ~self.in_place.any()) | (searches & ~matches & ~last)),
            nowhere.eq(searches & ~matches & last),
            self.acts.eq((looks & self.in_place.any()) | matches | (self.acts & ~self.over)),
            idle.eq((idle & ~self.valid) | nowhere | (self.acts & self.over)),
        ]
        placed = Mux(self.in_place[1], *reversed(self.place_number))
        m.d.sync += self.acting.eq(
            spread(looks & self.in_place.any(), self._decoded(placed))
            | spread(matches, self._decoded(found))
            | spread(self.acts & ~self.over, self.stream)
        )
        with m.If(idle):
            m.d.sync += [self.held_ticket.eq(self.ticket), self.entry.eq(0)]
        with m.Elif(looks & self.in_place.any()):
            self._found(m, placed)
            m.d.sync += self.entry.eq(Mux(self.in_place[1], *reversed(self.place_entry)))
        with m.Elif(matches):
            self._found(m, found)
        with m.Elif(searches):
            m.d.sync += self.entry.eq(self.entry + 1)

    def _found(self, m: Module, number: Value) -> None:
        m.d.sync += [
            self.number.eq(number),
            self.stream.eq(self._decoded(number)),
        ]

    def _decoded(self, number: Value) -> Value:
        return Cat(number == s for s in range(self._shape.streams))
