"""LaunchCheck and a line of launches behind it, stepped only while something moves.

The line is that of ``docs/replay/gains.md``: a launch comes in each cycle with room, records are
taken at once, and launches are handed over in the order in which they came.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from warploom_golden.launch.launch_check import refusals
from warploom_golden.oracles.index_reference import Dims, warps
from warploom_golden.replay.event_constants import NEVER
from warploom_golden.replay.event_filter import Accepted, EventFilter
from warploom_spec import Config, ErrorCode, LaunchDescriptor, timing

#: Launches that the line holds, and places for their final records.
_QUEUE: Final = 8
_RECORDS: Final = 16
#: An index configuration: address and block.
IndexConfig = tuple[int, Dims]


def judge(launch: LaunchDescriptor, config: Config, tables: int = 0) -> tuple[int, int]:
    """Return LaunchCheck's error code and its argument, (0, 0) for a launch that passes."""
    return next(refusals(launch.values(config), tables, config), (ErrorCode.OK, 0))


@dataclass
class Waiting:
    """An accepted launch in the queue.

    Attributes
    ----------
    number, ticket, warps : int
        Number in the list of launches, ticket, warps of one block.
    prepared : int
        First cycle in which all its indices are decided.
    entries : list of int
        Its history entries, as far as they are decided.
    """

    number: int
    ticket: int
    warps: int
    prepared: int = NEVER
    entries: list[int] = field(default_factory=list)


class EventFront:
    """Everything between the launch source and the dispatcher's ``launch`` port.

    Parameters
    ----------
    launches : sequence of LaunchDescriptor
        In the order in which they are sent.
    config : Config
        The configuration.
    merged : mapping of int to sequence of IndexConfig
        By number of a launch that runs a mapping table: the index configurations of its tasks.
    arrivals : sequence of int or None
        Of each launch the first cycle in which it may be sent, in rising order; None: any cycle.
    bounded : bool
        False: queue, final records and index memory hold as much as comes.

    Attributes
    ----------
    wake : int
        Next cycle in which `step` must be called.
    answers : list of tuple
        (cycle, ticket, code, argument).
    decisions : list of tuple
        (ticket, launch number, what was accepted).
    """

    def __init__(
        self,
        launches: Sequence[LaunchDescriptor],
        config: Config,
        merged: Mapping[int, Sequence[IndexConfig]] | None = None,
        arrivals: Sequence[int] | None = None,
        bounded: bool = True,
    ):
        self._launches = launches
        self._bounded = bounded
        self._config = config
        self._timing = timing(config)
        self._merged = merged or {}
        self._arrivals = arrivals or [0] * len(launches)
        # Without merged launches there are no mapping tables either.
        tables = (1 << config.max_tables) - 1 if merged else 0
        self._verdicts = [judge(launch, config, tables) for launch in launches]
        self._filter = EventFilter(config, bounded)
        self._sent = 0
        self._refused_for_good = 0
        # LaunchCheck's pipeline: cycle in which each launch leaves it, and its number.
        self._pipe: deque[tuple[int, int]] = deque()
        self._queue: deque[Waiting] = deque()
        self._unpresented: deque[tuple[Waiting, IndexConfig]] = deque()
        self._looked_up: tuple[int, Waiting, IndexConfig] | None = None
        self._decided: tuple[int, Waiting] | None = None
        self._room = True
        self._reserved = 0
        # What makes room a cycle late: launches that left or were refused, and taken records.
        self._left = self._refused = self._taken = 0
        self._next_ticket = 1
        self._ends: deque[tuple[int, Sequence[int]]] = deque()
        self.wake = 1
        self.answers: list[tuple[int, int, int, int]] = []
        self.decisions: list[tuple[int, int, Accepted]] = []

    @property
    def drained(self) -> bool:
        """Whether every launch was answered and every accepted one handed over."""
        settled = self._next_ticket - 1 + self._refused_for_good
        return settled == len(self._launches) and not self._queue

    def end(self, loaded: int, entries: Sequence[int]) -> None:
        """Take note that the dispatcher loads a launch's end: a place is free one cycle later."""
        # Loaded, valid in the next cycle, which enters the record queue; then released and taken.
        self._ends.append((loaded + 2, entries))
        self.wake = min(self.wake, loaded + 1)

    def _configs(self, waiting: Waiting) -> Sequence[IndexConfig]:
        """Return the index configurations of a launch, in the order in which they are presented."""
        launch = self._launches[waiting.number]
        return self._merged.get(waiting.number, [(launch.index_address, launch.block)])

    def step(self, cycle: int, place_free: bool) -> Waiting | None:
        """Run one cycle on the state at its start; return the launch handed over in it."""
        handed = None
        taken = self._taken
        self._left = self._refused = self._taken = 0
        ready = bool(self._queue) and self._queue[0].prepared <= cycle
        booted = cycle >= self._timing.boot
        if ready and place_free and booted:
            handed = self._queue[0]
        self._present(cycle)
        self._look_up(cycle)
        self._check(cycle)
        if handed:
            self._queue.popleft()
            self._left = 1
        self._take_ends(cycle)
        self._reserved -= taken
        self._keep_room()
        self.wake = cycle + 1
        if not handed and not (ready and not booted):
            self.wake = max(cycle + 1, min(self._moves(cycle)))
        return handed

    def _moves(self, cycle: int) -> Iterator[int]:
        """Yield cycles after this one, or this one for the next, in which something moves."""
        yield self._next_transfer()
        if self._left or self._refused or self._taken:
            yield cycle
        if self._pipe:
            yield self._pipe[0][0]
        if self._ends:
            yield self._ends[0][0]
        # A launch that is ready waits for a place, which comes with an end.
        if self._queue and self._queue[0].prepared > cycle:
            yield self._queue[0].prepared
        if self._decided:
            yield self._decided[0]
        elif self._looked_up:
            # What the filter holds back is asked again as long as something changes there.
            asked = self._looked_up[0] + self._timing.filter_lookup
            yield asked if cycle < asked or cycle <= self._filter.settled else NEVER
        elif self._unpresented:
            yield cycle

    def _next_transfer(self) -> int:
        """Return from when on a launch is sent, `NEVER` if none is left or there is no room.

        Room comes with an end.
        """
        left = self._room and self._sent < len(self._launches)
        return self._arrivals[self._sent] if left else NEVER

    def _take_ends(self, cycle: int) -> None:
        """Release what ended at the end of the cycle; its record counts a cycle later."""
        if self._ends and self._ends[0][0] == cycle:
            _, entries = self._ends.popleft()
            for entry in entries:
                self._filter.release(cycle, entry)
            self._taken = 1

    def _keep_room(self) -> None:
        """Tell whether a launch that is sent in the next cycle finds an entry.

        What left, what was refused and what was taken in this cycle is counted still.
        """
        checking = len(self._pipe) + self._refused
        queue = checking + len(self._queue) + self._left < _QUEUE
        records = checking + self._reserved < _RECORDS
        self._room = (queue and records) or not self._bounded

    def _present(self, cycle: int) -> None:
        """Present the next configuration while none is in flight; it transfers at once."""
        if self._decided and self._decided[0] == cycle:
            # Still in flight in the cycle of its decision.
            waiting = self._decided[1]
            if len(waiting.entries) == len(self._configs(waiting)):
                waiting.prepared = cycle + 1
            self._decided = None
        elif self._unpresented and not self._looked_up and not self._decided:
            self._looked_up = cycle, *self._unpresented.popleft()

    def _look_up(self, cycle: int) -> None:
        """Accept the configuration in the lookup stage when nothing holds it."""
        if not self._looked_up:
            return
        since, waiting, (address, block) = self._looked_up
        if cycle < since + self._timing.filter_lookup:
            return
        count = warps(block, self._config.warp_size)
        accepted = self._filter.accept(cycle, address, block, count)
        if accepted is None:
            return
        waiting.entries.append(accepted.entry)
        self._looked_up, self._decided = None, (accepted.decision, waiting)
        self.decisions.append((waiting.ticket, waiting.number, accepted))

    def _check(self, cycle: int) -> None:
        """Answer the launch that leaves LaunchCheck's pipeline, and let the next one enter."""
        if self._pipe and self._pipe[0][0] == cycle:
            self._answer(cycle, self._pipe.popleft()[1])
        left = self._sent < len(self._launches)
        sending = self._room and left and self._arrivals[self._sent] <= cycle
        if sending:
            self._pipe.append((cycle + self._timing.launch_check, self._sent))
            self._sent += 1

    def _answer(self, cycle: int, number: int) -> None:
        """Answer a launch; a source's regard for `room` keeps places for it."""
        code, argument = self._verdicts[number]
        if code:
            self.answers.append((cycle + 1, 0, code, argument))
            self._refused_for_good += 1
            self._refused = 1
            return
        launch = self._launches[number]
        waiting = Waiting(number, self._next_ticket, warps(launch.block, self._config.warp_size))
        self._next_ticket += 1
        self._reserved += 1
        self._queue.append(waiting)
        self._unpresented.extend((waiting, one) for one in self._configs(waiting))
        self.answers.append((cycle + 1, waiting.ticket, 0, 0))
