"""Merge sort: leaves are sorted by units, workers merge."""

import heapq

import numpy as np
import numpy.typing as npt

from warploom_golden.stealing.algorithm import even_cuts

Range = tuple[int, int]
Numbers = npt.NDArray[np.int32]


class MergeSort:
    """Sort ``size`` seeded numbers of 32 bits; an item is a range of positions [low, high).

    Parameters
    ----------
    size : int
        How many numbers.
    seed : int
        Seed of the numbers.
    cutoff : int
        The most numbers of a leaf.
    """

    name = "merge_sort"

    def __init__(self, size: int = 1 << 16, seed: int = 0, cutoff: int = 512):
        draw = np.random.default_rng(seed)
        self.data: Numbers = draw.integers(-(2**31), 2**31, size, dtype=np.int32)
        self._cutoff = cutoff

    def root(self) -> Range:
        return 0, len(self.data)

    def is_leaf(self, item: Range) -> bool:
        return item[1] - item[0] <= self._cutoff

    def split(self, item: Range) -> list[Range]:
        return even_cuts(*item, 2)

    def leaf_parts(self, item: Range, most: int) -> list[Range]:
        return even_cuts(*item, most)

    def run(self, item: Range) -> Numbers:
        low, high = item
        return np.sort(self.data[low:high])

    def join(self, item: Range, results: list[Numbers]) -> Numbers:
        merged = heapq.merge(*(part.tolist() for part in results))
        return np.fromiter(merged, dtype=np.int32, count=item[1] - item[0])

    def leaf_cycles(self, item: Range) -> int:
        """Return two cycles for each number and each halving: a comparison and a move."""
        count = item[1] - item[0]
        return 2 * count * max(1, (count - 1).bit_length())

    def join_cycles(self, item: Range) -> int:
        """Return one cycle for each number merged."""
        return item[1] - item[0]

    def correct(self, result: Numbers) -> bool:
        return bool(np.array_equal(result, np.sort(self.data)))
