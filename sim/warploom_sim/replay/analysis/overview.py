"""All that the report shows of a replay, from one pass over its events."""

from dataclasses import dataclass

import numpy as np

from warploom_sim.replay.analysis.block_walk import find_waits
from warploom_sim.replay.analysis.kernels import Blocker, Kernel, blockers, kernels
from warploom_sim.replay.analysis.limits import Waits
from warploom_sim.replay.analysis.over_time import MOST_BINS, OverTime, RunningBins
from warploom_sim.replay.replay_result import Replay
from warploom_sim.replay.replay_rows import NEVER


@dataclass(frozen=True, kw_only=True, eq=False)
class Overview:
    """A replay's figures by cause, over time and by kernel.

    Attributes
    ----------
    waits : Waits
        What blocked the head.
    over_time : OverTime
        The figures by bin.
    kernels : list of Kernel
        The kernels that ran, the one with the most cycles first.
    blockers : list of Blocker
        The kernels that held the head up, the worst first.
    """

    waits: Waits
    over_time: OverTime
    kernels: list[Kernel]
    blockers: list[Blocker]


def overview(replay: Replay, most: int = MOST_BINS) -> Overview:
    """Return a replay's figures, those over time in at most so many bins."""
    launches = replay.launches
    listed = kernels(replay)
    kernel_of = np.full(len(launches), NEVER, np.int64)
    for number, kernel in enumerate(listed):
        kernel_of[list(kernel.rows)] = number
    bins = RunningBins(launches, replay.config, replay.cycles, kernel_of, most)
    waits = find_waits(replay, bins)
    found = bins.finish()
    return Overview(
        waits=waits,
        over_time=found,
        kernels=listed,
        blockers=blockers(listed, waits.cycles, found.blamed),
    )
