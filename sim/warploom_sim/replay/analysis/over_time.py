"""Figures of a replay over time: the run cut into bins of nearly equal length."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from warploom_sim.replay.analysis.limits import LIMITS, Limits
from warploom_sim.replay.replay_result import NEVER, Integers, Replay
from warploom_spec import RESOURCES, capacities

Floats = NDArray[np.float64]
#: Bins of a run, at most.
MOST_BINS: Final = 240


@dataclass(frozen=True, kw_only=True, eq=False)
class OverTime:
    """Figures by bin.

    Attributes
    ----------
    edges : array of int64
        First cycle of each bin, and the run's length.
    blocks_per_cycle : array of float64
        Blocks offered a cycle, on average over each bin.
    occupancy : dict of str to array of float64
        By resource: the part of all SMs' that blocks held, on average over each bin.
    limits : dict of str to array of float64
        By limit: the part of each bin for which it held.
    waiting : dict of int to array of float64
        By stream: launches that had arrived and not had their first offer, on average.
    """

    edges: Integers
    blocks_per_cycle: Floats
    occupancy: dict[str, Floats]
    limits: dict[str, Floats]
    waiting: dict[int, Floats]


def over_time(replay: Replay, limits: Limits, most: int = MOST_BINS) -> OverTime:
    """Return a replay's figures in at most so many bins."""
    count = min(most, replay.cycles)
    edges = np.arange(count + 1, dtype=np.int64) * replay.cycles // count
    widths = np.diff(edges)
    blocks, launches = replay.blocks, replay.launches
    ran = blocks.end != NEVER
    takes = launches.takes[blocks.launch[ran]]
    sizes = capacities(replay.config)
    occupancy = {}
    for k, name in enumerate(RESOURCES):
        held = mean_level(blocks.start[ran], blocks.end[ran], takes[:, k], edges)
        occupancy[name] = held / (sizes[name] * replay.config.sms)
    offers = np.histogram(blocks.start, edges)[0]
    names = enumerate(LIMITS)
    shares = {name: held_in_bins(limits, limits.limit == k, edges) / widths for k, name in names}
    waiting = {}
    started = launches.first_offer != NEVER
    for stream in sorted(set(launches.stream[started].tolist())):
        rows = started & (launches.stream == stream)
        ones = np.ones(int(rows.sum()), np.int64)
        waiting[stream] = mean_level(
            launches.arrival[rows], launches.first_offer[rows], ones, edges
        )
    return OverTime(
        edges=edges,
        blocks_per_cycle=offers / widths,
        occupancy=occupancy,
        limits=shares,
        waiting=waiting,
    )


def mean_level(starts: Integers, ends: Integers, amounts: Integers, edges: Integers) -> Floats:
    """Return how much is held on average over each bin, exactly.

    Parameters
    ----------
    starts, ends, amounts : array of int64
        Each amount is held from its start until before its end.
    edges : array of int64
        Bounds of the bins.
    """
    whole = np.zeros(len(edges), np.int64)
    for times, sign in ((starts, 1), (ends, -1)):
        order = np.argsort(times, kind="stable")
        at, amount = times[order], amounts[order]
        so_far = np.searchsorted(at, edges, side="left")
        sums = np.concatenate([[0], np.cumsum(amount)])[so_far]
        moments = np.concatenate([[0], np.cumsum(amount * at)])[so_far]
        whole += sign * (sums * edges - moments)
    level: Floats = np.diff(whole) / np.diff(edges)
    return level


def held_in_bins(limits: Limits, chosen: NDArray[np.bool_], edges: Integers) -> Integers:
    """Return for how many cycles of each bin one of the chosen stretches held."""
    held = np.concatenate([[0], np.cumsum(limits.length * chosen)])
    stretch = np.searchsorted(limits.start, edges, side="right") - 1
    until = held[stretch] + (edges - limits.start[stretch]) * chosen[stretch]
    cycles: Integers = np.diff(until)
    return cycles
