"""What blocked the head in each cycle of a replay: ``docs/replay/replay.md`` has the rules."""

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from warploom_sim.replay.replay_rows import NEVER, Integers, Launches
from warploom_spec import RESOURCES, SM_RESOURCES, Config, capacities, timing

#: Every limit, in the order of its number.
LIMITS: Final = (
    "rate",
    *RESOURCES,
    "reclaim",
    "order",
    "path",
    "arrivals",
    "waits",
    "nothing_left",
)
#: What each is called where people read it.
LABELS: Final = {
    "rate": "dispatch rate",
    **{resource.name: resource.label for resource in SM_RESOURCES},
    "reclaim": "reclaim",
    "order": "stream order",
    "path": "launch path",
    "arrivals": "arrivals",
    "waits": "event waits",
    "nothing_left": "nothing left",
}
#: A cycle that no replay reaches.
_LATER: Final = 1 << 54


@dataclass(frozen=True)
class _Waits:
    """When a launch that had blocks was the next one, and until when what held it.

    Attributes
    ----------
    since, head : int
        First cycles in which it is the next one, and in which it is the head.
    until : tuple of tuple of int
        (limit, first cycle in which it holds no longer, the launch waited for), in the order in
        which the limits are asked.
    """

    since: int
    head: int
    until: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, eq=False)
class Waits:
    """For how long each limit held, and for which launch.

    Attributes
    ----------
    cycles : array of int64, shape (limits, launches + 1)
        By limit of `LIMITS` and row of the launch that was waited for; the last column is of no
        launch. Every cycle of the run counts once.
    lacked : array of int64
        Of each resource the cycles in which a resource was the limit, and no other one was lacking
        on more SMs. A cycle counts for several resources if each is lacking on as many.
    """

    cycles: Integers
    lacked: Integers

    def by_limit(self) -> dict[str, int]:
        """Return for how many cycles each limit holds."""
        return dict(zip(LIMITS, self.cycles.sum(axis=1).tolist(), strict=True))

    def shares(self) -> dict[str, float]:
        """Return for which part of the run each limit holds."""
        whole = int(self.cycles.sum())
        return {name: held / whole for name, held in self.by_limit().items()}

    def shares_lacked(self) -> dict[str, float]:
        """Return for which part of the run each resource lacked on the most SMs."""
        shares = self.lacked / self.cycles.sum()
        return dict(zip(RESOURCES, shares.tolist(), strict=True))

    def rate_by_time_scale(self, launches: Launches, config: Config, scale: Fraction) -> float:
        """Return for which part of the run the dispatch rate limits only for the time scale's sake.

        At one block a cycle, blocks that are shorter in cycles than there are places for them never
        fill the SMs. Counted is the time under ``rate`` of launches whose blocks are shorter than
        that, but would not be at their recorded length.
        """
        made = shortened_by_scale(launches, config, scale)
        rate = self.cycles[LIMITS.index("rate"), :-1]
        return float(rate[made].sum() / self.cycles.sum())


def shortened_by_scale(launches: Launches, config: Config, scale: Fraction) -> NDArray[np.bool_]:
    """Tell whose blocks are shorter than there are places, but not at their recorded length."""
    places = np.minimum(launches.blocks, config.sms * fits(launches.takes, config))
    recorded = launches.length * float(1 / scale)
    made: NDArray[np.bool_] = (launches.length < places) & (recorded >= places)
    return made


def fits(takes: Integers, config: Config) -> Integers:
    """Return how many blocks of each launch fit on an empty SM, by what one takes."""
    sizes = np.array(list(capacities(config).values()))
    most: Integers = np.where(takes > 0, sizes // np.maximum(takes, 1), _LATER).min(axis=1)
    return most


@dataclass(frozen=True)
class Gone:
    """Reports, in order: cycle, SM, and row of the launch."""

    cycle: Integers
    sm: Integers
    launch: Integers

    def __add__(self, other: "Gone") -> "Gone":
        """Return these reports and later ones."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Gone(*(np.concatenate(pair) for pair in pairs))

    def after(self, count: int) -> "Gone":
        """Return these reports without the first ones."""
        return Gone(*(column[count:] for column in vars(self).values()))


class LimitFinder:
    """Finds stretches of cycles in which one limit holds, from blocks that come in pieces.

    Parameters
    ----------
    launches : Launches
        Of which these columns are read when a launch's blocks come, which must be known by then as
        far as they had happened: ``stream``, ``arrival``, ``end``, ``left``, ``takes``, ``awaits``.
    config : Config
        Of the hardware.

    Attributes
    ----------
    cycle : int
        The first cycle of which nothing was said yet.
    lacked : array of int64
        As `Waits` has it, up to that cycle.
    """

    def __init__(self, launches: Launches, config: Config):
        sizes = np.array(list(capacities(config).values()), np.int64)
        self._launches, t = launches, timing(config)
        self._boot = _boot(config)
        # From a start to the first pick.
        self._first_pick = t.resident_first_offer - t.resident_offer
        # Of each launch the cycles in which it started.
        self._starts: dict[int, list[int]] = {}
        # Of each stream the launch that was there last.
        self._by_stream: dict[int, int] = {}
        self._row = NEVER
        self._gone = Gone(*(np.zeros(0, np.int64) for _ in range(3)))
        self._free = np.tile(sizes, (config.sms, 1))
        self._work = np.zeros((config.sms + 1, len(sizes) + 1), np.int64)
        self._stand = np.zeros(4, np.int64)
        # The last picks: no SM gets a block again before `resident_again` cycles.
        self._recent = np.full((2, t.resident_again - 1), NEVER, np.int64)
        self.lacked = np.zeros(len(sizes), np.int64)
        self.cycle = 0

    def note_starts(self, rows: Integers, cycles: Integers) -> None:
        """Note in which cycles launches started, before their blocks come."""
        for row, cycle in zip(rows.tolist(), cycles.tolist(), strict=True):
            self._starts.setdefault(row, []).append(cycle)

    def stretches(self, rows: Integers, decided: Integers, sms: Integers, gone: Gone) -> Integers:
        """Return the stretches up to the last of some decisions.

        Parameters
        ----------
        rows, decided, sms : array of int64
            Of each block, in order of its decision: row of its launch, cycle of the decision, SM.
        gone : Gone
            Reports that were not given before: all up to the last decision, and any later ones.

        Returns
        -------
        array of int64, shape (4, stretches)
            Stretches of cycles in which one limit holds for one launch, in order, without a gap.
            Their rows: first cycle; number of the limit in `LIMITS`; row of the launch that is
            next, whose block could not be placed, or was; and row of the launch that it waits
            for. Under ``waits`` this is the one of another stream that ends last, under ``order``
            the one before it in its stream, else itself; `NEVER` if there is none.
        """
        # Numba's import takes a while.
        from warploom_sim.replay.analysis import limit_walk

        self._gone += gone
        if not len(rows):
            return np.zeros((4, 0), np.int64)
        firsts = np.flatnonzero(np.diff(rows, prepend=NEVER))
        before: list[tuple[int, int, int, int]] = []
        heads = []
        for first in firsts.tolist():
            row, head = int(rows[first]), NEVER
            if row != self._row:
                since = int(decided[first - 1]) + 1 if first else self.cycle
                wait = self._wait(row, since, int(decided[first]))
                before += [(start, limit, row, by) for start, limit, by in _before_head(wait)]
                head, self._row = wait.head, row
            heads.append(head)
        out = np.zeros((3, 4 * len(rows) + 2 * (len(firsts) + len(self._gone.cycle))), np.int64)
        count = limit_walk.walk(
            np.array(heads, np.int64),
            rows[firsts],
            np.append(firsts, len(rows)).astype(np.int64),
            decided,
            sms,
            self._gone.cycle,
            self._gone.sm,
            self._gone.launch,
            self._launches.takes,
            self._free,
            self._work,
            self._stand,
            self._recent,
            self.lacked,
            out,
        )
        self._gone = self._gone.after(int(self._stand[limit_walk.GONE]))
        self.cycle = int(decided[-1]) + 1
        walked = out[:, :count]
        found = np.vstack([walked, walked[limit_walk.LAUNCH]])
        if before:
            found = np.concatenate([np.array(before, np.int64).T, found], axis=1)
        return found[:, np.argsort(found[0], kind="stable")]

    def _left(self, row: int) -> int:
        """Return the first cycle in which a launch is no longer resident, as far as known."""
        if row == NEVER:
            return 0
        return int(self._launches.left[row]) if self._launches.left[row] != NEVER else _LATER

    def _wait(self, row: int, since: int, decided: int) -> _Waits:
        """Return how long a launch waited for what that is the next one from a cycle on."""
        from warploom_sim.replay.analysis.limit_walk import ARRIVALS, ORDER, PATH, WAITS

        launches = self._launches
        stream = int(launches.stream[row])
        before = self._by_stream.get(stream, NEVER)
        # A launch that goes on waits for no earlier one of its stream.
        before = NEVER if before == row else before
        starts = self._starts[row]
        started = starts[bisect_left(starts, decided) - 1]
        head = min(max(started + self._first_pick, since), decided)
        arrival = int(launches.arrival[row])
        ends = {other: int(launches.end[other]) for other in launches.awaits[row]}
        awaited = max(ends, key=lambda other: ends[other], default=NEVER)
        until = (
            # Nothing is sent in the boot: what arrives then is as good as there in cycle 0.
            (ARRIVALS, arrival if arrival > self._boot else 0, row),
            (WAITS, ends.get(awaited, 0), awaited),
            (ORDER, self._left(before), before),
            (PATH, head, row),
        )
        self._by_stream[stream] = row
        return _Waits(since, head, until)


def _boot(config: Config) -> int:
    """Return the first cycle in which a launch may be sent: KernelQueue's page, rule 1."""
    return max(config.queue_depth << config.priority_bits, 1 << config.stream_bits) + 4


def _before_head(wait: _Waits) -> list[tuple[int, int, int]]:
    """Return (start, limit, launch waited for) of the stretches before a launch is the head."""
    found = []
    cycle = wait.since
    for limit, until, blocker in wait.until:
        until = min(until, wait.head)
        if cycle < until:
            found.append((cycle, limit, blocker))
            cycle = until
    return found
