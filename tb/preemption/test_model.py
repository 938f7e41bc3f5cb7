"""Without a preemption the kernel queue costs nothing: every block is offered as without it."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from warploom_golden.preemption import PreemptionModel
from warploom_golden.replay import event_model
from warploom_sim import traces
from warploom_sim.launches import make_launches
from warploom_sim.preemption.host import MeasuringHost
from warploom_spec import preset

TRACES = Path(__file__).parents[2] / "traces"
#: The replay's first launch goes through LaunchCheck, in cycles 1 to 6; ours leaves it in 0.
LAUNCH_CHECK = 5


@pytest.mark.parametrize("policy", ["first_fit", "round_robin", "least_loaded"])
def test_every_block_of_a_replay_goes_where_and_when_it_goes_without_the_queue(policy, seed):
    config = replace(preset("default"), policy=policy)
    trace = traces.load(TRACES / "stencil3d_shapes.json.gz")
    launches = make_launches(trace, config, Fraction(1, 32))
    without = event_model.run(launches, config, seed).tables["offers"]
    model = PreemptionModel(config, seed=seed, log=len(without["cycle"]))
    model.run(MeasuringHost(launches, (), count=0, distance=1, seed=seed, passes=1))
    cycle, sm, _, _, _ = model.offers
    assert len(cycle) == 237_063
    assert np.array_equal(cycle + LAUNCH_CHECK, without["cycle"])
    assert np.array_equal(sm, without["sm"])
