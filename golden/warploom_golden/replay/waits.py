"""What the launches of a replay wait for."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Waits:
    """What the launches of a replay wait for.

    Attributes
    ----------
    pairs : sequence of sequence of (int, int)
        By launch: its pairs (stream, count).
    held : sequence of sequence of int
        By launch: earlier launches whose records its source takes before it sends it.
    """

    pairs: Sequence[Sequence[tuple[int, int]]]
    held: Sequence[Sequence[int]]
