"""Faults that are planted in the RTL, which a replay finds and describes."""

import random
import shutil
from pathlib import Path

import pytest

from tb.sim.replay.test_replay import LAUNCHES, assert_described, assert_equal, sim
from tb.support.deep_values import deep_but
from tb.support.planted_replays import choose
from tb.support.trace_files import random_document, write

#: Small faults of different kinds in the RTL, and the kind of event that shows each.
FAULTS = {
    "width_z": "words",
    "no_reference": "decisions",
    "carry_y": "warps",
    "overcommit": "offers",
    "next_number": "answers",
    "other_mode": "starts",
    "other_done": "done",
    "no_rest": "reports",
    "not_offered": "record_words",
    "passed": "timeline",
    "killed": "killed",
}

#: Launches of a run without a fault.
FEW = 6


@pytest.mark.thorough
@pytest.mark.parametrize("host", ["direct", "axi"])
def test_without_a_fault_the_hardware_that_can_have_them_equals_its_model(
    tmp_path: Path, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(monkeypatch, None)
    trace = write(tmp_path, random_document(random.Random(1), FEW))
    result, figures = sim(tmp_path, trace, "--sim", "icarus", "--config", "tiny", "--host", host)
    assert_equal(result, figures)


# One in front of the dispatcher, one in it.
@pytest.mark.parametrize("fault", deep_but([], FAULTS, thorough=["width_z", "overcommit"]))
def test_a_fault_in_the_rtl_is_found(
    tmp_path: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(monkeypatch, fault)
    # Not every trace meets every fault: this one does.
    content = random_document(random.Random(1), LAUNCHES)
    if fault == "overcommit":
        # Slots are what such blocks lack first.
        for event in content["traceEvents"]:
            event["args"] |= {"block": [8, 1, 1], "grid": [20, 1, 1]}
    trace = write(tmp_path, content)
    result, figures = sim(tmp_path, trace, "--sim", "icarus", "--config", "tiny")
    assert result.exit_code == 1
    assert figures["verdict"] == "different"
    assert_described(result.stdout, FAULTS[fault])
    shutil.rmtree(figures["event_files"])
