"""The dispatcher's placement beside a real GPU's: block lengths or reports come from a recording.

Nothing is said here of what a block computes. The dispatcher takes one decision a cycle, the lowest
block number first, by one of its own placement policies. A slot can be given out again a fixed time
after its block has ended: the *turnaround* of its SM. See ``docs/replay/silicon.md``.
"""

import heapq
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from warploom_golden.replay.recorded_grid import (
    PERIOD,
    Numbers,
    RecordedGrid,
    Times,
    slots_left,
)
from warploom_golden.replay.recorded_policies import Load, Policy, policy
from warploom_spec import Config, preset

#: Beside the policies, for comparison: of the SMs with room one is drawn for each block.
CHANCE: Final = "chance"


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


class RecordedDispatch:
    """The dispatcher behind a recording's first wave.

    Parameters
    ----------
    grid : RecordedGrid
        What was recorded. Its first wave is placed as recorded.
    rule : str
        A placement policy; or `CHANCE`.
    turnaround : float or array of float
        Nanoseconds from a block's end to the first start in its slot; an array has one for each SM.
    reports : bool
        True: blocks end where and when the recording's did, whatever was decided here. False: each
        block takes as long as the recorded one, from its start here on.
    """

    def __init__(self, grid: RecordedGrid, rule: str, turnaround: float | Times, reports: bool):
        self._grid = grid
        self._choice: Policy = _Chance() if rule == CHANCE else policy(configuration(grid, rule))
        self._turnaround = np.broadcast_to(turnaround, grid.sms).tolist()
        self._lengths = grid.end - grid.start
        self._reports = reports
        self._wave = wave = grid.first_wave
        self._room = [grid.slots] * grid.sms
        for sm in grid.sm[:wave].tolist():
            self._room[sm] -= 1
        self._eligible = [room > 0 for room in self._room]
        self._loads = [_Load(grid.slots - room) for room in self._room]
        self._left = slots_left(grid)
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
            self._eligible[sm] = self._room[sm] > 0
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
        ready = -int(-(time + self._turnaround[sm]) // PERIOD)
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
            if any(self._eligible):
                sm = self._choice.choose(self._eligible, self._loads)
                if self._eligible[sm]:
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
            self._eligible[sm] = True
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
    """Of the SMs with room one is drawn for each block."""

    def __init__(self) -> None:
        self._draws = random.Random(1)

    def choose(self, eligible: Sequence[bool], sms: Sequence[Load]) -> int:
        """Return one of the SMs with room."""
        return self._draws.choice([sm for sm, room in enumerate(eligible) if room])
