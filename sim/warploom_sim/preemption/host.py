"""The host of a measurement: low launches without end, urgent ones at random distances."""

import random
from collections.abc import Callable, Sequence
from itertools import cycle as endless

from warploom_golden.preemption import KernelQueue
from warploom_golden.replay.event_constants import NEVER
from warploom_spec import LaunchDescriptor
from warploom_spec.queue import FinalFate, RecordKind


class MeasuringHost:
    """Keep the low queue filled, and send an urgent launch at a random distance after the last.

    A distance is counted from the final record of the urgent launch before, so that each one finds
    its own queue empty. Distances are exponentially distributed: an arrival says nothing about the
    next.

    Parameters
    ----------
    low : sequence of LaunchDescriptor
        Launched in this order, again and again.
    urgent : sequence of LaunchDescriptor
        Launched in this order, again and again, one at a time.
    count : int
        Urgent launches.
    distance : float
        Mean distance in cycles.
    seed : int
        Seed of the distances.
    ahead : int or None
        Low launches that are accepted and unfinished, at most; None: as many as the queue takes.
    passes : int
        Without urgent launches: how often the low ones are launched.
    tell : callable
        Called with the number of urgent launches that are done.

    Attributes
    ----------
    arrivals : dict of int to int
        Ticket of an urgent launch to the cycle of its acceptance.
    low_finished : int
        Low launches that finished.
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
        self.low_finished = 0

    def _draw(self, cycle: int) -> int:
        return cycle + 1 + round(self._random.expovariate(1 / self._distance))

    @property
    def wake(self) -> int:
        """Return the cycle of the next urgent launch."""
        return self._arrives

    def step(self, cycle: int, queue: KernelQueue) -> None:
        """Take final records; send an urgent launch when it is time, else a low one if it fits."""
        while (record := queue.take_record()) is not None:
            assert record.kind is RecordKind.LAUNCH and record.fate is FinalFate.FINISHED
            if record.ticket == self._waits_for:
                self._waits_for = None
                self._tell(len(self.arrivals))
                done = len(self.arrivals) == self._count
                self._arrives = NEVER if done else self._draw(cycle)
            else:
                self._low_open.remove(record.ticket)
                self.low_finished += 1
        if self._arrives <= cycle:
            self._send_urgent(cycle, queue)
        elif self._wants_low(queue):
            ticket, code = queue.launch(self._next_low)
            assert not code
            self._low_open.add(ticket)
            self._next_low = next(self._low)
            if self._low_left is not None:
                self._low_left -= 1

    def _send_urgent(self, cycle: int, queue: KernelQueue) -> None:
        launch = next(self._urgent)
        if not queue.room(launch.priority):
            self._arrives = cycle + 1
            return
        ticket, code = queue.launch(launch)
        assert not code
        self.arrivals[ticket] = cycle
        self._waits_for, self._arrives = ticket, NEVER

    def _wants_low(self, queue: KernelQueue) -> bool:
        over = self._count and len(self.arrivals) == self._count and self._waits_for is None
        if over or self._low_left == 0:
            return False
        full = self._ahead is not None and len(self._low_open) >= self._ahead
        return not full and queue.room(self._next_low.priority)
