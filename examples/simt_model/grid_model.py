"""A whole launch: every block of a grid, one after the other."""

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simt_model.block_model import BlockModel, Dimensions
from simt_model.memory_model import Memory


@dataclass(frozen=True, kw_only=True)
class Launch:
    """What the host says of a launch.

    Attributes
    ----------
    entry, arguments : int
        The kernel's first address, and that of its arguments.
    grid, block : tuple of int
        Blocks of the grid, threads of the block.
    warp_size : int
        Lanes of a warp.
    shared_bytes : int
        Shared memory of a block.
    """

    entry: int
    arguments: int
    grid: Dimensions
    block: Dimensions
    warp_size: int
    shared_bytes: int = 0


def run_grid(launch: Launch, common: NDArray[np.uint8], steps: int = 1_000_000) -> int:
    """Run a launch on a memory; return how many instructions its warps executed.

    Raises
    ------
    Fault
        If a lane faults.
    TimeoutError
        If a block still runs after ``steps`` instructions.
    """
    gx, gy, gz = launch.grid
    done = 0
    for z, y, x in itertools.product(range(gz), range(gy), range(gx)):
        shared = np.zeros(launch.shared_bytes, np.uint8)
        block = BlockModel(
            Memory(common, shared),
            launch.entry,
            launch.arguments,
            launch.grid,
            launch.block,
            (x, y, z),
            launch.warp_size,
        )
        done += block.run(steps)
    return done
