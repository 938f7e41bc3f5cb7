"""Matrix product: a block of the result is a task."""

import numpy as np
import numpy.typing as npt

from warploom_golden.stealing.algorithm import even_cuts

#: First row, end of rows, first column, end of columns in the result; the ends are excluded.
Block = tuple[int, int, int, int]
Matrix = npt.NDArray[np.int64]


class MatrixProduct:
    """Multiply two seeded square matrices of small integers.

    Parameters
    ----------
    size : int
        Rows and columns.
    seed : int
        Seed of the elements.
    cutoff : int
        The most elements of the result in a leaf.
    """

    name = "matrix_product"

    def __init__(self, size: int = 256, seed: int = 0, cutoff: int = 1024):
        draw = np.random.default_rng(seed)
        self.left: Matrix = draw.integers(-100, 100, (size, size))
        self.right: Matrix = draw.integers(-100, 100, (size, size))
        self._cutoff = cutoff

    def root(self) -> Block:
        return 0, len(self.left), 0, len(self.left)

    def is_leaf(self, item: Block) -> bool:
        top, bottom, first, last = item
        return (bottom - top) * (last - first) <= max(1, self._cutoff)

    def split(self, item: Block) -> list[Block]:
        """Halve the longer side; the rows if both sides are equal."""
        top, bottom, first, last = item
        if bottom - top >= last - first:
            return [(low, high, first, last) for low, high in even_cuts(top, bottom, 2)]
        return [(top, bottom, low, high) for low, high in even_cuts(first, last, 2)]

    def leaf_parts(self, item: Block, most: int) -> list[Block]:
        top, bottom, first, last = item
        return [(low, high, first, last) for low, high in even_cuts(top, bottom, most)]

    def run(self, item: Block) -> Matrix:
        top, bottom, first, last = item
        product: Matrix = self.left[top:bottom] @ self.right[:, first:last]
        return product

    def join(self, item: Block, results: list[Matrix]) -> Matrix:
        """Put blocks together: above each other if they are as wide as the item, else in a row."""
        width = item[3] - item[2]
        upright = all(part.shape[1] == width for part in results)
        return np.concatenate(results, axis=0 if upright else 1)

    def leaf_cycles(self, item: Block) -> int:
        """Return one cycle for every 32 multiply-adds: a warp of 32 threads does them together."""
        top, bottom, first, last = item
        return -(-(bottom - top) * (last - first) * len(self.left) // 32)

    def join_cycles(self, item: Block) -> int:
        """Return 4 cycles: blocks stand in the result already, the join only counts."""
        return 4

    def correct(self, result: Matrix) -> bool:
        return bool(np.array_equal(result, self.left @ self.right))
