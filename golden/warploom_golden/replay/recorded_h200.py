"""A recording's blocks by the rounds of an H200: on its own, and told what the GPU did before.

See ``docs/replay/silicon.md``, 'The rounds of an H200'.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from warploom_golden.replay.h200_latency import far_gpcs, latencies
from warploom_golden.replay.h200_layout import SMS, layout, mismatch
from warploom_golden.replay.h200_machine import (
    PASS,
    ROUND,
    Ends,
    next_choices,
    place_blocks,
)
from warploom_golden.replay.h200_state import State, state
from warploom_golden.replay.recorded_dispatch import Dispatched
from warploom_golden.replay.recorded_grid import (
    Numbers,
    RecordedGrid,
    Times,
    nth_left,
    slots_taken,
)

#: The rule's name.
H200_ROUNDS: Final = "h200_rounds"
#: Ticks of the dispatcher in a nanosecond: of empty blocks it starts one a tick.
PER_NS: Final = 1.663


@dataclass(frozen=True)
class Constants:
    """What the latencies of `h200_layout` do not say.

    Attributes
    ----------
    recorder : float
        Nanoseconds beside the table's way up and down: where a program takes the end time.
    start_gap : float
        Nanoseconds from a start on an SM to its next, where an SM holds several blocks.
    fitted_on : tuple of str
        The recordings that both are fitted on.
    """

    recorder: float
    start_gap: float
    fitted_on: tuple[str, ...]


@dataclass(frozen=True)
class Told:
    """The rule's choices, told what the GPU did before each.

    Attributes
    ----------
    sm : array of int
        For each block behind the first wave the SM that the rule gives it; -1: it knows of no room.
    had_room : array of bool
        Whether the GPU's own choice had room in the round.
    """

    sm: Numbers
    had_room: NDArray[np.bool_]


def refusal(grid: RecordedGrid) -> str:
    """Return why the rule is not for a recording's GPU; empty if it is."""
    names = [grid.name(sm) for sm in range(grid.sms)]
    if said := mismatch(names, grid.clock_groups):
        return said
    if not _far(grid):
        return "the recording does not tell which GPCs are far from the dispatcher"
    return ""


def turnarounds(grid: RecordedGrid) -> Times:
    """Return the way up and down of each SM of a recording, in nanoseconds, by the table alone."""
    names = np.array([grid.name(sm) for sm in range(SMS)])
    up, down = latencies(layout(names.tolist(), grid.clock_groups).gpc, _far(grid))
    both: Times = (up + down)[names]
    return both


def _far(grid: RecordedGrid) -> tuple[int, ...]:
    """Return the far GPCs of a recording's GPU, which has no `mismatch`."""
    names = np.array([grid.name(sm) for sm in range(SMS)])
    gpc = layout(names.tolist(), grid.clock_groups).gpc
    waits = grid.start[grid.first_wave :] - slots_taken(grid)
    return far_gpcs(gpc, names[grid.sm[grid.first_wave :]], waits)


class RecordedH200:
    """The H200's dispatcher behind a recording's first wave.

    Parameters
    ----------
    grid : RecordedGrid
        What was recorded, without `refusal`. Its first wave is placed as recorded.
    constants : Constants
        Fitted on other recordings.
    """

    def __init__(self, grid: RecordedGrid, constants: Constants):
        self._grid = grid
        self._names = names = np.array([grid.name(sm) for sm in range(SMS)])
        self._layout = layout(names.tolist(), grid.clock_groups)
        up, down = latencies(self._layout.gpc, _far(grid))
        self._up, self._down = (way + constants.recorder / 2 for way in (up, down))
        self._gap = constants.start_gap if grid.slots > 1 else 0.0
        # By the GPU's own numbers, as all of the machine.
        self._sm = names[grid.sm]
        self._lengths = grid.end - grid.start

    def run(
        self, reports: bool, advance: Callable[[int], None] = lambda blocks: None
    ) -> Dispatched:
        """Place every block behind the first wave.

        Parameters
        ----------
        reports : bool
            As for `RecordedDispatch`.
        advance : function, optional
            Called with the number of blocks that were placed.
        """
        grid, wave = self._grid, self._grid.first_wave
        lengths = self._lengths[wave:]
        last_start = np.full(SMS, -np.inf)
        np.maximum.at(last_start, self._sm[:wave], grid.start[:wave])
        sm, leaves = place_blocks(
            self._layout,
            self._first_state(),
            self._ends(len(grid.sm) if reports else wave),
            self._begin(),
            (self._up * PER_NS, self._down * PER_NS),
            np.full(len(lengths), -1.0) if reports else lengths * PER_NS,
            (0.0 if reports else self._gap * PER_NS, last_start * PER_NS),
        )
        advance(len(sm))
        start = leaves / PER_NS + self._down[sm]
        own = np.argsort(self._names)[sm]
        if reports:
            return Dispatched(own, nth_left(grid, own, grid.sm, grid.end), start)
        ran = np.concatenate((grid.sm[:wave], own))
        ends = np.concatenate((grid.end[:wave], start + lengths))
        return Dispatched(own, nth_left(grid, own, ran, ends), start)

    def told(self) -> Told:
        """Choose for every block behind the first wave, told what the GPU did before."""
        grid, wave = self._grid, self._grid.first_wave
        chosen = self._sm[wave:]
        if not len(chosen):
            return Told(chosen, np.zeros(0, np.bool_))
        # Blocks leave in order: none leaves after a later one.
        left = (grid.start[wave:] - self._down[chosen]) * PER_NS
        dates = np.minimum.accumulate(left[::-1])[::-1]
        ends = self._ends(len(grid.sm))
        choices, had_room = next_choices(self._layout, self._first_state(), ends, chosen, dates)
        own = np.where(choices < 0, -1, np.argsort(self._names)[choices])
        return Told(own, had_room)

    def _first_state(self) -> State:
        wave = np.bincount(self._sm[: self._grid.first_wave], minlength=SMS)
        return state(self._layout, self._grid.slots - wave)

    def _ends(self, count: int) -> Ends:
        """Return the ends of the first blocks, by the tick in which each reaches its TPC."""
        sm = self._sm[:count]
        ticks = np.ceil((self._grid.end[:count] + self._up[sm]) * PER_NS).astype(np.int64)
        order = np.lexsort((sm, ticks))
        return ticks[order], sm[order]

    def _begin(self) -> int:
        """Return the tick in which the round behind the first wave may begin."""
        first = self._grid.start.min() - self._down.mean()
        return int(np.ceil(first * PER_NS)) + ROUND + PASS * self._grid.slots
