"""A replay's figures from events that come in pieces: sums by launch, and what limits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from warploom_golden.replay.event_model import Events, Piece, joined
from warploom_sim.replay.analysis.block_walk import BlockWalk
from warploom_sim.replay.analysis.limits import Waits
from warploom_sim.replay.recorded_times import Recording
from warploom_sim.replay.replay_columns import (
    launch_columns,
    no_figures,
    residence_ends,
    transfers,
)
from warploom_sim.replay.replay_figures import cycles
from warploom_sim.replay.replay_result import occupancy
from warploom_sim.replay.replay_rows import Launches
from warploom_spec import STALL_CAUSES, Config, LaunchDescriptor

#: Kinds of events of which there are a few for each launch: they are kept.
KEPT: Final = ("answers", "decisions", "starts", "ended")


class RunningFigures:
    """The figures of a replay, of whose blocks none is kept.

    Parameters
    ----------
    launches : sequence of LaunchDescriptor
        What is sent.
    names : sequence of str
        The kernels' names, of at least as many launches.
    config : Config
        The configuration.
    arrivals : sequence of int or None
        First cycle in which each launch may be sent; None: any.
    recording : Recording or None
        When the launches ran on the recorded GPU; None: that is not known.
    awaited : sequence of tuple of int or None
        By launch: those that it waits for; None: none waits.
    limits : bool
        Whether to find what blocked the head, which takes as long as all else.
    """

    def __init__(
        self,
        launches: Sequence[LaunchDescriptor],
        names: Sequence[str],
        config: Config,
        arrivals: Sequence[int] | None,
        recording: Recording | None = None,
        *,
        awaited: Sequence[tuple[int, ...]] | None = None,
        limits: bool = True,
    ):
        self._given = launches, names, config, arrivals, recording, awaited
        self._config = config
        self._events: list[Events] = []
        # A first look at the launches, in which what happens to them is filled in as it comes.
        self._live = launch_columns(None, no_figures(len(launches)), *self._given)
        self._walk = BlockWalk(self._live, config, limits=limits)

    def add(self, piece: Piece) -> None:
        """Take the next events."""
        tables = piece.events.tables
        small = {kind: tables[kind] for kind in KEPT}
        self._events.append(Events(small, piece.events.stalls))
        self._note_launches(piece.events)
        self._walk.add(piece.events)

    def _note_launches(self, events: Events) -> None:
        """Note what happened to launches."""
        rows = self._walk.answer(events)
        if self._given[3] is None:
            self._live.arrival[rows] = transfers(events.tables["answers"], self._config)
        ended = events.tables["ended"]
        rows = self._walk.rows_of(ended["ticket"])
        self._live.end[rows] = ended["cycle"]
        self._live.left[rows] = residence_ends(ended, self._config)

    def finish(self) -> "RunFigures":
        """Return the figures of the whole run."""
        events = joined(self._events)
        launches = launch_columns(events, self._walk.figures(), *self._given)
        total = cycles(events)
        waits = self._walk.waits(total)
        stalls = {cause: events.stalls[f"stall_{cause}"] for cause in STALL_CAUSES}
        return RunFigures(launches, total, self._config, stalls, waits)


@dataclass(frozen=True, eq=False)
class RunFigures:
    """The figures of a replay whose blocks were not kept.

    Attributes
    ----------
    launches : Launches
        A row for each launch.
    cycles : int
        Of the run.
    config : Config
        The configuration.
    stalls : dict of str to int
        Stalled cycles by cause.
    waits : Waits or None
        What blocked the head; None if that was not looked for.
    """

    launches: Launches
    cycles: int
    config: Config
    stalls: dict[str, int]
    waits: Waits | None

    @property
    def occupancy(self) -> dict[str, float]:
        """Part of each resource of all SMs that blocks held, on average over `cycles`."""
        return occupancy(self.launches, self.cycles, self.config)
