"""The host of a measurement: it sends low launches without end, and urgent ones at random."""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle as endless

from warploom_golden.preemption.streams import EventQueue, SentLaunch
from warploom_golden.replay.event_constants import NEVER
from warploom_sim.methods.preempt.repeated_waits import RepeatedWaits
from warploom_spec import LaunchDescriptor
from warploom_spec.queue import FinalFate, RecordKind
from warploom_spec.queue_packets import WAIT_BITS

_WAIT_COUNTS = 1 << WAIT_BITS


class MeasuringHost:
    """Keeps the low priority filled, and sends urgent launches at random distances.

    It sees the ports ``room`` and ``oldest`` alone. It pops a record in the first cycle in which
    ``oldest`` shows it: one cycle after RecordQueue does. It sends at most one launch a cycle; an
    urgent launch that is due goes first. Each launch is sent into room, and so is accepted: the
    k-th one's ticket is k.

    A distance is counted from the pop of the previous urgent launch's record, so that each urgent
    launch finds its own stream empty. Distances are exponentially distributed: the time of one
    arrival does not predict the next.

    A low launch has the pairs of its repetition. What it is held for, the host waits for: it sends
    it after the cycles in which these records were popped, and no low launch before it.

    Parameters
    ----------
    low : sequence of LaunchDescriptor
        The low launches. The host sends them in this order, again and again.
    urgent : sequence of LaunchDescriptor
        The urgent launches. The host sends them one at a time in this order, again and again.
    count : int
        Number of urgent launches to send.
    distance : float
        Mean distance between urgent launches, in cycles.
    seed : int
        Seed of the distances.
    ahead : int or None
        Most low launches that may be sent and unfinished. None: as many as there is room for.
    passes : int
        Number of times that all low launches are sent; 0: until the last urgent launch is done.
    tell : callable
        Called with the number of urgent launches that are done.
    waits : RepeatedWaits
        What the low launches wait for.

    Attributes
    ----------
    sent : list of (int, bool)
        Of each launch that was sent: in which cycle, and whether it was an urgent one.
    launches : list of LaunchDescriptor
        The launches that were sent.
    pops : list of (int, int)
        Of each record that was popped: in which cycle, and its ticket.
    """

    def __init__(
        self,
        low: Sequence[LaunchDescriptor],
        urgent: Sequence[LaunchDescriptor],
        *,
        count: int,
        distance: float,
        seed: int,
        ahead: int | None = None,
        passes: int = 0,
        tell: Callable[[int], None] = lambda done: None,
        waits: RepeatedWaits | None = None,
    ):
        self._low = endless(low)
        self._next_low = next(self._low)
        self._low_left = passes * len(low) if passes else None
        self._length = len(low)
        self._waits = waits or RepeatedWaits()
        self._low_sent = 0
        # Records of low launches that were popped, by stream.
        self._popped: Counter[int] = Counter()
        self._urgent = endless(urgent)
        self._next_urgent = next(self._urgent, None)
        self._count, self._done = count, 0
        self._distances = distances(seed, distance)
        self._ahead = ahead
        self._low_open = 0
        self._waits_for: int | None = None
        self._arrives = 1 + next(self._distances) if count else NEVER
        self._stepped = -1
        # The cycle in which `oldest` shows the record that RecordQueue shows.
        self._oldest_at = NEVER
        # The cycle after a pop: a launch may be held no more.
        self._popped_at = NEVER
        self._tell = tell
        self.sent: list[tuple[int, bool]] = []
        self.launches: list[LaunchDescriptor] = []
        self.pops: list[tuple[int, int]] = []

    @property
    def wake(self) -> int:
        """The next cycle in which the host acts by itself; `NEVER` if it only reacts."""
        # An urgent launch that is due waits for room: a change of the queue's own.
        arrives = self._arrives if self._arrives > self._stepped else NEVER
        return min(arrives, self._oldest_at, self._popped_at)

    @property
    def arrivals(self) -> dict[int, int]:
        """Of each urgent launch that was sent the cycle, by its ticket."""
        return {k + 1: cycle for k, (cycle, urgent) in enumerate(self.sent) if urgent}

    def step(self, cycle: int, queue: EventQueue) -> None:
        """Pop a record, then send at most one launch; an urgent launch that is due wins."""
        self._stepped = cycle
        is_held, self._popped_at = self._is_held(), NEVER
        if self._oldest_at <= cycle:
            self._pop(cycle, queue)
            self._oldest_at, self._popped_at = NEVER, cycle + 1
        elif queue.has_record and self._oldest_at == NEVER:
            self._oldest_at = cycle + 1
        urgent = self._next_urgent
        if self._arrives <= cycle:
            assert urgent is not None
            if queue.room(urgent.priority):
                self._send(cycle, queue, SentLaunch(urgent))
                self._waits_for, self._arrives = len(self.sent), NEVER
                self._next_urgent = next(self._urgent)
        elif not is_held and self._wants_low(queue):
            repetition, number = divmod(self._low_sent, self._length)
            pairs = self._waits.pairs_of(number, repetition)
            sent = tuple((stream, count % _WAIT_COUNTS) for stream, count in pairs)
            self._send(cycle, queue, SentLaunch(self._next_low, sent))
            self._low_sent += 1
            self._low_open += 1
            self._next_low = next(self._low)
            if self._low_left is not None:
                self._low_left -= 1

    def _pop(self, cycle: int, queue: EventQueue) -> None:
        record = queue.log.records[len(self.pops)]
        queue.pop()
        self.pops.append((cycle, record.ticket))
        assert record.kind is RecordKind.LAUNCH and record.fate is FinalFate.FINISHED
        if record.ticket != self._waits_for:
            self._low_open -= 1
            self._popped[self.launches[record.ticket - 1].stream] += 1
            return
        self._waits_for = None
        self._done += 1
        self._tell(self._done)
        self._arrives = cycle + 1 + next(self._distances) if self._done < self._count else NEVER

    def _send(self, cycle: int, queue: EventQueue, launch: SentLaunch) -> None:
        queue.send(launch)
        self.sent.append((cycle, launch.descriptor is self._next_urgent))
        self.launches.append(launch.descriptor)

    def _is_held(self) -> bool:
        """Tell whether a record that the next low launch is held for was not popped."""
        repetition, number = divmod(self._low_sent, self._length)
        held = self._waits.held_of(number, repetition)
        return any(self._popped[stream] < count for stream, count in held)

    def _wants_low(self, queue: EventQueue) -> bool:
        if (self._count and self._done == self._count) or self._low_left == 0:
            return False
        full = self._ahead is not None and self._low_open >= self._ahead
        return not full and queue.room(self._next_low.priority)


def distances(seed: int, mean: float) -> Iterator[int]:
    """Yield the distances between urgent launches, in cycles, without end."""
    drawn = random.Random(seed)
    while True:
        yield round(drawn.expovariate(1 / mean))
