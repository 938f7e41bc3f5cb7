"""The host of a measurement: it sends low launches without end, and urgent ones at random."""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle as endless

from warploom_golden.replay.event_constants import NEVER
from warploom_golden.replay.residents.launches import SentLaunch
from warploom_golden.replay.residents.path import ResidentPath
from warploom_sim.methods.preempt.repeated_waits import RepeatedWaits
from warploom_spec import LaunchDescriptor
from warploom_spec.queue import FinalFate, RecordKind
from warploom_spec.queue_packets import WAIT_BITS

_WAIT_COUNTS = 1 << WAIT_BITS


class MeasuringHost:
    """Keeps the low priority filled, and sends urgent launches at random distances.

    It pops a record in the cycle after its last word. It sends at most one launch a cycle; an
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
        self._wake = 0
        self._tell = tell
        self.sent: list[tuple[int, bool]] = []
        self.launches: list[LaunchDescriptor] = []
        self.pops: list[tuple[int, int]] = []

    @property
    def wake(self) -> int:
        """The next cycle in which the host acts by itself; `NEVER` if it only reacts."""
        return self._wake

    def step(self, cycle: int, path: ResidentPath) -> None:
        """Pop a record, and send at most one launch; an urgent launch that is due wins."""
        is_held = self._is_held()
        popped = path.has_record
        if popped:
            self._pop(cycle, path)
        # A record that was popped may let a launch go that is held.
        self._wake = cycle + 1 if popped else NEVER
        urgent = self._next_urgent
        if self._arrives <= cycle:
            assert urgent is not None
            if self._send(cycle, path, SentLaunch(urgent), urgent=True):
                self._waits_for, self._arrives = len(self.sent), NEVER
                self._next_urgent = next(self._urgent)
            return
        if not is_held and self._wants_low():
            self._send_low(cycle, path)
        self._wake = min(self._wake, self._arrives)

    def _send_low(self, cycle: int, path: ResidentPath) -> None:
        """Send the next low launch, if it may be."""
        repetition, number = divmod(self._low_sent, self._length)
        pairs = self._waits.pairs_of(number, repetition)
        waits = tuple((stream, count % _WAIT_COUNTS) for stream, count in pairs)
        if not self._send(cycle, path, SentLaunch(self._next_low, waits), urgent=False):
            return
        self._low_sent += 1
        self._low_open += 1
        self._next_low = next(self._low)
        if self._low_left is not None:
            self._low_left -= 1

    def _pop(self, cycle: int, path: ResidentPath) -> None:
        record = path.pop()
        ticket = record["ticket"]
        self.pops.append((cycle, ticket))
        assert (record["kind"], record["fate"]) == (RecordKind.LAUNCH, FinalFate.FINISHED)
        if ticket != self._waits_for:
            self._low_open -= 1
            self._popped[self.launches[ticket - 1].stream] += 1
            return
        self._waits_for = None
        self._done += 1
        self._tell(self._done)
        self._arrives = cycle + 1 + next(self._distances) if self._done < self._count else NEVER

    def _send(self, cycle: int, path: ResidentPath, launch: SentLaunch, *, urgent: bool) -> bool:
        """Send a launch if it may be, and tell whether it was; else look again in time."""
        if not path.has_room(launch.descriptor.priority):
            return False
        self._wake = cycle + 1
        if not path.may_send:
            return False
        path.send(launch)
        self.sent.append((cycle, urgent))
        self.launches.append(launch.descriptor)
        return True

    def _is_held(self) -> bool:
        """Tell whether a record that the next low launch is held for was not popped."""
        repetition, number = divmod(self._low_sent, self._length)
        held = self._waits.held_of(number, repetition)
        return any(self._popped[stream] < count for stream, count in held)

    def _wants_low(self) -> bool:
        """Tell whether a low launch is to be sent, room or not."""
        if (self._count and self._done == self._count) or self._low_left == 0:
            return False
        return self._ahead is None or self._low_open < self._ahead


def distances(seed: int, mean: float) -> Iterator[int]:
    """Yield the distances between urgent launches, in cycles, without end."""
    drawn = random.Random(seed)
    while True:
        yield round(drawn.expovariate(1 / mean))
