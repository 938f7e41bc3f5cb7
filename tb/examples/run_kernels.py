"""``make run-kernels``: every kernel that ends, every block shape, on one SM and on two.

All runs of a configuration are made on one simulated GPU, one after the other. Then two launches of
one kernel run at once, in two streams. Then a vector addition of 4,096 threads is timed. At last
the merged kernel runs with tables of all orders.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from simt_host.gpu_run import KernelRun, run_kernels
from simt_host.memory_image import MEMORY_BYTES
from tb.examples.kernel_cases import BLOCKS, ENDING, KernelCase, kernel_case, vector_add_of
from tb.examples.merged_rows import ALL, merged_rows
from tb.support.dispatch_configs import config_of
from warploom_sim.failure import ProgramError
from warploom_sim.json_file import write_json
from warploom_spec import WarploomError

#: How many SMs get blocks, in each configuration.
CONFIGS = {"tiny": (1, 2), "default,sms=1": (1,), "default,sms=2": (2,)}
#: The others are made when they are asked for: the build alone takes minutes.
USUAL = ("tiny", "default,sms=1")
SEED = 1
#: Block shapes of two launches that are resident at once, and the bytes of shared memory that the
#: second one's blocks take beyond what the kernel needs: one shape, two of one size, two sizes.
PAIRS = (
    ((7, 5, 3), (7, 5, 3), 0),
    ((33, 1, 1), (1, 17, 2), 0),
    ((96, 1, 1), (1, 17, 1), 640),
)
#: The vector addition that is timed from the doorbell to the record.
TIMED_CONFIG, TIMED_ELEMENTS, TIMED_BLOCK = "tiny", 4096, (96, 1, 1)
#: Exit codes.
REFUSED, FAILED = 2, 3


def run_of(*cases: KernelCase, **settings: Any) -> KernelRun:
    """Return a run of one case, or of several of one kernel at once."""
    return KernelRun(
        cases[0].kernel,
        tuple(case.grid for case in cases),
        tuple(case.block for case in cases),
        tuple(case.image for case in cases),
        **settings,
    )


def planned(config: str) -> list[tuple[tuple[KernelCase, ...], KernelRun]]:
    """Return the launches of each run of one of `CONFIGS`, and the run.

    All bytes that any run fills are read after each run, and the whole memory after the last one:
    no later run hides what a launch has changed. The timed run fills more, and stands by itself.
    """
    plan: list[tuple[tuple[KernelCase, ...], KernelRun]] = []
    for name in ENDING:
        for block in BLOCKS:
            case = kernel_case(name, block, SEED, blocks=2)
            plan += [((case,), run_of(case, sms=sms)) for sms in CONFIGS[config]]
        for first, second, more in PAIRS:
            case = kernel_case(name, first, SEED, blocks=2)
            pair = (case, kernel_case(name, second, SEED + 1, 2, behind=case))
            plan += [
                (pair, run_of(*pair, sms=sms, shared_more=(0, more))) for sms in CONFIGS[config]
            ]
    filled = max((cases[-1].image.end for cases, _ in plan), default=0)
    plan = [(cases, replace(run, read_bytes=filled)) for cases, run in plan]
    plan[-1:] = [(cases, replace(run, read_bytes=MEMORY_BYTES)) for cases, run in plan[-1:]]
    if config == TIMED_CONFIG:
        case = vector_add_of(TIMED_ELEMENTS, TIMED_BLOCK, SEED)
        plan.append(((case,), run_of(case, sms=2, read_bytes=MEMORY_BYTES)))
    return plan


def is_kept(cases: Sequence[KernelCase], memory: np.ndarray) -> bool:
    """Tell whether launches changed nothing in a memory but their results."""
    before, after = cases[-1].image.bytes.copy(), memory.copy()
    for case in cases:
        first = case.image.addresses["out"]
        for each in (before, after):
            each[first : first + case.out.nbytes] = 0
    return np.array_equal(before, after)


def rows(config: str, simulator: str) -> list[dict[str, Any]]:
    """Make the runs of a configuration; return a row for each launch.

    Raises
    ------
    WarploomError
        If no run is planned.
    ProgramError
        If a run has not one record of each launch.
    """
    plan = planned(config)
    if not plan:
        raise WarploomError(f"config {config} has 0 runs; legal: at least 1")
    with tempfile.TemporaryDirectory() as folder:
        runs = [run for _, run in plan]
        outcomes = run_kernels(runs, config_of(config), simulator, Path(folder))
    made: list[dict[str, Any]] = []
    for (cases, run), outcome in zip(plan, outcomes, strict=True):
        ended = sorted(record["launch"] for record in outcome.records)
        if ended != list(range(len(cases))):
            raise ProgramError(
                f"{cases[0].name}, code {outcome.code}: records of launches {ended} of {len(cases)}"
            )
        kept = is_kept(cases, outcome.memory)
        for record in outcome.records:
            case = cases[record["launch"]]
            found = case.image.buffer("out", outcome.memory)
            ended_well = record["fate"] == record["code"] == 0
            made.append(
                {
                    "config": config,
                    "kernel": case.name,
                    "block": list(case.block),
                    "sms": run.sms,
                    "launches": len(cases),
                    "equal": ended_well and kept and bool(np.array_equal(found, case.out)),
                    "cycles": record["cycles"],
                    "doorbell_to_record": record["waited"],
                    "index_reads": outcome.index_reads,
                }
            )
    return made


def main() -> None:
    """Write the rows to a file, and say how many results are NumPy's."""
    parser = argparse.ArgumentParser(prog="make run-kernels", description=__doc__)
    parser.add_argument(
        "--config",
        action="append",
        choices=[*CONFIGS, *(name for name in ALL if name not in CONFIGS)],
        help=f"only this one; may be given more than once (default: {' and '.join(USUAL)})",
    )
    parser.add_argument("--sim", default="verilator", help="verilator or icarus")
    parser.add_argument("--out", type=Path, default=Path("build/kernels.json"))
    given = parser.parse_args()
    made: list[dict[str, Any]] = []
    for config in given.config or USUAL:
        try:
            made += rows(config, given.sim) if config in CONFIGS else []
            if config == TIMED_CONFIG:
                print(f"vector_add_cycles: {made[-1]['doorbell_to_record']}")
            made += merged_rows(config, given.sim)
        except (WarploomError, ProgramError) as error:
            print(f"run-kernels: {error}", file=sys.stderr)
            raise SystemExit(REFUSED if isinstance(error, WarploomError) else FAILED) from error
    given.out.parent.mkdir(parents=True, exist_ok=True)
    write_json(given.out, made)
    equal = sum(row["equal"] and row.get("order", True) for row in made)
    print(f"{equal} of {len(made)} launches equal NumPy: {given.out}")
    raise SystemExit(equal != len(made))


if __name__ == "__main__":
    main()
