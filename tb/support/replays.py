"""Whole replays by the event model, as `warploom_sim` hands them out."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from tb.support.whole_replays import block_figures
from warploom_golden.replay import event_model
from warploom_golden.replay.event_constants import NEVER
from warploom_golden.replay.event_model import Piece
from warploom_sim.replay import replay_figures
from warploom_sim.replay.analysis.block_walk import find_waits
from warploom_sim.replay.analysis.running import RunFigures
from warploom_sim.replay.replay_columns import launch_columns
from warploom_sim.replay.replay_events import ReplayEvents
from warploom_sim.replay.replay_result import Replay
from warploom_sim.replay.request import ReplayRequest
from warploom_spec import Config, LaunchDescriptor


def model_replay(
    launches: Sequence[LaunchDescriptor],
    config: Config,
    seed: int,
    arrivals: Sequence[int] | None = None,
    *,
    in_pieces: bool = False,
) -> Replay:
    """Return what the event model makes of launches; kernel k is named ``kernel k``.

    Its events come whole, or in pieces which are made anew each time.
    """
    events = event_model.run(launches, config, seed, arrivals=arrivals)
    source = ReplayEvents(lambda: [Piece(events, NEVER)])
    if in_pieces:
        source = ReplayEvents(lambda: event_model.pieces(launches, config, seed, arrivals=arrivals))
    names = [f"kernel {number}" for number in range(len(launches))]
    settings = ReplayRequest(traces=(Path("made.json"),), time_scale=Fraction(1), seed=seed)
    return Replay(
        launches=launch_columns(
            events, block_figures(source.blocks, len(launches)), launches, names, config, arrivals
        ),
        stalls={name.removeprefix("stall_"): n for name, n in events.stalls.items()},
        cycles=replay_figures.cycles(events),
        config=config,
        settings=settings,
        source=source,
    )


def figures_of(replay: Replay) -> RunFigures:
    """Return a replay's figures, with what blocked the head."""
    waits = find_waits(replay)
    return RunFigures(replay.launches, replay.cycles, replay.config, dict(replay.stalls), waits)
