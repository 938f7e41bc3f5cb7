"""One grid of blocks as a GPU ran it, and the turnaround of its slots.

See ``docs/replay/silicon.md``.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.float64]
Numbers = NDArray[np.int64]

#: Blocks that an H100 or H200 launches in a nanosecond at most: one a tick of 1,665 MHz.
LAUNCH_RATE: Final = 1.665
#: Nanoseconds from one decision to the next.
PERIOD: Final = 1 / LAUNCH_RATE
#: Blocks of one SM whose median is the SM's own turnaround.
ENOUGH: Final = 50
#: Times the least median from which on a recording's blocks also wait for their turn.
LOADED: Final = 1.1


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
    names : tuple of int
        The GPU's own number of each SM. Empty: the same numbers.
    clock_groups : tuple of int
        For each SM a number that the SMs of one clock share. Empty: the recording has no clocks.
    gpu : str
        The GPU's name. Empty: the recording does not say.
    """

    slots: int
    sm: Numbers
    start: Times
    end: Times
    names: tuple[int, ...] = ()
    clock_groups: tuple[int, ...] = ()
    gpu: str = ""

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

    def name(self, sm: int) -> int:
        """Return the GPU's own number of an SM."""
        return self.names[sm] if self.names else sm


def slots_left(grid: RecordedGrid) -> list[deque[float]]:
    """Return for each SM a time of 0 for each slot that the first wave did not take."""
    taken = np.bincount(grid.sm[: grid.first_wave], minlength=grid.sms)
    return [deque([0.0] * (grid.slots - int(count))) for count in taken]


def slots_taken(grid: RecordedGrid) -> Times:
    """Return for each block behind the first wave when the slot that it took had been left.

    An SM's slots are taken in the order in which they were left, those that were never taken first.
    """
    return nth_left(grid, grid.sm[grid.first_wave :], grid.sm, grid.end)


def nth_left(grid: RecordedGrid, takers: Numbers, sm: Numbers, end: Times) -> Times:
    """Return for each taker's SM, in order, when the slot that it takes had been left.

    Parameters
    ----------
    grid : RecordedGrid
        Its first wave says which slots were never taken.
    takers : array of int
        SM of each block behind the first wave.
    sm, end : array
        SM and time of each end.
    """
    left = slots_left(grid)
    for number in range(grid.sms):
        left[number].extend(sorted(end[sm == number].tolist()))
    return np.array([left[number].popleft() for number in takers.tolist()])


@dataclass(frozen=True)
class Turnaround:
    """Nanoseconds from a block's end to the first start in its slot.

    Attributes
    ----------
    usual : float
        Of all SMs together; taken for an SM that `by_sm` does not know.
    by_sm : dict of int to float
        By the GPU's own number of the SM: the way from the SM to the dispatcher and back.
    """

    usual: float
    by_sm: dict[int, float]

    def of(self, grid: RecordedGrid) -> Times:
        """Return the turnaround of each SM of a recording."""
        return np.array([self.by_sm.get(grid.name(sm), self.usual) for sm in range(grid.sms)])


def fit(grids: Sequence[RecordedGrid]) -> Turnaround:
    """Return the turnaround that recordings show.

    In a recording it is the median over the blocks behind the first wave, or `paced` if that is
    less. Of several recordings the least counts. An SM's own turnaround is the median over its
    blocks, if they are `ENOUGH`. A recording in which the median of all blocks is more than
    `LOADED` times the least does not tell it: its blocks also wait for their turn.
    """
    waits = [grid.start[grid.first_wave :] - slots_taken(grid) for grid in grids]
    medians = [float(np.median(wait)) if len(wait) else np.inf for wait in waits]
    usual = min((*medians, *map(paced, grids)), default=np.inf)
    by_sm: dict[int, float] = {}
    for grid, wait, median in zip(grids, waits, medians, strict=True):
        if median > LOADED * usual:
            continue
        sms = grid.sm[grid.first_wave :]
        for sm in np.nonzero(np.bincount(sms) >= ENOUGH)[0].tolist():
            name, own = grid.name(sm), float(np.median(wait[sms == sm]))
            by_sm[name] = min(own, by_sm.get(name, own))
    return Turnaround(usual if np.isfinite(usual) else 0.0, by_sm)


def paced(grid: RecordedGrid) -> float:
    """Return the turnaround that explains a recording in which the rate of launching limits.

    The k-th start behind the first wave follows the k-th end, and the start before it by `PERIOD`.
    The median over all k of what is then missing; the order of blocks and SMs does not matter.
    """
    wave = grid.first_wave
    starts = np.sort(grid.start[wave:])
    count = len(starts)
    if not count:
        return np.inf
    never = [0.0] * (grid.sms * grid.slots - wave)
    ends = np.sort(np.concatenate((never, grid.end)))[:count]
    steps = PERIOD * np.arange(count)
    earliest = steps + np.maximum.accumulate(ends - steps)
    return float(np.median(starts - earliest))
