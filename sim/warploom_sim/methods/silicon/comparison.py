"""One recording beside the golden dispatcher, policy by policy."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from warploom_golden.replay.recorded_dispatch import (
    CHANCE,
    LAUNCH_RATE,
    RecordedDispatch,
    RecordedGrid,
    Times,
    drawn_slots,
    slots_taken,
    turnaround,
)
from warploom_spec.config import POLICIES

#: Nanoseconds: two, three and four grains of the H200's timer.
NEAR: Final = (64, 96, 128)
#: What an H200 does.
_OWN: Final = "freed_first"
#: The same, then what it is compared with.
RULES: Final = (_OWN, *(name for name in POLICIES if name != _OWN), CHANCE)


@dataclass(frozen=True)
class Compared:
    """The results for one recording.

    Attributes
    ----------
    figures : dict
        The figures that ``--json`` writes.
    recorded, modelled : array of float
        Start of each block in nanoseconds, as recorded and by ``freed_first`` on its own.
    """

    figures: dict[str, Any]
    recorded: Times
    modelled: Times


def work(grid: RecordedGrid) -> int:
    """Return how many blocks `compare` places."""
    return (2 * len(RULES) - 1) * (len(grid.sm) - grid.first_wave)


def compare(
    name: str, grid: RecordedGrid, fixed: float | None, advance: Callable[[int], None]
) -> Compared:
    """Place a recording's blocks by every rule, with its reports and with its lengths alone.

    Parameters
    ----------
    name : str
        The recording's name.
    grid : RecordedGrid
        The recorded blocks.
    fixed : float, optional
        Turnaround in nanoseconds; by default the one that explains the recording best.
    advance : function
        Called with the number of blocks placed since it was called last.
    """
    wave = grid.first_wave
    delay = turnaround(grid) if fixed is None else fixed
    taken, lengths = slots_taken(grid), (grid.end - grid.start)[wave:]
    rules, modelled = {}, grid.start
    for rule in RULES:
        if rule == CHANCE:
            predicted = drawn_slots(grid)
        else:
            predicted = RecordedDispatch(grid, rule, delay, reports=True).run(advance).freed
        alone = RecordedDispatch(grid, rule, delay, reports=False).run(advance)
        distance = np.abs(predicted - taken)
        makespan = max(grid.end[:wave].max(), (alone.start + lengths).max(initial=0))
        if rule == RULES[0]:
            modelled = np.concatenate((grid.start[:wave], alone.start))
        rules[rule] = {
            "near": {
                str(limit): float(np.mean(distance <= limit)) if len(distance) else None
                for limit in NEAR
            },
            "makespan_ns": float(makespan),
            "makespan_error": float(makespan / grid.end.max() - 1) if grid.end.max() else 0.0,
        }
    figures = {
        "recording": name,
        "blocks": len(grid.sm),
        "sms": grid.sms,
        "slots": grid.slots,
        "first_wave": wave,
        "turnaround_ns": delay,
        "turnaround": "measured" if fixed is None else "given",
        "blocks_per_ns": LAUNCH_RATE,
        "makespan_ns": float(grid.end.max()),
        "rules": rules,
    }
    return Compared(figures, grid.start, modelled)
