"""The figures of one run of a comparison."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from warploom_sim.replay.replay_result import REFUSED, Integers, Replay
from warploom_spec import RESOURCES, STALL_CAUSES

#: Percentiles of a launch's latency and of its tail.
PERCENTILES: Final = {"p50": 50, "p95": 95, "p99": 99}
#: Figures that have one value for each of several names.
GROUPS: Final[dict[str, tuple[str, ...]]] = {
    "occupancy": RESOURCES,
    "latency": tuple(PERCENTILES),
    "tail": tuple(PERCENTILES),
    "stalls": STALL_CAUSES,
}


def run_figures(run: Replay) -> dict[str, Any]:
    """Return a run's figures by name.

    Percentiles are of the launches that finished, and are the value of one of them: the smallest
    one that as many in a hundred do not exceed. Without such a launch they are None.
    """
    launches = run.launches
    done = launches.finished
    return {
        "launches": len(launches),
        "refused": int((launches.fate == REFUSED).sum()),
        "blocks": len(run.blocks),
        "cycles": run.cycles,
        "blocks_per_cycle": round(run.blocks_per_cycle, 4),
        "occupancy": {name: round(share, 4) for name, share in run.occupancy.items()},
        "latency": percentiles(launches.latency, done),
        "tail": percentiles(launches.tail, done),
        "stalls": dict(run.stalls),
        "history_hits": int(launches.hit.sum()),
    }


def percentiles(values: Integers, chosen: NDArray[np.bool_]) -> dict[str, int | None]:
    """Return percentiles of the chosen values by their names."""
    picked = np.sort(values[chosen])
    if not len(picked):
        return dict.fromkeys(PERCENTILES)
    # The nearest rank: ceil(share x number), counted from 1.
    return {
        name: int(picked[-(-share * len(picked) // 100) - 1]) for name, share in PERCENTILES.items()
    }
