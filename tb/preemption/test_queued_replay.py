"""In one stream the queue costs nothing: every block of a trace goes where it goes without it."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tb.support.deep_values import deep_but
from tb.support.line_runs import run_line
from warploom_golden.preemption.streams import OrderedHost, QueuedModel, SentLaunch
from warploom_golden.replay.event_constants import PREDICTED_POLICIES
from warploom_sim.traces import trace_reader
from warploom_sim.traces.trace_launches import make_launches
from warploom_spec import preset
from warploom_spec.config import RECLAIMS

TRACES = Path(__file__).parents[2] / "traces"
CASES = [(policy, reclaim, None) for policy in PREDICTED_POLICIES for reclaim in RECLAIMS]
CASES += [(policy, reclaim, 16) for policy, reclaim, _ in CASES]


@pytest.mark.parametrize(("policy", "reclaim", "knee"), deep_but([CASES[0], CASES[-1]], CASES))
def test_every_block_of_a_trace_in_one_stream_goes_as_without_the_queue(
    policy, reclaim, knee, seed
):
    config = replace(preset("default"), policy=policy, reclaim=reclaim)
    trace = trace_reader.load(TRACES / "stencil3d_shapes.json.gz")
    launches = make_launches(trace, config, Fraction(1, 32))
    without = run_line(launches, config, seed, knee)
    model = QueuedModel(config, seed=seed, knee=knee, log=len(without.cycle) + 1)
    model.run(OrderedHost([SentLaunch(each) for each in launches]))
    # In both the first launch waits until the dispatcher has booted.
    cycle, sm, _, _, _ = model.offers
    assert len(cycle) == 237_063
    assert np.array_equal(cycle, without.cycle)
    assert np.array_equal(sm, without.sm)
