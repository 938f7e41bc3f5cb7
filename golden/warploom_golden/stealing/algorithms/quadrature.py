"""Adaptive quadrature: intervals are halved where the curve bends."""

import math
from typing import Final

import numpy as np

#: Both ends of an interval, and how often the whole interval was halved to get it.
Interval = tuple[float, float, int]

#: Panels of Simpson's rule in a leaf: an even number.
PANELS: Final = 64


class Quadrature:
    """Integrate 1 / (c + x^2) from -1 to 1, a peak whose height and width depend on c.

    The closed answer is 2 atan(1 / sqrt(c)) / sqrt(c).

    Parameters
    ----------
    size : int
        c = 1 / size: the larger, the narrower the peak.
    seed : int
        Moves the interval's left end by up to a thousandth, so that runs differ.
    cutoff : int
        An interval is a leaf when two estimates of it agree to 10^-cutoff of the whole.
    """

    name = "quadrature"

    def __init__(self, size: int = 100_000, seed: int = 0, cutoff: int = 12):
        self._c = 1.0 / size
        self._low = -1.0 - (seed % 1000) * 1e-6
        root = math.sqrt(self._c)
        self.expected = (math.atan(1.0 / root) - math.atan(self._low / root)) / root
        self._tolerance = 10.0**-cutoff * self.expected

    def root(self) -> Interval:
        return self._low, 1.0, 0

    def is_leaf(self, item: Interval) -> bool:
        low, high, halvings = item
        middle = (low + high) / 2
        halves = self._simpson(low, middle, 2) + self._simpson(middle, high, 2)
        return halvings >= 24 or abs(halves - self._simpson(low, high, 2)) <= self._tolerance

    def split(self, item: Interval) -> list[Interval]:
        low, high, halvings = item
        middle = (low + high) / 2
        return [(low, middle, halvings + 1), (middle, high, halvings + 1)]

    def leaf_parts(self, item: Interval, most: int) -> list[Interval]:
        low, high, halvings = item
        ends = np.linspace(low, high, most + 1).tolist()
        return [(a, b, halvings) for a, b in zip(ends[:-1], ends[1:], strict=True)]

    def run(self, item: Interval) -> float:
        return self._simpson(item[0], item[1], PANELS)

    def join(self, item: Interval, results: list[float]) -> float:
        return math.fsum(results)

    def leaf_cycles(self, item: Interval) -> int:
        """Return 8 cycles for each point of Simpson's rule."""
        return 8 * (PANELS + 1)

    def join_cycles(self, item: Interval) -> int:
        """Return 4 cycles: one addition."""
        return 4

    def correct(self, result: float) -> bool:
        return math.isclose(result, self.expected, rel_tol=1e-9)

    def _simpson(self, low: float, high: float, panels: int) -> float:
        x = np.linspace(low, high, panels + 1)
        y = 1.0 / (self._c + x * x)
        inner = 4.0 * y[1:-1:2].sum() + 2.0 * y[2:-1:2].sum()
        return float((high - low) / panels / 3.0 * (y[0] + inner + y[-1]))
