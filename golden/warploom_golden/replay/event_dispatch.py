"""Launches in one line: in by way of `EventFront`, what happens to their blocks out."""

import heapq
from collections.abc import Iterator, Sequence
from typing import Final

from warploom_golden.replay.event_constants import NEVER
from warploom_golden.replay.event_dispatcher import End, EventDispatcher
from warploom_golden.replay.event_front import EventFront, Waiting
from warploom_golden.replay.event_state import Integers
from warploom_golden.replay.machine import Machine
from warploom_spec import Config, Fate, LaunchDescriptor

#: Launches that are resident at once.
PLACES: Final = 2
#: Offers, or reports, of which a piece is made.
PIECE: Final = 1 << 17


class EventDispatch:
    """The dispatcher with its SMs, driven by an `EventFront`.

    Parameters
    ----------
    launches : sequence of LaunchDescriptor
        In the order in which they are sent.
    config : Config
        Policy, reclaim policy, SMs.
    seed : int
        Seed of the block lengths.
    knee : int or None
        Warps that an SM runs at full speed; None: any number.
    arrivals : sequence of int or None
        Of each launch the first cycle in which it may be sent, in rising order; None: any cycle.
    machine : Machine or None
        What the launches run on; None: what the configuration says.

    Attributes
    ----------
    front : EventFront
        Answers and decisions.
    ended : list of tuple
        (cycle, ticket, fate, cycles from first offer to last report).
    """

    def __init__(
        self,
        launches: Sequence[LaunchDescriptor],
        config: Config,
        seed: int,
        knee: int | None = None,
        arrivals: Sequence[int] | None = None,
        machine: Machine | None = None,
    ):
        machine = machine or Machine.of(config)
        self._launches = launches
        self._resident: dict[int, Waiting] = {}
        self._free = list(range(PLACES))
        self.front = EventFront(launches, config, arrivals=arrivals)
        self._dispatcher = EventDispatcher(config, seed, knee=knee, drained=PIECE, machine=machine)
        self.ended: list[tuple[int, int, Fate, int]] = []

    def take_logs(self) -> tuple[Integers, Integers]:
        """Return what came since the last time: offers, and reports.

        Offers are in order of decision: rows cycle, SM, slot, ticket, block number. Reports are in
        order of cycle and SM: rows cycle, SM, slot, status.
        """
        return self._dispatcher.take_logs()

    def run(self) -> Iterator[int]:
        """Run from reset until every launch was answered and has ended.

        Yields a cycle before which all is known whenever the logs are to be taken, and `NEVER` at
        the end.

        Raises
        ------
        RuntimeError
            If nothing can happen any more although launches wait.
        """
        cycle = 0
        while cycle < NEVER:
            if self.front.wake <= cycle:
                self._hand_over(cycle)
            cycle, end, _ = self._dispatcher.advance(cycle, self.front.wake)
            if end is not None:
                self._end(end, cycle - 1)
            if self._dispatcher.is_full:
                yield cycle
        if self._resident or not self.front.drained:
            raise RuntimeError("the event model stands still while launches wait")
        yield NEVER

    def _hand_over(self, cycle: int) -> None:
        """Step the front; the launch that it hands over occupies the lowest free place."""
        waiting = self.front.step(cycle, bool(self._free))
        if waiting is None:
            return
        number = heapq.heappop(self._free)
        launch = self._launches[waiting.number]
        self._dispatcher.hand_over(cycle, number, launch, waiting.ticket)
        self._resident[number] = waiting

    def _end(self, end: End, loaded: int) -> None:
        """Take note that the end of the launch in a place was loaded in a cycle."""
        waiting = self._resident.pop(end.place)
        heapq.heappush(self._free, end.place)
        self.ended.append((loaded + 2, waiting.ticket, end.fate, end.cycles))
        self.front.end(loaded, waiting.entries)
