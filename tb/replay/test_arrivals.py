"""Launches that arrive at times of their own: the event model against the cycle models."""

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tb.replay.test_event_model import random_launches
from tb.support import sent_cycles
from tb.support.deep_values import deep_but
from tb.support.replay_reference import Replay, assert_equal
from warploom_golden.replay import event_model
from warploom_golden.replay.event_constants import PREDICTED_POLICIES
from warploom_spec import LaunchDescriptor, preset
from warploom_spec.config import RECLAIMS

ONE = LaunchDescriptor(grid=(1, 1, 1), block=(32, 1, 1), arguments=100)


def drawn(rng: random.Random, count: int) -> list[int]:
    """Draw arrivals: some at once, some a little later, some after all that came before ended."""
    gaps = [rng.choice((0, 0, 1, rng.randint(2, 60), rng.randint(60, 2_000))) for _ in range(count)]
    return list(itertools.accumulate(gaps))


def assert_none_is_early(cycles: Sequence[int], arrivals: Sequence[int]) -> None:
    """Demand that launches were sent in these cycles as soon as they arrived, or later."""
    assert len(cycles) == len(arrivals)
    assert all(cycle >= max(1, arrival) for cycle, arrival in zip(cycles, arrivals, strict=True))


#: Of a kill and a knee; each with one of the reclaims, in turn.
KINDS = ((None, None), (2, None), (None, 3), (2, 3))
IN_TURN = [(RECLAIMS[number % 2], *kind) for number, kind in enumerate(KINDS)]


@pytest.mark.parametrize(
    ("reclaim", "kill_every", "knee"),
    # By default one kind, in `make test-all` each with one of the reclaims.
    deep_but(
        IN_TURN[:1],
        [(reclaim, *kind) for kind in KINDS for reclaim in RECLAIMS],
        thorough=IN_TURN[1:],
    ),
    ids=str,
)
def test_every_event_is_the_cycle_models(
    reclaim: str, kill_every: int | None, knee: int | None, seed: int
) -> None:
    for k, name in enumerate(("tiny", "tiny", "default")):
        rng = random.Random(f"{seed}-{reclaim}-{kill_every}-{knee}-{k}")
        config = replace(preset(name), policy=rng.choice(PREDICTED_POLICIES), reclaim=reclaim)
        launches = random_launches(rng, config, rng.randint(8, 14), crowded=k == 1)
        launches = [replace(launch, address_space=rng.randint(0, 80)) for launch in launches]
        arrivals, replay_seed = drawn(rng, len(launches)), rng.randrange(1 << 32)
        with sent_cycles.noted() as cycles:
            model = event_model.run(launches, config, replay_seed, kill_every, knee, arrivals)
        reference = Replay(launches, config, replay_seed, kill_every, knee, arrivals)
        assert_equal(reference.run(), model, f"seed {seed}, replay {k}")
        assert_none_is_early(cycles, arrivals)


def test_a_launch_is_sent_in_the_cycle_in_which_it_arrives() -> None:
    """Long after the one before has ended: nothing else happens in that cycle."""
    config = preset("default")
    arrivals = [0, 5_000, 5_000, 1 << 35]
    launches = [replace(ONE, code=number) for number in range(4)]
    with sent_cycles.noted() as cycles:
        events = event_model.run(launches, config, 0, arrivals=arrivals)
    # Nothing is sent before the entries are given back, in 64 cycles and 4 more, nor in the two
    # cycles after a launch (KernelQueue's page, rules 1 and 2).
    assert cycles == [68, 5_000, 5_003, 1 << 35]
    ended = events.tables["ended"]["cycle"].tolist()
    assert ended[0] < 5_000 < ended[1] < ended[2] < 1 << 35 < ended[3]


def test_arrivals_that_are_past_change_nothing(seed: int) -> None:
    config = preset("tiny")
    launches = random_launches(random.Random(seed), config, 16, crowded=True)
    with sent_cycles.noted() as cycles:
        free = event_model.run(launches, config, seed)
    for arrivals in ([0] * 16, [1] * 16, [*cycles]):
        assert_equal(free, event_model.run(launches, config, seed, arrivals=arrivals), "past")
    # One cycle later, and the run is another one.
    with sent_cycles.noted() as later:
        event_model.run(launches, config, seed, arrivals=[cycle + 1 for cycle in cycles])
    assert later != cycles


def test_a_launch_that_arrives_waits_for_room() -> None:
    """So many arrive at once that the queue is full: the rest wait, and are sent in order."""
    config = preset("tiny")
    count = 3 * config.queue_depth
    launches = [replace(ONE, code=number, arguments=1_000) for number in range(count)]
    with sent_cycles.noted() as cycles:
        event_model.run(launches, config, 0, arrivals=[700] * count)
    assert cycles[0] == 700 and cycles == sorted(set(cycles))
    assert cycles[-1] > 700 + 1_000
