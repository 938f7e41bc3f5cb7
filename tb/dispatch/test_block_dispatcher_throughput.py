"""BlockDispatcher places a block in every cycle, in four scenes, while compared with its model."""

import pytest

from tb.support.dispatch_cases import make_dispatcher
from tb.support.dispatch_configs import observers
from tb.support.throughput import SCENES, BusyHost, Streak
from warploom_sim.lockstep import Case, run
from warploom_spec.config import POLICIES

#: What is demanded: so many blocks in as many cycles.
DEMANDED = 10_000
DEEP = pytest.mark.deep


def case(config, scene, seed):
    return Case(
        make=make_dispatcher,
        params={"config": config},
        seed=seed,
        cycles=11_300,
        resets=0,
        stimulus=BusyHost,
        options={"scene": scene},
        events=observers(config) | {"streak": Streak},
    )


@pytest.mark.parametrize(
    "policy",
    # Each takes half a minute: the simplest choice and the one with a queue stand for the others.
    [
        policy if policy in ("round_robin", "freed_first") else pytest.param(policy, marks=DEEP)
        for policy in POLICIES
    ],
)
def test_a_block_in_every_cycle_of_ten_thousand(policy, seed):
    cases = [case(f"default,policy={policy}", scene, seed) for scene in SCENES]
    for scene, result in zip(SCENES, run(cases, "verilator"), strict=True):
        assert result.counts["blocks placed in as many cycles"] >= DEMANDED, (scene, result.counts)


@DEEP
@pytest.mark.parametrize("policy", POLICIES)
def test_a_block_in_every_cycle_of_ten_thousand_in_order(policy, seed):
    """In-order reclaim keeps pace where blocks end in the order in which they began."""
    config = f"default,policy={policy},reclaim=in_order"
    scenes = [scene for scene in SCENES if scene != "room in one SM"]
    for scene, result in zip(
        scenes, run([case(config, scene, seed) for scene in scenes], "verilator"), strict=True
    ):
        assert result.counts["blocks placed in as many cycles"] >= DEMANDED, (scene, result.counts)


def test_a_dispatcher_that_pauses_is_seen():
    """The measurement itself: one cycle of every hundred without a block is no streak."""
    streak = Streak()
    for cycle in range(20_000):
        streak.see(cycle, {}, {"offer__0__valid": int(cycle % 100 > 0), "offer__1__valid": 0})
    assert streak.counts() == {"blocks placed in as many cycles": 99}
