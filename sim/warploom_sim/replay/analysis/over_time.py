"""Figures of a replay over time: the run cut into bins of nearly equal length."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from warploom_sim.replay.analysis.limits import LIMITS, Gone
from warploom_sim.replay.replay_rows import NEVER, Integers, Launches
from warploom_spec import RESOURCES, Config, capacities

Floats = NDArray[np.float64]
#: Limits under which nobody is held up, or nobody's kernel is to blame.
UNBLAMED: Final = tuple(LIMITS.index(name) for name in ("rate", "arrivals", "nothing_left"))
#: Bins of a run, at most.
MOST_BINS: Final = 240


@dataclass(frozen=True, kw_only=True, eq=False)
class OverTime:
    """Figures by bin: the run cut into bins of nearly equal length.

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
    blamed : array of float64, shape (kernels, bins)
        The part of each bin for which the next launch's blocks waited for each kernel.
    """

    edges: Integers
    blocks_per_cycle: Floats
    occupancy: dict[str, Floats]
    limits: dict[str, Floats]
    waiting: dict[int, Floats]
    blamed: Floats


class RunningBins:
    """Figures by bin of a replay whose blocks come in pieces.

    Parameters
    ----------
    launches : Launches
        Of the whole replay.
    config : Config
        Of the hardware.
    cycles : int
        Of the whole replay.
    kernel_of : array of int64
        Of each launch the number of its kernel, from 0; negative for none.
    most : int
        Bins, at most.
    """

    def __init__(
        self,
        launches: Launches,
        config: Config,
        cycles: int,
        kernel_of: Integers,
        most: int = MOST_BINS,
    ):
        self._launches, self._config = launches, config
        # Row -1, of a launch that is none, is the last.
        self._kernel_of = np.append(kernel_of, NEVER)
        count = min(most, cycles)
        self.edges = np.arange(count + 1, dtype=np.int64) * cycles // count
        self._offers = np.zeros(count, np.int64)
        self._held = np.zeros((count + 1, len(RESOURCES)), np.int64)
        self._limits = np.zeros((len(LIMITS), count), np.int64)
        self._blamed = np.zeros((int(kernel_of.max(initial=NEVER)) + 1, count), np.int64)

    def add_blocks(self, offers: Integers, since: Integers, gone: Gone) -> None:
        """Take the cycles of the next offers, and the next reports with the offers of theirs."""
        self._offers += np.histogram(offers, self.edges)[0]
        self._held += held_until(since, gone.cycle, self._launches.takes[gone.launch], self.edges)

    def add_stretches(self, start: Integers, limit: Integers, blocker: Integers, end: int) -> None:
        """Take the next stretches in which one limit holds, which follow each other up to a cycle.

        Parameters
        ----------
        start, limit, blocker : array of int64
            Of each stretch its first cycle, its limit, and the row of the launch waited for.
        end : int
            The first cycle after the last one.
        """
        if not len(start):
            return
        # Cut at the edges, each stretch is in one bin.
        inside = self.edges[(self.edges > start[0]) & (self.edges < end)]
        cut = np.union1d(start, inside)
        of = np.searchsorted(start, cut, side="right") - 1
        number = np.searchsorted(self.edges, cut, side="right") - 1
        lengths = np.diff(cut, append=end)
        np.add.at(self._limits, (limit[of], number), lengths)
        kernel = self._kernel_of[blocker[of]]
        blamed = (kernel >= 0) & ~np.isin(limit[of], UNBLAMED)
        np.add.at(self._blamed, (kernel[blamed], number[blamed]), lengths[blamed])

    def finish(self) -> OverTime:
        """Return the figures."""
        edges, launches = self.edges, self._launches
        widths = np.diff(edges)
        sizes = capacities(self._config)
        held = np.diff(self._held, axis=0) / widths[:, None]
        waiting = {}
        started = launches.first_offer != NEVER
        for stream in sorted(set(launches.stream[started].tolist())):
            rows = started & (launches.stream == stream)
            ones = np.ones((int(rows.sum()), 1), np.int64)
            until = held_until(launches.arrival[rows], launches.first_offer[rows], ones, edges)
            waiting[stream] = np.diff(until[:, 0]) / widths
        return OverTime(
            edges=edges,
            blocks_per_cycle=self._offers / widths,
            occupancy={
                name: held[:, k] / (sizes[name] * self._config.sms)
                for k, name in enumerate(RESOURCES)
            },
            limits={name: self._limits[k] / widths for k, name in enumerate(LIMITS)},
            waiting=waiting,
            blamed=self._blamed / widths,
        )


def held_until(starts: Integers, ends: Integers, amounts: Integers, edges: Integers) -> Integers:
    """Return how much is held up to each of some cycles: amounts times cycles, exactly.

    Parameters
    ----------
    starts, ends : array of int64
        Each amount is held from its start until before its end.
    amounts : array of int64, shape (starts, kinds)
        The amounts.
    edges : array of int64
        The cycles.

    Returns
    -------
    array of int64, shape (edges, kinds)
        The sums, less the amount of all that has not ended in cycle 0 times the edge.
    """
    whole = np.zeros((len(edges), amounts.shape[1]), np.int64)
    for times, sign in ((starts, 1), (ends, -1)):
        order = np.argsort(times, kind="stable")
        at, amount = times[order], amounts[order]
        so_far = np.searchsorted(at, edges, side="left")
        sums, moments = (
            np.concatenate([np.zeros_like(whole[:1]), np.cumsum(column, axis=0)])[so_far]
            for column in (amount, amount * at[:, None])
        )
        whole += sign * (sums * edges[:, None] - moments)
    return whole
