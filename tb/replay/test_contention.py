"""Contention: the event model against the cycle models, and literal cases."""

import itertools
import random
from dataclasses import replace

import numpy as np
import pytest

from tb.replay.test_event_model import random_launches
from tb.support.deep_values import deep_but, thorough_but
from tb.support.replay_reference import Replay, assert_equal
from warploom_golden.replay import contention, event_model
from warploom_golden.replay.event_constants import PREDICTED_POLICIES
from warploom_golden.replay.event_model import Events
from warploom_spec import Config, LaunchDescriptor, preset, timing
from warploom_spec.config import RECLAIMS

Reports = list[tuple[int, int, int]]


def loaded_launches(
    rng: random.Random, config: Config, *, crowded: bool = False
) -> list[LaunchDescriptor]:
    """Draw launches that crowd the SMs, of recorded loads from none to above every slot."""
    crowded |= rng.random() < 0.5
    launches = random_launches(rng, config, rng.randint(8, 16), crowded=crowded)
    return [replace(launch, address_space=rng.randint(0, 80)) for launch in launches]


def reports(events: Events) -> Reports:
    table = events.tables["reports"]
    return list(zip(*(table[name].tolist() for name in ("cycle", "sm", "slot")), strict=True))


@pytest.mark.parametrize("kill_every", thorough_but([2], [None, 2]))
@pytest.mark.parametrize("reclaim", thorough_but(["out_of_order"], RECLAIMS))
@pytest.mark.parametrize("knee", deep_but([8], [1, 8]))
def test_every_event_is_the_cycle_models(
    knee: int, reclaim: str, kill_every: int | None, seed: int
) -> None:
    rng = random.Random(f"{seed}-{knee}-{reclaim}-{kill_every}")
    config = replace(preset("tiny"), policy=rng.choice(PREDICTED_POLICIES), reclaim=reclaim)
    launches = loaded_launches(rng, config)
    replay_seed = rng.randrange(1 << 32)
    model = event_model.run(launches, config, replay_seed, kill_every, knee)
    reference = Replay(launches, config, replay_seed, kill_every, knee)
    assert_equal(reference.run(), model, f"seed {seed}")


@pytest.mark.parametrize(
    ("policy", "reclaim"), list(itertools.product(PREDICTED_POLICIES, RECLAIMS))
)
def test_a_knee_at_or_above_every_load_equals_none(policy: str, reclaim: str, seed: int) -> None:
    rng = random.Random(f"{seed}-{policy}-{reclaim}")
    config = replace(preset("default"), policy=policy, reclaim=reclaim)
    launches = loaded_launches(rng, config)
    highest = max(config.warp_slots, *(launch.address_space for launch in launches))
    for knee, kill in itertools.product((highest, highest + 1, 1 << 16), (None, 2)):
        free = event_model.run(launches, config, 7, kill)
        assert_equal(free, event_model.run(launches, config, 7, kill, knee), f"{knee}, {kill}")
    free = event_model.run(launches, config, 7)
    # The equality says something: a knee below is another replay.
    assert reports(event_model.run(launches, config, 7, knee=1)) != reports(free)


# --- by hand -------------------------------------------------------------------------------------
def single(count: int, warps_each: int, recorded: int) -> LaunchDescriptor:
    """Return a launch whose blocks have 1,000 cycles each, give or take the jitter."""
    return LaunchDescriptor(
        grid=(count, 1, 1),
        block=(32 * warps_each, 1, 1),
        barriers=0,
        arguments=1000,
        address_space=recorded,
    )


def held(launch: LaunchDescriptor, knee: int | None) -> list[int]:
    """Return the cycles that each block held its slot, on one SM."""
    config = replace(preset("default"), sms=1)
    tables = event_model.run([launch], config, 0, knee=knee).tables
    by_slot = dict(zip(tables["reports"]["slot"].tolist(), tables["reports"]["cycle"], strict=True))
    offers = zip(tables["offers"]["slot"].tolist(), tables["offers"]["cycle"], strict=True)
    return [int(by_slot[slot] - cycle) for slot, cycle in offers]


@pytest.mark.parametrize(("warps_each", "knee"), [(4, 16), (16, 16), (8, 2), (3, 1), (7, 5)])
def test_a_block_at_the_recorded_load_takes_what_was_recorded(warps_each: int, knee: int) -> None:
    """Alone, with its own warps as the recorded load; the first cycle runs at full speed."""
    launch = single(1, warps_each, warps_each)
    (recorded,) = held(launch, None)
    rate = contention.rate(warps_each, knee)
    work = recorded * rate
    assert held(launch, knee) == [1 - (contention.ONE - work) // rate]
    assert recorded - held(launch, knee)[0] <= contention.ONE / rate


def test_a_block_recorded_in_a_crowd_is_quicker_alone() -> None:
    """By hand: recorded beside 63 other warps with knee 16, a quarter of the speed."""
    (recorded,) = held(single(1, 1, 64), None)
    (alone,) = held(single(1, 1, 64), 16)
    assert alone == -(-recorded // 4)


def test_two_blocks_of_the_knees_warps_share_the_sm() -> None:
    """Of two that begin five cycles apart, either runs beside the other at half the speed."""
    free, shared = held(single(2, 16, 16), None), held(single(2, 16, 16), 16)
    first, second = shared
    short = min(free)
    # Half the speed up to the first end, then full speed for what is left of the longer one.
    # The first one has the cycles up to the second's offer to itself, and that cycle, too: `apart`
    # cycles at full speed instead of twice as many.
    apart = timing(preset("default")).resident_again + 1
    assert 2 * short - apart <= min(first, second) <= 2 * short
    assert max(first, second) - min(first, second) <= abs(free[0] - free[1]) + 4


def test_no_block_takes_less_than_four_cycles() -> None:
    launch = replace(single(1, 1, 64), arguments=4)
    assert held(launch, 1) == [4]


def test_rates_are_the_pages() -> None:
    assert [contention.rate(n, 3) for n in (0, 1, 3, 4, 5, 7, 64)] == [
        65536,
        65536,
        65536,
        49152,
        39321,
        28086,
        3072,
    ]
    assert contention.block_work(np.array([1, 100]), 64, 3).tolist() == [4 * 65536, 307_200]
