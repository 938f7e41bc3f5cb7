"""Points that leave the count of coverage, each with its reason."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from warploom_dev.coverage.points import Kind, Point


@dataclass(frozen=True)
class Waiver:
    """Points of one block that no run of reasonable length can reach, or no input at all.

    Attributes
    ----------
    block : str
        Its name.
    kind : str
        ``branch`` or ``toggle``.
    pattern : str
        Regular expression that matches the whole of `Point.text`.
    reason : str
        Why the points cannot be reached.
    """

    block: str
    kind: Kind
    pattern: str
    reason: str

    def covers(self, point: Point) -> bool:
        """Tell whether a point of the block is waived."""
        return point.kind == self.kind and re.fullmatch(self.pattern, point.text) is not None


WAIVERS: Final[tuple[Waiver, ...]] = ()


def waived(block: str, points: Iterable[Point]) -> dict[Point, Waiver]:
    """Return the points of a block that are waived, each with its waiver."""
    ours = [waiver for waiver in WAIVERS if waiver.block == block]
    return {point: waiver for point in points for waiver in ours if waiver.covers(point)}
