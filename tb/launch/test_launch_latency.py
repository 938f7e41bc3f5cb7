"""Latencies of LaunchPath, measured at its ports, beside the committed figures."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tb.launch.path_script import KILLED, LAUNCH, LOW, URGENT, Script
from tb.support.dispatch_configs import config_of
from warploom.launch.launch_path import LaunchPath
from warploom_golden.launch import LaunchPath as Model

COMMITTED = json.loads(
    (Path(__file__).parents[2] / "docs" / "figures" / "latency.json").read_text()
)
RTL = pytest.param(LaunchPath, marks=pytest.mark.thorough, id="rtl")
KINDS = pytest.mark.parametrize("kind", [RTL, pytest.param(Model, id="model")])
WITHOUT_INDICES = config_of("tiny,index_memory_warps=0")
#: From a launch's `answer` back to its acceptance A.
ANSWER = 4
#: A block that fills an SM of `tiny`.
WHOLE = replace(LAUNCH, barriers=4)


def accepted(saw, ticket):
    """Return the cycle in which the queue took a launch."""
    return next(c for c, each in saw.pulses("answer", "ticket").items() if each == ticket) - ANSWER


def first_offer(saw, ticket, after=0):
    return min(c for c, each in saw.tickets().items() if each == ticket and c > after)


def low_and_urgent(at=120):
    script = Script().launch(40, 0, priority=LOW, **KILLED)
    return script.launch(at, 1, priority=URGENT)


def accepted_to_kill(kind, at=120):
    saw = low_and_urgent(at).run(kind, at + 20)
    return saw.cycles("kill")[0] - accepted(saw, 2)


def accepted_to_first_offer(kind):
    """Idle, and the indices of the launch's shape stand in the memory: the second launch's."""
    saw = Script().launch(40, 0).report(80, 0).launch(120, 1).run(kind, 150)
    return first_offer(saw, 2) - accepted(saw, 2)


def accepted_to_first_offer_of_another_priority(kind):
    saw = low_and_urgent().run(kind, 150)
    return first_offer(saw, 2) - accepted(saw, 2)


def accepted_to_first_offer_without_indices(kind):
    saw = Script(WITHOUT_INDICES).launch(40, 0).run(kind, 70)
    return first_offer(saw, 1) - accepted(saw, 1)


def wait_to_first_offer(kind):
    """From the first word of the awaited launch's record."""
    saw = Script().launch(40, 0).launch(43, 1, (0, 1)).report(90, 0).run(kind, 130)
    return first_offer(saw, 2) - saw.first_words()[0]


def report_to_offer(kind):
    """From the report that makes room to the offer in the same slot; both SMs are full."""
    script = Script().launch(40, 0, descriptor=replace(WHOLE, grid=(9, 1, 1)))
    saw = script.report(90, 1).run(kind, 110)
    return first_offer(saw, 1, after=90) - 90


def report_to_record(kind):
    """Its first word."""
    return Script().launch(40, 0).report(90, 0).run(kind, 110).first_words()[0] - 90


def report_to_whole_record(kind):
    """Its last word."""
    return min(Script().launch(40, 0).report(90, 0).run(kind, 110).records("ticket")) - 90


def preempt_to_kill(kind):
    saw = Script().launch(40, 0, **KILLED).preempt(90, 0).run(kind, 110)
    return saw.cycles("kill")[0] - 90


#: How each figure is measured, its cycles, and its cycles at most.
MEASURED = {
    "accepted_to_kill": (accepted_to_kill, 7, 8),
    "accepted_to_first_offer": (accepted_to_first_offer, 21, 24),
    "accepted_to_first_offer_of_another_priority": (
        accepted_to_first_offer_of_another_priority,
        22,
        24,
    ),
    "accepted_to_first_offer_without_indices": (accepted_to_first_offer_without_indices, 17, 19),
    "wait_to_first_offer": (wait_to_first_offer, 24, 26),
    "report_to_offer": (report_to_offer, 10, 10),
    "report_to_record": (report_to_record, 11, 11),
    "report_to_whole_record": (report_to_whole_record, 17, 17),
    "preempt_to_kill": (preempt_to_kill, 3, 4),
}


@pytest.mark.rule("launch_path", 5, 11)
@KINDS
@pytest.mark.parametrize("key", MEASURED)
def test_a_latency_is_the_committed_one_and_within_its_limit(key, kind):
    measure, cycles, most = MEASURED[key]
    assert most >= measure(kind) == cycles == COMMITTED[key]


@pytest.mark.parametrize("phase", range(6))
def test_an_urgent_launch_kills_as_soon_in_each_phase(phase):
    """What the machine does in turn, a stream or an entry a cycle, adds nothing."""
    assert accepted_to_kill(Model, 120 + phase) == MEASURED["accepted_to_kill"][1]
