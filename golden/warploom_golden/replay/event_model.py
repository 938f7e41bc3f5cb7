"""Event-driven golden model of LaunchPath with the SMs' stand-in: every event with its cycle.

It computes what a replay (``docs/replay/replay.md``) must show from launches, configuration and
seed alone, as exact as the cycle models and some thousand times quicker: time jumps from one event
to the next, and what follows from an event by arithmetic is filled in at the end, in NumPy.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from warploom_golden.oracles.predicted_policies import check_predicted
from warploom_golden.replay.event_constants import PREDICTED_IN, PREDICTED_POLICIES
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
    zeros,
)
from warploom_spec import Config, LaunchDescriptor, WarploomError

if TYPE_CHECKING:
    from warploom_golden.replay.event_dispatch import EventDispatch
Row = TypeVar("Row")


@dataclass(frozen=True)
class Events:
    """Everything that a replay compares.

    Attributes
    ----------
    tables : dict of str to Table
        ``answers``, ``decisions``, ``done``, ``warps``, ``words``, ``offers``, ``reports``,
        ``ended`` and ``errors``, each with a column ``cycle`` and in order of it. The other columns
        are the fields of the port's packet, and what ``docs/replay/replay.md`` adds.
    stalls : dict of str to int
        The dispatcher's stall counters at the end, by port name.
    """

    tables: dict[str, Table]
    stalls: dict[str, int]


@dataclass(frozen=True)
class Piece:
    """Events that follow each other.

    Attributes
    ----------
    events : Events
        What came since the piece before; the stall counters as they stand.
    until : int
        All events before this cycle are in this piece or in one before.
    """

    events: Events
    until: int


def pieces(
    launches: Sequence[LaunchDescriptor],
    config: Config,
    seed: int,
    kill_every: int | None = None,
    knee: int | None = None,
    arrivals: Sequence[int] | None = None,
    transfers: Sequence[int] | None = None,
    *,
    lean: bool = False,
) -> Iterator[Piece]:
    """Replay launches; yield the events in pieces, so that no more than one is held.

    What is yielded is in order, each kind for itself; the last piece ends with `NEVER`.

    Parameters
    ----------
    launches : sequence of LaunchDescriptor
        ``arguments`` is the base length of the blocks, ``code`` the number that seeds their jitter,
        ``address_space`` the recorded load, in warps of an SM.
    config : Config
        The configuration.
    seed : int
        Seed of the block lengths, and of the blocks after which launches are killed.
    kill_every : int or None
        Launches ``kill_every``, twice as much and so on are killed; None: no one.
    knee : int or None
        With contention: warps that an SM runs at full speed, at least 1. None: blocks take as long
        on a full SM as alone.
    arrivals : sequence of int or None
        Of each launch the first cycle in which it may be sent, in rising order; None: any cycle.
    transfers : sequence of int or None
        Cycles in which a host's launches transfer, in rising order; a launch that is refused with
        `ErrorCode.QUEUE_FULL` or `COMPLETION_FULL` is the next one, too. None: a launch transfers
        as soon as there is room.
    lean : bool
        Leave out what no sum over blocks needs: ``done``, ``warps`` and ``errors``, of ``words``
        all columns but ``cycle``, ``place`` and ``ticket``, and of ``offers`` all but ``cycle``,
        ``sm``, ``slot`` and ``ticket``.

    Raises
    ------
    WarploomError
        If launches of one replay differ in priority, which the model does not cover, or `check`
        refuses the configuration.
    """
    check(config, kill_every)
    check_launches(launches)

    # Numba's import takes a while: whoever reads events alone goes without.
    from warploom_golden.replay.event_dispatch import EventDispatch

    dispatch = EventDispatch(launches, config, seed, kill_every, knee, arrivals, transfers)
    tables = _Tables(dispatch, launches, config)
    for until in dispatch.run():
        stalls = {f"stall_{cause}": n for cause, n in dispatch.stalls.items()}
        yield Piece(Events(tables.take_lean() if lean else tables.take(), stalls), until)


def run(
    launches: Sequence[LaunchDescriptor],
    config: Config,
    seed: int,
    kill_every: int | None = None,
    knee: int | None = None,
    arrivals: Sequence[int] | None = None,
    transfers: Sequence[int] | None = None,
) -> Events:
    """Replay launches; return all events at once. Parameters and errors are those of `pieces`."""
    given = pieces(launches, config, seed, kill_every, knee, arrivals, transfers)
    return joined([piece.events for piece in given])


def joined(parts: Sequence[Events]) -> Events:
    """Return events that came in pieces as one; the stall counters are the last piece's."""
    tables = {
        kind: {name: np.concatenate([part.tables[kind][name] for part in parts]) for name in table}
        for kind, table in parts[0].tables.items()
    }
    return Events(tables, parts[-1].stalls)


class _Tables:
    """Makes tables of what a dispatch has noted since they were last taken."""

    def __init__(
        self, dispatch: "EventDispatch", launches: Sequence[LaunchDescriptor], config: Config
    ):
        self._dispatch, self._launches, self._config = dispatch, launches, config
        self._taken = {"answers": 0, "decisions": 0, "words": 0, "ended": 0}

    def take(self) -> dict[str, Table]:
        """Return a table for each kind of event."""
        dispatch, launches, config = self._dispatch, self._launches, self._config
        decisions = self._new("decisions", dispatch.front.decisions)
        words = self._new("words", dispatch.words)
        offers, reports = dispatch.take_logs()
        answers = self._new("answers", dispatch.front.answers)
        return {
            "answers": columns(answers, ("cycle", "ticket", "code", "argument")),
            "decisions": decision_table(decisions),
            "done": done_table(decisions),
            "warps": warp_table(decisions, launches, config),
            "words": word_table(words, launches, config),
            "offers": _offers(offers, dispatch.words, launches, config),
            "reports": placed(reports) | {"status": reports[3].view(np.uint64)},
            "ended": _ended(self._new("ended", dispatch.ended)),
            "errors": columns([], ("cycle", "source", "code", "argument")),
        }

    def take_lean(self) -> dict[str, Table]:
        """Return the tables that sums over blocks need, with the columns that they need."""
        words = self._new("words", self._dispatch.words)
        offers, reports = self._dispatch.take_logs()
        answers = self._new("answers", self._dispatch.front.answers)
        return {
            "answers": columns(answers, ("cycle", "ticket", "code", "argument")),
            "decisions": decision_table(self._new("decisions", self._dispatch.front.decisions)),
            "words": columns([row[:3] for row in words], ("cycle", "place", "ticket")),
            "offers": placed(offers) | {"ticket": offers[3].view(np.uint64)},
            "reports": placed(reports) | {"status": reports[3].view(np.uint64)},
            "ended": _ended(self._new("ended", self._dispatch.ended)),
        }

    def _new(self, kind: str, rows: Sequence[Row]) -> Sequence[Row]:
        """Return what was appended since the last time."""
        first, self._taken[kind] = self._taken[kind], len(rows)
        return rows[first:]


def check(config: Config, kill_every: int | None = None) -> None:
    """Refuse a configuration that the model does not cover.

    Raises
    ------
    WarploomError
        If the placement policy is not predicted; if nothing makes indices, whose events a replay
        compares; or if launches are to be killed on SMs that cannot kill.
    """
    check_policy(config)
    if not config.makes_indices:
        raise WarploomError("index_memory_warps is 0; legal in a replay: 2 to 65536")
    if kill_every is not None and not config.sm_kill:
        raise WarploomError(f"kill_every is {kill_every}; legal with sm_kill = False: none")


def check_launches(launches: Sequence[LaunchDescriptor]) -> None:
    """Refuse launches that the model does not cover.

    Raises
    ------
    WarploomError
        If they differ in priority.
    """
    if len({launch.priority for launch in launches}) > 1:
        raise WarploomError("priority differs between launches; legal: one value for all")


def check_policy(config: Config) -> None:
    """Refuse a placement policy that the model does not know.

    Raises
    ------
    WarploomError
        If the policy is not predicted.
    """
    check_predicted(config.policy, PREDICTED_POLICIES, PREDICTED_IN)


def _offers(
    log: Integers, words: Sequence[Resident], launches: Sequence[LaunchDescriptor], config: Config
) -> Table:
    """Return offers, in order of decision, of launches that became resident."""
    # Tickets rise in order of hand-over.
    tickets = np.array([ticket for _, _, ticket, _ in words], np.int64)
    places = np.array([place for _, place, _, _ in words], np.int64)
    rows = np.searchsorted(tickets, log[3])
    launched = {ticket: launches[number] for _, _, ticket, number in words}
    return offer_table(log, places[rows], launched, config)


def _ended(ended: Sequence[tuple[int, ...]]) -> Table:
    table = columns(ended, ("cycle", "ticket", "fate", "cycles"))
    # No launch of a replay fails or is drained: none has a code or a next block.
    nothing = ("code", "next_x", "next_y", "next_z")
    return table | {name: zeros(len(ended)) for name in nothing}
