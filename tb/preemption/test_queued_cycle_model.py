"""Event model against cycle model of LaunchPath: every event, with its cycle."""

import random
from dataclasses import replace

import pytest

from tb.preemption.queued_cycles import QueuedCycles, difference, seen
from tb.preemption.queued_script import run
from tb.preemption.test_queued_random import CONFIG, wild
from tb.support.deep_values import thorough_but
from warploom_golden.replay.event_constants import PREDICTED_POLICIES
from warploom_spec.config import RECLAIMS

UNTIL = 1500


def compared(seed, config):
    """Run a scenario in both models; return the first difference, and what the records say."""
    rng = random.Random(seed)
    script, behaviour = wild(rng, config)
    model = run(script, config, sm=behaviour, seed=1, until=UNTIL)
    rows = QueuedCycles(config, script, behaviour, 1).run(UNTIL)
    fates = {(each.fate.name, each.code) for each in model.log.records}
    return difference(seen(model, UNTIL), rows), fates


@pytest.mark.parametrize(
    ("policy", "reclaim"),
    thorough_but(
        [("round_robin", "out_of_order"), ("first_fit", "in_order")],
        [(policy, reclaim) for policy in PREDICTED_POLICIES for reclaim in RECLAIMS],
    ),
)
def test_every_event_is_the_same(policy, reclaim, seed):
    config = replace(CONFIG, policy=policy, reclaim=reclaim, kill_timeout=64)
    for number in range(3):
        assert compared(f"{seed} {policy} {reclaim} {number}", config)[0] is None, number
