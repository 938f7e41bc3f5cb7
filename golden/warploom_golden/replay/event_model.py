"""Event-driven golden model of a replay: every event of the hardware and its SMs, with its cycle.

It computes what a replay (``docs/replay/replay.md``) must show from launches, configuration and
seed alone, as exact as the cycle models and some thousand times quicker: time jumps from one event
to the next, and what follows from an event by arithmetic is filled in at the end, in NumPy.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from warploom_golden.oracles.predicted_policies import check_predicted
from warploom_golden.replay.event_constants import NEVER, PREDICTED_IN, PREDICTED_POLICIES
from warploom_golden.replay.event_tables import Table
from warploom_golden.replay.host_source import HostCycles, HostSource
from warploom_golden.replay.waits import Waits
from warploom_spec import Config, LaunchDescriptor, WarploomError

#: Offers, or reports, of which a piece is made.
PIECE: Final = 1 << 17


@dataclass(frozen=True)
class Events:
    """Everything that a replay compares.

    Attributes
    ----------
    tables : dict of str to Table
        ``answers``, ``decisions``, ``done``, ``warps``, ``starts``, ``words``, ``offers``,
        ``reports``, ``record_words``, ``ended``, ``killed``, ``timeline`` and ``errors``, each with
        a column ``cycle`` and in order of it. The other columns are the fields of the port's
        packet, and what ``docs/replay/replay.md`` adds. The column ``ticket`` of ``decisions`` and
        of ``starts`` is the model's own: no port has it.
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
    waits: Waits | None = None,
    host: HostCycles | None = None,
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
    waits : Waits or None
        What launches wait for; None: nothing.
    host : HostCycles or None
        When a host sends launches and pops records; None: a source does, as soon as it may.
    lean : bool
        Leave out what no sum over blocks needs: ``done``, ``warps``, ``words`` and ``errors``, and
        of ``offers`` all columns but ``cycle``, ``sm``, ``slot`` and ``ticket``.

    Raises
    ------
    WarploomError
        If `check` refuses the configuration.
    RuntimeError
        If nothing can happen any more although a source's launches wait.
    """
    check(config, kill_every)

    # Numba's import takes a while: whoever reads events alone goes without.
    from warploom_golden.replay.residents.path import ResidentPath
    from warploom_golden.replay.residents.source import ReplaySource
    from warploom_golden.replay.residents.tables import ReplayTables

    model = ResidentPath(
        config,
        seed=seed,
        knee=knee,
        drained=PIECE,
        kill_every=kill_every,
        # FrontEnd resets all but its bus port a cycle late.
        late=0 if host is None else 1,
    )
    source: ReplaySource | HostSource
    if host is None:
        source = ReplaySource(launches, model, waits, arrivals)
    else:
        source = HostSource(launches, waits.pairs if waits else [()] * len(launches), host)
    tables = ReplayTables(model, launches, config)

    def piece(until: int) -> Piece:
        stalls = {
            f"stall_{cause}": n for cause, n in ({"order": 0} | model.dispatcher.stalls).items()
        }
        return Piece(Events(tables.take_lean() if lean else tables.take(), stalls), until)

    for until in model.pieces(source):
        yield piece(until)
    if isinstance(source, ReplaySource):
        source.check_sent()
    yield piece(NEVER)


def run(
    launches: Sequence[LaunchDescriptor],
    config: Config,
    seed: int,
    kill_every: int | None = None,
    knee: int | None = None,
    arrivals: Sequence[int] | None = None,
    waits: Waits | None = None,
    host: HostCycles | None = None,
) -> Events:
    """Replay launches; return all events at once. Parameters and errors are those of `pieces`."""
    given = pieces(launches, config, seed, kill_every, knee, arrivals, waits, host)
    return joined([piece.events for piece in given])


def joined(parts: Sequence[Events]) -> Events:
    """Return events that came in pieces as one; the stall counters are the last piece's."""
    tables = {
        kind: {name: np.concatenate([part.tables[kind][name] for part in parts]) for name in table}
        for kind, table in parts[0].tables.items()
    }
    return Events(tables, parts[-1].stalls)


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


def check_policy(config: Config) -> None:
    """Refuse a placement policy that the model does not know.

    Raises
    ------
    WarploomError
        If the policy is not predicted.
    """
    check_predicted(config.policy, PREDICTED_POLICIES, PREDICTED_IN)
