"""Random task graphs, and configurations they run on."""

import random
from dataclasses import replace

from hypothesis import strategies as st

from warploom_golden.merging.mapping_table import MappingTable, TableEntry
from warploom_golden.merging.merge_planner import ORDERS, MergePlanner
from warploom_golden.merging.tags_and_marks import permuted
from warploom_golden.merging.task import MergeLimits, Task
from warploom_golden.oracles.index_reference import Dims, warps
from warploom_golden.replay.event_constants import PREDICTED_POLICIES
from warploom_spec import Config, LaunchDescriptor
from warploom_spec.config import RECLAIMS

SHAPES = ((8, 1, 1), (3, 2, 1), (5, 1, 3), (16, 1, 1), (7, 5, 1), (2, 2, 9), (32, 1, 1), (1, 1, 1))
LIMITS = MergeLimits(max_tasks=64, max_table_entries=4096)


def config(**fields: int | str) -> Config:
    """Return a small configuration with room for every task's shape."""
    small = {
        "sms": 2,
        "warp_size": 8,
        "block_slots": 4,
        "warp_slots": 16,
        "register_units": 32,
        "shared_units": 64,
        "barriers": 4,
        "max_threads": 256,
        "history_entries": 64,
        "index_memory_warps": 4096,
    }
    return Config(**(small | fields))


def task(
    blocks: int | Dims = 1,
    depends: tuple[int, ...] = (),
    block: Dims = (8, 1, 1),
    *,
    length: int = 20,
    code: int = 0,
    **fields: int,
) -> Task:
    """Return a task; its index address is that of its shape alone."""
    grid = (blocks, 1, 1) if isinstance(blocks, int) else blocks
    address = 64 * SHAPES.index(block) if block in SHAPES else 64 * len(SHAPES)
    launch = LaunchDescriptor(
        grid=grid, block=block, index_address=address, arguments=length, code=code
    )
    return Task(launch=replace(launch, **fields), depends=frozenset(depends))


def whole_tasks(table: MappingTable, order: list[int]) -> MappingTable:
    """Return a table in which whole tasks stand in an order, legal or not."""
    whole = []
    for number in order:
        gx, gy, gz = table.tasks[number].launch.grid
        whole.append(TableEntry(number, (0, 0, 0), (gx - 1, gy - 1, gz - 1)))
    return replace(table, entries=tuple(whole))


def random_tasks(rng: random.Random, count: int, longest: int = 60) -> list[Task]:
    """Draw tasks whose numbers say nothing of who depends on whom."""
    order = rng.sample(range(count), count)
    density = rng.choice((0.0, 0.1, 0.4, 1.0))
    tasks: list[Task | None] = [None] * count
    for position, number in enumerate(order):
        earlier = order[max(0, position - 5) : position]
        block = rng.choice(SHAPES)
        grid = (rng.randint(1, 5), rng.choice((1, 1, 2)), rng.choice((1, 1, 3)))
        tasks[number] = task(
            grid,
            tuple(other for other in earlier if rng.random() < density),
            block,
            length=rng.randint(4, longest),
            code=number,
            warp_registers=rng.randint(0, 32 // warps((36, 1, 1), 8)),
            shared=rng.randint(0, 64),
            barriers=rng.randint(0, 4),
        )
    return [one for one in tasks if one is not None]


@st.composite
def cases(draw: st.DrawFn, most_tasks: int = 64) -> tuple[Config, MappingTable]:
    """Draw a machine and a legal table: any order, some tasks permuted."""
    machine = config(
        sms=draw(st.integers(1, 16)),
        block_slots=draw(st.integers(1, 4)),
        policy=draw(st.sampled_from(PREDICTED_POLICIES)),
        reclaim=draw(st.sampled_from(RECLAIMS)),
    )
    rng = draw(st.randoms(use_true_random=False))
    tasks = random_tasks(rng, draw(st.integers(1, most_tasks)))
    table = MergePlanner(machine, LIMITS).plan(tasks, draw(st.sampled_from(list(ORDERS))))
    if draw(st.booleans()):
        table = permuted(table, rng.sample(range(len(tasks)), rng.randint(1, len(tasks))), rng)
        MergePlanner(machine, LIMITS).check(table)
    return machine, table
