"""A front end whose host is ahead for good: from reset on every launch is ready in the queue."""

from collections import deque
from collections.abc import Sequence

from warploom_golden.oracles.index_reference import warps
from warploom_golden.replay.event_constants import NEVER
from warploom_golden.replay.event_filter import Accepted
from warploom_golden.replay.event_front import Waiting, judge
from warploom_spec import Config, LaunchDescriptor, timing


class QueuedAhead:
    """In the place of an `EventFront`: hands launches over, and never waits for one.

    Parameters
    ----------
    launches : sequence of LaunchDescriptor
        In the order in which they are handed over. Those that LaunchCheck refuses are left out.
    config : Config
        The configuration.

    Attributes
    ----------
    wake, answers, decisions
        As of `EventFront`. There is nothing to answer and to decide.
    """

    def __init__(self, launches: Sequence[LaunchDescriptor], config: Config):
        self._queue: deque[Waiting] = deque()
        for number, launch in enumerate(launches):
            if not judge(launch, config)[0]:
                count = warps(launch.block, config.warp_size)
                self._queue.append(Waiting(number, len(self._queue) + 1, count, prepared=0))
        self.wake = timing(config).boot
        self.answers: list[tuple[int, int, int, int]] = []
        self.decisions: list[tuple[int, int, Accepted]] = []

    @property
    def drained(self) -> bool:
        """Whether every launch was handed over."""
        return not self._queue

    def end(self, loaded: int, entries: Sequence[int]) -> None:
        """Take note that the dispatcher loads a launch's end: a place is free one cycle later."""
        self.wake = min(self.wake, loaded + 1)

    def step(self, cycle: int, place_free: bool) -> Waiting | None:
        """Return the launch that is handed over in a cycle."""
        handed = self._queue.popleft() if self._queue and place_free else None
        self.wake = cycle + 1 if self._queue and handed else NEVER
        return handed
