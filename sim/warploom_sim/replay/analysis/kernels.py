"""Figures of a replay by kernel, and which kernel held up the others."""

from dataclasses import dataclass

import numpy as np

from warploom_sim.replay.analysis.limits import LIMITS, fits
from warploom_sim.replay.analysis.over_time import UNBLAMED
from warploom_sim.replay.replay_result import Replay
from warploom_sim.replay.replay_rows import NEVER, Integers, Launches, Shares
from warploom_spec import RESOURCES, capacities

_WARPS = RESOURCES.index("warps")


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """The launches of one name whose blocks take the same of an SM.

    Attributes
    ----------
    number : int
        From 1, by cycles, the longest first.
    name : str
        The kernel's.
    rows : tuple of int
        Its launches.
    blocks, threads : int
        Blocks of all launches; threads of a block of the first launch.
    cycles : int
        First offer to last report, summed over the launches.
    mean_cycles : float
        The same of one launch.
    waves : float
        Blocks over the places on all SMs, of a launch on average.
    theoretical, achieved : float
        Part of all warp slots held when as many blocks run as fit, and held on average over
        ``cycles``.
    limited_by : tuple of str
        Resources of which one block more than fit on an SM would take too much.
    after_last_offer : float
        Cycles from the last offer to the last report, of a launch on average.
    sm_time_lost : float
        Part of the launches' SM time that is lost between their last offers and their ends.
    hits : int
        Launches whose thread indices stood in the index memory already.
    recorded_us, replayed_us : float
        How long its finished launches ran on the recorded GPU and in the replay, summed, in
        microseconds; 0 if that is not known.
    """

    number: int
    name: str
    rows: tuple[int, ...]
    blocks: int
    threads: int
    cycles: int
    mean_cycles: float
    waves: float
    theoretical: float
    achieved: float
    limited_by: tuple[str, ...]
    after_last_offer: float
    sm_time_lost: float
    hits: int
    recorded_us: float
    replayed_us: float

    @property
    def error(self) -> float | None:
        """How much longer they took than recorded, as a part of that; None if unknown."""
        return self.replayed_us / self.recorded_us - 1 if self.recorded_us else None

    @property
    def launches(self) -> int:
        """Launches that ran."""
        return len(self.rows)


def kernels(replay: Replay) -> list[Kernel]:
    """Return the kernels that ran, the one with the most cycles first."""
    launches = replay.launches
    ran = np.flatnonzero((launches.blocks > 0) & (launches.last_report != NEVER))
    groups: dict[tuple[str, tuple[int, ...]], list[int]] = {}
    for row in ran.tolist():
        key = str(launches.name[row]), tuple(launches.takes[row].tolist())
        groups.setdefault(key, []).append(row)
    spans = launches.last_report - launches.first_offer
    order = sorted(groups.items(), key=lambda item: -int(spans[item[1]].sum()))
    held = launches.held * launches.takes[:, _WARPS]
    most = fits(launches.takes, replay.config)
    return [
        _kernel(number, name, rows, replay, spans, held, most)
        for number, ((name, _), rows) in enumerate(order, 1)
    ]


def _kernel(
    number: int,
    name: str,
    rows: list[int],
    replay: Replay,
    spans: Integers,
    held: Integers,
    most: Integers,
) -> Kernel:
    launches, config = replay.launches, replay.config
    first = rows[0]
    places, takes = int(most[first]), launches.takes[first]
    sizes = np.array(list(capacities(config).values()))
    limiting = (places + 1) * takes > sizes
    cycles = int(spans[rows].sum())
    warps = config.sms * config.warp_slots
    known = ~np.isnan(launches.recorded_us + launches.replayed_us)
    timed = [row for row in rows if known[row]]
    return Kernel(
        number=number,
        name=name,
        rows=tuple(rows),
        blocks=int(launches.blocks[rows].sum()),
        threads=int(launches.block[first].prod()),
        cycles=cycles,
        mean_cycles=cycles / len(rows),
        waves=float(launches.blocks[rows].mean() / (places * config.sms)),
        theoretical=float(places * takes[_WARPS] / config.warp_slots),
        achieved=float(held[rows].sum() / (cycles * warps)) if cycles else 0.0,
        limited_by=tuple(name for name, yes in zip(RESOURCES, limiting, strict=True) if yes),
        after_last_offer=float((launches.last_report - launches.last_offer)[rows].mean()),
        sm_time_lost=lost_share(launches, rows),
        hits=int(launches.hit[rows].sum()),
        recorded_us=float(launches.recorded_us[timed].sum()),
        replayed_us=float(launches.replayed_us[timed].sum()),
    )


def lost_share(launches: Launches, rows: list[int]) -> float:
    """Return which part of the SM time of launches of one shape is lost at their ends."""
    had = (launches.places * (launches.last_report - launches.first_offer))[rows].sum()
    return float(launches.lost[rows].sum() / had) if had else 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Blocker:
    """A kernel that the next launch's blocks waited for.

    Attributes
    ----------
    kernel : Kernel
        The one.
    cycles : int
        For how long.
    by_limit : dict of str to int
        The same under each limit, the longest first.
    over_time : array of float64
        The same as a part of each bin of the run.
    """

    kernel: Kernel
    cycles: int
    by_limit: dict[str, int]
    over_time: Shares


def blockers(listed: list[Kernel], waited: Integers, blamed: Shares) -> list[Blocker]:
    """Return the kernels that held the head up, the worst first.

    Parameters
    ----------
    listed : list of Kernel
        The run's.
    waited : array of int64
        As `BlockWalk` has it.
    blamed : array of float64
        As `OverTime` has it.
    """
    found = []
    for kernel, over_time in zip(listed, blamed, strict=True):
        held = waited[:, list(kernel.rows)].sum(axis=1)
        held[list(UNBLAMED)] = 0
        pairs = sorted(zip(LIMITS, held.tolist(), strict=True), key=lambda pair: -pair[1])
        by_limit = {name: cycles for name, cycles in pairs if cycles}
        if by_limit:
            total = sum(by_limit.values())
            found.append(
                Blocker(kernel=kernel, cycles=total, by_limit=by_limit, over_time=over_time)
            )
    return sorted(found, key=lambda blocker: -blocker.cycles)
