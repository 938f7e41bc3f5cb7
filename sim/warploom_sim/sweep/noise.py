"""Whether two settings of a comparison can be told apart, from runs with the same seeds.

A seed jitters the block lengths in the same way under every setting. So the difference between two
settings is taken seed by seed: the jitter that both have in common drops out of it.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

#: Part of such intervals that hold the mean difference over all seeds.
CONFIDENCE: Final = 0.95
#: Smaller differences are none: the model finds a real GPU's makespan no better than that
#: (``docs/replay/silicon.md``).
LEAST_PERCENT: Final = 0.1
#: Halvings after which an angle is exact in double precision.
_HALVINGS: Final = 60


@dataclass(frozen=True)
class Difference:
    """How much longer one setting takes than another.

    Attributes
    ----------
    percent : float
        Mean over the seeds, in percent of the other setting's mean.
    plus_minus : float or None
        Half of the interval around it; None with one seed, which has no spread.
    """

    percent: float
    plus_minus: float | None

    @property
    def told_apart(self) -> bool:
        """Whether the interval leaves out zero, and the difference is not below the least one."""
        known = self.plus_minus is not None and abs(self.percent) > self.plus_minus
        return known and abs(self.percent) >= LEAST_PERCENT


def difference(cycles: Sequence[int], others: Sequence[int]) -> Difference:
    """Return how much longer the first setting takes: cycles by seed, in the same order."""
    mean, half = interval([one - other for one, other in zip(cycles, others, strict=True)])
    to_percent = 100 / statistics.mean(others)
    return Difference(mean * to_percent, None if half is None else half * to_percent)


def interval(changes: Sequence[int]) -> tuple[float, float | None]:
    """Return the mean of differences, one of each seed, and half of the interval around it.

    The half is None with one seed, which has no spread.
    """
    mean = statistics.mean(changes)
    if len(changes) == 1:
        return mean, None
    error = statistics.stdev(changes) / math.sqrt(len(changes))
    return mean, student(len(changes) - 1) * error


def student(freedom: int) -> float:
    """Return Student's t that stays within plus and minus itself with `CONFIDENCE`."""
    low, high = 0.0, math.pi / 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _within(middle, freedom) < CONFIDENCE:
            low = middle
        else:
            high = middle
    return math.sqrt(freedom) * math.tan(high)


def _within(angle: float, freedom: int) -> float:
    """Return the probability that |t| stays below ``sqrt(freedom) * tan(angle)``.

    The finite sums of Abramowitz and Stegun, 26.7.3 and 26.7.4.
    """
    odd = freedom % 2
    term = math.cos(angle) if odd else 1.0
    total = 0.0
    for power in range(2 + odd, freedom + 1, 2):
        total += term
        term *= (power - 1) / power * math.cos(angle) ** 2
    inner = math.sin(angle) * total
    return 2 / math.pi * (angle + inner) if odd else inner
