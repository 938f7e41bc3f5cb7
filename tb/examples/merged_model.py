"""Several blocks of a merged kernel at once, on the instruction model."""

import random
from itertools import count

import numpy as np
from numpy.typing import NDArray

from simt_host.merged_case import MergedCase
from simt_model.block_model import BlockModel
from simt_model.memory_model import Memory


class NeverEnds(Exception):
    """Every block that holds a slot waits, and always will."""


def run_merged_model(
    case: MergedCase, slots: int, rng: random.Random, highest_first: bool = False
) -> NDArray[np.uint8]:
    """Run a case's launches; blocks in a slot take turns at random. Return the memory.

    A block that waits loads one word again and again, and changes nothing. So if in many rounds
    all blocks only wait, the kernel never ends.

    Raises
    ------
    NeverEnds
        If no block can go on.
    """
    memory = case.images[-1].bytes.copy()
    for image in case.images:
        order = range(case.blocks)[:: -1 if highest_first else 1]
        waiting = [_block(case, image.arguments, memory, number) for number in order]
        held: list[BlockModel] = []
        idle = 0
        for _ in count():
            while waiting and len(held) < slots:
                held.append(waiting.pop(0))
            if not held:
                break
            block = rng.choice(held)
            idle = idle + 1 if _turns(block, rng.randint(1, 8), case.waits) else 0
            held = [one for one in held if one.running]
            if idle > 60 * slots:
                raise NeverEnds
    return memory


def _block(case: MergedCase, arguments: int, memory: NDArray[np.uint8], number: int) -> BlockModel:
    shared = np.zeros(case.kernel.shared_bytes, np.uint8)
    block, grid, place = (case.threads, 1, 1), (case.blocks, 1, 1), (number, 0, 0)
    return BlockModel(Memory(memory, shared), case.kernel.entry, arguments, grid, block, place, 8)


def _turns(block: BlockModel, turns: int, waits: tuple[int, ...]) -> bool:
    """Let the block's warps take some turns; return whether all did nothing but wait."""
    waited = True
    for _ in range(turns):
        block.open_if_all_wait()
        able = [warp for warp in block.warps if warp.runnable.any()]
        if not able:
            return False
        # Warps that do not wait come first.
        working = [warp for warp in able if not _waits(warp, waits)]
        waited = waited and not working
        (working or able)[0].step(block.memory)
    return waited


def _waits(warp, waits: tuple[int, ...]) -> bool:
    pc = int(warp.pc[warp.runnable].min())
    return pc in waits or pc - 4 in waits
