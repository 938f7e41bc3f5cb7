"""Tables of what the launch path with residents noted."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from warploom_golden.replay.event_filter import Accepted
from warploom_golden.replay.event_tables import (
    Table,
    columns,
    decision_table,
    done_table,
    placed,
    warp_table,
)
from warploom_golden.replay.machine import block_needs
from warploom_golden.replay.records import Integers
from warploom_golden.replay.residents.block_tables import BlockTables
from warploom_golden.replay.residents.launches import Lookup, Start
from warploom_golden.replay.residents.path import ResidentPath
from warploom_spec import (
    RESOURCES,
    Config,
    LaunchDescriptor,
    queue_packets,
    resident_packets,
)
from warploom_spec.queue import Mode

Row = TypeVar("Row")
_ANSWER = ("cycle", "ticket", "code", "argument", "count")


class ReplayTables:
    """Makes tables of what a model has noted since they were last taken.

    Parameters
    ----------
    path : ResidentPath
        The model.
    launches : sequence of LaunchDescriptor
        In the order in which they are sent.
    config : Config
        The configuration.
    """

    def __init__(self, path: ResidentPath, launches: Sequence[LaunchDescriptor], config: Config):
        self._path, self._launches, self._config = path, launches, config
        self._taken: dict[str, int] = {}
        # Launch numbers, and entries in the queue, by ticket.
        self._numbers: dict[int, int] = {}
        self._entries: dict[int, int] = {}
        self._blocks = BlockTables(config)
        self._answered = 0

    def take(self) -> dict[str, Table]:
        """Return a table for each kind of event."""
        launches, config = self._launches, self._config
        tables = self._common()
        found = self._lookups()
        offers, reports = self._path.dispatcher.take_logs()
        return tables | {
            "decisions": decision_table(found),
            "done": done_table(found),
            "warps": warp_table(found, launches, config),
            **self._offered(offers),
            "reports": placed(reports) | {"status": reports[3].view(np.uint64)},
            "errors": columns([], ("cycle", "source", "code", "argument")),
        }

    def take_lean(self) -> dict[str, Table]:
        """Return the tables that sums over blocks need, with the columns that they need."""
        tables = self._common()
        offers, reports = self._path.dispatcher.take_logs()
        return tables | {
            "decisions": decision_table(self._lookups()),
            "offers": placed(offers) | {"ticket": offers[3].view(np.uint64)},
            "reports": placed(reports) | {"status": reports[3].view(np.uint64)},
        }

    def _common(self) -> dict[str, Table]:
        """Return the tables that have all their columns in either case; note the answers."""
        log = self._path.log
        answers = self._new("answers", log.answers)
        for answer in answers:
            if answer.ticket:
                self._numbers[answer.ticket] = self._answered
            self._answered += 1
        starts = self._new("starts", log.starts)
        self._entries |= {start.ticket: start.entry for start in starts}
        return {
            "answers": columns(answers, _ANSWER),
            "starts": self._starts(starts),
            "record_words": columns(
                self._new("words", log.words), ("cycle", "last", "word", "data")
            ),
            "ended": self._records(self._new("ended", log.records)),
            "killed": columns(self._new("killed", log.killed), ("cycle", "stream")),
            "timeline": columns(self._new("timeline", log.timeline), ("cycle", "stream", "count")),
        }

    def _new(self, kind: str, rows: Sequence[Row]) -> Sequence[Row]:
        """Return what was appended since the last time."""
        first, self._taken[kind] = self._taken.get(kind, 0), len(rows)
        return rows[first:]

    def _lookups(self) -> list[tuple[int, int, Accepted]]:
        found: Sequence[Lookup] = self._new("lookups", self._path.log.lookups)
        return [(one.ticket, self._numbers[one.ticket], one.accepted) for one in found]

    def _starts(self, starts: Sequence[Start]) -> Table:
        """Return what is at `start`; the ticket is the model's own."""
        names = [field.name for field in resident_packets.resident_start(self._config).fields]
        rows = []
        for start in starts:
            launch = self._launches[self._numbers[start.ticket]]
            needs = dict(zip(RESOURCES, block_needs(launch, self._config), strict=True))
            own = {"entry": start.entry, "wait_mode": launch.mode == Mode.WAIT}
            values = launch.values(self._config) | needs | own
            rows.append((start.cycle, start.ticket, *(int(values[name]) for name in names)))
        return columns(rows, ("cycle", "ticket", *names))

    def _offered(self, log: Integers) -> dict[str, Table]:
        """Return offers, in order of picks, and the launch words that come with them."""
        tickets = np.unique(log[3]).tolist()
        launched = {one: self._launches[self._numbers[one]] for one in tickets}
        return self._blocks.tables(log, launched, self._entries)

    def _records(self, records: Sequence[dict[str, int]]) -> Table:
        names = [field.name for field in queue_packets.final_record(self._config).fields[1:]]
        rows = [tuple(one[name] for name in ("cycle", *names)) for one in records]
        return columns(rows, ("cycle", *names))
