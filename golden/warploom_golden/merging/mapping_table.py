"""The mapping table: for each merged block id, which task and which of its blocks it runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from warploom_golden.merging.task import Task
from warploom_golden.oracles.index_reference import Dims
from warploom_spec import Config, LaunchDescriptor

Integers = NDArray[np.int64]


def block_id(place: Dims, grid: Dims) -> int:
    """Return a block's id in its grid, bx + gx (by + gy bz)."""
    return place[0] + grid[0] * (place[1] + grid[1] * place[2])


def block_place(number: int, grid: Dims) -> Dims:
    """Return (bx, by, bz) of the block with an id."""
    rows, x = divmod(number, grid[0])
    z, y = divmod(rows, grid[1])
    return x, y, z


@dataclass(frozen=True)
class Run:
    """One entry: blocks of a task in order of their id, both ends included.

    Attributes
    ----------
    task : int
        Number of the task.
    first, last : Dims
        Places (bx, by, bz) of the first and of the last block.
    """

    task: int
    first: Dims
    last: Dims


@dataclass(frozen=True)
class MappingTable:
    """Tasks and the order of their blocks.

    Attributes
    ----------
    tasks : tuple of Task
        Tasks by number.
    runs : tuple of Run
        Entries in order of the merged block ids.
    permuted : mapping of int to int
        The tasks whose blocks stand in any order, each with its declared number of entries.
    """

    tasks: tuple[Task, ...]
    runs: tuple[Run, ...]
    permuted: Mapping[int, int] = field(default_factory=dict)

    def expanded(self) -> tuple[Integers, Integers]:
        """Return of each merged block id the task and the block's id in that task's grid."""
        tasks, blocks = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for run in self.runs:
            grid = self.tasks[run.task].launch.grid
            ids = np.arange(block_id(run.first, grid), block_id(run.last, grid) + 1)
            blocks.append(ids)
            tasks.append(np.full(len(ids), run.task))
        return np.concatenate(tasks), np.concatenate(blocks)

    def shapes(self) -> list[tuple[int, Dims]]:
        """Return the distinct index configurations, each with the first task that has it."""
        return list(dict.fromkeys(task.shape for task in self.tasks))

    def launch(self, config: Config, handle: int = 1) -> LaunchDescriptor:
        """Return the one launch that runs the table.

        Its block has the largest task's threads; registers, shared memory and barriers are the
        maxima over the tasks, as in the source.
        """
        launches = [task.launch for task in self.tasks]
        made = LaunchDescriptor(
            grid=(1, 1, 1),
            block=(max(task.threads for task in self.tasks), 1, 1),
            warp_registers=max(launch.warp_registers for launch in launches),
            shared=max(launch.shared for launch in launches),
            barriers=max(launch.barriers for launch in launches),
            table=handle,
        )
        made.pack(config)
        return made
