"""BlockDispatcher places a block in every cycle, in five scenes, while compared with its model."""

import pytest

from tb.support.dispatch_cases import make_dispatcher
from tb.support.dispatch_configs import observers
from tb.support.dispatch_events import LATE_NUMBER
from tb.support.throughput import (
    LEFT,
    PAUSES,
    PAUSING,
    PAUSING_SCENES,
    SCENES,
    STREAK,
    BusyHost,
    Streak,
)
from warploom_sim.cosim.lockstep import Case, run
from warploom_spec.config import POLICIES

#: What is demanded: so many blocks in as many cycles; of each policy in the long run.
DEMANDED = 10_000
#: The same by default, of one policy.
SHORT = 2_000
#: Cycles before the longest streak, at most.
BEFORE = 1_300
DEEP = pytest.mark.deep


def case(config, scene, seed, demanded=DEMANDED):
    return Case(
        make=make_dispatcher,
        params={"config": config, "first_number": LATE_NUMBER},
        seed=seed,
        cycles=demanded + BEFORE,
        resets=0,
        stimulus=BusyHost,
        options={"scene": scene},
        events=observers(config) | {"streak": Streak},
    )


@pytest.mark.parametrize(
    ("policy", "demanded"),
    # The one with a queue stands for the others.
    [
        pytest.param("freed_first", SHORT, marks=pytest.mark.thorough),
        *[pytest.param(name, DEMANDED, marks=DEEP) for name in POLICIES],
    ],
)
def test_a_block_in_every_cycle(policy, demanded, seed):
    """So many blocks in as many cycles; every third cycle on one SM; pauses of two cycles."""
    scenes = (*SCENES, *PAUSING_SCENES)
    cases = [case(f"default,policy={policy}", scene, seed, demanded) for scene in scenes]
    counts = {
        scene: result.counts for scene, result in zip(scenes, run(cases, "verilator"), strict=True)
    }
    for scene in SCENES:
        assert counts[scene][STREAK] >= demanded, (scene, counts[scene])
    assert counts["room in one SM"][PAUSING] >= demanded // 3, counts["room in one SM"]
    # A pause for each change of launch, of 256 blocks each.
    assert counts["change of kernel"][PAUSING] >= demanded, counts["change of kernel"]
    most = (counts["change of kernel"][PAUSING] - 1) // 256
    assert counts["change of kernel"][PAUSES] <= most, counts["change of kernel"]


@DEEP
@pytest.mark.parametrize("policy", POLICIES)
def test_a_block_in_every_cycle_of_ten_thousand_in_order(policy, seed):
    """In-order reclaim keeps pace where blocks end in the order in which they began.

    First fit leaves room in no more than two SMs for a while in the last scene, since blocks retire
    as they were placed. Two SMs take two blocks in three cycles: a pause for two blocks, at most.
    """
    config = f"default,policy={policy},reclaim=in_order"
    scenes = [scene for scene in SCENES if scene not in LEFT]
    for scene, result in zip(
        scenes, run([case(config, scene, seed) for scene in scenes], "verilator"), strict=True
    ):
        counts = result.counts
        if (policy, scene) == ("first_fit", "all SMs at once"):
            assert counts[PAUSING] >= DEMANDED, (scene, counts)
            assert counts[PAUSES] <= counts[PAUSING] // 2, (scene, counts)
        else:
            assert counts[STREAK] >= DEMANDED, (scene, counts)


def test_a_dispatcher_that_pauses_is_seen():
    """The measurement itself: one cycle of every hundred without a block is no streak."""
    streak = Streak()
    for cycle in range(20_000):
        streak.see(cycle, {}, {"offer__0__valid": int(cycle % 100 > 0), "offer__1__valid": 0})
    assert streak.counts() == {STREAK: 99, PAUSING: 19_800, PAUSES: 199}


def test_a_dispatcher_that_pauses_for_three_cycles_is_seen():
    streak = Streak()
    for cycle in range(2_000):
        streak.see(cycle, {}, {"offer__0__valid": int(cycle % 100 > 2), "offer__1__valid": 0})
    assert streak.counts() == {STREAK: 97, PAUSING: 97, PAUSES: 0}
