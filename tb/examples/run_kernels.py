"""``make run-kernels``: every kernel that ends, every block shape, on one SM and on two.

All runs of a configuration are made on one simulated GPU, one after the other. Then two launches of
one kernel run at once, in two streams. At last a vector addition of 4,096 threads is timed.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from simt_host.gpu_run import KernelRun, run_kernels
from tb.examples.kernel_cases import BLOCKS, ENDING, KernelCase, kernel_case, vector_add_of
from tb.support.dispatch_configs import config_of
from warploom_sim.json_file import write_json

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
    """Return the launches of each run of one of `CONFIGS`, and the run."""
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
    if config == TIMED_CONFIG:
        case = vector_add_of(TIMED_ELEMENTS, TIMED_BLOCK, SEED)
        plan.append(((case,), run_of(case, sms=2)))
    return plan


def rows(config: str, simulator: str) -> list[dict[str, Any]]:
    """Make the runs of a configuration; return a row for each launch."""
    plan = planned(config)
    with tempfile.TemporaryDirectory() as folder:
        runs = [run for _, run in plan]
        outcomes = run_kernels(runs, config_of(config), simulator, Path(folder))
    made: list[dict[str, Any]] = []
    for (cases, run), outcome in zip(plan, outcomes, strict=True):
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
                    "equal": ended_well and bool(np.array_equal(found, case.out)),
                    "cycles": record["cycles"],
                    "doorbell_to_record": record["waited"],
                    "index_reads": outcome.index_reads,
                }
            )
    assert len(made) == sum(len(cases) for cases, _ in plan)
    return made


def main() -> None:
    """Write the rows to a file, and say how many results are NumPy's."""
    parser = argparse.ArgumentParser(prog="make run-kernels", description=__doc__)
    parser.add_argument(
        "--config",
        action="append",
        choices=CONFIGS,
        help=f"only this one; may be given more than once (default: {' and '.join(USUAL)})",
    )
    parser.add_argument("--sim", default="verilator", help="verilator or icarus")
    parser.add_argument("--out", type=Path, default=Path("build/kernels.json"))
    given = parser.parse_args()
    made: list[dict[str, Any]] = []
    for config in given.config or USUAL:
        made += rows(config, given.sim)
        if config == TIMED_CONFIG:
            print(f"vector_add_cycles: {made[-1]['doorbell_to_record']}")
    given.out.parent.mkdir(parents=True, exist_ok=True)
    write_json(given.out, made)
    equal = sum(row["equal"] for row in made)
    print(f"{equal} of {len(made)} launches equal NumPy: {given.out}")
    raise SystemExit(equal != len(made))


if __name__ == "__main__":
    main()
