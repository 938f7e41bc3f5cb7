"""Thread indices by division, their packing, and the add/compare rule that the hardware uses.

The functions here have no notion of cycles. `indices` follows from the definition alone: every
model and every RTL run of the index blocks is checked against it. `step` is the hardware's
recurrence; a test checks it against `indices`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom_spec.config import BLOCK_LIMITS, Config
from warploom_spec.errors import WarploomError

Dims = tuple[int, int, int]
#: x, y and z of one thread (int) or of many (arrays of one unsigned type).
Index = tuple[Any, Any, Any]


def widths(dims: Dims) -> Dims:
    """Return the widths of x, y and z in a packed index, in bits: those of the largest index."""
    dx, dy, dz = dims
    return (dx - 1).bit_length(), (dy - 1).bit_length(), (dz - 1).bit_length()


def threads(dims: Dims) -> int:
    """Return the number of threads of a block (or of blocks of a grid)."""
    dx, dy, dz = dims
    return dx * dy * dz


def warps(dims: Dims, warp_size: int) -> int:
    """Return the number of warps of a block; the last warp may be partly filled."""
    return -(-threads(dims) // warp_size)


def last_mask(dims: Dims, warp_size: int) -> int:
    """Return the mask of the lanes of a block's last warp that are threads; bit 0 is lane 0."""
    before = (warps(dims, warp_size) - 1) * warp_size
    return sum(1 << n - before for n in range(before, threads(dims)))


def is_legal(dims: Dims, config: Config) -> bool:
    """Tell whether a block shape is within LaunchCheck's limits.

    The limits are on each dimension, on the threads and on the bits of a packed index.
    """
    return (
        all(1 <= d <= limit for d, limit in zip(dims, BLOCK_LIMITS, strict=True))
        and threads(dims) <= config.max_threads
        and sum(widths(dims)) <= config.word_bits
    )


def shapes(max_threads: int, limits: Dims = BLOCK_LIMITS) -> list[Dims]:
    """Return every shape within the limits, in ascending order."""
    return [
        (dx, dy, dz)
        for dx in range(1, min(limits[0], max_threads) + 1)
        for dy in range(1, min(limits[1], max_threads // dx) + 1)
        for dz in range(1, min(limits[2], max_threads // (dx * dy)) + 1)
    ]


def indices(n: Any, dims: Dims) -> Index:
    """Return the indices of threads by division: x = n mod dx, y = n / dx mod dy, z = n / (dx dy).

    Parameters
    ----------
    n : int or array of an unsigned integer type
        Thread numbers, at least 0; a number beyond the block gives z of dz or more.
    dims : tuple of int
        Threads of the block in x, y, z.

    Returns
    -------
    tuple
        x, y, z, each of ``n``'s type.

    Raises
    ------
    WarploomError
        If a dimension is zero.
    OverflowError
        If ``n``'s type does not hold a dimension.

    Notes
    -----
    x and y do not depend on dz, and z is not reduced by it: one call serves all shapes with the
    same dx and dy. An array of 60,000 16-bit numbers takes some 15 microseconds.
    """
    dx, dy, _ = dims
    if min(dims) < 1:
        raise WarploomError(f"dims is {dims}; legal: at least 1 in each dimension")
    row = n // dx
    z = row // dy
    return n - row * dx, row - z * dy, z


def step(index: Index, c_index: Index, dims: Dims) -> Index:
    """Return the index of thread n + c from those of threads n and c, by add and compare.

    Parameters
    ----------
    index, c_index : tuple
        Indices (x, y, z) of threads n and c; z may be dz or more. Ints, or arrays whose type holds
        the sum of both z plus 1, and twice each of dx and dy.
    dims : tuple of int
        Threads of the block in x, y, z.

    Notes
    -----
    The carry into y comes from this step's x, the carry into z from y with that carry.
    """
    dx, dy, _ = dims
    x = index[0] + c_index[0]
    carry_x = x >= dx
    x = x - dx * carry_x
    y = index[1] + c_index[1] + carry_x
    carry_y = y >= dy
    y = y - dy * carry_y
    return x, y, index[2] + c_index[2] + carry_y


def pack(index: Index, bits: Dims) -> Any:
    """Return x, y and z packed into one word, x lowest; no bits are cut off."""
    x, y, z = index
    return x | y << bits[0] | z << bits[0] + bits[1]


def unpack(word: Any, bits: Dims) -> Index:
    """Return x, y and z of a packed index: the inverse of `pack`."""
    width_x, width_y, width_z = bits
    return (
        word & (1 << width_x) - 1,
        word >> width_x & (1 << width_y) - 1,
        word >> width_x + width_y & (1 << width_z) - 1,
    )


def packed_warps(dims: Dims, config: Config) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
    """Return all packed warps of a block as they stand in the index memory.

    Returns
    -------
    words : array of uint32, shape (warps, W)
        Packed indices; 0 in lanes that are no threads.
    mask : array of bool, shape (warps, W)
        Lanes that are threads.
    """
    count = warps(dims, config.warp_size)
    n = np.arange(count * config.warp_size, dtype=np.uint32)
    mask = n < threads(dims)
    words = pack(indices(n, dims), widths(dims)) * mask
    shape = count, config.warp_size
    return words.astype(np.uint32).reshape(shape), mask.reshape(shape)
