"""A launch as the dispatcher gets it: blocks in order, their resources, the marks they need."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from warploom_golden.merging.dependency_tracker import reporting_last
from warploom_golden.merging.mapping_table import Integers, MappingTable, block_place
from warploom_golden.merging.task import Task
from warploom_golden.oracles.index_reference import Dims
from warploom_golden.replay.block_length import block_lengths
from warploom_spec import Config, LaunchDescriptor, WarploomError

#: What one block takes of an SM, in the order of `warploom_spec.RESOURCES`.
Amounts = tuple[int, ...]
#: What a merged block takes. ``maximum``: the maxima over the tasks, as in patent CN102708009A.
#: ``task``: what its own task needs.
CHARGES = ("maximum", "task")


@dataclass
class BlockLog:
    """What happened to each block of a launch, by merged id. -1: it has not happened.

    Attributes
    ----------
    offered : list of int
        Cycle in which the block was offered to its SM.
    started : list of int
        Cycle in which the block's work began.
    due : list of int
        First cycle in which the block may be reported.
    reported : list of int
        Cycle of the block's report.
    sm, slot : list of int
        The SM and the slot that hold the block.
    """

    offered: list[int]
    started: list[int]
    due: list[int]
    reported: list[int]
    sm: list[int]
    slot: list[int]


@dataclass
class MergedWork:
    """The blocks of one launch.

    Attributes
    ----------
    tasks, blocks, lengths : list of int
        For each merged id: task, block id in the task's grid, cycles of work.
    grids : list of Dims
        Each task's grid.
    counts : list of int
        Each task's number of blocks.
    needs : list of int
        For each task, the mask of the tasks that it depends on.
    amounts : list of Amounts
        For each task, what one block takes.
    last : list of int
        For each task, the merged id of the block that reports last.
    tracked : bool
        Whether the launch has tags and marks: True for a merged launch.
    start : int
        First merged id to run; not 0 where the launch goes on after a drain.
    rows : array of int64
        What happened to each block: a row for each field of `BlockLog`.
    """

    tasks: list[int]
    blocks: list[int]
    lengths: list[int]
    grids: list[Dims]
    counts: list[int]
    needs: list[int]
    amounts: list[Amounts]
    last: list[int]
    tracked: bool
    start: int = 0
    rows: Integers = field(init=False)

    def __post_init__(self) -> None:
        """Make an empty log."""
        self.rows = np.full((len(fields(BlockLog)), len(self.tasks)), -1)

    @property
    def log(self) -> BlockLog:
        """What happened to each block, so far."""
        return BlockLog(*self.rows.tolist())

    def place(self, merged_id: int) -> Dims:
        """Return a block's (bx, by, bz) in its task's grid."""
        return block_place(self.blocks[merged_id], self.grids[self.tasks[merged_id]])


def merged_work(
    table: MappingTable,
    config: Config,
    seed: int,
    charge: str = "maximum",
    last: str = "merged_id",
    start: int = 0,
    jitter: bool = True,
) -> MergedWork:
    """Return the work of a table's launch.

    Parameters
    ----------
    table : MappingTable
        The table. This function does not check it.
    config : Config
        The warp size, and the widths of the launch's fields.
    seed : int
        Seed of the block lengths.
    charge : str
        One of `CHARGES`.
    last : str
        One of `dependency_tracker.LAST_RULES`.
    start : int
        First merged id to run; not 0 where the launch goes on after a drain.
    jitter : bool
        Whether block lengths vary around their base, as in a replay.

    Raises
    ------
    WarploomError
        If ``charge`` is unknown.
    """
    tasks, blocks = table.expanded()
    if charge not in CHARGES:
        raise WarploomError(f"charge is {charge!r}; legal: {', '.join(CHARGES)}")
    own = [task.need(config) for task in table.tasks]
    whole = table.launch(config)
    most = Task(launch=whole).need(config)
    lengths = np.zeros(len(tasks), np.int64)
    for number, task in enumerate(table.tasks):
        mine = tasks == number
        lengths[mine] = _lengths(task.launch, blocks[mine], seed, jitter)
    return MergedWork(
        tasks=tasks.tolist(),
        blocks=blocks.tolist(),
        lengths=lengths.tolist(),
        grids=[task.launch.grid for task in table.tasks],
        counts=np.bincount(tasks, minlength=len(table.tasks)).tolist(),
        needs=[sum(1 << other for other in task.depends) for task in table.tasks],
        amounts=own if charge == "task" else [most] * len(own),
        last=reporting_last(tasks, blocks, len(table.tasks), last),
        tracked=True,
        start=start,
    )


def plain_work(
    launch: LaunchDescriptor, config: Config, seed: int, jitter: bool = True
) -> MergedWork:
    """Return the work of a launch without a table: one task, no tags, no marks."""
    task = Task(launch=launch)
    blocks = np.arange(task.blocks)
    return MergedWork(
        tasks=[0] * len(blocks),
        blocks=blocks.tolist(),
        lengths=_lengths(launch, blocks, seed, jitter).tolist(),
        grids=[launch.grid],
        counts=[len(blocks)],
        needs=[0],
        amounts=[task.need(config)],
        last=[len(blocks) - 1],
        tracked=False,
    )


def _lengths(launch: LaunchDescriptor, blocks: Integers, seed: int, jitter: bool) -> Integers:
    if not jitter:
        return np.full(len(blocks), launch.arguments)
    gx, gy, _ = launch.grid
    rows = blocks // gx
    places: Sequence[Integers] = (blocks % gx, rows % gy, rows // gy)
    bx, by, bz = (axis.astype(np.uint32) for axis in places)
    return block_lengths(seed, launch.code, launch.arguments, bx, by, bz).astype(np.int64)
