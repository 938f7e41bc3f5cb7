"""The mapping table: which task, and which of the task's blocks, each merged block id runs.

Rule 1 of ``docs/merging/merged_kernels.md``, after patent CN102708009A.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from warploom_golden.merging.task import Task
from warploom_golden.oracles.index_reference import Dims
from warploom_spec import Config, LaunchDescriptor
from warploom_spec.resources import AMOUNT_FIELDS

Integers = NDArray[np.int64]


def block_id(place: Dims, grid: Dims) -> int:
    """Return the id of the block at (bx, by, bz) in a grid: bx + gx (by + gy bz)."""
    return place[0] + grid[0] * (place[1] + grid[1] * place[2])


def block_place(number: int, grid: Dims) -> Dims:
    """Return the (bx, by, bz) of the block with an id: the inverse of `block_id`."""
    rows, x = divmod(number, grid[0])
    z, y = divmod(rows, grid[1])
    return x, y, z


@dataclass(frozen=True)
class TableEntry:
    """One entry of a mapping table: consecutive blocks of one task, in order of block id.

    Attributes
    ----------
    task : int
        Number of the task.
    first, last : Dims
        Places (bx, by, bz) of the first and of the last block, both included.
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
        The tasks; a task's number is its index here.
    entries : tuple of TableEntry
        The entries, in order of merged block id.
    permuted : mapping of int to int
        The tasks whose blocks may stand in any order, each with its declared number of entries.
    """

    tasks: tuple[Task, ...]
    entries: tuple[TableEntry, ...]
    permuted: Mapping[int, int] = field(default_factory=dict)

    def expanded(self) -> tuple[Integers, Integers]:
        """Return the task and the block id in that task's grid, of each merged block id.

        Returns
        -------
        tuple of two arrays of int64, shape (merged blocks,)
            Task numbers, block ids.
        """
        tasks, blocks = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for entry in self.entries:
            grid = self.tasks[entry.task].launch.grid
            ids = np.arange(block_id(entry.first, grid), block_id(entry.last, grid) + 1)
            blocks.append(ids)
            tasks.append(np.full(len(ids), entry.task))
        return np.concatenate(tasks), np.concatenate(blocks)

    def shapes(self) -> list[tuple[int, Dims]]:
        """Return the distinct index configurations, each with the first task that has it."""
        return list(dict.fromkeys(task.shape for task in self.tasks))

    def launch(self, config: Config, handle: int = 1) -> LaunchDescriptor:
        """Return the one launch that runs the table.

        The launch's block has as many threads as the largest task's. What it takes of each resource
        is the maximum over the tasks, as in patent CN102708009A.

        Parameters
        ----------
        config : Config
            The widths of the launch's fields.
        handle : int
            The number under which the hardware holds the table.

        Raises
        ------
        WarploomError
            If a value does not fit its field.
        """
        launches = [vars(task.launch) for task in self.tasks]
        most = {name: max(launch[name] for launch in launches) for name in AMOUNT_FIELDS}
        made = LaunchDescriptor(
            grid=(1, 1, 1),
            block=(max(task.threads for task in self.tasks), 1, 1),
            table=handle,
            **most,
        )
        made.pack(config)
        return made
