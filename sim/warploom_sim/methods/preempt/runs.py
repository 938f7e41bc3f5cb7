"""What a run of a measurement is given, and what came of it."""

from dataclasses import dataclass
from typing import NamedTuple

from warploom_spec import Config


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The settings that all runs of a measurement share.

    Attributes
    ----------
    config : Config
        The machine.
    count : int
        Number of urgent launches in a run.
    distance : float
        Mean distance from an urgent launch's end to the next one's arrival, in cycles.
    seed : int
        Seed of distances and block lengths.
    report_time : int
        Cycles that an SM takes to report a killed block.
    knee : int or None
        With contention: warps that an SM runs at full speed. None: without contention.
    """

    config: Config
    count: int
    distance: float
    seed: int
    report_time: int
    knee: int | None = None


class KilledRun(NamedTuple):
    """A run that was killed: when that was told, its blocks, and the slot cycles they took."""

    cycle: int
    blocks: int
    held: int


@dataclass(frozen=True, kw_only=True)
class Run:
    """The results of one run.

    Attributes
    ----------
    latencies : tuple of int
        Cycles from each urgent launch's acceptance to its first offer, in order of acceptance.
    cycles : int
        Cycle of the last final record.
    urgent_starts : tuple of int
        Cycle of each urgent launch's first offer.
    low_ends : tuple of int
        Cycle of each low launch's final record.
    killed : tuple of KilledRun
        Each run of a low launch that was killed.
    lookups : tuple of tuple of int and bool
        Of each index lookup its cycle, and whether it was a hit.
    went_on : tuple of int
        Cycles in which a low launch went on with its next block after urgent blocks had been placed
        between.
    """

    latencies: tuple[int, ...]
    cycles: int
    urgent_starts: tuple[int, ...]
    low_ends: tuple[int, ...]
    killed: tuple[KilledRun, ...]
    lookups: tuple[tuple[int, bool], ...]
    went_on: tuple[int, ...] = ()
