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

    For each priority one stream is chosen in every cycle; the highest busy one's counts.

    Attributes
    ----------
    chosen : Signal
        The stream that is chosen in this cycle, one bit each. ``again``: its launch has started,
        ``slot``: which of its started ones.
    below : Signal
        For each priority: a higher one is busy.
    displacing : Signal
        For each priority: an early launch of it is displaced.
    stage_valid, stage : Signal
        The stage. Registers but ``entry`` and ``met``, which are looked up.
    moves : Signal
        The stage's launch enters the line at the end of this cycle.
    """

    def __init__(self, shape: QueueShape) -> None:
        self._shape = shape
        self.chosen = Signal(shape.streams, name="chosen")
        self.again, self.slot, self.ahead = (
            Signal(name="again"),
            Signal(name="slot"),
            Signal(name="ahead"),
        )
        self.below = Signal(shape.priorities)
        self.displacing = Signal(shape.priorities)
        self.stage_valid = Signal()
        self.stage_stream = Signal(shape.streams)
        self.stage_number = Signal(shape.config.stream_bits)
        self.stage_priority = Signal(shape.priorities)
        self.stage_again, self.stage_ahead = Signal(name="stage_again"), Signal(name="stage_ahead")
        self.stage_slot, self.stage_met = Signal(name="stage_slot"), Signal(name="stage_met")
        self.stage_entry = Signal(shape.entry_bits)
        self.stage_early = Signal()
        self.suspended_entry = Signal(shape.entry_bits, name="stage_suspended_entry")
        self.line_full = Signal()
        self.moves = Signal()
        self.meets = Signal(shape.streams)

    def build(self, m: Module, streams: QueueStreams, others: list[OnTheWay]) -> None:
        """Add the choice; ``others`` are the launches in line and places."""
        shape = self._shape
        stage = OnTheWay(
            self.stage_stream,
            self.stage_priority,
            self.stage_valid & ~hit(self.stage_stream, streams.held),
            self.stage_valid,
            self.stage_early,
        )
        m.d.comb += self.stage_early.eq(
            self.stage_ahead & hit(self.stage_stream, streams["any_started"])
        )
        last = Signal(shape.streams, init=1 << shape.streams - 1, name="last_chosen")
        behind = Signal(shape.streams)
        m.d.comb += behind.eq(Cat(0, any_up_to(last)[:-1]))
        with m.If(self.chosen.any()):
            m.d.sync += last.eq(self.chosen)
        ways = [stage, *others]
        picks = [self._of_priority(m, p, streams, ways, behind) for p in range(shape.priorities)]
        busy = [self._busy(p, streams) for p in range(shape.priorities)]
        m.d.comb += self.below.eq(Cat(any_of(busy[p + 1 :]) for p in range(shape.priorities)))
        top = [busy[p] & ~self.below[p] for p in range(shape.priorities)]
        goes = Signal()
        m.d.comb += goes.eq(~self.stage_valid | self.moves)
        m.d.comb += [
            self.chosen.eq(
                any_of(
                    spread(top[p] & goes & may, stream)
                    for p, (stream, may, _, _, _) in enumerate(picks)
                )
            ),
            self.again.eq(one_of((top[p], pick[2]) for p, pick in enumerate(picks))),
            self.ahead.eq(one_of((top[p], pick[3]) for p, pick in enumerate(picks))),
            self.slot.eq(one_of((top[p], pick[4]) for p, pick in enumerate(picks))),
        ]
        self._stage(m, streams, Cat(top))

    def _busy(self, p: int, streams: QueueStreams) -> Value:
        uses = streams["ready"] | streams.handed | streams["any_started"]
        return (streams.priority[p] & ~streams.held & uses).any()

    def _of_priority(
        self, m: Module, p: int, streams: QueueStreams, ways: list[OnTheWay], behind: Signal
    ) -> tuple[Signal, Signal, Signal, Signal, Signal]:
        """Choose a stream of one priority, as if it were the highest busy one."""
        its = streams.priority[p]
        groups = [Signal(self._shape.streams, name=f"{n}_{p}") for n in ("again", "ready", "ahead")]
        waits_late = any_of(way.waits & ~way.early & way.priority[p] for way in ways[:3])
        m.d.comb += [
            groups[0].eq(streams["resumable"] & its),
            groups[1].eq(streams["ready"] & its),
            groups[2].eq(spread(~waits_late, streams["ahead"] & its)),
            self.displacing[p].eq(groups[0].any() | groups[1].any() | waits_late),
        ]
        group, picked = (Signal(self._shape.streams, name=f"{n}_{p}") for n in ("group", "picked"))
        any_again, any_ready = groups[0].any(), groups[1].any()
        m.d.comb += group.eq(Mux(any_again, groups[0], Mux(any_ready, groups[1], groups[2])))
        later = group & behind
        asked = Mux(later.any(), later, group)
        m.d.comb += picked.eq(asked & ~Cat(0, any_up_to(asked)[:-1]))
        may, again, ahead, slot = (
            Signal(name=f"{name}_{p}") for name in ("may", "is_again", "is_ahead", "is_slot")
        )
        on_way = [way.counts & way.priority[p] for way in ways]
        m.d.comb += [
            may.eq(group.any() & ~_two(on_way)),
            again.eq(any_again),
            ahead.eq(~any_again & ~any_ready),
            slot.eq(hit(picked, streams["resume_slot"])),
        ]
        return picked, may, again, ahead, slot

    def _stage(self, m: Module, streams: QueueStreams, top: Value) -> None:
        """Keep the chosen launch; look its entry up."""
        any_chosen = self.chosen.any()
        head = any_of(spread(self.stage_stream[s], head) for s, head in enumerate(streams.head))
        m.d.comb += [
            self.moves.eq(self.stage_valid & ~self.line_full),
            self.stage_entry.eq(Mux(self.stage_again, self.suspended_entry, head)),
        ]
        with m.If(self.moves | ~self.stage_valid):
            m.d.sync += [
                self.stage_valid.eq(any_chosen),
                self.stage_stream.eq(self.chosen),
                self.stage_number.eq(number_of(self.chosen)),
                self.stage_priority.eq(top),
                self.stage_again.eq(self.again),
                self.stage_ahead.eq(self.ahead),
                self.stage_slot.eq(self.slot),
                self.stage_met.eq(hit(self.chosen, self.meets)),
            ]
        with m.Elif(hit(self.stage_stream, self.meets)):
            m.d.sync += self.stage_met.eq(1)


def _two(bits: list[Value]) -> Value:
    """Return whether at least two bits are 1."""
    return any_of(bits[a] & any_of(bits[a + 1 :]) for a in range(len(bits) - 1))
