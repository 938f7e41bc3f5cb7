"""Points that leave the count of coverage, each with its reason."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from warploom_dev.coverage.points import Kind, Point


@dataclass(frozen=True)
class Waiver:
    """Points of one block that no run of reasonable length can reach, or no input at all.

    Attributes
    ----------
    block : str
        Its name.
    kind : str
        ``branch``, ``toggle`` or ``case``.
    pattern : str
        Regular expression that matches the whole of `Point.text`, or of a case's name.
    reason : str
        Why the points cannot be reached.
    """

    block: str
    kind: Kind | Literal["case"]
    pattern: str
    reason: str

    def covers(self, point: Point) -> bool:
        """Tell whether a point of the block is waived."""
        return point.kind == self.kind and re.fullmatch(self.pattern, point.text) is not None


WAIVERS: Final[tuple[Waiver, ...]] = (
    Waiver(
        "front_end",
        "toggle",
        r"words__\d\[([7-9]|1\d|2\d|3[01])\]:.*",
        "tickets count up from 1: bit k takes 2^k launches",
    ),
    Waiver(
        "front_end", "toggle", r"tables\[\d\]:.*", "tied to 0: mapping tables are not in hardware"
    ),
    Waiver(
        "front_end",
        "case",
        "both kills|ERROR reads (BLOCK_ZERO|CORE_TIMEOUT|FIELD_RANGE|THREADS)",
        "rare at the whole core: a deep run of 480,000 cycles demands it, as do the blocks' rows",
    ),
    Waiver(
        "mailbox",
        "case",
        "ERROR reads NO_LOOP",
        "each section of the counted builds takes a LOOP; a deep run of others demands it",
    ),
    Waiver(
        "launch_check",
        "case",
        "refused with index_bits",
        "a word of `tiny` holds the index of every legal block; the rule tests have narrower words",
    ),
)

#: Blocks without a point of a kind, each with its reason. Any other block without one was not
#: counted.
WITHOUT_POINTS: Final[dict[tuple[str, Kind], str]] = {
    ("index_generator", "branch"): "it only connects blocks that have rows of their own",
}


def waived_case(block: str, case: str) -> bool:
    """Tell whether a case need not happen in a block's runs."""
    return any(
        waiver.block == block and waiver.kind == "case" and re.fullmatch(waiver.pattern, case)
        for waiver in WAIVERS
    )


def waived(block: str, points: Iterable[Point]) -> dict[Point, Waiver]:
    """Return the points of a block that are waived, each with its waiver."""
    ours = [waiver for waiver in WAIVERS if waiver.block == block]
    return {point: waiver for point in points for waiver in ours if waiver.covers(point)}
