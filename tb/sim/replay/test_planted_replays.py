"""Faults that are planted in the RTL, which a replay finds and describes."""

import random
import shutil
from pathlib import Path

import pytest

from tb.sim.replay.test_replay import LAUNCHES, assert_described, sim
from tb.support.deep_values import deep_but
from tb.support.seeded_faults import (
    BLOCK_DISPATCHER,
    CONFIG_FILTER,
    GRID_WALKER,
    INDEX_ITERATOR,
    LAUNCH_CHECK,
    plant_in_replays,
)
from tb.support.trace_files import random_document, write

#: Small faults of different kinds in the RTL, and the kind of event that shows each.
FAULTS = {
    "width_z": (LAUNCH_CHECK, "words"),
    "no_reference": (CONFIG_FILTER, "decisions"),
    "carry_y": (INDEX_ITERATOR, "warps"),
    "late_return": (BLOCK_DISPATCHER, "offers"),
    "skip_block": (GRID_WALKER, "offers"),
}


@pytest.mark.parametrize(
    "fault",
    # Each needs a build of its own: one in front of the dispatcher, one in it.
    deep_but([], FAULTS, thorough=["width_z", "late_return"]),
)
def test_a_fault_in_the_rtl_is_found(
    tmp_path: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeded, kind = FAULTS[fault]
    plant_in_replays(monkeypatch, [seeded[fault]], tmp_path)
    # Not every trace meets every fault: this one does.
    trace = write(tmp_path, random_document(random.Random(1), LAUNCHES))
    result, figures = sim(tmp_path, trace, "--sim", "icarus", "--config", "tiny")
    assert result.exit_code == 1
    assert figures["verdict"] == "different"
    assert_described(result.stdout, kind)
    shutil.rmtree(figures["event_files"])
