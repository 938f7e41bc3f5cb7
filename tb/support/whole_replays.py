"""Figures of a replay from all its blocks at once, for tests of those that come in pieces."""

from dataclasses import dataclass

import numpy as np

from warploom_sim.replay.analysis.limits import LIMITS, Gone, LimitFinder, shortened_by_scale
from warploom_sim.replay.replay_result import Replay
from warploom_sim.replay.replay_rows import NEVER, Blocks, Integers
from warploom_spec import timing


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
        Row of the launch that it waits for: under ``order`` the one before it in its stream, else
        itself.
    cycles : int
        Cycles of the run.
    lacked : array of int64
        As `limits.Waits` has it.
    """

    start: Integers
    limit: Integers
    launch: Integers
    blocker: Integers
    cycles: int
    lacked: Integers

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


def find_limits(replay: Replay) -> Limits:
    """Return which limit held in each cycle of a replay."""
    launches, blocks, config = replay.launches, replay.blocks, replay.config
    decided = blocks.start - timing(config).resident_offer
    ran = np.flatnonzero(blocks.end != NEVER)
    by_end = ran[np.argsort(blocks.end[ran], kind="stable")]
    finder = LimitFinder(launches, config)
    tables = replay.events.tables
    tickets, starts = tables["answers"]["ticket"].tolist(), tables["starts"]
    rows = [tickets.index(ticket) for ticket in starts["ticket"].tolist()]
    finder.note_starts(np.array(rows, np.int64), starts["cycle"].astype(np.int64))
    gone = Gone(blocks.end[by_end], blocks.sm[by_end], blocks.launch[by_end])
    found = finder.stretches(blocks.launch, decided, blocks.sm, gone)
    left = np.array([[finder.cycle], [LIMITS.index("nothing_left")], [NEVER], [NEVER]], np.int64)
    start, limit, launch, blocker = np.concatenate([found, left], axis=1)
    return Limits(
        start=start,
        limit=limit,
        launch=launch,
        blocker=blocker,
        cycles=replay.cycles,
        lacked=finder.lacked,
    )


def rate_by_time_scale(replay: Replay, limits: Limits) -> float:
    """Return for which part of the run the dispatch rate limits only for the time scale's sake.

    At one block a cycle, blocks that are shorter in cycles than there are places for them never
    fill the SMs. Counted is the time under ``rate`` of launches whose blocks are shorter than that,
    but would not be at their recorded length.
    """
    made = shortened_by_scale(replay.launches, replay.config, replay.settings.time_scale)
    counts = (limits.limit == LIMITS.index("rate")) & made[limits.launch]
    return float(limits.length[counts].sum() / limits.cycles)


def block_figures(blocks: Blocks, count: int) -> dict[str, Integers]:
    """Return of each launch how many blocks it had, and when they started and ended."""
    number = np.bincount(blocks.launch, minlength=count).astype(np.int64)
    first, last_offer, last = (np.full(count, NEVER, np.int64) for _ in range(3))
    some = number > 0
    stop = np.cumsum(number)[some]
    start = stop - number[some]
    starts = blocks.start[np.lexsort((blocks.start, blocks.launch))]
    ends = blocks.end[np.lexsort((blocks.end, blocks.launch))]
    first[some], last_offer[some] = starts[start], starts[stop - 1]
    last[some] = ends[stop - 1]
    after = np.maximum(blocks.end - last_offer[blocks.launch], 0)
    held = np.zeros(count, np.int64)
    np.add.at(held, blocks.launch, after)
    spans = np.zeros(count, np.int64)
    np.add.at(spans, blocks.launch, blocks.end - blocks.start)
    return {
        "blocks": number,
        "first_offer": first,
        "last_offer": last_offer,
        "last_report": last,
        "held": spans,
        "held_after": held,
    }
