"""Decision by decision: on which SM a rule would place the next block, after what the GPU did.

Unlike `RecordedDispatch` and `RecordedRounds`, a rule's wrong choice has no consequence here: the
GPU's own choice is what the next decision goes on from. See ``docs/replay/silicon.md``.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from warploom_golden.replay.recorded_dispatch import CHANCE
from warploom_golden.replay.recorded_grid import RecordedGrid, Times, slots_left, slots_taken
from warploom_golden.replay.recorded_h200 import H200_ROUNDS, Told
from warploom_golden.replay.recorded_rounds import GPC_ROUNDS

#: Nanoseconds: half a grain of the GPU's timer.
EARLY: Final = 16.0
#: Decisions for one SM from which on their share is told.
TOLD: Final = 20
#: For each SM, when the slots that can be given out had been left.
_Left = list[deque[float]]


@dataclass(frozen=True)
class Decisions:
    """The decisions at which two or more SMs had room.

    Attributes
    ----------
    count : int
        How many.
    waiting : float
        SMs that had room, on the average.
    possible : float
        The share of decisions in which the GPU's SM is one that some rule knows of: it had room by
        the recorded times and the turnaround, or by the latencies of `H200_ROUNDS`. No rule chooses
        the GPU's SM more often.
    same_sm : dict of str to float
        By rule, the share of decisions in which the rule chooses the GPU's SM.
    missed : array of float
        For each SM the share of its blocks, in these decisions, that `H200_ROUNDS` places
        elsewhere, or `GPC_ROUNDS` without it; 0 for an SM with fewer than `TOLD`.
    early : float
        The share of blocks that were placed more than `EARLY` before the turnaround allows it. With
        many of them the decisions cannot be dated, and `same_sm` says nothing.
    """

    count: int
    waiting: float
    possible: float
    same_sm: dict[str, float]
    missed: Times
    early: float


def _behind(waiting: list[int], last: int, left: _Left) -> int:
    """Return the first SM behind the one that got the last block."""
    return next((sm for sm in waiting if sm > last), waiting[0])


#: The SM that the policies and `RecordedRounds` choose among those with room, by
#: number, after the SM that got the last block. Here `freed_first` knows every end at once: the
#: hardware's queue takes one SM in a cycle.
_CHOICES: Final[dict[str, Callable[[list[int], int, _Left], int]]] = {
    "first_fit": lambda waiting, last, left: waiting[0],
    "freed_first": lambda waiting, last, left: min(waiting, key=lambda sm: left[sm][0]),
    "least_loaded": lambda waiting, last, left: max(waiting, key=lambda sm: len(left[sm])),
    "round_robin": _behind,
    GPC_ROUNDS: _behind,
}


def decided(grid: RecordedGrid, turnaround: Times) -> tuple[Times, Times]:
    """Return when each block was placed, and when the dispatcher heard of its end.

    Half of what an SM's turnaround differs from the mean is its way to the dispatcher, the other
    half its way back. Blocks are placed in order: a block was placed before every later one.
    """
    way = ((turnaround - turnaround.mean()) / 2)[grid.sm]
    by_start = grid.start - way
    placed = np.minimum.accumulate(by_start[::-1])[::-1]
    return placed, grid.end + turnaround[grid.sm] - way


def decisions(grid: RecordedGrid, turnaround: Times, told: Told | None = None) -> Decisions:
    """Compare the rules' choices with the GPU's, decision by decision.

    Parameters
    ----------
    grid : RecordedGrid
        What was recorded.
    turnaround : array of float
        Turnaround of each SM.
    told : Told, optional
        The choices of `H200_ROUNDS`, if it is for this GPU.
    """
    placed, heard = decided(grid, turnaround)
    wave, order = grid.first_wave, np.argsort(heard, kind="stable")
    reports = zip(heard[order].tolist(), order.tolist(), strict=True)
    time, number = next(reports)
    left, owed = slots_left(grid), [0] * grid.sms
    rules = (*_CHOICES, *([H200_ROUNDS] if told else []), CHANCE)
    same, count, waited, possible = dict.fromkeys(rules, 0.0), 0, 0, 0
    blocks, missed = np.zeros(grid.sms), np.zeros(grid.sms)
    last = int(grid.sm[wave - 1])
    for block in range(wave, len(grid.sm)):
        while time <= placed[block]:
            sm = int(grid.sm[number])
            # The GPU gave this slot away before the report seemed to be there.
            if owed[sm]:
                owed[sm] -= 1
            else:
                left[sm].append(float(grid.end[number]))
            time, number = next(reports, (np.inf, -1))
        waiting, own = [sm for sm in range(grid.sms) if left[sm]], int(grid.sm[block])
        if len(waiting) > 1:
            count, waited = count + 1, waited + len(waiting)
            right = {rule: choose(waiting, last, left) == own for rule, choose in _CHOICES.items()}
            best, known = right[GPC_ROUNDS], bool(left[own])
            if told:
                best = right[H200_ROUNDS] = bool(told.sm[block - wave] == own)
                known = known or best or bool(told.had_room[block - wave])
            for rule, hit in right.items():
                same[rule] += hit
            same[CHANCE] += bool(left[own]) / len(waiting)
            possible += known
            blocks[own] += 1
            missed[own] += not best
        if left[own]:
            left[own].popleft()
        else:
            owed[own] += 1
        last = own
    shares = {rule: hits / count for rule, hits in same.items()} if count else {}
    waits = grid.start[wave:] - slots_taken(grid)
    early = np.sum(waits < turnaround[grid.sm[wave:]] - EARLY) / max(1, len(waits))
    total, elsewhere = max(1, count), np.where(blocks < TOLD, 0, missed / np.maximum(1, blocks))
    return Decisions(count, waited / total, possible / total, shares, elsewhere, float(early))
