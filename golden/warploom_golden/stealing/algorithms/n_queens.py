"""N queens: how many ways to place them; the tree of tasks is irregular."""

from functools import cache
from typing import Final

from warploom_golden.stealing.algorithm import even_cuts

#: Columns of the queens placed so far, row by row, and the range of columns of the next row.
Board = tuple[tuple[int, ...], int, int]

#: Solutions for boards of 0 to 12 rows (OEIS A000170).
SOLUTIONS: Final = (1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200)


class NQueens:
    """Count the placements of ``size`` queens of which none attacks another.

    Parameters
    ----------
    size : int
        Rows of the board, 1 to 12.
    seed : int
        Unused: the problem is the same for every seed.
    cutoff : int
        Number of rows that workers fill; a unit counts the placements in the rows after them.
    """

    name = "n_queens"

    def __init__(self, size: int = 9, seed: int = 0, cutoff: int = 3):
        self.size = size
        self._cutoff = cutoff
        self._visited = cache(self._count_from)

    def root(self) -> Board:
        return (), 0, self.size

    def is_leaf(self, item: Board) -> bool:
        return len(item[0]) >= min(self._cutoff, self.size)

    def split(self, item: Board) -> list[Board]:
        """Return one board for each safe column of the next row; the list may be empty."""
        placed, low, high = item
        boards = [(*placed, column) for column in range(low, high) if _is_safe(placed, column)]
        return [(board, 0, self.size) for board in boards]

    def leaf_parts(self, item: Board, most: int) -> list[Board]:
        placed, low, high = item
        return [(placed, first, last) for first, last in even_cuts(low, high, most)]

    def run(self, item: Board) -> int:
        return self._visited(item)[0]

    def join(self, item: Board, results: list[int]) -> int:
        return sum(results)

    def leaf_cycles(self, item: Board) -> int:
        """Return 4 cycles for each position that the unit tries."""
        return 4 * max(1, self._visited(item)[1])

    def join_cycles(self, item: Board) -> int:
        """Return 4 cycles: a few additions."""
        return 4

    def correct(self, result: int) -> bool:
        return result == SOLUTIONS[self.size]

    def _count_from(self, item: Board) -> tuple[int, int]:
        """Return how many solutions begin with a board, and how many positions were tried."""
        placed, low, high = item
        if len(placed) == self.size:
            return 1, 1
        solutions = positions = 0
        for column in range(low, high):
            positions += 1
            if _is_safe(placed, column):
                found, seen = self._count_from(((*placed, column), 0, self.size))
                solutions += found
                positions += seen
        return solutions, positions


def _is_safe(placed: tuple[int, ...], column: int) -> bool:
    """Return whether no placed queen attacks a column of the next row."""
    row = len(placed)
    return all(
        column != other and abs(column - other) != row - above for above, other in enumerate(placed)
    )
