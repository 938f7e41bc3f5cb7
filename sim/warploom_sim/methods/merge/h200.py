"""Merged kernels recorded on an NVIDIA H200, and the same experiment in the event model.

``h200_merged.csv`` was recorded on an NVIDIA H200 (132 SMs, 1.98 GHz). A CUDA kernel merges three
tasks of n blocks each, with tags, marks and spinning blocks written in CUDA; task 1 needs task 0.
``order`` is that of the tasks in the table, or ``separate``: three launches one after the other.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any, Final

from warploom_golden.merging.mapping_table import MappingTable, TableEntry
from warploom_golden.merging.merge_planner import MergePlanner
from warploom_golden.merging.merged_replay import MergeRules, run_merged
from warploom_golden.merging.task import Task
from warploom_spec import Config, LaunchDescriptor, preset

#: Cycles of the H200 in a microsecond.
CLOCK_MHZ: Final = 1980
#: Threads of a block. The recorded times of separate launches show two blocks an SM.
BLOCK_THREADS: Final = 1024
#: Cycles in which the recorded kernel's last block reads one tag: from 132 to 1,056 blocks of 2,000
#: cycles it got 362 us slower, in two walks over 924 tags more, one after the other.
WALK: Final = 388
SEPARATE: Final = "separate"


@dataclass(frozen=True)
class Recorded:
    """One recorded run.

    Attributes
    ----------
    blocks, work : int
        Blocks of each of the three tasks, cycles of each block.
    order : str
        Order of the tasks in the table, or `SEPARATE`.
    microseconds : float
        Duration of the run, launching included.
    timed_out : int
        Number of blocks that gave up waiting; not 0 only for the illegal table.
    """

    blocks: int
    work: int
    order: str
    microseconds: float
    timed_out: int


def recorded() -> list[Recorded]:
    """Return all recorded runs."""
    text = resources.files("warploom_sim.methods.merge").joinpath("h200_merged.csv").read_text()
    return [
        Recorded(int(n), int(work), order, float(us), int(timed_out))
        for n, work, order, us, timed_out in list(csv.reader(text.splitlines()))[1:]
    ]


def machine() -> Config:
    """Return a configuration with as many SMs as the H200."""
    return preset("large")


def three_tasks(blocks: int, work: int) -> list[Task]:
    """Return the experiment's tasks; task 1 needs task 0."""
    launch = LaunchDescriptor(
        grid=(blocks, 1, 1), block=(BLOCK_THREADS, 1, 1), warp_registers=4, arguments=work
    )
    return [
        Task(launch=replace(launch, code=n), depends=frozenset({0} if n == 1 else ()))
        for n in range(3)
    ]


def ordered(table: MappingTable, order: str) -> MappingTable:
    """Return the table with its tasks in another order."""
    grids = [task.launch.grid for task in table.tasks]
    entries = [TableEntry(n, (0, 0, 0), (grids[n][0] - 1, 0, 0)) for n in map(int, order.split())]
    return replace(table, entries=tuple(entries))


def compare() -> Iterator[dict[str, Any]]:
    """Yield for each recorded legal run its microseconds and what the model takes.

    ``cycles`` by what runs: ``gate``, ``spin``; ``walk``, in ``spin`` with CN102708009A's walk over
    the tags; for separate launches ``separate``.
    """
    config = machine()
    for run in recorded():
        if run.timed_out:
            continue
        tasks = three_tasks(run.blocks, run.work)
        exact = MergeRules(jitter=False)
        if run.order == SEPARATE:
            done = run_merged([task.launch for task in tasks], config, 0, exact)
            cycles = {SEPARATE: done.cycles}
        else:
            table = ordered(MergePlanner(config).plan(tasks), run.order)
            rules = {
                "gate": exact,
                "spin": replace(exact, mode="spin"),
                "walk": replace(exact, mode="spin", walk=WALK),
            }
            cycles = {
                name: run_merged([table], config, 0, rule).cycles for name, rule in rules.items()
            }
        yield {
            "blocks": run.blocks,
            "work_cycles": run.work,
            "order": run.order,
            "h200_us": run.microseconds,
            "cycles": cycles,
        }
