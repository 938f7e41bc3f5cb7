"""A walk through a replay's blocks, in pieces: sums by launch, and what blocked the head."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from warploom_golden.replay.event_model import Events
from warploom_golden.replay.records import Integers
from warploom_sim.replay.analysis.limits import LIMITS, Gone, LimitFinder, Waits
from warploom_sim.replay.analysis.over_time import RunningBins
from warploom_sim.replay.replay_result import Replay
from warploom_sim.replay.replay_rows import NEVER, Launches
from warploom_spec import Config, timing

_NOTHING_LEFT: Final = LIMITS.index("nothing_left")


class BlockWalk:
    """Sums over blocks whose events come in pieces.

    Parameters
    ----------
    launches : Launches
        As `LimitFinder` reads them.
    config : Config
        Of the hardware.
    limits : bool
        Whether to find what blocked the head.
    bins : RunningBins or None
        Gets the blocks and what blocked the head.
    """

    def __init__(
        self,
        launches: Launches,
        config: Config,
        *,
        limits: bool = True,
        bins: RunningBins | None = None,
    ):
        from warploom_sim.replay.analysis import block_sums

        count = len(launches)
        self._config, self._bins = config, bins
        self._sums = np.zeros((count, block_sums.SUMS), np.int64)
        self._sums[:, [block_sums.FIRST, block_sums.LAST_OFFER, block_sums.LAST]] = NEVER
        self._slots = np.zeros((config.sms * config.block_slots, 2), np.int64)
        self._finder = LimitFinder(launches, config) if limits else None
        self._waited = np.zeros((len(LIMITS), count + 1), np.int64)
        self._answered = 0
        self._row_of = np.full(count + 1, NEVER, np.int64)

    def answer(self, events: Events) -> Integers:
        """Note the answers, of all launches in the order of their rows; return these rows."""
        given = events.tables["answers"]["ticket"].astype(np.int64)
        rows = self._answered + np.arange(len(given))
        self._row_of[given[given > 0]] = rows[given > 0]
        self._answered += len(given)
        return rows

    def rows_of(self, tickets: NDArray[np.uint64]) -> Integers:
        """Return the rows of launches that were answered, by their tickets."""
        rows: Integers = self._row_of[tickets.astype(np.int64)]
        return rows

    def add(self, events: Events) -> None:
        """Take the next starts, offers and reports; their launches were answered."""
        from warploom_sim.replay.analysis import block_sums

        offers, reports = (
            {name: events.tables[kind][name].astype(np.int64) for name in names}
            for kind, names in (
                ("offers", ("cycle", "ticket", "sm", "slot")),
                ("reports", ("cycle", "sm", "slot")),
            )
        )
        slots = self._config.block_slots
        rows = self._row_of[offers["ticket"]]
        gone = Gone(reports["cycle"], reports["sm"], np.zeros(len(reports["cycle"]), np.int64))
        since = np.zeros(len(reports["cycle"]), np.int64)
        block_sums.add(
            self._sums,
            self._slots,
            offers["cycle"],
            rows,
            offers["sm"] * slots + offers["slot"],
            reports["cycle"],
            reports["sm"] * slots + reports["slot"],
            gone.launch,
            since,
        )
        if self._bins:
            self._bins.add_blocks(offers["cycle"], since, gone)
        if self._finder is not None:
            starts = events.tables["starts"]
            self._finder.note_starts(
                self.rows_of(starts["ticket"]), starts["cycle"].astype(np.int64)
            )
            decided = offers["cycle"] - timing(self._config).resident_offer
            found = self._finder.stretches(rows, decided, offers["sm"], gone)
            self._note(found, self._finder.cycle)

    def _note(self, found: Integers, end: int) -> None:
        """Note what blocked the head, in stretches that follow each other up to a cycle."""
        np.add.at(self._waited, (found[1], found[3]), np.diff(found[0], append=end))
        if self._bins:
            self._bins.add_stretches(found[0], found[1], found[3], end)

    def waits(self, cycles: int) -> Waits | None:
        """Return what blocked the head in a run of so many cycles; None if that was not looked for.

        From the last block on nothing is left to place.
        """
        if self._finder is None:
            return None
        left = [[self._finder.cycle], [_NOTHING_LEFT], [NEVER], [NEVER]]
        self._note(np.array(left, np.int64), cycles)
        return Waits(self._waited, self._finder.lacked)

    def figures(self) -> dict[str, Integers]:
        """Return the figures of each launch's blocks, as columns of `Launches`."""
        from warploom_sim.replay.analysis import block_sums

        columns = {
            "blocks": block_sums.OFFERED,
            "first_offer": block_sums.FIRST,
            "last_offer": block_sums.LAST_OFFER,
            "last_report": block_sums.LAST,
            "held": block_sums.HELD,
            "held_after": block_sums.HELD_AFTER,
        }
        return {name: self._sums[:, k] for name, k in columns.items()}


def find_waits(replay: Replay, bins: RunningBins | None = None) -> Waits:
    """Return what blocked the head in each cycle of a replay, from one pass over its events.

    Parameters
    ----------
    replay : Replay
        The replay.
    bins : RunningBins or None
        Gets the same over time.
    """
    walk = BlockWalk(replay.launches, replay.config, bins=bins)
    for piece in replay.source.pieces():
        walk.answer(piece.events)
        walk.add(piece.events)
    waits = walk.waits(replay.cycles)
    assert waits is not None
    return waits
