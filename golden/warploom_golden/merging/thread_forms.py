"""Which thread a merged kernel's thread is: in the source's one-dimensional form, and in ours.

The source makes grid and blocks one-dimensional, and each thread divides to find its index. Here
each block keeps its own task's shape, and its threads read packed indices.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from warploom_golden.merging.mapping_table import MappingTable, block_place
from warploom_golden.oracles.index_reference import (
    Dims,
    Index,
    indices,
    packed_warps,
    threads,
    unpack,
    widths,
)
from warploom_spec import Config


@dataclass(frozen=True)
class BlockThreads:
    """The threads of one merged block.

    Attributes
    ----------
    task : int
        Its task.
    block : Dims
        Its (bx, by, bz) in the task's grid.
    mask : array of bool, shape (threads launched,)
        Threads that the task has; the others are empty: masked off, and counted in the barrier.
    index : tuple of three arrays, shape (threads launched,)
        (x, y, z) of each thread; 0 where the mask is.
    """

    task: int
    block: Dims
    mask: NDArray[np.bool_]
    index: Index


def _launched(table: MappingTable) -> int:
    return max(task.threads for task in table.tasks)


def one_dimensional(table: MappingTable, merged_id: int) -> BlockThreads:
    """Return a merged block's threads as the source's form numbers them: by division."""
    tasks, blocks = table.expanded()
    task = int(tasks[merged_id])
    launch = table.tasks[task].launch
    n = np.arange(_launched(table), dtype=np.uint32)
    mask = n < threads(launch.block)
    x, y, z = (axis * mask for axis in indices(n, launch.block))
    return BlockThreads(task, block_place(int(blocks[merged_id]), launch.grid), mask, (x, y, z))


def shaped(table: MappingTable, merged_id: int, config: Config) -> BlockThreads:
    """Return a merged block's threads as its offer describes them: by packed indices.

    Warp w of the block reads warp w at its task's index address; at and beyond the task's warps
    the lane mask is 0.
    """
    tasks, blocks = table.expanded()
    task = int(tasks[merged_id])
    launch = table.tasks[task].launch
    words, mask = packed_warps(launch.block, config)
    count = _launched(table)
    lanes = np.zeros(count, np.uint32)
    live = np.zeros(count, np.bool_)
    read = min(words.size, count)
    lanes[:read], live[:read] = words.reshape(-1)[:read], mask.reshape(-1)[:read]
    index = unpack(lanes, widths(launch.block))
    return BlockThreads(task, block_place(int(blocks[merged_id]), launch.grid), live, index)
