"""KernelQueue's line: two launches that are handed on, their configurations and references."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from warploom.launch._queue_choice import OnTheWay, QueueChoice
from warploom.launch._queue_shapes import QueueShape, any_of, hit, spread
from warploom.launch._queue_streams import QueueStreams
from warploom.lib.bits import number_of


class QueueLine:
    """At most two launches; 0 is the front.

    Attributes
    ----------
    valid, launch
        Whether there are launches, and they. Registers.
    known : Signal
        The front's word is read from the memory of bodies. A register.
    out : Signal
        For each launch: it is out in this cycle.
    named : Signal
        For each launch: a command names its stream.
    hands : Signal
        The front transfers at ``launch``.
    takes_back : Signal
        For each launch: it is taken back at the end of this cycle.
    taken : view
        The launch that is taken back.
    """

    def __init__(self, shape: QueueShape) -> None:
        self._shape = shape
        self.valid = Signal(2, name="line_valid")
        layout = shape.in_line()
        self.launch: list[Any] = [Signal(layout, name=f"line_{k}") for k in range(2)]
        self.known = Signal()
        self.out = Signal(2, name="line_out")
        self.named = Signal(2, name="line_named")
        self.hands = Signal()
        self.takes_back = Signal(2)
        self.taken: Any = Signal(layout)
        self.presents = Signal(2)
        self.decides = Signal(2)
        self.decided_entry = Signal(shape.history_bits)
        self.may_take_back = Signal()
        self.leaves = Signal(2)
        self.stays = Signal(2)
        # The request's launch, if its configuration stands at the memory's output.
        self.request_entry = Signal(shape.entry_bits)
        self.wants_request = Signal()
        self.can_go = Signal()
        self.displaced_streams = Signal(shape.streams)

    def build(self, m: Module, streams: QueueStreams, choice: QueueChoice, abort: Any) -> None:
        """Add the line.

        Parameters
        ----------
        abort
            ``acted``: an ABORT acted in the cycle before; ``entry``: on this entry.
        """
        for k in range(2):
            self._out(m, k, streams, choice, abort)
        m.d.comb += [
            self.takes_back[0].eq(self.out[0] & ~self.hands & self.may_take_back),
            self.takes_back[1].eq(self.out[1] & self.may_take_back & ~self.takes_back[0]),
            self.leaves.eq(self.takes_back | self.hands),
            self.stays.eq(self.valid & ~self.leaves),
            self.taken.eq(Mux(self.takes_back[0], self.launch[0], self.launch[1])),
        ]
        self._move(m, choice)
        self._request(m, choice)

    def ways(self, streams: QueueStreams) -> list[OnTheWay]:
        """Return both launches as the choice sees them."""
        return [
            OnTheWay(
                launch.stream,
                launch.priority,
                self.valid[k] & ~launch.out & ~launch.held,
                self.valid[k],
                is_early(launch, streams),
            )
            for k, launch in enumerate(self.launch)
        ]

    def _out(
        self, m: Module, k: int, streams: QueueStreams, choice: QueueChoice, abort: Any
    ) -> None:
        """Say whether a launch is out."""
        launch = self.launch[k]
        stream = launch.stream
        ends = streams.closed | streams.no_sm | hit(stream, streams.broken)
        aborted = abort.acted & (launch.entry == abort.entry)
        m.d.comb += [
            self.named[k].eq(hit(stream, choice.names)),
            self.out[k].eq(
                self.valid[k]
                & (
                    launch.out
                    | launch.gone
                    | has_flag(launch, choice)
                    | ends
                    | aborted
                    | is_displaced(launch, streams, choice, self.displaced_streams)
                )
            ),
        ]

    def _move(self, m: Module, choice: QueueChoice) -> None:
        """Let launches enter, change and move up."""
        changed: list[Any] = []
        for k, launch in enumerate(self.launch):
            following: Any = Signal(launch.shape(), name=f"line_{k}_changed")
            changes = {
                "out": self.out[k],
                "presented": launch.presented | self.presents[k],
                "prepared": launch.prepared | self.decides[k],
                "met": launch.met | (self.named[k] & choice.meets),
                "held": stays_held(launch, choice) | (self.named[k] & choice.meets),
                "gone": launch.gone | (self.named[k] & choice.aborts),
                "history": Mux(self.decides[k], self.decided_entry, launch.history),
            }
            for name in self._shape.in_line().members:
                m.d.comb += following[name].eq(changes.get(name, launch[name]))
            changed.append(following)
        enters: Any = Signal(self._shape.in_line(), name="line_enters")
        m.d.comb += [
            *(
                enters[name].eq(getattr(choice, f"stage_{name}"))
                for name in ("stream", "number", "priority", "entry", "again", "ahead", "slot")
            ),
            enters.met.eq(choice.stage_met | (choice.stage_named & choice.meets)),
            enters.held.eq(
                (choice.stage_held & ~hit(choice.stage_stream, choice.resumes))
                | (choice.stage_named & choice.meets)
            ),
            enters.gone.eq(choice.stage_gone | (choice.stage_named & choice.aborts)),
            enters.back.eq(choice.stage_back),
        ]
        first_enters = choice.moves & ~self.stays[0] & ~self.stays[1]
        with m.If(~self.stays[0]):
            m.d.sync += self.launch[0].eq(Mux(self.stays[1], changed[1], enters))
        with m.Else():
            m.d.sync += self.launch[0].eq(changed[0])
        m.d.sync += [
            self.launch[1].eq(Mux(self.stays[1], changed[1], enters)),
            self.valid[0].eq(self.stays.any() | first_enters),
            self.valid[1].eq(self.stays.all() | (choice.moves & self.stays.any())),
            self.known.eq(self.stays[0] | (~self.valid[0] & choice.moves)),
        ]

    def _request(self, m: Module, choice: QueueChoice) -> None:
        """Say which launch's configuration is read, and whether one is to be presented."""
        asks = [self.stays[k] & ~self.launch[k].presented & ~self.out[k] for k in range(2)]
        m.d.comb += [
            self.request_entry.eq(
                Mux(
                    asks[0],
                    self.launch[0].entry,
                    Mux(asks[1], self.launch[1].entry, choice.stage_entry),
                )
            ),
            self.wants_request.eq(asks[0] | asks[1] | choice.moves),
            self.can_go.eq(
                self.stays[0] & ~self.out[0] & (self.launch[0].prepared | self.decides[0])
            ),
        ]


class QueueFlight:
    """The configuration in flight, and references that are to be given back.

    Attributes
    ----------
    transfers : Signal
        A configuration transfers at ``request``.
    decision, decided_entry : Signal
        The index generator's decision.
    request_valid, cancel, release_valid, release_entry : Signal
        Registers.
    end_prepared, end_history : Signal
        A launch in the end register holds a reference.
    idle : Signal
        Nothing is in flight, and no reference is pending.
    may_take_back : Signal
        The line's register is free.
    """

    def __init__(self, shape: QueueShape) -> None:
        self._shape = shape
        bits = shape.history_bits
        self.transfers, self.decision = Signal(name="transfers"), Signal(name="decision")
        self.decided_entry = Signal(bits)
        self.request_valid, self.cancel = Signal(name="request_valid"), Signal(name="cancel")
        self.release_valid, self.release_entry = (
            Signal(name="release_valid"),
            Signal(bits, name="release_entry"),
        )
        self.end_prepared, self.end_history = (
            Signal(name="end_prepared"),
            Signal(bits, name="end_history"),
        )
        self.idle = Signal()
        self.may_take_back = Signal()

    def build(self, m: Module, line: QueueLine) -> None:
        """Add flight and references."""
        flies, at = Signal(name="flight"), Signal(name="flight_of")
        orphans = Signal(2)
        first = line.valid[0] & ~line.launch[0].presented & ~line.launch[0].out
        which = Signal(name="request_of")
        decides = Signal()
        m.d.comb += [
            which.eq(~first),
            line.presents.eq(spread(self.transfers, Cat(~which, which))),
            decides.eq(flies & self.decision),
            line.decides.eq(spread(decides, Cat(~at, at))),
            line.decided_entry.eq(self.decided_entry),
        ]
        goes_on, lost, of = Signal(name="goes_on"), Signal(name="lost"), Signal(name="of")
        m.d.comb += [
            goes_on.eq((flies & ~self.decision) | self.transfers),
            of.eq(Mux(self.transfers, which, at)),
            lost.eq(goes_on & line.takes_back.bit_select(of, 1)),
        ]
        waits = Signal(name="orphan_reference_waits")
        following = Signal(name="flight_follows")
        orphans_next = Cat(lost, orphans[0] & ~self.decision)
        m.d.comb += following.eq((goes_on & ~lost) | orphans_next.any())
        m.d.sync += [
            flies.eq(goes_on & ~lost),
            at.eq(of & line.stays[0]),
            orphans.eq(orphans_next),
            self.cancel.eq(lost),
            self.request_valid.eq(line.wants_request & ~following & ~waits),
        ]
        self._references(m, line, orphans.any() & self.decision, waits, flies | orphans.any())

    def _references(
        self, m: Module, line: QueueLine, orphan: Value, waits: Signal, flies: Value
    ) -> None:
        """Give references back: that of an end, of a launch taken back, of an orphan."""
        pending = Signal(3, name="reference_pending")
        histories = [Signal(self._shape.history_bits, name=f"reference_{k}") for k in range(3)]
        taken_prepared = any_of(
            line.takes_back[k] & (line.launch[k].prepared | line.decides[k]) for k in range(2)
        )
        decided = any_of(line.takes_back[k] & line.decides[k] for k in range(2))
        arrives = Cat(self.end_prepared, taken_prepared, orphan)
        sent = Cat(pending[0], pending[1] & ~pending[0], pending[2] & ~pending[:2].any())
        values = (
            self.end_history,
            Mux(decided, self.decided_entry, line.taken.history),
            self.decided_entry,
        )
        m.d.comb += [
            waits.eq(orphan | (pending[2] & ~sent[2])),
            self.may_take_back.eq(~(pending[1] & pending[0])),
            self.idle.eq(~flies & ~pending.any()),
        ]
        m.d.sync += [
            pending.eq(arrives | (pending & ~sent)),
            self.release_valid.eq(pending.any()),
            self.release_entry.eq(
                Mux(pending[0], histories[0], Mux(pending[1], histories[1], histories[2]))
            ),
        ]
        for k, value in enumerate(values):
            with m.If(arrives[k]):
                m.d.sync += histories[k].eq(value)


def is_early(launch: Any, streams: QueueStreams) -> Value:
    """Return whether a launch was chosen ahead, and an earlier one of its stream has started."""
    found: Value = launch.ahead & hit(launch.stream, streams["any_started"])
    return found


def has_flag(launch: Any, choice: QueueChoice) -> Value:
    """Return whether a launch's stream must make way."""
    found: Value = launch.held | hit(launch.priority, choice.below)
    return found


def stays_held(launch: Any, choice: QueueChoice) -> Value:
    """Return whether a launch's stream is held, and no RESUME of it acts."""
    found: Value = launch.held & ~hit(launch.stream, choice.resumes)
    return found


def is_displaced(
    launch: Any, streams: QueueStreams, choice: QueueChoice, displaced: Signal
) -> Value:
    """Return whether an early launch must make way for others of its priority."""
    # Where its priority is not the highest busy one, it has a flag, which comes first.
    others = hit(launch.priority, choice.displacing)
    number = number_of(launch.priority)
    differs = any_of(
        of ^ number[k].replicate(len(of)) for k, of in enumerate(streams.priority_bits)
    )
    # Its own stream is neither ready nor, if it may stay, resumable.
    others |= hit(~differs, streams["displaces"]) & ~streams.no_sm
    found: Value = is_early(launch, streams) & (others | hit(launch.stream, displaced))
    return found
