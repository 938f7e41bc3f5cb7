"""Without a preemption the kernel queue costs nothing: every block is offered as without it."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tb.support.deep_values import deep_but
from tb.support.line_runs import run_line
from warploom_golden.preemption.streams import QueuedModel
from warploom_golden.replay.event_constants import PREDICTED_POLICIES
from warploom_sim.methods.preempt.host import MeasuringHost
from warploom_sim.traces import trace_reader
from warploom_sim.traces.trace_launches import make_launches
from warploom_spec import preset
from warploom_spec.config import RECLAIMS

TRACES = Path(__file__).parents[2] / "traces"


@pytest.mark.parametrize("knee", deep_but([16], [None, 16]))
@pytest.mark.parametrize("reclaim", RECLAIMS)
@pytest.mark.parametrize("policy", PREDICTED_POLICIES)
def test_every_block_of_a_replay_goes_where_and_when_it_goes_without_the_queue(
    policy, reclaim, knee, seed
):
    config = replace(preset("default"), policy=policy, reclaim=reclaim)
    trace = trace_reader.load(TRACES / "stencil3d_shapes.json.gz")
    launches = make_launches(trace, config, Fraction(1, 32))
    without = run_line(launches, config, seed, knee)
    model = QueuedModel(config, seed=seed, knee=knee, log=len(without.cycle))
    model.run(MeasuringHost(launches, (), count=0, distance=1, seed=seed, passes=1))
    cycle, sm, _, _, _ = model.offers
    assert len(cycle) == 237_063
    assert np.array_equal(cycle, without.cycle)
    assert np.array_equal(sm, without.sm)
