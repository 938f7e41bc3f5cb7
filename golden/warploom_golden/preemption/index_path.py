"""The path of a launch from its queue to the dispatcher: the filter decides, a place is free.

Rule 7 of ``docs/preemption/preemption.md``.
"""

from collections import deque

from warploom_golden.preemption.launch import Launch
from warploom_golden.preemption.parameters import QueueLatency
from warploom_golden.replay.event_filter import EventFilter
from warploom_spec import Config, timing


class IndexPath:
    """Launches that were handed on and have no place in the dispatcher yet, in order.

    A launch presents its index configuration to the filter each time it is handed on. The filter
    looks up one configuration at a time.

    Parameters
    ----------
    config : Config
        History entries, latencies.

    Attributes
    ----------
    launches : deque of Launch
        The launches in order; the first one takes the next place.
    decided : list of tuple of int and bool
        Of each lookup the cycle of its decision, and whether the history had the configuration.
    """

    def __init__(self, config: Config):
        self._lookup = timing(config).filter_lookup
        self._latency = QueueLatency(config)
        self._filter = EventFilter(config)
        self._free_at = 0
        self._chosen: dict[Launch, int] = {}
        self.launches: deque[Launch] = deque()
        self.decided: list[tuple[int, bool]] = []

    def enter(self, launch: Launch, cycle: int) -> None:
        """Add a launch that is handed on in a cycle."""
        self.launches.append(launch)
        self._chosen[launch] = cycle

    def step(self, cycle: int) -> None:
        """Run one cycle: present the next configuration, or take the filter's decision."""
        waiting = next((each for each in self.launches if each.accepted is None), None)
        if waiting is None:
            return
        if waiting.presented is None:
            presents = max(self._chosen[waiting] + self._latency.present, self._free_at)
            if cycle < presents:
                return
            waiting.presented = cycle
        if cycle < waiting.presented + self._lookup:
            return
        launch = waiting.descriptor
        waiting.accepted = self._filter.accept(
            cycle, launch.index_address, launch.block, waiting.warps
        )
        if waiting.accepted is None:
            return
        # The next configuration is presented in the cycle after this one's decision.
        self._free_at = cycle + 2
        self.decided.append((cycle, waiting.accepted.hit))

    def prepared(self, cycle: int) -> Launch | None:
        """Return the first launch if a place may take it in this cycle."""
        if not self.launches or self.launches[0].accepted is None:
            return None
        decided = self.launches[0].accepted.decision
        return self.launches[0] if cycle >= decided + self._latency.prepared - 1 else None

    def leave(self, launch: Launch) -> None:
        """Remove a launch: a place took it, or it is taken back."""
        self.launches.remove(launch)
        del self._chosen[launch]

    def release(self, launch: Launch, cycle: int) -> None:
        """Give back a launch's reference to its history entry, if the launch has one."""
        if launch.accepted is not None:
            self._filter.release(cycle, launch.accepted.entry)

    def is_busy(self, cycle: int) -> bool:
        """Tell whether the next cycle must be run: something may change without a new input."""
        for launch in self.launches:
            if launch.accepted is None:
                # The launches behind this one wait for it.
                return self._is_looked_up(launch, cycle)
            if cycle < launch.accepted.decision + self._latency.prepared - 1:
                return True
        return False

    def _is_looked_up(self, launch: Launch, cycle: int) -> bool:
        """Tell whether a launch's lookup goes on by itself.

        A lookup does not go on while it waits for a reference to be released.
        """
        if launch.presented is None or cycle < launch.presented + self._lookup:
            return True
        return cycle <= self._filter.settled
