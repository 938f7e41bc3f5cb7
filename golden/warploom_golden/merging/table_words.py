"""A mapping table, tags and marks as words of memory, as patent CN102708009A keeps them.

A program that runs a merged kernel reads and writes these: ``examples/kernels/merged.c``.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from warploom_golden.merging.dependency_tracker import reporting_last
from warploom_golden.merging.mapping_table import MappingTable, block_place

Words = NDArray[np.uint32]


@dataclass(frozen=True)
class TableWords:
    """Words of a merged kernel's memory.

    Attributes
    ----------
    entries : array of uint32, shape (merged blocks, 4)
        For each merged id: the task, and x, y and z of the block in the task's grid.
    tasks : array of uint32, shape (tasks, 4)
        For each task: the mask of the tasks that it depends on, the number of its first tag, its
        blocks, the highest merged id of them.
    tags : array of uint32, shape (merged blocks,)
        A tag for each block, task after task, in order of block id; all 0.
    marks : array of uint32, shape (tasks,)
        A mark for each task; all 0.
    """

    entries: Words
    tasks: Words
    tags: Words
    marks: Words


def to_words(table: MappingTable) -> TableWords:
    """Return a table's words; the table may be illegal."""
    numbers, blocks = table.expanded()
    grids = [task.launch.grid for task in table.tasks]
    places = [
        block_place(int(block), grids[number])
        for number, block in zip(numbers, blocks, strict=True)
    ]
    entries = np.column_stack([numbers, np.array(places, np.int64).reshape(-1, 3)])
    counts = [task.blocks for task in table.tasks]
    firsts = np.cumsum([0, *counts[:-1]])
    masks = [sum(1 << other for other in task.depends) for task in table.tasks]
    last = reporting_last(numbers, blocks, len(counts), "merged_id")
    return TableWords(
        entries=entries.astype(np.uint32),
        tasks=np.column_stack([masks, firsts, counts, last]).astype(np.uint32),
        tags=np.zeros(sum(counts), np.uint32),
        marks=np.zeros(len(counts), np.uint32),
    )
