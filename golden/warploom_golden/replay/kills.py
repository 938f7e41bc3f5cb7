"""Which launches of a replay are killed, and when.

The arithmetic is the one of ``docs/replay/replay.md``.
"""

import numpy as np

from warploom_golden.replay.block_length import mix


def kill_block(seed: int, launch: int, blocks: int, every: int | None) -> int | None:
    """Return the number of the block after whose offer a launch is killed; None if it is not.

    Parameters
    ----------
    seed, launch : int
        The replay's seed and the launch's number, of each the lowest 32 bits.
    blocks : int
        Blocks of the launch.
    every : int or None
        Launches ``every``, twice ``every`` and so on are killed; None: no one.
    """
    if every is None or launch == 0 or launch % every:
        return None
    start = np.array([(seed ^ launch) & 0xFFFF_FFFF], np.uint32)
    return int(mix(mix(start))[0]) * blocks >> 32
