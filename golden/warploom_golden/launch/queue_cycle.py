"""What KernelQueue's rules say of one cycle, asked of the state and the cycle's inputs alone."""

from collections.abc import Mapping
from enum import Enum, auto
from functools import cached_property

from warploom_golden.launch.queue_launch import Launch, Stream, Where
from warploom_golden.launch.queue_state import State
from warploom_spec import layouts
from warploom_spec.config import Config
from warploom_spec.errors import Stop
from warploom_spec.layouts import PLACES
from warploom_spec.queue import Mode
from warploom_spec.queue_packets import HANDED, MAX_KILLS, STOP_SKIP

REACHED_BELOW = 1 << 31
COUNTS = 1 << 32
RESIDENT_MOST = (1 << 32) - 1


def is_reached(timeline: int, count: int) -> bool:
    """Whether a timeline has reached a count (rule 11)."""
    return (timeline - count) % COUNTS < REACHED_BELOW


class Job(Enum):
    """What a look does (23)."""

    END_SUSPENDED = auto()
    PASS = auto()
    LOAD = auto()


class AbortStep(Enum):
    """What an ABORT that acts does in a cycle (62): (a), (b) and (c), (d) and (e), (f), (g)."""

    GONE = auto()
    IN_PLACE = auto()
    WAITS = auto()
    SUSPENDED = auto()
    LISTED = auto()


class Cycle:
    """One cycle, in which nothing changes; numbers in docstrings are the page's rules.

    Parameters
    ----------
    config : Config
        For the packets.
    state : State
        The registers.
    inputs : mapping
        The cycle's inputs.
    """

    def __init__(self, config: Config, state: State, inputs: Mapping[str, int]):
        self._state = state
        self._inputs = inputs
        self._streams = state.streams
        self._numbers = range(len(state.streams))
        self.no_sm = bool(inputs["no_sm"])
        self.decided: int | None = None
        if config.makes_indices and inputs["decision__valid"]:
            decision = layouts.index_decision(config).unpack(inputs["decision__payload"])
            self.decided = decision["entry"]
        self.end: Mapping[str, int] | None = None
        if inputs["ended__valid"]:
            self.end = layouts.dispatch_end(config).unpack(inputs["ended__payload"])

    # Streams

    def is_purged(self, stream: Stream) -> bool:
        """Rule 15."""
        head = stream.head
        return (
            stream.broken
            or self.no_sm
            or self._state.closed
            or stream.boundary is not None
            or (head is not None and head.ended_in_list)
        )

    @cached_property
    def coming(self) -> set[int]:
        """Streams of which something is coming (16)."""
        state = self._state
        found = {place.stream for place in state.places if place is not None and place.stopped}
        found |= {launch.stream for launch in state.line if launch.out}
        if state.ended is not None:
            found.add(state.ended.launch.stream)
        if state.abort is not None and state.abort.acts_on is not None:
            found.add(state.abort.acts_on.stream)
        return found

    def is_reached(self, wait: tuple[int, int]) -> bool:
        """Rule 11, of this cycle's timelines."""
        stream, count = wait
        return is_reached(self._streams[stream].timeline, count)

    def _is_eligible(self, number: int) -> bool:
        """Rule 17."""
        stream = self._streams[number]
        head = stream.head
        return (
            head is not None
            and stream.loaded
            and not stream.handed
            and all(self.is_reached(wait) for wait in head.waits)
            and not stream.held
            and not self.is_purged(stream)
            and number not in self.coming
        )

    @cached_property
    def _eligible(self) -> set[int]:
        return {number for number in self._numbers if self._is_eligible(number)}

    def _is_ready(self, number: int) -> bool:
        """Rule 18."""
        stream = self._streams[number]
        if number not in self._eligible or stream.head is None:
            return False
        if not stream.started:
            return True
        alone = len(stream.started) == 1 and stream.started[0].where is Where.PLACE
        return alone and not stream.head.fields["after_previous"]

    @cached_property
    def ready(self) -> set[int]:
        """Streams that are ready."""
        return {number for number in self._numbers if self._is_ready(number)}

    def _is_ahead(self, number: int) -> bool:
        """Rule 19."""
        stream = self._streams[number]
        return (
            number in self._eligible
            and stream.head is not None
            and bool(stream.head.fields["after_previous"])
            and bool(stream.started)
            and all(launch.where is Where.PLACE for launch in stream.started)
        )

    def _is_resumable(self, number: int) -> bool:
        """Rule 20."""
        stream = self._streams[number]
        suspended = stream.suspended
        return (
            bool(suspended)
            and not stream.held
            and not self.is_purged(stream)
            and not stream.left
            and number not in self.coming
            and not any(launch.marked for launch in suspended)
        )

    @cached_property
    def resumable(self) -> set[int]:
        """Streams with a suspended launch that may go on."""
        return {number for number in self._numbers if self._is_resumable(number)}

    # Jobs

    def _wants_suspended_ended(self, stream: Stream, launch: Launch) -> bool:
        """Rule 21 (b), for one of the suspended launches."""
        return launch.marked or stream.broken or self.no_sm or self._state.closed

    def _wants_job(self, number: int) -> bool:
        """Rules 21 and 22."""
        stream, state = self._streams[number], self._state
        idle = bool(stream.waiting) and not stream.handed
        left = len(stream.suspended) + (len(stream.waiting) if idle else 0)
        again = state.closed and left > 1
        if (number == state.looking and not again) or number in state.loads:
            return False
        if idle and (not stream.loaded or self.is_purged(stream)):
            return True
        return any(self._wants_suspended_ended(stream, launch) for launch in stream.suspended)

    def picks(self) -> int | None:
        """Return the stream whose job is picked (22)."""
        return next((number for number in self._numbers if self._wants_job(number)), None)

    def ends_suspended(self, stream: Stream) -> Launch | None:
        """Return the suspended launch that a look ends (23 a)."""
        wanted = (x for x in stream.suspended if self._wants_suspended_ended(stream, x))
        return next(wanted, None)

    def looks(self) -> Job | None:
        """Return what the look of this cycle does (23)."""
        if self._state.looking is None:
            return None
        stream = self._streams[self._state.looking]
        idle = bool(stream.waiting) and not stream.handed
        if self.ends_suspended(stream) is not None:
            return None if self.end is not None else Job.END_SUSPENDED
        if idle and self.is_purged(stream):
            return None if self.end is not None else Job.PASS
        return Job.LOAD if idle and not stream.loaded and not stream.entered else None

    # Choice

    @cached_property
    def top(self) -> int | None:
        """The highest busy priority (27)."""
        busy = [
            stream.priority
            for number, stream in enumerate(self._streams)
            if not stream.held and (number in self.ready or stream.handed or stream.started)
        ]
        return max(busy, default=None)

    def has_flag(self, number: int) -> bool:
        """Rule 28."""
        stream = self._streams[number]
        return stream.held or (self.top is not None and stream.priority < self.top)

    def _on_the_way(self) -> int:
        """Rule 29."""
        state = self._state
        found = [state.stage] if state.stage is not None else []
        found += [launch for launch in state.line if not launch.out]
        for place, launch in enumerate(state.places):
            if launch is not None and not self.is_started(place) and not launch.stopped:
                found.append(launch)
        return sum(not self.has_flag(launch.stream) for launch in found)

    @property
    def stage_moves(self) -> bool:
        """Whether the stage moves to the line (32)."""
        return self._state.stage is not None and len(self._state.line) < 2

    @cached_property
    def chosen(self) -> tuple[Launch, bool] | None:
        """The launch that is chosen, and whether its stream is ahead (30, 31)."""
        stands = self._state.stage is not None and not self.stage_moves
        if self.top is None or stands or self._on_the_way() >= HANDED:
            return None
        asked = [n for n in self._numbers if self._streams[n].priority == self.top]
        groups = (
            [n for n in asked if n in self.resumable],
            [n for n in asked if n in self.ready],
            [n for n in asked if self._is_ahead(n) and not self._others_stand(n)],
        )
        group = next((group for group in groups if group), None)
        if group is None:
            return None
        number = self._first_behind_last(group)
        stream = self._streams[number]
        if group is groups[0]:
            return stream.suspended[0], False
        return stream.waiting[0], group is groups[2]

    def _first_behind_last(self, group: list[int]) -> int:
        count = len(self._streams)
        return min(group, key=lambda number: (number - self._state.last - 1) % count)

    def is_early(self, launch: Launch) -> bool:
        """Rule 30."""
        return launch.chosen_ahead and bool(self._streams[launch.stream].started)

    def _others_stand(self, number: int) -> bool:
        """Whether stage or line hold a launch of another stream of its priority, not early."""
        state, priority = self._state, self._streams[number].priority
        stage = [state.stage] if state.stage is not None else []
        return any(
            launch.stream != number
            and self._streams[launch.stream].priority == priority
            and not self.is_early(launch)
            for launch in stage + state.line
        )

    # Line

    def is_displaced(self, launch: Launch) -> bool:
        """Rule 34."""
        if not self.is_early(launch):
            return False
        own = self._streams[launch.stream]
        others = (self.ready | self.resumable) - {launch.stream}
        return (
            any(self._streams[number].priority == own.priority for number in others)
            or self._others_stand(launch.stream)
            or any(self._makes_way(started) for started in own.started)
        )

    @staticmethod
    def _makes_way(launch: Launch) -> bool:
        """Whether a started launch of the stream displaces the early one (34)."""
        if launch.where is Where.PLACE:
            return launch.draining or launch.killing
        return launch.where is not Where.END

    def is_out(self, launch: Launch) -> bool:
        """Rule 33."""
        stream = self._streams[launch.stream]
        return (
            launch.out
            or self.has_flag(launch.stream)
            or stream.broken
            or self.no_sm
            or self._state.closed
            or (not launch.again and stream.boundary is not None)
            or (launch.again and launch.marked)
            or self._state.abort_acted_on is launch
            or self.is_displaced(launch)
        )

    @cached_property
    def transfers(self) -> Launch | None:
        """The launch that transfers to the dispatcher (38)."""
        return self._state.offers() if self._inputs["launch__ready"] else None

    @cached_property
    def request_transfers(self) -> Launch | None:
        """The launch whose configuration transfers (36)."""
        return self._state.presents() if self._inputs.get("request__ready", 0) else None

    @cached_property
    def sends(self) -> str | None:
        """Which of the pending references is sent (41)."""
        names = "pending_end", "pending_line", "pending_flight"
        return next((name for name in names if getattr(self._state, name) is not None), None)

    @cached_property
    def taken_back(self) -> Launch | None:
        """The launch that is taken back (35)."""
        state = self._state
        waits = state.pending_line is not None and self.sends != "pending_line"
        if state.ended is not None or waits:
            return None
        out = (x for x in state.line if x is not self.transfers and self.is_out(x))
        return next(out, None)

    # Places

    def is_started(self, place: int) -> bool:
        """Return the dispatcher's flag of a place."""
        return bool(self._inputs["started"] >> place & 1)

    def is_at_ended(self, place: int) -> bool:
        """Whether the place's record is at ``ended``."""
        return self.end is not None and self.end["place"] == place

    def free_place(self) -> int:
        """Return the place of a launch that transfers (40)."""
        free = (p for p in range(PLACES) if self._state.places[p] is None or self.is_at_ended(p))
        return next(free)

    def runs(self, place: int) -> bool:
        """Whether the residence of the place's launch counts this cycle (46)."""
        return self.is_started(place) and not self._inputs["yields"] >> place & 1

    def is_over(self, place: int, launch: Launch) -> bool:
        """Whether its time is over (46)."""
        limit = self._state.limit
        return self.runs(place) and limit != 0 and launch.resident + 1 >= limit

    def stop_of(self, place: int, launch: Launch) -> tuple[int, bool]:
        """Return what is sent for a launch that is not at ``ended``, and whether it is dealt (43).

        A place's launch is dealt with once: by a kill or a drain because of its flag, or, of mode
        ``wait``, by nothing.
        """
        if not launch.killing and self._must_end(place, launch):
            return Stop.KILL, False
        stream, flag = self._streams[launch.stream], self.has_flag(launch.stream)
        if launch.stopped:
            return Stop.NONE, False
        if self.is_started(place):
            return self._says_started(launch) if flag and not launch.dealt else (Stop.NONE, False)
        if flag:
            stop = self._says_unstarted(launch)
            return stop, stop != STOP_SKIP
        bounded = stream.boundary is not None and not launch.again
        gone = stream.broken or bounded or self.is_displaced(launch)
        return (STOP_SKIP if gone else Stop.NONE), False

    def _must_end(self, place: int, launch: Launch) -> bool:
        """Whether rule 43 (a) asks for a kill."""
        return launch.aborted or self._state.closed or self.is_over(place, launch)

    def times_out(self, place: int, launch: Launch) -> bool:
        """Whether a kill of this cycle is sent because its time is over (46)."""
        free = not launch.killing and not launch.aborted and not self._state.closed
        return free and self.is_over(place, launch)

    def _says_unstarted(self, launch: Launch) -> int:
        """Return what its mode says of a launch without a decided block (44)."""
        mode = launch.fields["mode"]
        if mode in (Mode.AUTO, Mode.RESET):
            return self._resets(launch)
        return STOP_SKIP if mode in (Mode.WAIT, Mode.YIELD) else Stop.DRAIN

    def _says_started(self, launch: Launch) -> tuple[int, bool]:
        """Return what its mode says of a started launch, and whether it is dealt with (44)."""
        mode = launch.fields["mode"]
        if mode in (Mode.AUTO, Mode.RESET):
            return self._resets(launch), True
        if mode == Mode.WAIT:
            return Stop.NONE, True
        if mode == Mode.YIELD and not self._streams[launch.stream].held:
            return Stop.NONE, False
        return Stop.DRAIN, True

    @staticmethod
    def _resets(launch: Launch) -> int:
        """Return kill or drain, for the modes ``auto`` and ``reset`` (44)."""
        runs_again = launch.fields["idempotent"] and launch.kills < MAX_KILLS
        return Stop.KILL if runs_again else Stop.DRAIN

    def is_bounded(self, launch: Launch) -> bool:
        """Whether a launch that takes a place is aborted already (42)."""
        if launch.again:
            return launch.marked
        return self._streams[launch.stream].boundary is not None

    # ABORT and RESUME

    def aborts(self) -> "AbortStep | None":
        """Return what an ABORT that acts does (62)."""
        state = self._state
        if state.abort is None or state.abort.acts_on is None:
            return None
        launch = state.abort.acts_on
        if state.entries[launch.entry] is not launch or launch.ended_in_list:
            return AbortStep.GONE
        if launch.where is Where.PLACE:
            return AbortStep.IN_PLACE
        if launch.where not in (Where.LIST, Where.SUSPENDED):
            return AbortStep.WAITS
        if state.looked or state.looking == launch.stream:
            return AbortStep.WAITS
        if state.ended is not None or state.was_full:
            return AbortStep.WAITS
        return AbortStep.SUSPENDED if launch.where is Where.SUSPENDED else AbortStep.LISTED

    def resumes(self, number: int) -> bool:
        """Whether the stream's RESUME acts (59)."""
        state, stream = self._state, self._streams[number]
        if not stream.resuming or state.closed:
            return False
        if state.preempt is None or not state.preempt.mask >> number & 1:
            return True
        return any(
            launch is not None
            and launch.met
            and launch.fields["mode"] == Mode.WAIT
            and launch.begun
            and not launch.killing
            for launch in state.places
        )
