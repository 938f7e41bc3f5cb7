"""One block: its warps, its shared memory, its barrier."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from simt_model.instruction import FIRST_CSR
from simt_model.memory_model import Lanes, Memory, Words
from simt_model.warp_model import WarpModel

Dimensions = tuple[int, int, int]


class BlockModel:
    """The warps of one block.

    Parameters
    ----------
    memory : Memory
        As this block sees it.
    entry, arguments : int
        First pc and a0 of all lanes.
    grid, block, position : tuple of int
        Dimensions of the grid and of the block; the block's place in its grid.
    warp_size : int
        Lanes of a warp.

    Attributes
    ----------
    warps : list of WarpModel
        In the order of their numbers.
    """

    def __init__(
        self,
        memory: Memory,
        entry: int,
        arguments: int,
        grid: Dimensions,
        block: Dimensions,
        position: Dimensions,
        warp_size: int,
    ):
        self.memory = memory
        self.warps = [
            WarpModel(mask, entry, arguments, csrs)
            for mask, csrs in _warps(grid, block, position, warp_size)
        ]

    @property
    def running(self) -> bool:
        """Whether a lane has not ended."""
        return any(warp.running.any() for warp in self.warps)

    def open_if_all_wait(self) -> None:
        """Open the barrier if every lane that has not ended waits there."""
        if not any(warp.runnable.any() for warp in self.warps):
            for warp in self.warps:
                warp.open_barrier()

    def run(self, steps: int) -> int:
        """Run all warps to their end; return how many instructions that took.

        Raises
        ------
        Fault
            If a lane faults.
        TimeoutError
            If a lane still runs after so many steps.
        """
        done = 0
        while self.running:
            for warp in self.warps:
                while warp.runnable.any():
                    if done == steps:
                        raise TimeoutError(f"a lane still runs after {steps} instructions")
                    warp.step(self.memory)
                    done += 1
            self.open_if_all_wait()
        return done


def _warps(
    grid: Dimensions, block: Dimensions, position: Dimensions, warp_size: int
) -> Iterator[tuple[Lanes, dict[int, Words]]]:
    """Give each warp's mask and the values of its CSRs; indices come from division."""
    dx, dy, dz = block
    threads = dx * dy * dz
    for warp in range(-(-threads // warp_size)):
        number = np.arange(warp * warp_size, (warp + 1) * warp_size, dtype=np.uint32)
        mask = number < threads
        x, y, z = number % dx, number // dx % dy, number // (dx * dy)
        # Lanes that are no threads read 0; they never run.
        values: list[Any] = [np.where(mask, axis, 0) for axis in (x, y, z)]
        values += [*position, *block, *grid, np.arange(warp_size), warp]
        rows = [np.broadcast_to(value, warp_size).astype(np.uint32) for value in values]
        yield mask, {FIRST_CSR + k: row for k, row in enumerate(rows)}
