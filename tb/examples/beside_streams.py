"""Three tasks merged, in one stream, and in two, on SimtCores: cycles of each.

The tasks are those of ``examples/kernels/merged.c``; as launches of their own they run as
``one_task.c``, which is made of the same functions. Cycles are counted from the acceptance of the
first launch to the last final record, so the host's time between launches is in them.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from simt_host import KernelElf, MemoryImage, read_kernel
from simt_host.gpu_run import KernelOutcome, KernelRun, run_kernels
from simt_host.memory_image import MEMORY_BYTES
from simt_host.merged_case import MergedCase, merged_case
from simt_host.merged_run import planning
from tb.examples.kernel_cases import KERNELS
from tb.support.dispatch_configs import config_of
from warploom_dev.beside_streams import MERGED, ONE, TWO, Row
from warploom_golden.merging import MappingTable, MergePlanner, Task
from warploom_sim.failure import ProgramError
from warploom_spec import LaunchDescriptor

ROOT: Final = Path(__file__).parents[2]
#: Four SMs, of which some are enabled.
CONFIG: Final = "tiny,sms=4"
SMS: Final = (1, 2, 4)
#: The length of blocks that have equally many threads in all tasks.
EQUAL: Final = "longest, equal"
#: How often a block repeats its work.
LENGTHS: Final = {"short": 1, "long": 4, "longest": 32, EQUAL: 32}
SEED: Final = 1
WAYS: Final = (ONE, TWO, MERGED)
#: Words of a task's record in memory.
_RECORD_BYTES: Final = 80
#: Of each of the three launches: its stream, no shared memory unless it is the last, and which
#: earlier launches it waits for.
_FIELDS: Final = {
    ONE: ({"stream": 0, "shared": 0}, {"stream": 0, "shared": 0}, {"stream": 0}),
    TWO: ({"stream": 0, "shared": 0}, {"stream": 1, "shared": 0}, {"stream": 1}),
}
_AFTER: Final = {ONE: ((), (), ()), TWO: ((), (), (0,))}


def three_tasks(blocks: int, equal: bool = False) -> list[Task]:
    """Return a vector addition, a stencil, and a sum that needs the first.

    The sum has half the threads of the others, unless all are to be equal.
    """
    shapes = (
        ((blocks, 1, 1), (16, 1, 1), ()),
        ((blocks // 2, 2, 1), (2, 2, 4), ()),
        ((blocks, 1, 1), (16 if equal else 8, 1, 1), (0,)),
    )
    return [
        Task(
            # Indices of each shape behind those of the one before.
            launch=LaunchDescriptor(grid=grid, block=block, index_address=16 * number),
            depends=frozenset(needs),
        )
        for number, (grid, block, needs) in enumerate(shapes)
    ]


@cache
def one_task() -> KernelElf:
    """Return the kernel whose launches are the tasks."""
    return read_kernel(KERNELS / "one_task.elf", MEMORY_BYTES)


@dataclass(frozen=True)
class Planned:
    """A run: its case, to judge the memory, and the way that it takes."""

    case: MergedCase
    way: str
    run: KernelRun


def planned(table: MappingTable, rounds: int, way: str, sms: int) -> Planned:
    """Return the run of a table's tasks in one of the three ways."""
    if way == MERGED:
        case = merged_case(table, SEED, rounds=rounds)
        grid, block = (case.blocks, 1, 1), (case.threads, 1, 1)
        run = KernelRun(case.kernel, (grid,), (block,), case.images, sms=sms)
        return Planned(case, way, run)
    kernel = one_task()
    case = merged_case(table, SEED, rounds=rounds, kernel=kernel)
    images = list(case.images)
    for number in range(len(table.tasks)):
        record = images[0].addresses["tasks"] + _RECORD_BYTES * number
        images.append(MemoryImage(kernel, [], [str(record), str(number)], behind=images[-1]))
    launches = [task.launch for task in table.tasks]
    run = KernelRun(
        kernel,
        tuple(launch.grid for launch in launches),
        tuple(launch.block for launch in launches),
        tuple(images[1:]),
        sms=sms,
        fields=_FIELDS[way],
        after=_AFTER[way],
        read_bytes=images[-1].end,
    )
    return Planned(case, way, run)


def cycles(outcome: KernelOutcome) -> int:
    """Return the cycles from the first launch's acceptance to the last record."""
    first = next(record for record in outcome.records if record["launch"] == 0)
    return (outcome.records[-1]["made"] - first["accepted"]) % (1 << 32)


def launching(outcome: KernelOutcome) -> int:
    """Return the cycles from the acceptance of the first launch to that of the last."""
    accepted = [record["accepted"] for record in sorted(outcome.records, key=_number)]
    return (accepted[-1] - accepted[0]) % (1 << 32)


def _number(record: dict[str, int]) -> int:
    return record["launch"]


def judged(plan: Planned, outcome: KernelOutcome) -> int:
    """Return a run's cycles.

    Raises
    ------
    ProgramError
        If a launch has not finished, or the results are not NumPy's.
    """
    fates = [(record["fate"], record["code"]) for record in outcome.records]
    if fates != [(0, 0)] * len(plan.run.grids) or not plan.case.equal(outcome.memory):
        raise ProgramError(f"{plan.way}: fates and codes {fates}, or results that are not NumPy's")
    return cycles(outcome)


def measure(choices: Sequence[tuple[int, int, str]]) -> list[Row]:
    """Return a row for each choice of SMs, blocks of a task, and length; all in one simulation."""
    config = config_of(CONFIG)
    planner = MergePlanner(planning(config))
    plans: list[Planned] = []
    for sms, blocks, length in choices:
        table = planner.plan(three_tasks(blocks, length == EQUAL))
        plans += [planned(table, LENGTHS[length], way, sms) for way in WAYS]
    with tempfile.TemporaryDirectory() as folder:
        outcomes = run_kernels([plan.run for plan in plans], config, "verilator", Path(folder))
    found = [(judged(*pair), pair[1].instructions) for pair in zip(plans, outcomes, strict=True)]
    rows: list[Row] = []
    for number, (sms, blocks, length) in enumerate(choices):
        those = found[len(WAYS) * number :][: len(WAYS)]
        row: dict[str, Any] = {"sms": sms, "blocks": blocks, "length": length}
        row["launching"] = launching(outcomes[len(WAYS) * number])
        row |= {way: one for way, (one, _) in zip(WAYS, those, strict=True)}
        row |= {f"turns_{way}": turns for way, (_, turns) in zip(WAYS, those, strict=True)}
        rows.append(row)
    return rows
