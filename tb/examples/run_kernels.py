"""``make run-kernels``: every kernel that ends, every block shape, on one SM and on two.

All runs are made on one simulated GPU, one after the other. Then two launches of one kernel run at
once, in two streams. At last a vector addition of 4,096 threads is timed.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

from simt_host.gpu_run import KernelRun, run_kernels
from tb.examples.kernel_cases import BLOCKS, ENDING, KernelCase, kernel_case, vector_add_of
from warploom_sim.json_file import write_json
from warploom_sim.variant import with_settings
from warploom_spec import Config

SMS = (1, 2)
SEED = 1
#: Shapes of two launches that are resident at once: one shape, and two.
PAIRS = (((7, 5, 3), (7, 5, 3)), ((33, 1, 1), (1, 17, 2)))
#: The vector addition that is timed from the doorbell to the record.
TIMED_ELEMENTS, TIMED_BLOCK = 4096, (96, 1, 1)


def run_of(*cases: KernelCase, **settings: int) -> KernelRun:
    """Return a run of one case, or of several of one kernel at once."""
    return KernelRun(
        cases[0].kernel,
        tuple(case.grid for case in cases),
        tuple(case.block for case in cases),
        tuple(case.image for case in cases),
        **settings,
    )


def planned(names: tuple[str, ...] = ENDING) -> list[tuple[tuple[KernelCase, ...], int]]:
    """Return the launches of each run, and the SMs that get blocks."""
    runs = [
        ((kernel_case(name, block, SEED, blocks=2),), sms)
        for name in names
        for block in BLOCKS
        for sms in SMS
    ]
    for name in names:
        for first, second in PAIRS:
            one = kernel_case(name, first, SEED, blocks=2)
            runs.append(((one, kernel_case(name, second, SEED + 1, 2, behind=one)), 2))
    return [*runs, ((vector_add_of(TIMED_ELEMENTS, TIMED_BLOCK, SEED),), 2)]


def rows(
    config: Config, simulator: str, names: tuple[str, ...] = ENDING
) -> list[dict[str, object]]:
    """Make the runs; return a row for each launch."""
    plan = planned(names)
    runs = [run_of(*cases, sms=sms) for cases, sms in plan]
    with tempfile.TemporaryDirectory() as folder:
        outcomes = run_kernels(runs, config, simulator, Path(folder))
    made: list[dict[str, object]] = []
    for (cases, sms), outcome in zip(plan, outcomes, strict=True):
        for record in outcome.records:
            case = cases[record["launch"]]
            found = case.image.buffer("out", outcome.memory)
            ended_well = record["fate"] == record["code"] == 0
            made.append(
                {
                    "kernel": case.name,
                    "block": list(case.block),
                    "sms": sms,
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", default="tiny")
    parser.add_argument("--sim", default="verilator")
    parser.add_argument("--out", type=Path, default=Path("build/kernels.json"))
    given = parser.parse_args()
    made = rows(with_settings(given.config, ()), given.sim)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    write_json(given.out, made)
    equal = sum(bool(row["equal"]) for row in made)
    print(f"vector_add_cycles: {made[-1]['doorbell_to_record']}")
    print(f"{equal} of {len(made)} launches equal NumPy: {given.out}")
    raise SystemExit(equal != len(made))


if __name__ == "__main__":
    main()
