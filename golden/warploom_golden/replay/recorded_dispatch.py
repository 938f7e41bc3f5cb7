"""BlockDispatcher's placement beside a real GPU's: block lengths or reports come from a recording.

Nothing is said here of what a block computes. The dispatcher takes one decision a cycle, the lowest
block number first, by one of its own placement policies. A slot can be given out again a fixed time
after its block has ended: the *turnaround*. See ``docs/replay/silicon.md``.
"""

import heapq
import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from warploom_golden.dispatch.placement import Policy, policy
from warploom_spec import Config, preset

Times = NDArray[np.float64]
Numbers = NDArray[np.int64]

#: Blocks that an H200 launches in a nanosecond at most: 0.83 a cycle at 1.98 GHz.
LAUNCH_RATE: Final = 0.83 * 1.98
#: Nanoseconds from one decision to the next.
PERIOD: Final = 1 / LAUNCH_RATE
#: Beside the policies, for comparison: an SM is drawn for each block, which waits for room on it.
CHANCE: Final = "chance"


@dataclass(frozen=True)
class RecordedGrid:
    """One grid of blocks as a GPU ran it. Arrays have an entry for each block, by block number.

    Attributes
    ----------
    slots : int
        Blocks that one SM holds at once.
    sm : array of int
        The block's SM: 0 for the SM that got block 0, 1 for the next SM that got one, and so on.
    start, end : array of float
        Nanoseconds from the grid's first start.
    """

    slots: int
    sm: Numbers
    start: Times
    end: Times

    @property
    def sms(self) -> int:
        """SMs that ran a block."""
        return int(self.sm.max()) + 1

    @property
    def first_wave(self) -> int:
        """Blocks before the first one that took a slot which another block had left."""
        room = [self.slots] * self.sms
        for number, sm in enumerate(self.sm.tolist()):
            if not room[sm]:
                return number
            room[sm] -= 1
        return len(self.sm)


@dataclass(frozen=True)
class Dispatched:
    """Where and when a policy placed the blocks behind the first wave.

    Attributes
    ----------
    sm : array of int
        SM of each block.
    freed : array of float
        When the slot that the block took had been left, in nanoseconds; 0 if it was never taken.
    start : array of float
        Start of each block in nanoseconds.
    """

    sm: Numbers
    freed: Times
    start: Times


def configuration(grid: RecordedGrid, name: str) -> Config:
    """Return a dispatcher as large as the recording's GPU, with a placement policy."""
    return replace(preset("large"), sms=grid.sms, block_slots=grid.slots, policy=name)


def slots_taken(grid: RecordedGrid) -> Times:
    """Return for each block behind the first wave when the slot that it took had been left.

    An SM's slots are taken in the order in which they were left, those that were never taken first.
    """
    wave = grid.first_wave
    left = _left_by_sm(grid, wave)
    for sm in range(grid.sms):
        left[sm].extend(sorted(grid.end[grid.sm == sm].tolist()))
    return np.array([left[sm].popleft() for sm in grid.sm[wave:].tolist()])


def turnaround(grid: RecordedGrid) -> float:
    """Return the time from a block's end to the next start that explains the recording best.

    The k-th start behind the first wave follows the k-th end, and the start before it by `PERIOD`.
    The median over all k of what is then missing; the order of blocks and SMs does not matter.
    """
    wave = grid.first_wave
    starts = np.sort(grid.start[wave:])
    count = len(starts)
    if not count:
        return 0.0
    never = [0.0] * (grid.sms * grid.slots - wave)
    ends = np.sort(np.concatenate((never, grid.end)))[:count]
    steps = PERIOD * np.arange(count)
    earliest = steps + np.maximum.accumulate(ends - steps)
    return float(np.median(starts - earliest))


def drawn_slots(grid: RecordedGrid) -> Times:
    """Return for each block behind the first wave when a slot of an SM drawn by chance was left.

    It is the slot that the drawn SM gives away next in the recording, or its last one.
    """
    draws = random.Random(1)
    wave = grid.first_wave
    taken = slots_taken(grid)
    sms = grid.sm[wave:]
    by_sm = [taken[sms == sm] for sm in range(grid.sms)]
    given = [0] * grid.sms
    drawn = []
    for sm in sms.tolist():
        other = draws.randrange(grid.sms)
        slots = by_sm[other]
        drawn.append(slots[min(given[other], len(slots) - 1)] if len(slots) else 0.0)
        given[sm] += 1
    return np.array(drawn)


class RecordedDispatch:
    """The dispatcher behind a recording's first wave.

    Parameters
    ----------
    grid : RecordedGrid
        What was recorded. Its first wave is placed as recorded.
    rule : str
        A placement policy of `BlockDispatcher`; or `CHANCE`, with ``reports`` False only.
    turnaround : float
        Nanoseconds from a block's end to the first start in its slot.
    reports : bool
        True: blocks end where and when the recording's did, whatever was decided here. False: each
        block takes as long as the recorded one, from its start here on.
    """

    def __init__(self, grid: RecordedGrid, rule: str, turnaround: float, reports: bool):
        self._grid = grid
        self._choice: Policy = (
            _Chance(grid.sms) if rule == CHANCE else policy(configuration(grid, rule))
        )
        self._turnaround = turnaround
        self._lengths = grid.end - grid.start
        self._reports = reports
        self._wave = wave = grid.first_wave
        self._room = [grid.slots] * grid.sms
        for sm in grid.sm[:wave].tolist():
            self._room[sm] -= 1
        # Any: a policy reads of an SM what a `_Load` has, and no more.
        self._loads: list[Any] = [_Load(grid.slots - room) for room in self._room]
        self._left = _left_by_sm(grid, wave)
        # (cycle in which the slot counts as free, time at which it was left, SM)
        self._ends: list[tuple[int, float, int]] = []
        for number in range(len(grid.sm) if reports else wave):
            self._note_end(float(grid.end[number]), int(grid.sm[number]))
        # Entries that a policy may still hold back, one a cycle: until then cycles count.
        self._owed = 0

    def run(self, advance: Callable[[int], None] = lambda blocks: None) -> Dispatched:
        """Place every block behind the first wave.

        Parameters
        ----------
        advance : function, optional
            Called with the number of blocks that were placed since it was called last.
        """
        grid, wave = self._grid, self._wave
        count = len(grid.sm) - wave
        sms, freed, starts = np.zeros(count, np.int64), np.zeros(count), np.zeros(count)
        cycle = self._watch(int(grid.start[:wave].max() / PERIOD) + 1)
        for number in range(count):
            cycle, sm = self._decide(cycle)
            self._room[sm] -= 1
            self._loads[sm].occupied_warps += 1
            sms[number], freed[number] = sm, self._left[sm].popleft()
            starts[number] = start = cycle * PERIOD
            if not self._reports:
                self._note_end(start + float(self._lengths[wave + number]), sm)
            self._end_cycle(cycle)
            cycle += 1
            advance(1)
        return Dispatched(sms, freed, starts)

    def _note_end(self, time: float, sm: int) -> None:
        ready = -int(-(time + self._turnaround) // PERIOD)
        heapq.heappush(self._ends, (ready, time, sm))

    def _watch(self, until: int) -> int:
        """Let the cycles pass in which the first wave starts."""
        cycle = 0
        while cycle < until:
            if not self._owed:
                cycle = max(cycle, self._ends[0][0] - 1) if self._ends else until
            if cycle < until:
                self._end_cycle(cycle)
                cycle += 1
        return until

    def _decide(self, cycle: int) -> tuple[int, int]:
        """Return the first cycle from this one on in which an SM is chosen, and the SM."""
        while True:
            eligible = [room > 0 for room in self._room]
            if any(eligible):
                sm = self._choice.choose(eligible, self._loads)
                if eligible[sm]:
                    return cycle, sm
            if not self._owed:
                cycle = max(cycle, self._ends[0][0] - 1)
            self._end_cycle(cycle)
            cycle += 1

    def _end_cycle(self, cycle: int) -> None:
        """Let slots that count as free from the next cycle on be seen."""
        freed = []
        while self._ends and self._ends[0][0] <= cycle + 1:
            _, time, sm = heapq.heappop(self._ends)
            self._room[sm] += 1
            self._loads[sm].occupied_warps -= 1
            self._left[sm].append(time)
            freed.append(sm)
        self._choice.tick(True, freed)
        self._owed = max(0, self._owed - 1) + len(freed)


class _Load:
    """What a policy reads of an SM: all blocks take the same."""

    def __init__(self, blocks: int):
        self.occupied_warps = blocks


class _Chance(Policy):
    """An SM is drawn for each block, whether it has room or not."""

    def __init__(self, sms: int):
        self._sms = sms
        self._draws = random.Random(1)
        self._drawn: int | None = None

    def choose(self, eligible: Sequence[bool], sms: Sequence[Any]) -> int:
        """Return the SM that was drawn; the same one again as long as it has no room."""
        sm = self._draws.randrange(self._sms) if self._drawn is None else self._drawn
        self._drawn = None if eligible[sm] else sm
        return sm


def _left_by_sm(grid: RecordedGrid, wave: int) -> list[deque[float]]:
    """Return for each SM a time of 0 for each slot that the first wave did not take."""
    taken = np.bincount(grid.sm[:wave], minlength=grid.sms)
    return [deque([0.0] * (grid.slots - int(count))) for count in taken]
