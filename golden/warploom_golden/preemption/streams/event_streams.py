"""Streams of the event model, and what they say in a cycle (rules 8 to 20, 27, 28)."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from warploom_golden.preemption.streams.event_launch import Launch, Where

_HALF = 1 << 31
_WORD = (1 << 32) - 1


@dataclass(eq=False)
class Stream:
    """One stream.

    Attributes
    ----------
    number : int
        Its number.
    items : deque of Launch
        Its list.
    unfinished : list of Launch
        Its unfinished launches, in order.
    priority, accepted, timeline : int
        As in rule 12.
    loaded, handed, held, resuming, broken : bool
        As in rule 12.
    boundary : Launch or None
        The last launch of the list that ABORT_STREAMS met.
    job_until : int
        Last cycle in which a job of it is under way.
    loading : bool
        That job loads the head.
    left_at : int
        Last cycle at whose end the head left the list before another launch (rule 20).
    began_at : int
        The same of heads that left because they began (rule 13).
    entered_at : int
        Last cycle in which a launch was accepted that was the head then (rule 23).
    """

    number: int
    items: deque[Launch] = field(default_factory=deque)
    unfinished: list[Launch] = field(default_factory=list)
    priority: int = 0
    accepted: int = 0
    timeline: int = 0
    loaded: bool = False
    handed: bool = False
    held: bool = False
    resuming: bool = False
    broken: bool = False
    boundary: Launch | None = None
    job_until: int = -1
    loading: bool = False
    left_at: int = -1
    began_at: int = -2
    entered_at: int = -2

    @property
    def started(self) -> list[Launch]:
        """Its started launches, in order; at most two."""
        return [each for each in self.unfinished if each.started]

    @property
    def suspended(self) -> list[Launch]:
        """Its suspended launches, in order."""
        return [each for each in self.started if each.where is Where.SUSPENDED]

    def leave_list(self, launch: Launch) -> None:
        """Let the head leave the list; the next head is not loaded yet (rule 13)."""
        assert self.items[0] is launch
        self.items.popleft()
        self.loaded = self.handed = False
        if self.boundary is launch:
            self.boundary = None

    def enter_list(self, launch: Launch, cycle: int) -> None:
        """Let a launch that is accepted in a cycle enter at the tail (rule 13)."""
        if not self.items:
            self.loaded = not launch.waits
            self.entered_at = cycle
        self.items.append(launch)

    def latest(self) -> int:
        """Return the timeline that follows from its unfinished launches (rule 10)."""
        if self.unfinished:
            return (self.unfinished[0].number - 1) & _WORD
        return self.accepted


def is_reached(streams: list[Stream], wait: tuple[int, int]) -> bool:
    """Tell whether a wait (stream, count of 32 bits) is reached (rule 11)."""
    stream, count = wait
    return (streams[stream].timeline - count) & _WORD < _HALF


def _windows(streams: list[Stream], size: int) -> set[Launch]:
    """Return the first unfinished launches of each priority, ``size`` of each."""
    by_priority: dict[int, list[Launch]] = {}
    for stream in streams:
        by_priority.setdefault(stream.priority, []).extend(stream.unfinished)
    first = (sorted(each, key=lambda launch: launch.order)[:size] for each in by_priority.values())
    return {launch for each in first for launch in each}


class View:
    """What all streams say in one cycle, by the state at its start.

    Parameters
    ----------
    streams : list of Stream
        All streams.
    coming : set of int
        Streams of which something is coming (rule 16).
    no_sm : bool
        No SM is left.
    cycle : int
        The cycle.
    window : int or None
        Of each priority only so many unfinished launches may run, the first ones; None: all.

    Attributes
    ----------
    ready, resumable, ahead : list of Stream
        In order of their numbers.
    top : int or None
        The highest busy priority.
    """

    def __init__(
        self,
        streams: list[Stream],
        coming: set[int],
        no_sm: bool,
        cycle: int,
        window: int | None = None,
    ):
        self._streams, self._no_sm, self._before = streams, no_sm, cycle - 1
        self._window = None if window is None else _windows(streams, window)
        self.ready: list[Stream] = []
        self.resumable: list[Stream] = []
        self.ahead: list[Stream] = []
        busy = set()
        for stream in streams:
            if not stream.unfinished:
                continue
            started = stream.started
            self._judge(stream, started, stream.number in coming)
            is_ready = bool(self.ready) and self.ready[-1] is stream
            if not stream.held and (is_ready or stream.handed or started):
                busy.add(stream.priority)
        self.top = max(busy, default=None)

    def is_purged(self, stream: Stream) -> bool:
        """Tell whether a stream is purged (rule 15)."""
        ended = bool(stream.items) and stream.items[0].ended_in_list
        return stream.broken or self._no_sm or stream.boundary is not None or ended

    def _judge(self, stream: Stream, started: list[Launch], coming: bool) -> None:
        """Note whether a stream is ready, resumable, ahead (rules 17 to 20)."""
        if stream.held or coming or self.is_purged(stream):
            return
        in_places = all(each.where is Where.PLACE for each in started)
        suspended = [each for each in started if each.where is Where.SUSPENDED]
        may_go_on = suspended and stream.left_at != self._before
        if may_go_on and not any(each.marked for each in suspended):
            self.resumable.append(stream)
        if not stream.items or not stream.loaded or stream.handed:
            return
        head = stream.items[0]
        if self._window is not None and head not in self._window:
            return
        if not all(is_reached(self._streams, wait) for wait in head.waits):
            return
        if not started:
            self.ready.append(stream)
        elif in_places:
            self.ahead.append(stream)

    def flag(self, stream: Stream) -> bool:
        """Tell whether a stream has its flag (rule 28)."""
        return stream.held or (self.top is not None and stream.priority < self.top)

    def others(self, stream: Stream) -> Iterable[Stream]:
        """Yield the other streams of a stream's priority that are ready or resumable."""
        for each in (*self.ready, *self.resumable):
            if each is not stream and each.priority == stream.priority:
                yield each
