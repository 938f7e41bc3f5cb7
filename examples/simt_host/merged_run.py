"""Runs ``examples/kernels/merged.c`` on a simulated SimtGpu."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simt_host.gpu_run import KernelRun, run_kernels
from simt_host.memory_image import MEMORY_BYTES
from simt_host.merged_case import MergedCase
from warploom_spec import Config
from warploom_spec.queue import FinalFate


@dataclass(frozen=True)
class MergedOutcome:
    """What came of a merged kernel's launches.

    Attributes
    ----------
    fates : list of (FinalFate, int)
        Fate and code of each launch, in the order in which they ended.
    cycles : list of int
        Of each of these, from its first offer to its last report.
    offers : list of dict
        Each offer in order: ``sm``, ``slot``, ``stream``, ``block`` (the merged id), ``cycle`` and
        ``waited``, the cycles that the block waited.
    equal : bool
        Whether all launches have finished, the results are NumPy's, and nothing else has changed.
    memory : ndarray of uint8
        Afterwards.
    """

    fates: list[tuple[FinalFate, int]]
    cycles: list[int]
    offers: list[dict[str, int]]
    equal: bool
    memory: NDArray[np.uint8]

    @property
    def ordered(self) -> bool:
        """Whether each launch's blocks were offered in order of merged id, each once."""
        blocks = [offer["block"] for offer in self.offers]
        each = len(blocks) // max(1, len(self.fates))
        return blocks == [*range(each)] * len(self.fates)


def run_of_merged(case: MergedCase, **settings: Any) -> KernelRun:
    """Return the run of a case: its launches, one after the other in stream 0."""
    count = len(case.images)
    usual: dict[str, Any] = {
        "fields": ({"stream": 0},) * count,
        "watch": True,
        "waits": case.waits,
    }
    grids, blocks = ((case.blocks, 1, 1),) * count, ((case.threads, 1, 1),) * count
    return KernelRun(case.kernel, grids, blocks, case.images, **(usual | settings))


def run_merged_kernels(
    cases: Sequence[MergedCase], config: Config, simulator: str = "verilator", **settings: Any
) -> list[MergedOutcome]:
    """Run cases one after the other, in one simulation.

    Parameters
    ----------
    cases : sequence of MergedCase
        What is run.
    config : Config
        The front end's.
    simulator : str
        ``icarus`` or ``verilator``.
    settings : dict
        Of each `KernelRun`.

    Raises
    ------
    ProgramError
        If the simulator fails.
    WarploomError
        If a launch does not fit the configuration.
    """
    filled = max((case.images[-1].end for case in cases), default=0)
    runs = [run_of_merged(case, read_bytes=filled, **settings) for case in cases]
    # A store beyond all buffers is seen after the last run.
    runs[-1:] = [replace(run, read_bytes=MEMORY_BYTES) for run in runs[-1:]]
    with tempfile.TemporaryDirectory() as folder:
        outcomes = run_kernels(runs, config, simulator, Path(folder))
    made: list[MergedOutcome] = []
    for case, outcome in zip(cases, outcomes, strict=True):
        fates = [(FinalFate(one["fate"]), one["code"]) for one in outcome.records]
        well = len(fates) == len(case.images) and set(fates) == {(FinalFate.FINISHED, 0)}
        made.append(
            MergedOutcome(
                fates=fates,
                cycles=[one["cycles"] for one in outcome.records],
                offers=outcome.offers,
                equal=well and case.equal(outcome.memory) and case.kept(outcome.memory),
                memory=outcome.memory,
            )
        )
    return made


def planning(config: Config) -> Config:
    """Return the configuration with which tables for the kernel are planned and checked.

    The program finds indices by itself: shapes and index memory do not limit the tasks.
    """
    return replace(config, history_entries=64, index_memory_warps=65536)
