"""The host of a measurement: it sends low launches without end, and urgent ones at random."""

import random
from collections.abc import Callable, Sequence
from itertools import cycle as endless
from typing import Protocol

from warploom_golden.replay.event_constants import NEVER
from warploom_spec import LaunchDescriptor
from warploom_spec.queue import FinalFate, RecordKind


class Ended(Protocol):
    """A final record, as far as the host reads it."""

    @property
    def ticket(self) -> int:
        """The ticket of what has ended."""

    @property
    def kind(self) -> RecordKind:
        """Whether that is a launch."""

    @property
    def fate(self) -> FinalFate:
        """What became of it."""


class LaunchQueue(Protocol):
    """What the host asks of a kernel queue."""

    def room(self, priority: int) -> bool:
        """Tell whether a launch of a priority finds room in this cycle."""

    def launch(self, launch: LaunchDescriptor) -> tuple[int, int]:
        """Send a launch; return its ticket, and a code if it is refused."""

    def take_record(self) -> Ended | None:
        """Take the oldest final record that may be taken in this cycle."""


class MeasuringHost:
    """Keeps the low queue filled, and sends urgent launches at random distances.

    A distance is counted from the final record of the previous urgent launch, so that each urgent
    launch finds its own queue empty. Distances are exponentially distributed: the time of one
    arrival does not predict the next.

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
        Most low launches that may be accepted and unfinished. None: as many as the queue takes.
    passes : int
        Number of times that all low launches are sent; 0: until the last urgent launch is done.
    tell : callable
        Called with the number of urgent launches that are done.

    Attributes
    ----------
    arrivals : dict of int to int
        Cycle in which each urgent launch was accepted, by its ticket.
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
    ):
        self._low = endless(low)
        self._next_low = next(self._low)
        self._low_left = passes * len(low) if passes else None
        self._urgent = endless(urgent)
        self._count = count
        self._random = random.Random(seed)
        self._distance = distance
        self._ahead = ahead
        self._low_open: set[int] = set()
        self._waits_for: int | None = None
        self._arrives = self._draw(0) if count else NEVER
        self._tell = tell
        self.arrivals: dict[int, int] = {}

    def _draw(self, cycle: int) -> int:
        return cycle + 1 + round(self._random.expovariate(1 / self._distance))

    @property
    def wake(self) -> int:
        """The cycle in which the next urgent launch is due; `NEVER` if none is."""
        return self._arrives

    def step(self, cycle: int, queue: LaunchQueue) -> None:
        """Take final records, then send at most one launch; an urgent launch that is due wins."""
        while (record := queue.take_record()) is not None:
            assert record.kind is RecordKind.LAUNCH and record.fate is FinalFate.FINISHED
            if record.ticket == self._waits_for:
                self._waits_for = None
                self._tell(len(self.arrivals))
                done = len(self.arrivals) == self._count
                self._arrives = NEVER if done else self._draw(cycle)
            else:
                self._low_open.remove(record.ticket)
        if self._arrives <= cycle:
            self._send_urgent(cycle, queue)
        elif self._wants_low(queue):
            ticket, code = queue.launch(self._next_low)
            assert not code
            self._low_open.add(ticket)
            self._next_low = next(self._low)
            if self._low_left is not None:
                self._low_left -= 1

    def _send_urgent(self, cycle: int, queue: LaunchQueue) -> None:
        launch = next(self._urgent)
        if not queue.room(launch.priority):
            self._arrives = cycle + 1
            return
        ticket, code = queue.launch(launch)
        assert not code
        self.arrivals[ticket] = cycle
        self._waits_for, self._arrives = ticket, NEVER

    def _wants_low(self, queue: LaunchQueue) -> bool:
        over = self._count and len(self.arrivals) == self._count and self._waits_for is None
        if over or self._low_left == 0:
            return False
        full = self._ahead is not None and len(self._low_open) >= self._ahead
        return not full and queue.room(self._next_low.priority)
