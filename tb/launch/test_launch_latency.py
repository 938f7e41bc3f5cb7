"""Latencies of LaunchPath, measured at its ports, beside the committed figures."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tb.launch.path_script import KILLED, LAUNCH, Script
from tb.launch.queue_script import LOW, URGENT
from tb.support.dispatch_configs import config_of
from warploom.launch.launch_path import LaunchPath
from warploom_golden.launch import LaunchPath as Model

COMMITTED = json.loads(
    (Path(__file__).parents[2] / "docs" / "figures" / "latency.json").read_text()
)
KINDS = pytest.mark.parametrize("kind", [LaunchPath, Model], ids=["rtl", "model"])
WITHOUT_INDICES = config_of("tiny,index_memory_warps=0")
#: A block that fills an SM of `tiny`.
WHOLE = replace(LAUNCH, block=(128, 1, 1))
#: Cycles in which the reports come that are measured from: after everything else has settled.
FIRST, SECOND = 150, 200


def accepted(saw, ticket):
    """Return the cycle in which a launch was accepted: one before its answer."""
    return next(c for c, each in saw.pulses("answer", "ticket").items() if each == ticket) - 1


def first_offer(saw, after=0):
    return min(cycle for cycle in saw.offers() if cycle > after)


def urgent_beside(*low, descriptor=LAUNCH):
    """A script of low launches that are killed for an urgent one, which comes last."""
    script = Script()
    for number, each in enumerate(low):
        script.launch(10 + number, number, descriptor=each, priority=LOW, **KILLED)
    return script.launch(95, len(low), descriptor=descriptor, priority=URGENT)


def accepted_to_kill(kind):
    saw = urgent_beside(LAUNCH).run(kind, 120)
    return saw.cycles("kill")[0] - accepted(saw, 2)


def accepted_to_first_offer(kind):
    """Idle, and the indices of the launch's shape stand in the memory: the second launch's."""
    saw = Script().launch(10, 0).report(40, 0).launch(80, 1).run(kind, 110)
    return first_offer(saw, after=80) - accepted(saw, 2)


def accepted_to_first_offer_without_indices(kind):
    saw = Script(WITHOUT_INDICES).launch(10, 0).run(kind, 40)
    return first_offer(saw) - accepted(saw, 1)


def wait_to_first_offer(kind):
    """From the awaited launch's record to the first offer of the launch that waited."""
    saw = Script().launch(10, 0).launch(11, 1, (0, 1)).report(40, 0).run(kind, 80)
    made = saw.pulses("record", "made")
    return first_offer(saw, after=40) - min(made.values())


def report_to_offer(kind):
    """The urgent launch has a place, and no SM has room for its block."""
    low = replace(WHOLE, grid=(2, 1, 1))
    script = urgent_beside(low, descriptor=WHOLE).killed(FIRST, 0).killed(SECOND, 1)
    return first_offer(script.run(kind, SECOND), after=95) - FIRST


def next_launch(kind):
    """Low launches have both places: the urgent one gets that of the launch gone first."""
    script = urgent_beside(LAUNCH, LAUNCH).killed(FIRST, 0).killed(SECOND, 1)
    return first_offer(script.run(kind, SECOND), after=95) - FIRST


#: How each figure is measured, and its cycles at most.
MEASURED = {
    "accepted_to_kill": (accepted_to_kill, 4),
    "accepted_to_first_offer": (accepted_to_first_offer, 15),
    "accepted_to_first_offer_without_indices": (accepted_to_first_offer_without_indices, 9),
    "wait_to_first_offer": (wait_to_first_offer, 15),
    "report_to_offer": (report_to_offer, 6),
    "next_launch": (next_launch, 13),
}


@pytest.mark.thorough
@KINDS
@pytest.mark.parametrize("key", MEASURED)
def test_a_latency_is_the_committed_one_and_within_its_limit(key, kind):
    measure, most = MEASURED[key]
    assert most >= measure(kind) == COMMITTED[key]
