"""The interface of an algorithm: workers split its problem, units run the pieces."""

from typing import Any, Protocol

#: A piece of the problem, of any type; a task in a queue holds one.
Item = Any
#: The result that a unit or a join computes for a piece, of any type.
Result = Any


class Algorithm(Protocol):
    """A problem that splits into pieces of the same kind.

    An item is immutable. All methods are pure: their result depends only on their arguments. So the
    order in which workers run tasks cannot change the answer.
    """

    name: str

    def root(self) -> Item:
        """Return the whole problem."""

    def is_leaf(self, item: Item) -> bool:
        """Return whether an item meets the cut-off condition: units run it, no worker splits it."""

    def split(self, item: Item) -> list[Item]:
        """Return the parts of an item that is not a leaf, in the order of serial execution."""

    def leaf_parts(self, item: Item, most: int) -> list[Item]:
        """Return 1 to ``most`` parts of a leaf, for as many units or cores."""

    def run(self, item: Item) -> Result:
        """Return the result of a leaf or of a leaf's part, as a unit or one of its cores does."""

    def join(self, item: Item, results: list[Result]) -> Result:
        """Return an item's result from its parts' results, which are in the parts' order."""

    def leaf_cycles(self, item: Item) -> int:
        """Return the cycles that one unit needs for a leaf or a leaf's part."""

    def join_cycles(self, item: Item) -> int:
        """Return the cycles that a worker needs to join an item's parts."""

    def correct(self, result: Result) -> bool:
        """Return whether the root's result is right; NumPy or a closed form gives the answer."""


def even_cuts(low: int, high: int, most: int) -> list[tuple[int, int]]:
    """Cut the range [low, high) into at most ``most`` ranges; the larger ones come first.

    The sizes differ by at most one. An empty range gives one empty range.
    """
    count = max(1, min(most, high - low))
    small, larger = divmod(high - low, count)
    cuts = []
    for part in range(count):
        first = low + part * small + min(part, larger)
        cuts.append((first, first + small + (part < larger)))
    return cuts
