"""Whole replays by the event model, as `warploom_sim` hands them out."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from warploom_golden.replay import event_model
from warploom_sim.replay import replay_figures
from warploom_sim.replay.replay_columns import block_columns, block_figures, launch_columns
from warploom_sim.replay.replay_result import Replay
from warploom_sim.replay.request import ReplayRequest
from warploom_spec import Config, LaunchDescriptor


def model_replay(
    launches: Sequence[LaunchDescriptor],
    config: Config,
    seed: int,
    arrivals: Sequence[int] | None = None,
) -> Replay:
    """Return what the event model makes of launches; kernel k is named ``kernel k``."""
    events = event_model.run(launches, config, seed, arrivals=arrivals)
    blocks = block_columns(events)
    names = [f"kernel {number}" for number in range(len(launches))]
    settings = ReplayRequest(traces=(Path("made.json"),), time_scale=Fraction(1), seed=seed)
    return Replay(
        launches=launch_columns(
            events, block_figures(blocks, len(launches)), launches, names, config, arrivals
        ),
        blocks=blocks,
        stalls={name.removeprefix("stall_"): n for name, n in events.stalls.items()},
        cycles=replay_figures.cycles(events),
        config=config,
        settings=settings,
        events=events,
    )
