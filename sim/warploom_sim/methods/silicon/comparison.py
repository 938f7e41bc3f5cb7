"""One recording beside the golden dispatcher, policy by policy."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from warploom_golden.replay.recorded_decisions import decisions
from warploom_golden.replay.recorded_dispatch import (
    CHANCE,
    Dispatched,
    RecordedDispatch,
)
from warploom_golden.replay.recorded_grid import (
    LAUNCH_RATE,
    RecordedGrid,
    Times,
    Turnaround,
    slots_taken,
)
from warploom_golden.replay.recorded_h200 import H200_ROUNDS, Constants, RecordedH200
from warploom_golden.replay.recorded_rounds import GPC_ROUNDS, RecordedRounds
from warploom_sim.methods.silicon.verdict import NEAR, verdicts
from warploom_spec.config import POLICIES

#: The rules of a GPU, the hardware's policies, and what they are compared with.
RULES: Final = (H200_ROUNDS, GPC_ROUNDS, *POLICIES, CHANCE)
#: SMs that are named where blocks are left over.
_NAMED: Final = 5

_Advance = Callable[[int], None]


@dataclass(frozen=True)
class Fitted:
    """A turnaround, and where it comes from.

    Attributes
    ----------
    turnaround : Turnaround
        For the recording's SMs.
    source : str
        ``others``: it is fitted on other recordings; ``itself``; ``given`` on the command line;
        ``table``: it is that of `h200_rounds`.
    recordings : sequence of str
        Those that it is fitted on.
    """

    turnaround: Turnaround
    source: str
    recordings: Sequence[str]


@dataclass(frozen=True)
class Compared:
    """The results for one recording.

    Attributes
    ----------
    figures : dict
        The figures that ``--json`` writes.
    recorded, modelled : array of float
        Start of each block in nanoseconds, as recorded and by the best rule on its own.
    """

    figures: dict[str, Any]
    recorded: Times
    modelled: Times


def work(grid: RecordedGrid) -> int:
    """Return how many blocks `compare` places."""
    return 2 * len(RULES) * (len(grid.sm) - grid.first_wave)


def compare(
    name: str,
    grid: RecordedGrid,
    fitted: Fitted,
    constants: Constants | str,
    advance: _Advance,
) -> Compared:
    """Place a recording's blocks by every rule, with its reports and with its lengths alone.

    Parameters
    ----------
    name : str
        The recording's name.
    grid : RecordedGrid
        The recorded blocks.
    fitted : Fitted
        Turnaround of the SMs.
    constants : Constants or str
        Those of `h200_rounds`, or why it is not for this recording.
    advance : function
        Called with the number of blocks placed since it was called last.
    """
    wave = grid.first_wave
    delay = fitted.turnaround.of(grid)
    machine = None if isinstance(constants, str) else RecordedH200(grid, constants)
    best = GPC_ROUNDS if machine is None else H200_ROUNDS
    taken = slots_taken(grid)
    decided = decisions(grid, delay, None if machine is None else machine.told())
    rules, modelled, left_over = {}, grid.start, np.zeros(0, np.int64)
    for rule in RULES:
        if rule == H200_ROUNDS:
            if machine is None:
                rules[rule] = _unknown(str(constants))
                continue
            told, alone = (machine.run(reports, advance) for reports in (True, False))
        else:
            told, alone = (
                _placed(grid, rule, delay, reports, advance) for reports in (True, False)
            )
        distance = np.abs(told.freed - taken)
        if rule == best:
            modelled = np.concatenate((grid.start[:wave], alone.start))
            left_over = grid.sm[wave:][distance > NEAR[1]]
        rules[rule] = {
            "near": {str(limit): _share(distance <= limit) for limit in NEAR},
            "same_sm": decided.same_sm.get(rule),
            "same_sm_free": _share(told.sm == grid.sm[wave:]),
            **_makespan(grid, alone),
        }
    if isinstance(constants, Constants):
        rules[H200_ROUNDS] |= {
            "recorder_ns": constants.recorder,
            "start_gap_ns": constants.start_gap,
            "fitted_on": list(constants.fitted_on),
        }
    figures = {
        "recording": name,
        "blocks": len(grid.sm),
        "sms": grid.sms,
        "slots": grid.slots,
        "first_wave": wave,
        "turnaround_ns": float(np.median(delay)),
        "turnaround": fitted.source,
        "fitted_on": list(fitted.recordings),
        "blocks_per_ns": LAUNCH_RATE,
        "makespan_ns": float(grid.end.max()),
        "decisions": decided.count,
        "waiting": decided.waiting,
        "possible": decided.possible,
        "early": decided.early,
        "left_over": {
            "blocks": len(left_over),
            "sms": len(np.unique(left_over)),
            "most": _most(grid, np.bincount(left_over, minlength=grid.sms)),
        },
        "missed_by_sm": _most(grid, decided.missed),
        "best": best,
        "rules": rules,
    }
    return Compared({**figures, "verdicts": verdicts(figures)}, grid.start, modelled)


def _placed(
    grid: RecordedGrid, rule: str, delay: Times, reports: bool, advance: _Advance
) -> Dispatched:
    if rule == GPC_ROUNDS:
        return RecordedRounds(grid, delay, reports).run(advance)
    return RecordedDispatch(grid, rule, delay, reports).run(advance)


def _unknown(why: str) -> dict[str, Any]:
    """Return the figures of a rule that is not for this GPU."""
    return {
        "near": {str(limit): None for limit in NEAR},
        "same_sm": None,
        "same_sm_free": None,
        "makespan_ns": None,
        "makespan_error": None,
        "not_applied": why,
    }


def _share(hits: Any) -> float | None:
    return float(np.mean(hits)) if len(hits) else None


def _makespan(grid: RecordedGrid, alone: Dispatched) -> dict[str, float]:
    wave, recorded = grid.first_wave, float(grid.end.max())
    ends = alone.start + (grid.end - grid.start)[wave:]
    makespan = float(max(grid.end[:wave].max(), ends.max(initial=0)))
    error = makespan / recorded - 1 if recorded else 0.0
    return {"makespan_ns": makespan, "makespan_error": error}


def _most(grid: RecordedGrid, values: Any) -> dict[str, float]:
    """Return the SMs with the largest values above 0, by the GPU's own number."""
    order = np.argsort(-values, kind="stable")[:_NAMED]
    return {str(grid.name(sm)): float(values[sm]) for sm in order.tolist() if values[sm] > 0}
