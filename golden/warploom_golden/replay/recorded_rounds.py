"""The rule that a recorded GPU follows best: around the SMs, GPC by GPC, in rounds.

`RecordedDispatch` lets the hardware's placement policies place the same blocks. See
``docs/replay/silicon.md``.
"""

import heapq
from collections.abc import Callable
from typing import Final

import numpy as np

from warploom_golden.replay.recorded_dispatch import Dispatched
from warploom_golden.replay.recorded_grid import PERIOD, RecordedGrid, Times, slots_left

#: The rule's name.
GPC_ROUNDS: Final = "gpc_rounds"
#: Nanoseconds from the begin of one round to the next, at the least. Chosen on one recording,
#: `h200_short_3d_8persm`: of whole numbers it has the least error of the makespan there.
ROUND: Final = 16.0


class RecordedRounds:
    """Give every SM that has room when a round begins one block, then begin the next round.

    A round goes through the SMs by number, from the one behind the SM that got the last block. SMs
    are numbered in the order of the first wave, which fills one GPC after the other.

    Parameters
    ----------
    grid : RecordedGrid
        What was recorded. Its first wave is placed as recorded.
    turnaround : float or array of float
        Nanoseconds from a block's end to the first start in its slot; an array has one for each SM.
    reports : bool
        As for `RecordedDispatch`.
    """

    def __init__(self, grid: RecordedGrid, turnaround: float | Times, reports: bool):
        self._grid = grid
        self._turnaround = np.broadcast_to(turnaround, grid.sms).tolist()
        self._reports = reports
        self._left = slots_left(grid)
        # The time from which the slot can be given out, the time at which it was left, its SM.
        self._ends: list[tuple[float, float, int]] = []
        for number in range(len(grid.sm) if reports else grid.first_wave):
            self._note_end(float(grid.end[number]), int(grid.sm[number]))

    def run(self, advance: Callable[[int], None] = lambda blocks: None) -> Dispatched:
        """Place every block behind the first wave.

        Parameters
        ----------
        advance : function, optional
            Called with the number of blocks that were placed since it was called last.
        """
        grid, wave = self._grid, self._grid.first_wave
        lengths = (grid.end - grid.start)[wave:].tolist()
        sms: list[int] = []
        freed: list[float] = []
        starts: list[float] = []
        last, begin = int(grid.sm[wave - 1]), float(grid.start[:wave].max())
        while len(sms) < len(lengths):
            begin = self._free_until(begin)
            time = begin
            for sm in self._waiting(last)[: len(lengths) - len(sms)]:
                freed.append(self._left[sm].popleft())
                if not self._reports:
                    self._note_end(time + lengths[len(sms)], sm)
                sms.append(sm)
                starts.append(time)
                last, time = sm, time + PERIOD
                advance(1)
            begin = max(time, begin + ROUND)
        return Dispatched(np.array(sms, np.int64), np.array(freed), np.array(starts))

    def _note_end(self, time: float, sm: int) -> None:
        heapq.heappush(self._ends, (time + self._turnaround[sm], time, sm))

    def _free_until(self, time: float) -> float:
        """Free what can be given out by then, or the next slot; return when that is."""
        if not any(self._left):
            time = max(time, self._ends[0][0])
        while self._ends and self._ends[0][0] <= time:
            _, left, sm = heapq.heappop(self._ends)
            self._left[sm].append(left)
        return time

    def _waiting(self, last: int) -> list[int]:
        """Return the SMs with room, from the one behind ``last`` on."""
        sms = range(len(self._left))
        return [sm for sm in (*sms[last + 1 :], *sms[: last + 1]) if self._left[sm]]
