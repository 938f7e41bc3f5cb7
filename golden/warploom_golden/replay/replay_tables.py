"""Tables of what the event model of a replay noted."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from warploom_golden.preemption.streams import QueuedModel
from warploom_golden.preemption.streams.event_log import FinalRecord, Handed, Lookup, PutBack
from warploom_golden.replay.event_filter import Accepted
from warploom_golden.replay.event_state import Integers
from warploom_golden.replay.event_tables import (
    Resident,
    Table,
    columns,
    decision_table,
    done_table,
    offer_table,
    placed,
    warp_table,
    word_table,
)
from warploom_golden.replay.host_source import AGAIN
from warploom_spec import Config, LaunchDescriptor, queue_packets

Row = TypeVar("Row")
_ANSWER = ("cycle", "ticket", "code", "argument", "count")


class ReplayTables:
    """Makes tables of what a model has noted since they were last taken.

    Parameters
    ----------
    model : QueuedModel
        The model.
    launches : sequence of LaunchDescriptor
        In the order in which they are sent.
    config : Config
        The configuration.
    """

    def __init__(self, model: QueuedModel, launches: Sequence[LaunchDescriptor], config: Config):
        self._model, self._launches, self._config = model, launches, config
        self._taken: dict[str, int] = {}
        # Launch numbers by ticket; of each the hand-overs: cycles and places.
        self._numbers: dict[int, int] = {}
        self._answered = 0
        self._residences: dict[int, tuple[list[int], list[int]]] = {}
        # The ticket in each place's launch words.
        self._standing: dict[int, int] = {}

    def take(self) -> dict[str, Table]:
        """Return a table for each kind of event."""
        launches, config = self._launches, self._config
        tables = self._common()
        found = self._lookups()
        words = self._words()
        offers, reports = self._model.dispatcher.take_logs()
        return tables | {
            "decisions": decision_table(found),
            "done": done_table(found),
            "warps": warp_table(found, launches, config),
            "words": word_table(words, launches, config),
            "offers": self._offers(offers),
            "reports": placed(reports) | {"status": reports[3].view(np.uint64)},
            "errors": columns([], ("cycle", "source", "code", "argument")),
        }

    def take_lean(self) -> dict[str, Table]:
        """Return the tables that sums over blocks need, with the columns that they need."""
        tables = self._common()
        words = [row[:3] for row in self._words()]
        offers, reports = self._model.dispatcher.take_logs()
        return tables | {
            "decisions": decision_table(self._lookups()),
            "words": columns(words, ("cycle", "place", "ticket")),
            "offers": placed(offers) | {"ticket": offers[3].view(np.uint64)},
            "reports": placed(reports) | {"status": reports[3].view(np.uint64)},
        }

    def _common(self) -> dict[str, Table]:
        """Return the tables that have all their columns in either case; note the answers."""
        log = self._model.log
        answers = self._new("answers", log.answers)
        for answer in answers:
            if answer.ticket:
                self._numbers[answer.ticket] = self._answered
            # A launch for which there was no room is sent again.
            self._answered += answer.code not in AGAIN
        return {
            "answers": columns(answers, _ANSWER),
            "ended": self._records(self._new("ended", log.records)),
            "put_back": self._put_back(self._new("put_back", log.put_back)),
            "timeline": columns(self._new("timeline", log.timeline), ("cycle", "stream", "count")),
        }

    def _new(self, kind: str, rows: Sequence[Row]) -> Sequence[Row]:
        """Return what was appended since the last time."""
        first, self._taken[kind] = self._taken.get(kind, 0), len(rows)
        return rows[first:]

    def _launch(self, ticket: int) -> LaunchDescriptor:
        return self._launches[self._numbers[ticket]]

    def _lookups(self) -> list[tuple[int, int, Accepted]]:
        found: Sequence[Lookup] = self._new("lookups", self._model.log.lookups)
        return [(one.ticket, self._numbers[one.ticket], one.accepted) for one in found]

    def _words(self) -> list[Resident]:
        """Return the launches whose words came to stand in a place; note all residences."""
        found = []
        handed: Sequence[Handed] = self._new("handed", self._model.log.handed)
        for one in handed:
            cycles, places = self._residences.setdefault(one.ticket, ([], []))
            cycles.append(one.cycle)
            places.append(one.place)
            if self._standing.get(one.place) != one.ticket:
                self._standing[one.place] = one.ticket
                found.append((one.cycle + 1, one.place, one.ticket, self._numbers[one.ticket]))
        return found

    def _offers(self, log: Integers) -> Table:
        """Return offers, in order of decision."""
        places: NDArray[np.int64] = np.zeros(log.shape[1], np.int64)
        launched = {}
        for ticket in np.unique(log[3]).tolist():
            launched[ticket] = self._launch(ticket)
            cycles, held = self._residences[ticket]
            own = log[3] == ticket
            # The last hand-over before the offer.
            nth = np.searchsorted(np.array(cycles), log[0, own], side="left") - 1
            places[own] = np.array(held)[nth]
        return offer_table(log, places, launched, self._config)

    def _records(self, records: Sequence[FinalRecord]) -> Table:
        names = [field.name for field in queue_packets.final_record(self._config).fields[1:]]
        rows = [tuple(int(getattr(one, name)) for name in ("cycle", *names)) for one in records]
        return columns(rows, ("cycle", *names))

    def _put_back(self, rows: Sequence[PutBack]) -> Table:
        found = []
        for row in rows:
            x, y, _ = self._launch(row.ticket).grid
            rest, next_x = divmod(row.next_block, x)
            next_z, next_y = divmod(rest, y)
            found.append((row.cycle, row.ticket, int(row.fate), next_x, next_y, next_z))
        return columns(found, ("cycle", "ticket", "fate", "next_x", "next_y", "next_z"))
