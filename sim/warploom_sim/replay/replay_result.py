"""What a replay gave, as NumPy arrays: a row for each launch, a row for each block."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from warploom_golden.replay.event_model import Events
from warploom_sim.replay.expected import nobody_killed
from warploom_sim.replay.recorded_times import recorded_times
from warploom_sim.replay.replay_events import ReplayEvents
from warploom_sim.replay.replay_rows import Blocks, Launches
from warploom_sim.replay.request import ReplayRequest
from warploom_spec import RESOURCES, Config, Fate, capacities


@dataclass(frozen=True, kw_only=True, eq=False)
class Replay:
    """One replay.

    Attributes
    ----------
    launches : Launches
        A row for each launch.
    stalls : dict of str to int
        Cycles in which no block was decided, by each of `warploom_spec.STALL_CAUSES`.
    cycles : int
        From cycle 0 to the last answer or final record, that one included.
    config : Config
        The configuration.
    settings : ReplayRequest
        Trace, time scale, seed and all other options.
    source : ReplayEvents
        Gives the events in pieces, as often as they are asked for.
    event_waits_kept, event_waits_ignored : int
        Waits of streams for events that the replay keeps, and those that the trace holds and the
        replay does not keep.
    """

    launches: Launches
    stalls: Mapping[str, int]
    cycles: int
    config: Config
    settings: ReplayRequest
    source: ReplayEvents
    event_waits_kept: int = 0
    event_waits_ignored: int = 0

    @property
    def blocks(self) -> Blocks:
        """A row for each block: 64 bytes of memory each."""
        return self.source.blocks

    def block_pieces(self) -> Iterator[Blocks]:
        """Yield every block once, in pieces, so that no more than one piece is held.

        A block is in the piece in which it ended; the rows of a piece are in order of their offer.
        """
        return self.source.block_pieces()

    @property
    def events(self) -> Events:
        """Every event as the replay's page lists them."""
        return self.source.events

    @property
    def blocks_per_cycle(self) -> float:
        """Blocks offered a cycle, on average."""
        return int(self.launches.blocks.sum()) / self.cycles

    @property
    def killed_nobody(self) -> str:
        """Why ``kill_every`` killed no launch, in a sentence; empty if one was, or none should."""
        killed = int(np.isin(self.launches.fate, (Fate.KILLED, Fate.ABORTED)).sum())
        return nobody_killed(self.settings.kill_every, len(self.launches), killed)

    @property
    def recorded(self) -> dict[str, Any]:
        """How long the finished launches took in the recording and here, and the error."""
        return recorded_times(self.launches)

    @property
    def occupancy(self) -> dict[str, float]:
        """Part of each resource of all SMs that blocks held, on average over `cycles`."""
        return occupancy(self.launches, self.cycles, self.config)

    def to_pandas(self) -> tuple[Any, Any]:
        """Return launches and blocks as two frames.

        Raises
        ------
        WarploomError
            If pandas is not installed.
        """
        return self.launches.to_pandas(), self.blocks.to_pandas()


def occupancy(launches: Launches, cycles: int, config: Config) -> dict[str, float]:
    """Return the part of each resource of all SMs that blocks held, on average over a run."""
    taken = launches.held.astype(float) @ launches.takes
    sizes = np.array(list(capacities(config).values()))
    shares = taken / (cycles * config.sms * sizes)
    return dict(zip(RESOURCES, shares.tolist(), strict=True))
