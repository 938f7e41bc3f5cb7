"""How long each block of a replay holds its slot: a base length with a seeded jitter.

The arithmetic is the one of ``docs/replay/replay.md``, on unsigned 32-bit words that wrap.
"""

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]


def mix(x: Words) -> Words:
    """Return the words with their bits mixed (a bijection of 32-bit words)."""
    x = x ^ x >> np.uint32(16)
    x = x * np.uint32(0x7FEB352D)
    x = x ^ x >> np.uint32(15)
    x = x * np.uint32(0x846CA68B)
    return x ^ x >> np.uint32(16)


def block_hash(seed: int, launch: int, bx: Words, by: Words, bz: Words) -> Words:
    """Return the hash of blocks, of which the highest 8 bits jitter the length.

    Parameters
    ----------
    seed, launch : int
        The replay's seed and the launch's number, of each the lowest 32 bits.
    bx, by, bz : array of uint32
        Places in the grid.
    """
    start = np.array([(seed ^ launch) & 0xFFFF_FFFF], np.uint32)
    return mix(mix(mix(mix(start) ^ bx) ^ by) ^ bz)


def block_lengths(seed: int, launch: int, base: int, bx: Words, by: Words, bz: Words) -> Words:
    """Return the lengths of blocks in cycles: within about an eighth around ``base``, at least 4.

    Parameters
    ----------
    seed, launch : int
        As for `block_hash`.
    base : int
        The launch's base length in cycles, of which the lowest 32 bits count.
    bx, by, bz : array of uint32
        Places in the grid.
    """
    length = np.array([base & 0xFFFF_FFFF], np.uint32)
    jitter = (length >> np.uint32(2)) * (block_hash(seed, launch, bx, by, bz) >> np.uint32(24))
    lengths: Words = length - (length >> np.uint32(3)) + (jitter >> np.uint32(8))
    return np.maximum(lengths, np.uint32(4))


def grid_places(
    grid: tuple[int, int, int], start: int = 0, stop: int | None = None
) -> tuple[Words, Words, Words]:
    """Return (bx, by, bz) of a grid's blocks, or of some, in order of their id, x fastest."""
    gx, gy, gz = grid
    ids = np.arange(start, gx * gy * gz if stop is None else stop, dtype=np.int64)
    rows, bx = np.divmod(ids, max(gx, 1))
    bz, by = np.divmod(rows, max(gy, 1))
    return bx.astype(np.uint32), by.astype(np.uint32), bz.astype(np.uint32)
