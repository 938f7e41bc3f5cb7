"""Which limit held in each cycle of a replay: ``docs/replay/replay.md``, 'What limits'."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from warploom_sim.replay_result import NEVER, Blocks, Integers, Launches, Replay
from warploom_spec import RESOURCES, Config, capacities, timing

#: Every limit, in the order of its number.
LIMITS: Final = (
    "rate",
    *RESOURCES,
    "reclaim",
    "order",
    "places",
    "path",
    "arrivals",
    "nothing_left",
)
#: What each is called where people read it.
LABELS: Final = {
    "rate": "dispatch rate",
    "slots": "block slots",
    "warps": "warps",
    "registers": "registers",
    "shared": "shared memory",
    "barriers": "barriers",
    "reclaim": "reclaim",
    "order": "stream order",
    "places": "resident places",
    "path": "launch path",
    "arrivals": "arrivals",
    "nothing_left": "nothing left",
}
#: A cycle that no replay reaches.
_LATER: Final = 1 << 54


@dataclass(frozen=True, kw_only=True, eq=False)
class Limits:
    """Stretches of cycles in which one limit holds for one launch, in order, without a gap.

    Attributes
    ----------
    start : array of int64
        First cycle of each stretch; the first one begins in cycle 0.
    limit : array of int64
        Number of its limit in `LIMITS`.
    launch : array of int64
        Row of the launch that is next, whose block could not be placed, or was; `NEVER` if no
        launch has a block left.
    blocker : array of int64
        Row of the launch that it waits for: under ``order`` the one before it in its stream, under
        ``places`` the one whose place it gets, else itself.
    cycles : int
        Cycles of the run.
    """

    start: Integers
    limit: Integers
    launch: Integers
    blocker: Integers
    cycles: int

    @property
    def length(self) -> Integers:
        """Cycles of each stretch."""
        return np.diff(self.start, append=self.cycles)

    def by_limit(self) -> dict[str, int]:
        """Return for how many cycles each limit holds; their sum is `cycles`."""
        held = np.bincount(self.limit, self.length, len(LIMITS)).astype(int)
        return dict(zip(LIMITS, held.tolist(), strict=True))

    def shares(self) -> dict[str, float]:
        """Return for which part of the run each limit holds."""
        return {name: held / self.cycles for name, held in self.by_limit().items()}


@dataclass(frozen=True)
class _Waits:
    """When a launch that had blocks was the next one, and until when what held it.

    Attributes
    ----------
    row : int
        The launch.
    since, head, known : int
        First cycles in which it is the next one, in which it is the head, and in which it is known
        what fits beside the launch of the other place.
    until : tuple of tuple of int
        (limit, first cycle in which it holds no longer, the launch waited for), in the order in
        which the limits are asked.
    """

    row: int
    since: int
    head: int
    known: int
    until: tuple[tuple[int, int, int], ...]


def find_limits(replay: Replay) -> Limits:
    """Return which limit held in each cycle of a replay."""
    # Numba's import takes a while.
    from warploom_sim.analysis import limit_walk as walk

    launches, blocks, config = replay.launches, replay.blocks, replay.config
    decided = blocks.start - timing(config).offer
    waits = _waits(launches, blocks, decided, config)
    stretches = _walked(waits, launches, blocks, decided, config)
    before = [
        (start, limit, wait.row, blocker)
        for wait in waits
        for start, limit, blocker in _before_head(wait)
    ]
    last = int(decided[-1]) + 1 if len(decided) else 0
    before.append((last, walk.NOTHING_LEFT, NEVER, NEVER))
    parts = np.array(before, np.int64).T
    start, limit, launch, blocker = np.concatenate(
        [parts, np.vstack([stretches, stretches[walk.LAUNCH]])], axis=1
    )
    order = np.argsort(start, kind="stable")
    return Limits(
        start=start[order],
        limit=limit[order],
        launch=launch[order],
        blocker=blocker[order],
        cycles=replay.cycles,
    )


def rate_by_time_scale(replay: Replay, limits: Limits) -> float:
    """Return for which part of the run the dispatch rate limits only for the time scale's sake.

    At one block a cycle, blocks that are shorter in cycles than there are places for them never
    fill the SMs. Counted is the time under ``rate`` of launches whose blocks are shorter than that,
    but would not be at their recorded length.
    """
    launches, scale = replay.launches, replay.settings.time_scale
    places = np.minimum(launches.blocks, replay.config.sms * fits(launches, replay.config))
    recorded = launches.length * float(1 / scale)
    made = (launches.length < places) & (recorded >= places)
    counts = (limits.limit == LIMITS.index("rate")) & made[limits.launch]
    return float(limits.length[counts].sum() / limits.cycles)


def fits(launches: Launches, config: Config) -> Integers:
    """Return how many blocks of each launch fit on an empty SM."""
    sizes = np.array(list(capacities(config).values()))
    takes = np.maximum(launches.takes, 1)
    most: Integers = np.where(launches.takes > 0, sizes // takes, _LATER).min(axis=1)
    return most


def _waits(launches: Launches, blocks: Blocks, decided: Integers, config: Config) -> list[_Waits]:
    """Return of each launch that had blocks, in order, how long it waited for what."""
    from warploom_sim.analysis.limit_walk import ARRIVALS, ORDER, PATH, PLACES

    t = timing(config)
    most = fits(launches, config)
    firsts = np.flatnonzero(np.diff(blocks.launch, prepend=NEVER))
    # Of each stream, and of each place: the launch that was there last, and when it was free.
    by_stream: dict[int, tuple[int, int]] = {}
    by_place: list[tuple[int, int]] = [(NEVER, 0), (NEVER, 0)]
    waits = []
    since = 0
    for k, first in enumerate(firsts.tolist()):
        row = int(blocks.launch[first])
        last = int(firsts[k + 1]) - 1 if k + 1 < len(firsts) else len(decided) - 1
        # Free one cycle after its end was loaded, in which its record is valid.
        ended = int(launches.end[row]) - 1 if launches.end[row] != NEVER else _LATER
        stream = int(launches.stream[row])
        before, stream_free = by_stream.get(stream, (NEVER, 0))
        by_place.sort(key=lambda pair: pair[1])
        waited, place_free = by_place[0]
        beside, beside_free = by_place[1]
        given = max(int(launches.resident[row]) - 1 + t.stage, since, stream_free + 1)
        head = min(given + 1, int(decided[first]))
        known = int(launches.resident[row]) - 1 + t.fit_table + 2 * int(most[row])
        known += int(most[beside]) if beside_free > given else 0
        arrival = int(launches.arrival[row])
        until = (
            # Nothing is sent before cycle 1: what arrives then is as good as there in cycle 0.
            (ARRIVALS, arrival if arrival > 1 else 0, row),
            (ORDER, stream_free, before),
            (PLACES, place_free, waited),
            (PATH, head, row),
        )
        waits.append(_Waits(row, since, head, known, until))
        by_stream[stream] = by_place[0] = row, ended
        since = int(decided[last]) + 1
    return waits


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


def _walked(
    waits: list[_Waits], launches: Launches, blocks: Blocks, decided: Integers, config: Config
) -> Integers:
    """Return the stretches from each launch's first cycle as the head to its last decision."""
    from warploom_sim.analysis import limit_walk

    sizes = list(capacities(config).values())
    ends = np.where(blocks.end == NEVER, _LATER, blocks.end)
    rows = np.array([wait.row for wait in waits], np.int64)
    firsts = np.flatnonzero(np.diff(blocks.launch, prepend=NEVER))

    def run(out: Integers) -> int:
        return limit_walk.walk(
            np.array([wait.head for wait in waits], np.int64),
            np.array([wait.known for wait in waits], np.int64),
            rows,
            np.append(firsts, len(decided)).astype(np.int64),
            decided,
            blocks.launch,
            blocks.sm,
            ends,
            np.argsort(ends, kind="stable"),
            launches.takes,
            np.tile(np.array(sizes, np.int64), (config.sms, 1)),
            np.zeros((config.sms + 1, len(sizes) + 1), np.int64),
            out,
        )

    # A stretch ends with a decision, a report or the first cycle after a decision.
    out = np.zeros((3, 4 * len(decided) + 2 * len(waits)), np.int64)
    return out[:, : run(out)]
