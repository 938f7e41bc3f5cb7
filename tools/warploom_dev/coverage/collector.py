"""Pytest plugin: lockstep cases of counted builds run on Verilator, and leave their counts."""

import functools
import importlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from filelock import FileLock

from warploom_dev.coverage.counted_builds import builds
from warploom_dev.coverage.simulation import counting_build, hash_of, run_counted
from warploom_sim.build_cache import build_root, digest
from warploom_sim.cosim.lockstep import runner
from warploom_sim.cosim.lockstep.case import Case
from warploom_sim.cosim.lockstep.checker import Outcome
from warploom_sim.cosim.lockstep.names import resolve
from warploom_sim.json_file import write_json

#: Environment variable with the names of the blocks that count, separated by commas.
BLOCKS: Final = "WARPLOOM_COVERAGE_BLOCKS"

#: How tests drive a component by hand, and how they plant a fault, in the repository.
BY_HAND: Final = "tb.support.record:Simulation"
PLANTING: Final = "tb.support.planted"


def raw_folder(block: str, rtl_hash: str) -> Path:
    """Return the folder for the counts of all runs of one build."""
    return build_root() / "coverage" / block / rtl_hash


@functools.cache
def _build_of(make: str, params: str) -> tuple[Path, Path]:
    """Return the counting build of a case, and the folder for its counts; else skip the test."""
    wanted = os.environ[BLOCKS].split(",")
    for block in wanted:
        for build in builds()[block]:
            if build.is_of(make, json.loads(params)):
                component = build.component()
                return counting_build(component), raw_folder(block, hash_of(component))
    return pytest.skip("its build is not counted")


def simulate(cases: Sequence[Case], simulator: str, folder: Path, waves: bool) -> list[Outcome]:
    """Stand in for the runner's own: run each case once, whichever simulator its test names."""
    simulation, raw = _build_of(str(cases[0].make), json.dumps(cases[0].params))
    raw.mkdir(parents=True, exist_ok=True)
    kept = raw / f"{digest([case.to_json() for case in cases])}.json"
    with FileLock(kept.with_suffix(".lock")):
        if not kept.exists():
            run = run_counted(cases, simulation)
            if any(outcome.failure for outcome in run.outcomes):
                return run.outcomes
            kept.with_suffix(".dat").write_text(run.data)
            write_json(kept, [outcome.to_json() for outcome in run.outcomes])
    return [Outcome.from_json(one) for one in json.loads(kept.read_text())]


def _not_counted(*arguments: object) -> None:
    """Skip a test that drives a component by itself, or plants a fault: nothing of it counts."""
    pytest.skip("no lockstep case of the block as it is")


def pytest_configure() -> None:
    """Take the place of the lockstep runner's simulators."""
    runner._simulate = simulate
    resolve(BY_HAND).__init__ = _not_counted
    # The first thing that each planting does.
    planting: Any = importlib.import_module(PLANTING)
    planting.forget_simulations = _not_counted
