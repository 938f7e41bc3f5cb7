"""The merged kernel on SimtCores beside the golden model in ``spin``: cycles of the same launches.

Each block takes all shared memory of its SM, so one block runs there at a time, as long as it runs
alone. Blocks on several SMs slow each other down, because all SMs share one port of the memory. By
how much is measured on the same blocks without dependencies.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from simt_host.gpu_run import KernelOutcome, KernelRun, run_kernels
from simt_host.merged_case import MergedCase, merged_case
from simt_host.merged_run import planning
from tb.examples.beside_streams import CONFIG, LENGTHS, SEED, three_tasks
from tb.support.dispatch_configs import config_of
from warploom_golden.merging import MappingTable, MergePlanner, MergeRules, Task, run_merged
from warploom_sim.failure import ProgramError

#: Cycles in which a task's last block reads a tag: six instructions of `report` in ``merged.c``, of
#: which two load (``docs/examples/simt_core.md``: five cycles each; a load of a lane takes 3 more).
WALK: Final = 6 * 5 + 2 * 3
#: SMs, blocks of a task, length.
Choice = tuple[int, int, str]
CHOICES: Final[tuple[Choice, ...]] = (
    (1, 2, "short"),
    (2, 2, "short"),
    (4, 2, "short"),
    (1, 8, "short"),
    (2, 8, "short"),
    (4, 8, "short"),
    (2, 8, "long"),
)
#: Blocks of each task where the slowdown is measured.
_MIX: Final = 8


def table_of(tasks: Sequence[Task]) -> MappingTable:
    """Return the planner's table."""
    return MergePlanner(planning(config_of(CONFIG))).plan(tasks)


def free_tasks(blocks: int) -> list[Task]:
    """Return the three tasks without dependencies."""
    return [replace(task, depends=frozenset()) for task in three_tasks(blocks)]


def run_of(table: MappingTable, length: str, sms: int, blocks: int | None = None) -> KernelRun:
    """Return the run of a merged kernel, or of its first blocks alone."""
    case: MergedCase = merged_case(table, SEED, rounds=LENGTHS[length])
    shapes = ((blocks or case.blocks, 1, 1),), ((case.threads, 1, 1),)
    fields = ({"stream": 0, "shared": config_of(CONFIG).shared_units},)
    return KernelRun(case.kernel, *shapes, case.images, fields=fields, sms=sms)


def length_run(number: int, length: str) -> KernelRun:
    """Return the run of one block of a task: not the last one, nor one that waits."""
    table = table_of(free_tasks(2))
    first = sorted(table.entries, key=lambda entry: entry.task != number)
    return run_of(replace(table, entries=tuple(first)), length, sms=1, blocks=1)


def model_cycles(choice: Choice, lengths: Sequence[int]) -> int:
    """Return the golden model's cycles from the first offer to the last report."""
    sms, blocks, _ = choice
    config = planning(replace(config_of(CONFIG), sms=sms))
    tasks = [
        replace(task, launch=replace(task.launch, shared=config.shared_units, arguments=cycles))
        for task, cycles in zip(three_tasks(blocks), lengths, strict=True)
    ]
    rules = MergeRules(mode="spin", walk=WALK, jitter=False)
    (work,) = run_merged([MergePlanner(config).plan(tasks)], config, seed=0, rules=rules).works
    return max(work.log.reported) - min(work.log.offered)


def cycles_of(outcome: KernelOutcome) -> int:
    """Return the cycles of a run's launch, from its first offer to its last report."""
    (record,) = outcome.records
    if (record["fate"], record["code"]) != (0, 0):
        raise ProgramError(f"merged: fate {record['fate']}, code {record['code']}")
    return record["cycles"]


def measure(choices: Sequence[Choice]) -> list[dict[str, Any]]:
    """Return a row for each choice; all runs are made in one simulation."""
    runs: dict[tuple[Any, ...], KernelRun] = {}
    for sms, blocks, length in choices:
        runs |= {("block", number, length): length_run(number, length) for number in range(3)}
        mix = table_of(free_tasks(_MIX))
        runs |= {("mix", count, length): run_of(mix, length, count) for count in (1, sms)}
        merged = run_of(table_of(three_tasks(blocks)), length, sms)
        runs["merged", sms, blocks, length] = merged
    with tempfile.TemporaryDirectory() as folder:
        outcomes = run_kernels([*runs.values()], config_of(CONFIG), "verilator", Path(folder))
    found = dict(zip(runs, map(cycles_of, outcomes), strict=True))
    return [_row(choice, found) for choice in choices]


def _row(choice: Choice, found: dict[tuple[Any, ...], int]) -> dict[str, Any]:
    """Return what was measured for a choice, and the model's cycles.

    ``block_cycles``: of one block of each task alone. ``mix``: of the tasks without dependencies,
    on one SM and on all. ``alone``, ``model``: the model's cycles with the blocks' lengths as they
    are alone, and slowed down.
    """
    sms, blocks, length = choice
    lengths = [found["block", number, length] for number in range(3)]
    mix = [found["mix", count, length] for count in (1, sms)]
    return {
        "sms": sms,
        "blocks": blocks,
        "length": length,
        "block_cycles": lengths,
        "mix": mix,
        "rtl": found["merged", sms, blocks, length],
        "alone": model_cycles(choice, lengths),
        "model": model_cycles(choice, slowed(lengths, mix, sms)),
    }


def slowed(lengths: Sequence[int], mix: Sequence[int], sms: int) -> list[int]:
    """Return blocks' lengths while as many SMs run blocks."""
    one, all_sms = mix
    return [round(cycles * all_sms * sms / one) for cycles in lengths]
