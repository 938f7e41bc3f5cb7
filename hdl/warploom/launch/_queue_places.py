"""KernelQueue's places: launches that the dispatcher has, and the stops that it is sent."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from warploom.launch._queue_choice import OnTheWay, QueueChoice
from warploom.launch._queue_line import has_flag, is_displaced, is_early, stays_held
from warploom.launch._queue_shapes import (
    CLOCK_BITS,
    QueueShape,
    any_of,
    hit,
    looked_up,
    new_memory,
    spread,
)
from warploom.launch._queue_streams import QueueStreams
from warploom_spec import Stop
from warploom_spec.layouts import PLACES, STOP_BITS
from warploom_spec.queue import Mode
from warploom_spec.queue_packets import STOP_SKIP

#: Cycles from the decision on a skip to the look whether it has failed.
_SKIP_LOOK = 4
_STARTED = 32


class QueuePlaces:
    """The launches in the dispatcher's places.

    Attributes
    ----------
    valid, launch
        Whether there are launches, and they. Registers.
    hands, enters
        A launch gets a place at the end of this cycle, and it.
    takes : Signal
        The place that it gets, one bit each.
    ended, ended_place : Signal
        A record is at ``ended``.
    started, yields, clock, launch_timeout : Signal
        The ports.
    aborts : Signal
        For each place: an ABORT meets its launch.
    begins : Signal
        For each place: its launch begins in this cycle.
    begin_slot : Signal
        The slot of the launch that begins for the first time: at most one in a cycle.
    first_offer : Signal
        When the launch began that was at ``ended`` in the cycle before.
    changed : list
        The launches with what happens in this cycle.
    stops : list of Signal
        Stops to send.
    """

    def __init__(self, shape: QueueShape) -> None:
        self._shape = shape
        layout = shape.in_place()
        self.valid = Signal(PLACES, name="place_valid")
        self.launch: list[Any] = [Signal(layout, name=f"place_{p}") for p in range(PLACES)]
        self.changed: list[Any] = [Signal(layout, name=f"place_{p}_changed") for p in range(PLACES)]
        self.hands = Signal()
        self.enters: Any = Signal(layout, name="place_enters")
        self.takes, self.ends = Signal(PLACES, name="takes"), Signal(PLACES, name="ends")
        self.ended, self.ended_place = Signal(name="ended"), Signal(name="ended_place")
        self.started, self.yields = Signal(PLACES, name="started"), Signal(PLACES, name="yields")
        self.clock, self.launch_timeout = (
            Signal(CLOCK_BITS, name="clock"),
            Signal(_STARTED, name="launch_timeout"),
        )
        self.aborts = Signal(PLACES)
        self.begins = Signal(PLACES)
        self.first_offer = Signal(CLOCK_BITS, name="first_offer")
        self.begin_slot = Signal()
        self.stops = [Signal(STOP_BITS, name=f"stop_{p}") for p in range(PLACES)]

    def build(self, m: Module, streams: QueueStreams, choice: QueueChoice, line: Any) -> None:
        """Add places and stops."""
        free = ~self.valid | self.ends
        m.d.comb += [
            self.ends.eq(Cat(self.ended & (self.ended_place == p) for p in range(PLACES))),
            self.takes.eq(Cat(self.hands & free[0], self.hands & ~free[0])),
        ]
        m.d.sync += self.valid.eq(self.takes | ~free)
        limit, limited = Signal(_STARTED, name="limit"), Signal(name="limited")
        m.d.sync += [limit.eq(self.launch_timeout), limited.eq(self.launch_timeout.any())]
        self._first_offers(m)
        for p in range(PLACES):
            over = self._residence(m, p, limit, limited)
            self._begin(m, p)
            self._stop(m, p, streams, choice, line, over)
            self._change(m, p, streams, choice)

    def ways(self, streams: QueueStreams) -> list[OnTheWay]:
        """Return the launches as the choice sees them."""
        return [
            OnTheWay(
                launch.stream,
                launch.priority,
                self.valid[p] & ~self.started[p] & ~was_stopped(launch) & ~launch.held,
                0,
                is_early(launch, streams),
            )
            for p, launch in enumerate(self.launch)
        ]

    def coming(self) -> Value:
        """Return the streams of launches that are stopped, or have ended, in the next cycle."""
        return any_of(
            spread(self.ends[p] | (self.valid[p] & self.changed[p].stopped), launch.stream)
            for p, launch in enumerate(self.launch)
        )

    def displacing(self) -> Value:
        """Return the streams of started launches that were drained or killed, one bit each."""
        found = []
        for p, launch in enumerate(self.launch):
            stopped = launch.draining | launch.killing
            off = self.valid[p] & (launch.again | launch.begun) & stopped
            found.append(launch.stream & off.replicate(self._shape.streams))
        return any_of(found)

    def _residence(self, m: Module, p: int, limit: Signal, limited: Signal) -> Signal:
        """Count the cycles of a residence, with this one; return whether its time is over."""
        cycles = Signal(_STARTED, name=f"residence_{p}")
        following = Signal(_STARTED + 1, name=f"residence_next_{p}")
        runs, over = Signal(name=f"runs_{p}"), Signal(name=f"time_over_{p}")
        m.d.comb += [
            runs.eq(self.started[p] & ~self.yields[p]),
            over.eq(runs & limited & (cycles >= limit)),
            following.eq(cycles + 1),
        ]
        with m.If(self.takes[p]):
            m.d.sync += cycles.eq(1)
        with m.Elif(runs & ~following[-1]):
            m.d.sync += cycles.eq(following)
        return over

    def _first_offers(self, m: Module) -> None:
        """Keep the time at which each place's launch began: one begins in a cycle."""
        times = new_memory(m, "first_offers", CLOCK_BITS, PLACES)
        write = times.write_port()
        which = Signal(name="ended_place_before")
        m.d.sync += which.eq(self.ended_place)
        m.d.comb += [
            write.addr.eq(self.begins[1]),
            write.data.eq(self.clock),
            write.en.eq(self.begins.any()),
            self.first_offer.eq(looked_up(m, times, which)),
        ]

    def _begin(self, m: Module, p: int) -> None:
        """A launch begins in the first cycle in which its place has started."""
        m.d.comb += self.begins[p].eq(self.valid[p] & self.started[p] & ~self.launch[p].begun)

    def _stop(
        self,
        m: Module,
        p: int,
        streams: QueueStreams,
        choice: QueueChoice,
        line: Any,
        over: Signal,
    ) -> None:
        """Send the first stop that holds, and note it."""
        launch, changed, started = self.launch[p], self.changed[p], self.started[p]
        active = self.valid[p] & ~self.ends[p]
        stopped = was_stopped(launch)
        flag, held = Signal(name=f"flag_{p}"), launch.held
        ends = launch.aborted | streams.closed
        gone = (
            # A launch up to a boundary is aborted: it is killed first.
            hit(launch.stream, streams.broken)
            | is_displaced(launch, streams, choice, line.displaced_streams)
        )
        deals = Signal(name=f"deals_{p}")
        kill, drain, skip = mode_stops(launch, started, held)
        by_mode = Signal(name=f"stop_by_mode_{p}")
        m.d.comb += [
            flag.eq(has_flag(launch, choice)),
            deals.eq(active & ~stopped & flag & (~started | ~launch.dealt)),
        ]
        ended, skipped = Signal(name=f"stop_to_end_{p}"), Signal(name=f"stop_gone_{p}")
        kills, drains, skips = (Signal(name=f"sends_{n}_{p}") for n in ("kill", "drain", "skip"))
        skips_late = _later(m, p, skips, self.takes[p])
        skipping = Signal(name=f"skipping_{p}")
        m.d.comb += [
            ended.eq(active & ~launch.killing & (ends | over)),
            by_mode.eq(deals & ~ended),
            skipped.eq(active & ~started & ~stopped & gone & ~ended & ~deals),
            kills.eq(ended | (by_mode & kill)),
            drains.eq(by_mode & drain),
            skips.eq(skipped | (by_mode & skip)),
            self.stops[p].eq(
                Mux(kills, Stop.KILL, Mux(drains, Stop.DRAIN, Mux(skips, STOP_SKIP, Stop.NONE)))
            ),
            changed.killing.eq(launch.killing | kills),
            changed.draining.eq(launch.draining | drains),
            skipping.eq((launch.skipping & ~(skips_late & started)) | skips),
            changed.skipping.eq(skipping),
            changed.stopped.eq(launch.killing | launch.draining | kills | drains | skipping),
            changed.timed_out.eq(launch.timed_out | (ended & ~ends)),
            changed.dealt.eq(launch.dealt | (by_mode & (kill | drain | (started & waits(launch))))),
        ]

    def _change(self, m: Module, p: int, streams: QueueStreams, choice: QueueChoice) -> None:
        """Note what else happens to a launch; let another one enter."""
        launch, changed = self.launch[p], self.changed[p]
        named = Signal(name=f"place_{p}_named")
        m.d.comb += named.eq(hit(launch.stream, choice.names))
        aborted = streams.closed | (named & choice.aborts) | self.aborts[p]
        begins = self.begins[p]
        changes = {
            "aborted": launch.aborted | aborted,
            "met": launch.met | (named & choice.meets),
            "held": stays_held(launch, choice) | (named & choice.meets),
            "begun": launch.begun | begins,
            "slot": Mux(begins & ~launch.again, self.begin_slot, launch.slot),
        }
        stopping = ("killing", "draining", "skipping", "stopped", "timed_out", "dealt")
        for name in self._shape.in_place().members:
            # No field in part only: a simulator would not see the rest at time 0.
            if name not in stopping:
                m.d.comb += changed[name].eq(changes.get(name, launch[name]))
        with m.If(self.takes[p]):
            m.d.sync += self.launch[p].eq(self.enters)
        with m.Else():
            m.d.sync += self.launch[p].eq(changed)


def was_stopped(launch: Any) -> Value:
    """Return whether a stop was sent to a launch, and has not failed."""
    found: Value = launch.stopped
    return found


def waits(launch: Any) -> Value:
    """Return whether a launch that has started is left alone."""
    found: Value = launch.mode == Mode.WAIT
    return found


def mode_stops(launch: Any, started: Value, held: Value) -> tuple[Value, Value, Value]:
    """Return whether a launch's mode says kill, drain, skip."""
    resets = (launch.mode == Mode.AUTO) | (launch.mode == Mode.RESET)
    yields = launch.mode == Mode.YIELD
    kill = resets & launch.idempotent & launch.may_kill
    skip = ~started & (waits(launch) | yields)
    drains = ~kill & ~waits(launch) & ~yields
    return kill, drains | (started & yields & held), skip


def _later(m: Module, p: int, skips: Value, takes: Value) -> Value:
    """Return a skip's decision so many cycles later that one sees whether it has failed."""
    steps = Signal(_SKIP_LOOK, name=f"skip_look_{p}")
    m.d.sync += steps.eq(Cat(skips, steps[:-1]) & ~takes.replicate(_SKIP_LOOK))
    return steps[-1]
