"""What an algorithm must say, so that workers can split it and units can run it."""

from typing import Any, Protocol

#: A piece of the problem, as it stands in a queue.
Item = Any
#: What a unit or a join makes of a piece.
Result = Any


class Algorithm(Protocol):
    """A problem that splits into pieces of the same kind.

    An item is immutable. All methods are pure: what they return depends on the item alone, so the
    order in which workers run tasks cannot change the answer.
    """

    name: str

    def root(self) -> Item:
        """Return the whole problem."""

    def is_leaf(self, item: Item) -> bool:
        """Return whether an item meets the cut-off condition: a unit runs it in one piece."""

    def split(self, item: Item) -> list[Item]:
        """Return the parts of an item that is no leaf, in the order of serial execution."""

    def leaf_parts(self, item: Item, most: int) -> list[Item]:
        """Return 1 to ``most`` parts of a leaf, for as many units or cores."""

    def run(self, item: Item) -> Result:
        """Return what a unit, or one core of it, computes of a leaf or of a leaf's part."""

    def join(self, item: Item, results: list[Result]) -> Result:
        """Return an item's result from those of its parts, in their order."""

    def leaf_cycles(self, item: Item) -> int:
        """Return the cycles that one unit needs for a leaf or a leaf's part."""

    def join_cycles(self, item: Item) -> int:
        """Return the cycles that a worker needs to join an item's parts."""

    def correct(self, result: Result) -> bool:
        """Return whether the root's result equals NumPy's or the closed answer."""


def even_cuts(low: int, high: int, most: int) -> list[tuple[int, int]]:
    """Cut a range into at most ``most`` ranges whose sizes differ by at most one, larger first.

    An empty range stays one empty range.
    """
    count = max(1, min(most, high - low))
    small, larger = divmod(high - low, count)
    cuts = []
    for part in range(count):
        first = low + part * small + min(part, larger)
        cuts.append((first, first + small + (part < larger)))
    return cuts
