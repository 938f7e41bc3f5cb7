"""The figures of one run of a comparison."""

from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from warploom_sim.replay.analysis.block_walk import find_waits
from warploom_sim.replay.analysis.running import RunFigures
from warploom_sim.replay.recorded_times import recorded_times
from warploom_sim.replay.replay_result import Replay
from warploom_sim.replay.replay_rows import REFUSED, Integers
from warploom_spec import RESOURCES, STALL_CAUSES, Fate

#: Percentiles of a launch's latency, of the SM time that it loses at its end, and for how long.
PERCENTILES: Final = {"p50": 50, "p95": 95, "p99": 99}
#: How many of a trace's waits for events a run keeps, and how many it does not: of its job.
EVENT_WAITS: Final = ("event_waits_kept", "event_waits_ignored")
#: Figures that have one value for each of several names.
GROUPS: Final[dict[str, tuple[str, ...]]] = {
    "occupancy": RESOURCES,
    "latency": tuple(PERCENTILES),
    "sm_time_lost": tuple(PERCENTILES),
    "after_last_offer": tuple(PERCENTILES),
    "stalls": STALL_CAUSES,
}
#: Those of them whose figures are parts of a whole; the others count cycles.
SHARES: Final = ("occupancy", "sm_time_lost")


def run_figures(run: Replay | RunFigures, scale: Fraction | None = None) -> dict[str, Any]:
    """Return a run's figures by name.

    Parameters
    ----------
    run : Replay or RunFigures
        The run, of which all blocks may be there or none.
    scale : Fraction or None
        The time scale of a run without blocks; what blocked its head must have been found if the
        scale is below 1.

    Percentiles are of the launches that finished, and are the value of one of them: the smallest
    one that as many in a hundred do not exceed. Without such a launch they are None.
    """
    launches = run.launches
    done = launches.finished
    return {
        "launches": len(launches),
        "refused": int((launches.fate == REFUSED).sum()),
        "killed": int((launches.fate == Fate.ABORTED).sum()),
        "blocks": (blocks := int(launches.blocks.sum())),
        "cycles": run.cycles,
        "blocks_per_cycle": round(blocks / run.cycles, 4),
        "rate_by_time_scale": _rate_by_time_scale(run, scale) if blocks else 0.0,
        **recorded_times(launches),
        "occupancy": {name: round(share, 4) for name, share in run.occupancy.items()},
        "latency": percentiles(launches.latency, done),
        "sm_time_lost": percentiles(launches.sm_time_lost, done),
        "after_last_offer": percentiles(launches.after_last_offer, done),
        "stalls": dict(run.stalls),
        "history_hits": int(launches.hit.sum()),
    }


def _rate_by_time_scale(run: Replay | RunFigures, scale: Fraction | None) -> float:
    """Return for which part of a run the dispatch rate limits only for the time scale's sake."""
    if isinstance(run, Replay):
        scale = run.settings.time_scale
    if scale is None or scale >= 1:
        return 0.0
    waits = find_waits(run) if isinstance(run, Replay) else run.waits
    assert waits is not None
    return round(waits.rate_by_time_scale(run.launches, run.config, scale), 4)


def percentiles(
    values: Integers | NDArray[np.float64], chosen: NDArray[np.bool_]
) -> dict[str, float | None]:
    """Return percentiles of the chosen values by their names: of cycles, or of shares."""
    picked = np.sort(values[chosen])
    if not len(picked):
        return dict.fromkeys(PERCENTILES)
    # The nearest rank: ceil(share x number), counted from 1.
    return {
        name: round(picked[-(-share * len(picked) // 100) - 1].item(), 4)
        for name, share in PERCENTILES.items()
    }
