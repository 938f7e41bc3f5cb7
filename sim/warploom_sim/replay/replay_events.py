"""A replay's events, in pieces that are kept or made again, and the blocks of them."""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

import numpy as np

from warploom_golden.replay.event_model import Events, Piece, joined
from warploom_golden.replay.event_tables import Table
from warploom_sim.replay.replay_columns import OFFER_COLUMNS, block_columns
from warploom_sim.replay.replay_rows import NEVER, Blocks


class ReplayEvents:
    """The events of a replay.

    Parameters
    ----------
    pieces : callable
        Returns the events in pieces, the same ones each time. No more than one piece is held.
    """

    def __init__(self, pieces: Callable[[], Iterable[Piece]]):
        self.pieces = pieces

    @cached_property
    def events(self) -> Events:
        """All events."""
        return joined([piece.events for piece in self.pieces()])

    @cached_property
    def blocks(self) -> Blocks:
        """A row for each block, in order of its offer."""
        parts = [vars(part) for part in self.block_pieces()]
        columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        whole = Blocks(**columns)
        # One block is offered a cycle.
        return whole.rows(np.argsort(whole.start))

    def block_pieces(self) -> Iterator[Blocks]:
        """Yield every block once: in the piece in which it ended, without a report in the last."""
        joiner = BlockJoiner()
        for piece in self.pieces():
            yield joiner.add(piece.events)
        if len(joiner.rest):
            yield joiner.rest


class BlockJoiner:
    """Joins offers and reports that come in pieces.

    Attributes
    ----------
    rest : Blocks
        Blocks that were offered and not reported so far.
    """

    def __init__(self) -> None:
        none = np.zeros(0, np.uint64)
        self._tickets = none
        self._open: Table = dict.fromkeys(OFFER_COLUMNS, none)
        self.rest = self._blocks({"cycle": none, "sm": none, "slot": none})

    def add(self, events: Events) -> Blocks:
        """Take the next events; return the blocks that ended, in order of their offer."""
        answers, offers, reports = (events.tables[k] for k in ("answers", "offers", "reports"))
        self._tickets = np.concatenate([self._tickets, answers["ticket"]])
        self._open = {
            name: np.concatenate([column, offers[name]]) for name, column in self._open.items()
        }
        blocks = self._blocks(reports)
        ended = blocks.end != NEVER
        self._open = {name: column[~ended] for name, column in self._open.items()}
        self.rest = blocks.rows(~ended)
        return blocks.rows(ended)

    def _blocks(self, reports: Table) -> Blocks:
        answers = {"ticket": self._tickets}
        return block_columns(
            Events({"answers": answers, "offers": self._open, "reports": reports}, {})
        )
