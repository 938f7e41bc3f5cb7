"""In one stream the queue costs nothing: every block of a trace goes where it goes without it."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tb.support.deep_values import deep_but, thorough_but
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
#: Of these every launch is sent in stream 0; cycles more than in one line, at most.
TRACES_IN_ONE_STREAM = (
    "stencil3d_shapes",
    "resnet50_infer",
    "two_streams_priority",
    "llama_generate",
    "gpt2_generate",
)
CYCLES_MORE = 4


@pytest.mark.parametrize("name", thorough_but(["stencil3d_shapes"], TRACES_IN_ONE_STREAM))
def test_a_whole_trace_in_one_stream_takes_hardly_longer_than_in_one_line(name):
    config = preset("default")
    trace = trace_reader.load(TRACES / f"{name}.json.gz")
    made = make_launches(trace, config, Fraction(1, 32))
    launches = [replace(launch, stream=0) for launch in made]
    line = run_line(launches, config, seed=1)
    model = QueuedModel(config, seed=1, log=1)
    model.run(OrderedHost([SentLaunch(launch) for launch in launches]))
    assert len(model.log.records) == len(launches) > 40
    assert 0 <= model.log.records[-1].made + 1 - line.cycles <= CYCLES_MORE


@pytest.mark.parametrize(
    ("policy", "reclaim", "knee"), deep_but([], CASES, thorough=[CASES[0], CASES[-1]])
)
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
