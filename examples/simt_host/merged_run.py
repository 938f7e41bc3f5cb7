"""Runs ``examples/kernels/merged.c`` on a simulated SimtGpu."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simt_host.gpu_run import KernelOutcome, KernelRun, run_kernels
from simt_host.memory_image import MEMORY_BYTES
from simt_host.merged_case import MergedCase
from warploom_spec import Config
from warploom_spec.queue import FinalFate, Mode


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
    usual: dict[str, Any] = {"fields": ({"stream": 0},) * count, "watch": True, "waits": case.waits}
    grids, blocks = ((case.blocks, 1, 1),) * count, ((case.threads, 1, 1),) * count
    return KernelRun(case.kernel, grids, blocks, case.images, **(usual | settings))


def run_beside(case: MergedCase, urgent: MergedCase, mode: Mode, after: int) -> KernelRun:
    """Return the run of a case whose launch makes way for another one, some cycles after it.

    Parameters
    ----------
    case, urgent : MergedCase
        Each of one launch; the second one's data lie behind the first one's.
    mode : Mode
        How the first launch makes way; with `Mode.RESET` it says that it is idempotent.
    after : int
        Cycles between the two doorbells.
    """
    both = (case, urgent)
    low = {"stream": 0, "priority": 0, "mode": int(mode), "idempotent": int(mode == Mode.RESET)}
    return KernelRun(
        case.kernel,
        tuple((one.blocks, 1, 1) for one in both),
        tuple((one.threads, 1, 1) for one in both),
        tuple(one.images[0] for one in both),
        fields=(low, {"stream": 1, "priority": 3}),
        pauses=(0, after),
        watch=True,
    )


def run_merged_kernels(
    cases: Sequence[MergedCase],
    config: Config,
    simulator: str = "verilator",
    each: Sequence[dict[str, Any]] = (),
    *,
    whole: bool = False,
    **settings: Any,
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
    each : sequence of dict, optional
        Of each case's `KernelRun`, beside ``settings``.
    whole : bool
        Whether the whole memory is read after the last run, so that a store beyond all buffers is
        seen; it takes some ten seconds.
    settings : dict
        Of every `KernelRun`.

    Raises
    ------
    ProgramError
        If the simulator fails.
    WarploomError
        If a launch does not fit the configuration.
    """
    pairs = zip(cases, each or [{}] * len(cases), strict=True)
    runs = [run_of_merged(case, **(settings | more)) for case, more in pairs]
    return [
        outcome_of(case, outcome)
        for case, outcome in zip(cases, run_all(runs, config, simulator, whole), strict=True)
    ]


def run_all(
    runs: Sequence[KernelRun], config: Config, simulator: str, whole: bool = False
) -> list[KernelOutcome]:
    """Make runs one after the other; what any of them fills is read after each."""
    filled = max((run.images[-1].end for run in runs), default=0)
    read = [replace(run, read_bytes=filled) for run in runs]
    if whole:
        read[-1:] = [replace(run, read_bytes=MEMORY_BYTES) for run in read[-1:]]
    with tempfile.TemporaryDirectory() as folder:
        return run_kernels(read, config, simulator, Path(folder))


def outcome_of(case: MergedCase, outcome: KernelOutcome) -> MergedOutcome:
    """Return what came of a case, alone in its run."""
    fates = [(FinalFate(one["fate"]), one["code"]) for one in outcome.records]
    well = len(fates) == len(case.images) and set(fates) == {(FinalFate.FINISHED, 0)}
    return MergedOutcome(
        fates=fates,
        cycles=[one["cycles"] for one in outcome.records],
        offers=outcome.offers,
        equal=well and case.equal(outcome.memory) and case.kept(outcome.memory),
        memory=outcome.memory,
    )


def planning(config: Config) -> Config:
    """Return the configuration with which tables for the kernel are planned and checked.

    The program finds indices by itself: shapes and index memory do not limit the tasks.
    """
    return replace(config, history_entries=64, index_memory_warps=65536)
