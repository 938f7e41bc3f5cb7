"""The thread indices of a merged kernel in two forms, which must agree.

Patent CN102708009A makes grid and blocks one-dimensional, and each thread divides to find its
index: `one_dimensional`. In Warploom each block keeps its own task's shape, and its threads read
packed indices: `shaped`.
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
        Number of the block's task.
    block : Dims
        The block's place (bx, by, bz) in the task's grid.
    mask : array of bool, shape (threads launched,)
        True for the threads that the task has. The others are masked off, and the block's barrier
        counts them.
    index : tuple of three arrays of uint32, shape (threads launched,)
        x, y and z of each thread; 0 where the mask is False.
    """

    task: int
    block: Dims
    mask: NDArray[np.bool_]
    index: Index


def _launched(table: MappingTable) -> int:
    return max(task.threads for task in table.tasks)


def one_dimensional(table: MappingTable, merged_id: int) -> BlockThreads:
    """Return a merged block's threads in the patent's form: each thread divides its number.

    Parameters
    ----------
    table : MappingTable
        The table.
    merged_id : int
        The block's id in the merged kernel.
    """
    tasks, blocks = table.expanded()
    task = int(tasks[merged_id])
    launch = table.tasks[task].launch
    n = np.arange(_launched(table), dtype=np.uint32)
    mask = n < threads(launch.block)
    x, y, z = (axis * mask for axis in indices(n, launch.block))
    return BlockThreads(task, block_place(int(blocks[merged_id]), launch.grid), mask, (x, y, z))


def shaped(table: MappingTable, merged_id: int, config: Config) -> BlockThreads:
    """Return a merged block's threads in Warploom's form: they read packed indices.

    Warp w of the block reads the w-th warp's indices from its task's index address on. Warps that
    the task does not have read nothing: their lane mask is 0.

    Parameters
    ----------
    table : MappingTable
        The table.
    merged_id : int
        The block's id in the merged kernel.
    config : Config
        The warp size, and the packing.
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
