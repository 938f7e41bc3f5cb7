"""Event-driven golden model of LaunchPath with the SMs' stand-in: every event with its cycle.

It computes what a replay (``docs/replay/replay.md``) must show from launches, configuration and
seed alone, as exact as the cycle models and some thousand times quicker: time jumps from one event
to the next, and what follows from an event by arithmetic is filled in at the end, in NumPy.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from warploom_golden.oracles.index_reference import (
    last_mask,
    packed_warps,
    threads,
    warps,
    widths,
)
from warploom_golden.oracles.predicted_policies import check_predicted
from warploom_golden.replay.event_constants import PREDICTED_IN, PREDICTED_POLICIES
from warploom_golden.replay.event_state import Integers
from warploom_spec import Config, LaunchDescriptor, WarploomError, layouts

if TYPE_CHECKING:
    from warploom_golden.replay.event_dispatch import EventDispatch
    from warploom_golden.replay.event_filter import Accepted

    #: (ticket, launch number, what was accepted).
    Decisions = Sequence[tuple[int, int, Accepted]]
#: (cycle, place, ticket, launch number).
Resident = tuple[int, int, int, int]
Row = TypeVar("Row")

#: Columns by name, all of one length; uint64, of fields wider than that one row of words an event.
Table = dict[str, NDArray[np.uint64]]


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
            "answers": _columns(answers, ("cycle", "ticket", "code", "argument")),
            "decisions": _decisions(decisions),
            "done": _done(decisions),
            "warps": _warps(decisions, launches, config),
            "words": _words(words, launches, config),
            "offers": _offers(offers, dispatch.words, launches, config),
            "reports": _placed(reports) | {"status": reports[3].view(np.uint64)},
            "ended": _ended(self._new("ended", dispatch.ended)),
            "errors": _columns([], ("cycle", "source", "code", "argument")),
        }

    def take_lean(self) -> dict[str, Table]:
        """Return the tables that sums over blocks need, with the columns that they need."""
        words = self._new("words", self._dispatch.words)
        offers, reports = self._dispatch.take_logs()
        answers = self._new("answers", self._dispatch.front.answers)
        return {
            "answers": _columns(answers, ("cycle", "ticket", "code", "argument")),
            "decisions": _decisions(self._new("decisions", self._dispatch.front.decisions)),
            "words": _columns([row[:3] for row in words], ("cycle", "place", "ticket")),
            "offers": _placed(offers) | {"ticket": offers[3].view(np.uint64)},
            "reports": _placed(reports) | {"status": reports[3].view(np.uint64)},
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


def _columns(rows: Sequence[tuple[int, ...]], names: Sequence[str]) -> Table:
    array = np.array(rows, np.uint64).reshape(len(rows), len(names))
    return {name: array[:, k] for k, name in enumerate(names)}


def _zeros(count: int) -> NDArray[np.uint64]:
    return np.zeros(count, np.uint64)


def _decisions(decisions: "Decisions") -> Table:
    rows = [(a.decision, ticket, a.hit, a.entry) for ticket, _, a in decisions]
    return _columns(rows, ("cycle", "ticket", "hit", "entry"))


def _done(decisions: "Decisions") -> Table:
    rows = [(a.done, a.hit, a.entry) for _, _, a in decisions]
    return _columns(rows, ("cycle", "hit", "entry"))


def _warps(decisions: "Decisions", launches: Sequence[LaunchDescriptor], config: Config) -> Table:
    """Return every packed warp that is written."""
    names = [field.name for field in layouts.packed_warp(config).fields]
    parts: list[Table] = [_columns([], ("cycle", *names))]
    parts[0]["words"] = np.zeros((0, _word_count(config)), np.uint64)
    for _, number, accepted in decisions:
        if accepted.hit:
            continue
        launch = launches[number]
        words, mask = packed_warps(launch.block, config)
        count = len(words)
        nth = np.arange(count, dtype=np.uint64)
        bits = np.uint64(1) << np.arange(config.warp_size, dtype=np.uint64)
        part = {
            "cycle": nth + np.uint64(accepted.first_write),
            "address": nth + np.uint64(launch.index_address),
            "words": _join(words, config),
            "mask": mask.astype(np.uint64) @ bits,
            "first": (nth == 0).astype(np.uint64),
            "last": (nth == count - 1).astype(np.uint64),
        }
        for axis, width in zip("xyz", widths(launch.block), strict=True):
            part[f"width_{axis}"] = np.full(count, width, np.uint64)
        parts.append(part)
    return {name: np.concatenate([part[name] for part in parts]) for name in ("cycle", *names)}


def _word_count(config: Config) -> int:
    return -(-config.warp_size * config.word_bits // 64)


def _join(words: NDArray[np.uint32], config: Config) -> NDArray[np.uint64]:
    """Join the lanes' words of each warp to 64-bit words, lane 0 lowest."""
    size = config.word_bits
    lanes = words.astype("<u8").view(np.uint8).reshape(*words.shape, 8)
    bits = np.unpackbits(lanes, axis=2, bitorder="little")[:, :, :size].reshape(len(words), -1)
    padded = np.zeros((len(words), 64 * _word_count(config)), np.uint8)
    padded[:, : bits.shape[1]] = bits
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def _words(
    words: Sequence[Resident], launches: Sequence[LaunchDescriptor], config: Config
) -> Table:
    """Return the launch words of each place from the cycle on in which they stand there."""
    names = [field.name for field in layouts.launch_words(config).fields]
    rows = []
    for cycle, place, ticket, number in words:
        launch = launches[number]
        values = launch.values(config) | {
            "ticket": ticket,
            "threads": threads(launch.block),
            "warps": warps(launch.block, config.warp_size),
            "last_mask": last_mask(launch.block, config.warp_size),
        }
        for axis, width in zip("xyz", widths(launch.block), strict=True):
            values[f"width_{axis}"] = width
        rows.append((cycle, place, *(values[name] for name in names)))
    return _columns(rows, ("cycle", "place", *names))


def _placed(log: Integers) -> Table:
    return dict(zip(("cycle", "sm", "slot"), log[:3].view(np.uint64), strict=True))


def _offers(
    log: Integers,
    words: Sequence[Resident],
    launches: Sequence[LaunchDescriptor],
    config: Config,
) -> Table:
    """Return offers, in order of decision, of launches that became resident."""
    # Tickets rise in order of hand-over.
    tickets = np.array([ticket for _, _, ticket, _ in words], np.int64)
    seen, nth = np.unique(log[3], return_inverse=True)
    rows = []
    for k in np.searchsorted(tickets, seen).tolist():
        _, place, ticket, number = words[k]
        launch = launches[number]
        count = warps(launch.block, config.warp_size)
        shape = (place, ticket, launch.index_address, count, *widths(launch.block))
        rows.append((*shape, *launch.grid[:2]))
    names = ("place", "ticket", "index_address", "index_warps", "width_x", "width_y", "width_z")
    launched = _columns(rows, (*names, "gx", "gy"))
    table = _placed(log)
    table["task"] = _zeros(len(table["cycle"]))
    for name in names:
        table[name] = launched[name][nth]
    block = log[4].view(np.uint64)
    table["block_number"] = block % (1 << layouts.BLOCK_NUMBER_BITS)
    across, table["bx"] = np.divmod(block, launched["gx"][nth])
    table["bz"], table["by"] = np.divmod(across, launched["gy"][nth])
    return table


def _ended(ended: Sequence[tuple[int, ...]]) -> Table:
    table = _columns(ended, ("cycle", "ticket", "fate", "cycles"))
    # No launch of a replay fails or is drained: none has a code or a next block.
    nothing = ("code", "next_x", "next_y", "next_z")
    return table | {name: _zeros(len(ended)) for name in nothing}
