"""Blocks of one warp or two, bound by block slots and by as many of something else."""

from pathlib import Path
from typing import Any

import pytest

from tb.support.trace_files import call, document, kernel, write
from warploom_golden.replay.machine import RELAXATIONS
from warploom_sim import gains, replay
from warploom_sim.replay import replay_gains
from warploom_sim.replay.analysis.block_walk import find_waits


@pytest.fixture(autouse=True)
def own_build(own_folder: None) -> None:
    """Keep what is found in a folder of the test's own."""


def small_blocks(folder: Path, threads: int) -> Path:
    """Write two launches of 4,224 small blocks: 32 slots and 32 barriers of an SM bind."""
    events: list[dict[str, Any]] = []
    for number in (1, 2):
        takes = {"grid": [4224, 1, 1], "block": [threads, 1, 1], "registers per thread": 16}
        one = kernel(number, 15.0 + 60 * number, **takes) | {"dur": 50}
        events += [call(number, 10.0 + 60 * number), one]
    return write(folder, document() | {"traceEvents": events})


@pytest.mark.parametrize(
    ("threads", "hiding"), [(32, "slots+barriers"), (64, "slots+warps+barriers")]
)
def test_small_blocks_are_bound_by_all_that_binds_together(
    tmp_path: Path, threads: int, hiding: str
) -> None:
    """47 %: `compare` finds it with 63 slots and 63 barriers, a slot fewer than here."""
    trace = small_blocks(tmp_path, threads)
    found = gains(trace, "default")
    percents = {one.name: one.fewer_cycles_percent for one in found if one.knee is None}
    assert percents.keys() - {*RELAXATIONS} == {hiding}
    assert percents[hiding] == pytest.approx(47.6, abs=0.5)
    for name in hiding.split("+"):
        assert percents[name] == pytest.approx(0, abs=0.05)
    said = replay_gains.advice(replay_gains.as_json(found))
    assert "hide each other: without bound together they gain 47." in said[-1]


def test_both_bounds_are_lacking_all_the_time_that_one_of_them_blocks(tmp_path: Path) -> None:
    trace = small_blocks(tmp_path, 32)
    waits = find_waits(replay(trace, "default", contention="none", time_scale="1/32"))
    shares, lacked = waits.shares(), waits.shares_lacked()
    assert shares["slots"] > 0.3 and shares["barriers"] == 0
    assert lacked["slots"] == lacked["barriers"] == shares["slots"]
    assert lacked["warps"] == lacked["registers"] == lacked["shared"] == 0
