"""KernelQueue's streams: lists, started launches, what each stream is ready for."""

from dataclasses import dataclass, field

from amaranth.hdl import C, Cat, Module, Signal, Value

from warploom.launch._queue_shapes import QueueShape, any_of, spread


@dataclass
class StreamEvents:
    """What happens to streams in this cycle; one bit a stream if nothing else is said.

    Attributes
    ----------
    enters, enters_ready, enters_after, enters_priority
        A launch is accepted: it keeps no pair; its ``after_previous``; its priority, one bit
        each.
    leaves, meets_boundary
        Of a begin and of the job: the head leaves; the head is the stream's boundary, if there is
        one.
    left, next_ended
        In the cycle behind: what came behind has ended.
    begins
        A head has begun: of one stream in a cycle.
    chosen, again : chosen stream; it has started.
    goes_on : a started launch is in stage or line in the next cycle.
    comes : something of it is coming in the next cycle, but for an ABORT.
    head_back : the head is no longer handed on. head_kept: something of it is kept.
    suspends : for each slot: its launch is suspended.
    removes : for each slot: its launch is no longer started.
    head_ends : the head has ended in the list.
    loads, loaded_after : the head is loaded.
    next_loads, next_after : the same of one that came behind a begin, and keeps no pair.
    breaks, mends, holds, resumes, aborts : commands and broken streams.
    aborting : an ABORT acts on a launch of it.
    settling : a job lets a launch of it pass, or end, in the next cycle.
    """

    streams: int
    places: int = 2
    signals: dict[str, Signal] = field(default_factory=dict)

    def __post_init__(self) -> None:
        one_bit = ("enters_ready", "enters_after", "loaded_after", "next_after", "again")
        vectors = (
            "enters",
            "chosen",
            "goes_on",
            "head_back",
            "head_kept",
            "head_ends",
            "loads",
            "next_loads",
            "breaks",
            "mends",
            "holds",
            "resumes",
            "asks_resume",
            "aborts",
            "settling",
            "comes",
            "aborting",
        )
        self.suspends = [Signal(self.streams, name=f"suspends_{k}") for k in range(2)]
        for name in one_bit:
            self.signals[name] = Signal(name=name)
        for name in vectors:
            self.signals[name] = Signal(self.streams, name=name)

    def __getattr__(self, name: str) -> Signal:
        if name == "signals" or name not in self.signals:
            raise AttributeError(name)
        return self.signals[name]


class QueueStreams:
    """The state of all streams, and what follows from it.

    Of each stream's two started launches the number, 0 or 1, is its *slot*. ``older`` names the
    slot of the launch that was accepted first.
    """

    def __init__(self, shape: QueueShape) -> None:
        self._shape = shape
        streams = range(shape.streams)
        self.events = StreamEvents(shape.streams)
        self.enters_priority = Signal(shape.priorities)
        self.leaves = [Signal(shape.streams, name=f"leaves_{k}") for k in range(2)]
        # Streams whose head left in the cycle before, and no launch that entered is the head now;
        # what came behind it had ended.
        self.left = [Signal(shape.streams, name=f"left_{k}") for k in range(2)]
        self.next_ended = [Signal(name=f"next_ended_{k}") for k in range(2)]
        self.next_had_ended = Signal()
        # Streams whose head entered in the cycle before.
        self.new_heads = Signal(shape.streams)
        self.meets_boundary = [Signal(name=f"meets_boundary_{k}") for k in range(2)]
        self.begins = Signal(shape.streams, name="begins")
        self.removes = [Signal(shape.streams, name=f"removes_{k}") for k in range(2)]
        # Registers.
        self.length = [Signal(shape.length_bits, name=f"length_{s}") for s in streams]
        # The length is not 0; it is 1.
        self.has, self.single = Signal(shape.streams, name="has"), Signal(shape.streams, name="one")
        # A boundary stands; it is the list's last launch.
        self.bounded = Signal(shape.streams, name="bounded")
        self.at_tail = Signal(shape.streams, name="boundary_at_tail")
        self.priority = [
            Signal(shape.streams, name=f"priority_is_{p}", init=-1 if p == 0 else 0)
            for p in range(shape.priorities)
        ]
        names = ("loaded", "handed", "held", "resuming", "broken", "head_ended", "after", "older")
        self.head_back = Signal(shape.streams, name="head_was_put_back")
        self.loaded, self.handed, self.held, self.resuming, self.broken, *rest = (
            Signal(shape.streams, name=name) for name in names
        )
        self.head_ended, self.after, self.older = rest
        self.started, self.suspended, self.marked = (
            [Signal(shape.streams, name=f"{name}_{k}") for k in range(2)]
            for name in ("started", "suspended", "marked")
        )
        # From other parts: nothing is waited for; the queue is closed, no SM is left.
        self.waits_over = Signal(shape.streams)
        self.closed = Signal()
        self.no_sm = Signal()
        # One of the two. The slot of the launch in the end register.
        self.ending = Signal()
        self.ends_slot = Signal()
        # `closed` in the next cycle.
        self.closes = Signal()
        # The priorities' numbers. For each priority: a stream without a hold is handed or has a
        # started launch.
        self.priority_bits = [
            Signal(shape.streams, name=f"priority_bit_{k}")
            for k in range(shape.config.priority_bits)
        ]
        self.uses = Signal(shape.priorities, name="priority_in_use")
        # Heads that are eligible, ready, ahead but for their waits, what is coming, and `no_sm`; as
        # if nothing had been chosen in the cycle before. Streams that are neither held nor purged.
        self.may_go = Signal(shape.streams, name="head_may_go")
        self.may_ready = Signal(shape.streams, name="head_may_be_ready")
        self.may_ahead = Signal(shape.streams, name="head_may_be_ahead")
        self.may_resume = Signal(shape.streams, name="may_resume")
        # Something of them is coming because of a place, the line or the end register. Or their
        # head was chosen in the cycle before, or a started launch has no place.
        self.comes = Signal(shape.streams, name="comes_back")
        self.hidden = Signal(shape.streams, name="head_hidden")
        # It has an unfinished launch.
        self.unfinished = Signal(shape.streams, name="unfinished")
        # States in the next cycle, without the choice of this one.
        nexts = (
            "has",
            "bounded",
            "head_ended",
            "loaded",
            "handed",
            "held",
            "broken",
            "started_0",
            "started_1",
        )
        self.nexts = {name: Signal(shape.streams, name=f"{name}_next") for name in nexts}
        self.priority_next = [
            Signal(shape.streams, name=f"priority_next_{p}") for p in range(shape.priorities)
        ]
        # What follows.
        follows = (
            "has",
            "single",
            "first",
            "ready",
            "ahead",
            "resumable",
            "any_started",
            "any_suspended",
            "resume_slot",
            "first_free",
            "leaves_any",
            "busy",
            "displaces",
        )
        self.follows = {name: Signal(shape.streams, name=f"{name}_streams") for name in follows}

    def __getitem__(self, name: str) -> Signal:
        return self.follows[name]

    def build(self, m: Module) -> None:
        """Add state and what follows from it."""
        self._follow(m)
        self._ready(m)
        self._lists(m)
        self._heads(m)
        self._started(m)
        self._flags(m)
        self._foresee(m)

    def _follow(self, m: Module) -> None:
        of = self.follows
        susp = self.suspended
        m.d.comb += self.ending.eq(self.no_sm | self.closed)
        m.d.comb += [
            of["has"].eq(self.has),
            of["single"].eq(self.single),
            of["any_started"].eq(self.started[0] | self.started[1]),
            of["any_suspended"].eq(susp[0] | susp[1]),
            # Slot 1 if its launch is the older one or slot 0's is not suspended.
            of["resume_slot"].eq(susp[1] & (self.older | ~susp[0])),
            of["leaves_any"].eq(any_of(self.leaves)),
            # Slot 0, unless it stays taken. If both are, the end register's launch leaves one.
            of["first_free"].eq(~self.started[0] | spread(~self.ends_slot, self.started[1])),
        ]

    def _ready(self, m: Module) -> None:
        """Say which streams may be chosen, and how."""
        of, events = self.follows, self.events
        # But for `no_sm`.
        suspended = self.suspended[0] | self.suspended[1]
        marked = any_of(self.suspended[k] & self.marked[k] for k in range(2))
        heads = self.waits_over & ~events.aborting
        shown = heads & ~self.hidden & ~suspended
        m.d.comb += [
            # In use is a stream of which something is coming, unless an ABORT acts on its head.
            of["busy"].eq(self.may_go & heads),
            of["displaces"].eq(of["ready"] | of["resumable"]),
            of["ready"].eq(self.may_ready & shown),
            of["ahead"].eq(self.may_ahead & shown),
            of["resumable"].eq(
                self.may_resume & suspended & ~marked & ~self.comes & ~events.aborting
            ),
        ]

    def _lists(self, m: Module) -> None:
        """Count the lists' lengths; keep whether they have boundaries."""
        events, of = self.events, self.follows
        passes = any_of(spread(self.meets_boundary[k], self.leaves[k]) for k in range(2))
        alone = of["single"] & of["leaves_any"]
        for s in range(self._shape.streams):
            length = self.length[s]
            leaves = of["leaves_any"][s]
            enters = events.enters[s]
            step = Cat(enters & ~leaves, (leaves & ~enters).replicate(len(length)))
            # One adder for both ways: its lowest bit carries a 1.
            m.d.sync += length.eq((Cat(C(1, 1), length) + step)[1:])
        two = Cat(length == 2 for length in self.length)
        enters, leaves = events.enters, of["leaves_any"]
        m.d.comb += [
            self.nexts["has"].eq(enters | (self.has & ~alone)),
            # Where the only launch leaves, none is left to be met.
            self.nexts["bounded"].eq(
                (events.aborts & of["has"] & ~alone) | (~events.aborts & self.bounded & ~passes)
            ),
        ]
        m.d.sync += [
            self.has.eq(self.nexts["has"]),
            self.single.eq(
                (enters & ~leaves & ~self.has)
                | (leaves & ~enters & two)
                | (self.single & ~(enters ^ leaves))
            ),
            self.bounded.eq(self.nexts["bounded"]),
            self.at_tail.eq((self.at_tail | events.aborts) & ~events.enters),
        ]
        settled = ~self.unfinished & events.enters
        for p, its in enumerate(self.priority):
            takes = self.enters_priority[p].replicate(self._shape.streams)
            m.d.comb += self.priority_next[p].eq((settled & takes) | (~settled & its))
            m.d.sync += its.eq(self.priority_next[p])
        for k, bits in enumerate(self.priority_bits):
            m.d.sync += bits.eq(any_of(of for p, of in enumerate(self.priority_next) if p >> k & 1))

    def _heads(self, m: Module) -> None:
        """Note what is known of heads."""
        of, events = self.follows, self.events
        leaves = of["leaves_any"]
        first, ready = of["first"], events.enters_ready
        m.d.comb += first.eq(events.enters & (~of["has"] | (of["single"] & leaves)))
        ended = any_of(spread(self.next_ended[k], self.left[k]) for k in range(2))
        nexts = self.nexts
        m.d.comb += [
            # But for a new head that enters.
            nexts["head_ended"].eq(((ended | self.head_ended) & ~leaves) | events.head_ends),
            nexts["loaded"].eq(~leaves & (self.loaded | events.loads | events.next_loads)),
            nexts["handed"].eq(self.handed & ~leaves & ~events.head_back),
        ]
        m.d.sync += [
            self.head_back.eq(~first & ~leaves & (self.head_back | events.head_kept)),
            self.head_ended.eq(~first & nexts["head_ended"]),
            self.loaded.eq(spread(ready, first) | (~first & nexts["loaded"])),
            self.after.eq(spread(events.enters_after, first) | (~first & self._after_known())),
            # A chosen head neither leaves nor comes back in the same cycle.
            self.handed.eq(nexts["handed"] | spread(~events.again, events.chosen)),
        ]

    def _after_known(self) -> Value:
        """Return ``after_previous`` of heads, but for those that enter in this cycle."""
        events = self.events
        loads = events.loads | events.next_loads
        return (
            spread(events.loaded_after, events.loads)
            | spread(events.next_after, events.next_loads)
            | (~loads & self.after)
        )

    def _started(self, m: Module) -> None:
        """Keep each stream's two started launches."""
        events, free = self.events, self.follows["first_free"]
        begins = self.begins
        stays = [self.started[k] & ~self.removes[k] for k in range(2)]
        m.d.sync += self.older.eq(
            (stays[0] & stays[1] & self.older) | (~stays[0] & self.nexts["started_1"])
        )
        for k in range(2):
            here = free if k == 0 else ~free
            suspends = events.suspends[k]
            its = self.follows["resume_slot"]
            chosen = spread(events.again, events.chosen) & (its if k else ~its)
            started = self.nexts[f"started_{k}"]
            m.d.comb += started.eq(stays[k] | (begins & here))
            m.d.sync += [
                self.started[k].eq(started),
                self.suspended[k].eq((self.suspended[k] & ~chosen & stays[k]) | suspends),
                self.marked[k].eq((self.marked[k] | events.aborts) & stays[k]),
            ]

    def _flags(self, m: Module) -> None:
        """Keep holds and broken streams."""
        events, nexts = self.events, self.nexts
        m.d.comb += [
            nexts["broken"].eq((self.broken & ~events.mends) | events.breaks),
            nexts["held"].eq((self.held & ~events.resumes) | events.holds),
        ]
        m.d.sync += [
            self.broken.eq(nexts["broken"]),
            self.held.eq(nexts["held"]),
            self.resuming.eq(
                (self.resuming | (events.asks_resume & self.held))
                & ~events.resumes
                & ~self.closed.replicate(self._shape.streams)
            ),
        ]

    def _foresee(self, m: Module) -> None:
        """Write what the choice begins with from the next cycle's state.

        A stream that is chosen in this cycle is missing: the stage tells of it.
        """
        nexts, events = self.nexts, self.events
        of, streams = self.follows, self._shape.streams
        open_ = ~nexts["held"] & ~nexts["broken"] & ~nexts["bounded"]
        open_ &= ~self.closes.replicate(streams)
        started = nexts["started_0"], nexts["started_1"]
        none, two = ~(started[0] | started[1]), started[0] & started[1]
        uses = ~nexts["held"] & (nexts["handed"] | ~none)
        # A launch that enters now is the head if there is no other one. This is known late.
        alone = ~of["has"] | (of["single"] & of["leaves_any"])
        old = ~alone & nexts["loaded"] & ~nexts["handed"] & ~nexts["head_ended"] & open_
        after = self._after_known()
        new = alone & open_
        enters = events.enters & events.enters_ready.replicate(streams)
        comes_after = events.enters_after.replicate(streams)

        def head(of_old: Value, of_new: Value) -> Value:
            return (old & of_old) | (new & of_new & enters)

        m.d.sync += [
            self.may_go.eq(head(C(-1, streams), C(-1, streams))),
            self.may_ready.eq(head(none | (~after & ~two), none | (~comes_after & ~two))),
            self.may_ahead.eq(head(after & ~none, comes_after & ~none)),
            # Whether what comes behind a head that leaves has ended is known a cycle later.
            self.may_resume.eq(open_ & ~((nexts["head_ended"] | of["leaves_any"]) & ~alone)),
            self.comes.eq(events.comes),
            self.hidden.eq(events.chosen | events.comes | events.goes_on),
            self.unfinished.eq(nexts["has"] | ~none | events.settling),
            # Of a stream that has a new priority nothing is in use yet.
            self.uses.eq(Cat((uses & its).any() for its in self.priority)),
        ]
