"""Task graphs and tables for the merged kernel."""

import random
from dataclasses import replace

from simt_host.merged_run import planning
from warploom_golden.merging import MappingTable, MergePlanner, Task
from warploom_golden.merging.mapping_table import TableEntry, block_place
from warploom_golden.merging.tags_and_marks import permuted
from warploom_spec import Config, LaunchDescriptor
from warploom_spec.launch import SHARED_UNIT_BYTES

Dims = tuple[int, int, int]
#: Bytes of shared memory that a block of the kernel takes.
SHARED_BYTES = 1024
#: Tasks of three shapes; the third needs the first.
USUAL: tuple[tuple[Dims, Dims, tuple[int, ...]], ...] = (
    ((3, 1, 1), (8, 1, 1), ()),
    ((2, 1, 2), (2, 3, 1), ()),
    ((2, 1, 1), (3, 3, 1), (0,)),
)
_SHAPES: tuple[Dims, ...] = ((1, 1, 1), (8, 1, 1), (5, 1, 2), (3, 2, 2), (17, 1, 1), (2, 3, 3))


def task_of(number: int, grid: Dims, block: Dims, needs: tuple[int, ...]) -> Task:
    """Return a task; what its blocks take is what the kernel's blocks take."""
    launch = LaunchDescriptor(
        grid=grid,
        block=block,
        index_address=64 * number,
        warp_registers=1,
        shared=SHARED_BYTES // SHARED_UNIT_BYTES,
        barriers=1,
        arguments=200,
        code=number,
    )
    return Task(launch=launch, depends=frozenset(needs), name=f"task {number}")


def usual_tasks() -> list[Task]:
    return [task_of(number, *values) for number, values in enumerate(USUAL)]


def usual_table(config: Config, order: str = "topological") -> MappingTable:
    return MergePlanner(planning(config)).plan(usual_tasks(), order)


def random_table(config: Config, rng: random.Random, blocks: int = 4) -> MappingTable:
    """Draw two or three tasks, what they need, and an order: mostly any order of all blocks."""
    count = rng.choice((2, 3))
    order = rng.sample(range(count), count)
    tasks = []
    for number in range(count):
        earlier = order[: order.index(number)]
        needs = tuple(other for other in earlier if rng.random() < 0.7)
        grid = (rng.randint(1, blocks), rng.choice((1, 1, 2)), 1)
        tasks.append(task_of(number, grid, rng.choice(_SHAPES), needs))
    planner = MergePlanner(planning(config))
    table = planner.plan(tasks, rng.choice(("topological", "interleaved", "longest_first")))
    kind = rng.random()
    if kind < 0.3:
        return table
    if kind < 0.6:
        return permuted(table, rng.sample(range(count), rng.randint(1, count)), rng)
    if kind < 0.8:
        return shuffled(table, rng)
    # Illegal if a task needs another: every block of what is needed comes later.
    return replace(table, entries=tuple(reversed(table_of_blocks(table).entries)))


def shuffled(table: MappingTable, rng: random.Random) -> MappingTable:
    """Return a table with all its blocks in any order, legal or not."""
    entries = list(table_of_blocks(table).entries)
    rng.shuffle(entries)
    return replace(table, entries=tuple(entries))


def table_of_blocks(table: MappingTable) -> MappingTable:
    """Return a table with an entry for each block."""
    numbers, blocks = table.expanded()
    entries = []
    for number, block in zip(numbers.tolist(), blocks.tolist(), strict=True):
        place = block_place(block, table.tasks[number].launch.grid)
        entries.append(TableEntry(number, place, place))
    return replace(table, entries=tuple(entries))
