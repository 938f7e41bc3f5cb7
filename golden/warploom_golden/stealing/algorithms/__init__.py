"""The algorithms that the work-stealing model runs, by name."""

from collections.abc import Callable
from typing import Final

from warploom_golden.stealing.algorithm import Algorithm
from warploom_golden.stealing.algorithms.matrix_product import MatrixProduct
from warploom_golden.stealing.algorithms.merge_sort import MergeSort
from warploom_golden.stealing.algorithms.n_queens import NQueens
from warploom_golden.stealing.algorithms.quadrature import Quadrature
from warploom_spec.errors import WarploomError

#: Each takes ``size``, ``seed`` and ``cutoff``, all with defaults.
ALGORITHMS: Final[dict[str, Callable[..., Algorithm]]] = {
    kind.name: kind for kind in (MergeSort, MatrixProduct, NQueens, Quadrature)
}
#: The lowest and the highest legal size of each algorithm.
SIZES: Final = {
    "merge_sort": (1, 1 << 22),
    "matrix_product": (1, 2048),
    "n_queens": (1, 12),
    "quadrature": (1, 10_000_000),
}


def make_algorithm(name: str, seed: int, size: int | None = None) -> Algorithm:
    """Return an algorithm by name.

    Raises
    ------
    WarploomError
        If the name is unknown or the size outside the algorithm's range.
    """
    if name not in ALGORITHMS:
        raise WarploomError(f"algorithm is {name!r}; legal: {', '.join(ALGORITHMS)}")
    if size is None:
        return ALGORITHMS[name](seed=seed)
    low, high = SIZES[name]
    if not low <= size <= high:
        raise WarploomError(f"size is {size} for {name}; legal: {low} to {high}")
    return ALGORITHMS[name](size=size, seed=seed)
