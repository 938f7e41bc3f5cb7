"""A launch that is killed and starts again: from when on it is resident."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tb.replay.test_event_model import random_launches
from tb.sim.replay.test_limits import Reference, by_cycle
from tb.support.replays import model_replay
from tb.support.whole_replays import find_limits
from warploom_golden.replay import event_model
from warploom_sim.replay.analysis.block_walk import find_waits
from warploom_sim.replay.analysis.running import RunningFigures
from warploom_sim.replay.replay_result import Replay
from warploom_spec import Config, LaunchDescriptor, preset
from warploom_spec.queue import Mode

TINY = preset("tiny")


def killed_once() -> Replay:
    """Return a replay in which stream 0's launch makes way for an urgent one of stream 1."""
    low = LaunchDescriptor(
        grid=(20, 1, 1), block=(8, 1, 1), arguments=90, idempotent=1, mode=Mode.RESET
    )
    urgent = replace(low, grid=(8, 1, 1), stream=1, priority=1, code=1, index_address=8)
    return model_replay([low, urgent], TINY, 1, arrivals=[0, 200])


def of_priorities(rng: random.Random, config: Config, count: int) -> Sequence[LaunchDescriptor]:
    """Return launches of four streams of three priorities, which may be killed."""
    return [
        replace(
            launch,
            stream=number % 4,
            priority=number % 4 % 3,
            idempotent=1,
            mode=Mode.RESET,
            arguments=launch.arguments + 60,
        )
        for number, launch in enumerate(random_launches(rng, config, count, crowded=True))
    ]


def test_a_launch_that_starts_again_is_resident_from_the_second_time_on() -> None:
    replay = killed_once()
    tables = replay.events.tables
    assert tables["killed"]["stream"].tolist() == [0]
    assert tables["starts"]["ticket"].tolist() == [1, 2, 1]
    starts = tables["starts"]["cycle"].tolist()
    assert starts[1] < tables["killed"]["cycle"][0] < starts[2]
    assert replay.launches.resident.tolist() == [starts[2] + 1, starts[1] + 1]
    # Until its next pick the limit is the launch path: a start in 0 gives the first one in 6.
    found = by_cycle(find_limits(replay))
    last = int(replay.blocks.start[replay.blocks.launch == 1].max()) - 3
    head = starts[2] + 6
    assert set(found[last + 1 : head]) == {("path", 0)}
    assert found[head][0] != "path"


@pytest.mark.parametrize("templates", [0, TINY.loop_templates])
def test_a_launch_leaves_when_its_run_is_over_whatever_words_its_record_has(
    templates: int,
) -> None:
    """KernelQueue's rules 6 and 16: over in c, its timeline says so in c + 4."""
    launch = LaunchDescriptor(grid=(3, 1, 1), block=(8, 1, 1), arguments=50)
    config = replace(TINY, loop_templates=templates)
    replay = model_replay([launch, replace(launch, stream=1, code=1)], config, 1)
    timelines = replay.events.tables["timeline"]["cycle"].astype(int).tolist()
    assert sorted(replay.launches.left.tolist()) == [cycle - 4 for cycle in timelines]


def test_every_cycle_has_the_limit_that_the_page_says_where_launches_are_killed(seed: int) -> None:
    killed = 0
    for k in range(20):
        rng = random.Random(f"{seed}-{k}")
        replay = model_replay(of_priorities(rng, TINY, 12), TINY, rng.randrange(1 << 32))
        assert by_cycle(find_limits(replay)) == Reference(replay).limits()
        killed += len(replay.events.tables["killed"]["cycle"])
        if killed and k > 1:
            break
    assert killed


def test_limits_with_launches_that_are_killed_are_the_same_from_pieces(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever was killed is not resident, however many events are known."""
    killed, runs = 0, []
    for k in range(20):
        rng = random.Random(f"{seed}-pieces-{k}")
        launches, replay_seed = of_priorities(rng, TINY, 12), rng.randrange(1 << 32)
        whole = model_replay(launches, TINY, replay_seed)
        killed += len(whole.events.tables["killed"]["cycle"])
        runs.append((launches, replay_seed, find_waits(whole)))
        if killed and k > 1:
            break
    assert killed
    monkeypatch.setattr(event_model, "PIECE", 2)
    for launches, replay_seed, waits in runs:
        running = RunningFigures(launches, [""] * len(launches), TINY, None)
        for piece in event_model.pieces(launches, TINY, replay_seed):
            running.add(piece)
        found = running.finish().waits
        assert found is not None
        assert found.by_limit() == waits.by_limit()
