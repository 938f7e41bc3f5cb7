"""KernelQueue's choice: the highest busy priority, and the next stream in it."""

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from warploom.launch._queue_shapes import QueueShape, any_of, hit, one_of, spread
from warploom.launch._queue_streams import QueueStreams
from warploom.lib.bits import any_up_to, number_of


@dataclass(frozen=True)
class OnTheWay:
    """A launch in stage, line or place, as the choice sees it.

    Attributes
    ----------
    counts
        It is on the way if its stream has no flag.
    waits_early
        It stands in stage or line; ``early``: and is early.
    """

    stream: Any
    priority: Any
    counts: Any
    waits: Any
    early: Any


class QueueChoice:
    """Choose a launch of the highest busy priority, and keep it in the stage.

    Attributes
    ----------
    chosen : Signal
        The stream that is chosen in this cycle, one bit each; ``any_chosen``: there is one.
        ``again``: its launch has started.
    below : Signal
        For each priority: a higher one is busy.
    displacing : Signal
        For each priority: a launch of it in stage or line is not early.
    stage_valid, stage : Signal
        The stage. Registers but ``entry`` and ``met``, which are looked up: ``entry`` is
        ``started_entry`` or ``head``.
    moves : Signal
        The stage's launch enters the line at the end of this cycle.
    resumes : Signal
        Streams whose RESUME acts.
    names, meets, aborts : Signal
        Streams that a command names; it is a PREEMPT, an ABORT_STREAMS. ``stage_named``: the
        stage's is one of them. A launch is ``met`` by the one, ``gone`` by the other.
    """

    def __init__(self, shape: QueueShape) -> None:
        self._shape = shape
        self.chosen = Signal(shape.streams, name="chosen")
        self.again, self.ahead = Signal(name="again"), Signal(name="ahead")
        self.any_chosen = Signal()
        self.may = Signal(name="group_may_go")
        self.below = Signal(shape.priorities)
        self.displacing = Signal(shape.priorities)
        self.stage_valid = Signal()
        self.stage_stream = Signal(shape.streams)
        self.stage_number = Signal(shape.config.stream_bits)
        self.stage_priority = Signal(shape.priorities)
        self.stage_again, self.stage_ahead = Signal(name="stage_again"), Signal(name="stage_ahead")
        self.stage_slot, self.stage_met = Signal(name="stage_slot"), Signal(name="stage_met")
        self.stage_back = Signal()
        self.stage_held = Signal()
        self.stage_gone, self.stage_named = Signal(name="stage_gone"), Signal(name="stage_named")
        self.stage_entry = Signal(shape.entry_bits)
        self.stage_early = Signal()
        self.started_entry = Signal(shape.entry_bits, name="stage_started_entry")
        self.head = Signal(shape.entry_bits, name="stage_head")
        self.line_full = Signal()
        self.moves = Signal()
        self.names = Signal(shape.streams)
        self.resumes = Signal(shape.streams)
        self.meets, self.aborts = Signal(name="meets"), Signal(name="aborts")

    def build(self, m: Module, streams: QueueStreams, others: list[OnTheWay]) -> None:
        """Add the choice; ``others`` are the launches in line and places."""
        shape = self._shape
        stage = OnTheWay(
            self.stage_stream,
            self.stage_priority,
            self.stage_valid & ~self.stage_held,
            self.stage_valid,
            self.stage_early,
        )
        m.d.comb += self.stage_early.eq(
            self.stage_ahead & hit(self.stage_stream, streams["any_started"])
        )
        # Streams behind the one that was chosen last.
        behind = Signal(shape.streams, name="behind_last")
        ways = [stage, *others]
        busy = [self._busy(p, streams) for p in range(shape.priorities)]
        m.d.comb += self.below.eq(Cat(any_of(busy[p + 1 :]) for p in range(shape.priorities)))
        top = Signal(shape.priorities, name="top")
        m.d.comb += top.eq(Cat(busy) & ~self.below)
        free = (~self.stage_valid | self.moves) & ~streams.no_sm
        goes = free & self._may(m, ways, top) & self.may
        picked, is_any, follows = self._pick(m, streams, ways, top, behind)
        with m.If(self.any_chosen):
            m.d.sync += behind.eq(follows)
        m.d.comb += [
            self.any_chosen.eq(goes & is_any),
            self.chosen.eq(spread(goes, picked)),
        ]
        self._stage(m, streams, top)

    def _busy(self, p: int, streams: QueueStreams) -> Value:
        # Ready ones that are not handed and have no started launch: their heads are eligible.
        heads = (streams.priority[p] & streams["busy"]).any() & ~streams.no_sm
        stage = self.stage_valid & self.stage_priority[p] & ~self.stage_held
        return streams.uses[p] | heads | stage

    def _may(self, m: Module, ways: list[OnTheWay], top: Signal) -> Value:
        """Return whether fewer than two launches of the highest priority are on the way."""
        two = Signal(self._shape.priorities, name="two_on_the_way")
        for p in range(self._shape.priorities):
            m.d.comb += two[p].eq(_two([way.counts & way.priority[p] for way in ways]))
        return ~hit(top, two)

    def _pick(
        self, m: Module, streams: QueueStreams, ways: list[OnTheWay], top: Signal, behind: Signal
    ) -> tuple[Signal, Value, Value]:
        """Choose a stream of the highest busy priority; say whether there is one, and what follows.

        Each priority chooses: which of them is the highest is known late.
        """
        shape = self._shape
        by_priority: dict[str, list[Value]] = {
            name: [] for name in ("again", "ahead", "may", "any")
        }
        found, follows, displacing = [], [], []
        for p, of in enumerate(streams.priority):
            again, ready, ahead = (of & streams[name] for name in ("resumable", "ready", "ahead"))
            any_again, any_ready = (Signal(name=f"any_{n}_{p}") for n in ("again", "ready"))
            late = Signal(name=f"waits_late_{p}")
            group = Signal(shape.streams, name=f"group_{p}")
            m.d.comb += [
                any_again.eq(again.any()),
                any_ready.eq(ready.any()),
                late.eq(any_of(way.waits & ~way.early & way.priority[p] for way in ways[:3])),
                group.eq(
                    Mux(any_again, again, Mux(any_ready, ready, ahead)),
                ),
            ]
            first, after = self._next(m, p, group, behind)
            found.append(first)
            follows.append(after)
            by_priority["again"].append(any_again)
            by_priority["ahead"].append(~any_again & ~any_ready)
            by_priority["may"].append(any_again | any_ready | ~late)
            by_priority["any"].append(any_again | any_ready | ahead.any())
            displacing.append(late)
        picked = Signal(shape.streams, name="picked")
        m.d.comb += [
            self.again.eq(hit(top, Cat(by_priority["again"]))),
            self.ahead.eq(hit(top, Cat(by_priority["ahead"]))),
            self.displacing.eq(Cat(displacing)),
            picked.eq(one_of(zip(top, found, strict=True))),
        ]
        m.d.comb += self.may.eq(hit(top, Cat(by_priority["may"])))
        any_picked = hit(top, Cat(by_priority["any"]))
        return picked, any_picked, one_of(zip(top, follows, strict=True))

    def _next(self, m: Module, p: int, group: Signal, behind: Signal) -> tuple[Value, Value]:
        """Return the first of a group behind the last, cyclically, and the streams behind it."""
        later = Signal(self._shape.streams, name=f"later_{p}")
        m.d.comb += later.eq(group & behind)
        # Both searches run side by side: whether one is behind the last is known late.
        after = [_behind(later), _behind(group)]
        any_later = later.any()
        return (
            Mux(any_later, later & ~after[0], group & ~after[1]),
            Mux(any_later, after[0], after[1]),
        )

    def _stage(self, m: Module, streams: QueueStreams, top: Value) -> None:
        """Keep the chosen launch; look its entry up."""
        # What a command names while a launch is chosen is looked up in the cycle behind.
        enters = self.moves | ~self.stage_valid
        names = Signal(self._shape.streams, name="names_before")
        meets, aborts = Signal(name="meets_before"), Signal(name="aborts_before")
        met, gone = Signal(name="stage_was_met"), Signal(name="stage_was_gone")
        held = Signal(name="stage_was_held")
        slots = Signal(self._shape.streams, name="slots_before")
        resumed = hit(self.stage_stream, self.resumes)
        named = hit(self.stage_stream, names)
        m.d.sync += [
            names.eq(self.names),
            meets.eq(self.meets & enters),
            aborts.eq(self.aborts & enters),
        ]
        m.d.comb += [
            self.moves.eq(self.stage_valid & ~self.line_full),
            self.stage_entry.eq(Mux(self.stage_again, self.started_entry, self.head)),
            self.stage_met.eq(met | (named & meets)),
            self.stage_held.eq(held | (named & meets)),
            self.stage_number.eq(number_of(self.stage_stream)),
            self.stage_slot.eq(hit(self.stage_stream, slots)),
            self.stage_gone.eq(gone | (named & aborts)),
            self.stage_named.eq(hit(self.stage_stream, self.names)),
            self.stage_back.eq(self.stage_again | hit(self.stage_stream, streams.head_back)),
        ]
        with m.If(enters):
            m.d.sync += [
                self.stage_valid.eq(self.any_chosen),
                self.stage_stream.eq(self.chosen),
                slots.eq(streams["resume_slot"]),
                self.stage_priority.eq(top),
                self.stage_again.eq(self.again),
                self.stage_ahead.eq(self.ahead),
                met.eq(0),
                held.eq(0),
                gone.eq(0),
            ]
        with m.Else():
            m.d.sync += [
                met.eq(self.stage_met | (self.stage_named & self.meets)),
                held.eq((self.stage_held & ~resumed) | (self.stage_named & self.meets)),
                gone.eq(self.stage_gone | (self.stage_named & self.aborts)),
            ]


def _behind(bits: Value) -> Value:
    """Return the bits above the lowest 1."""
    return Cat(0, any_up_to(bits)[:-1])


def _two(bits: list[Value]) -> Value:
    """Return whether at least two bits are 1."""
    return any_of(bits[a] & any_of(bits[a + 1 :]) for a in range(len(bits) - 1))
