"""Rounds of looks (7)."""

from warploom_golden.launch.queue_parts.rows import Flags


def lowest(mask: int) -> int:
    """Return the lowest stream of a mask that is not 0."""
    return (mask & -mask).bit_length() - 1


class Looks:
    """Whose LOOK is wanted.

    Attributes
    ----------
    chosen : int or None
        The stream whose LOOK is wanted.
    """

    def __init__(self) -> None:
        self.chosen: int | None = None
        self._round = 0

    def step(self, flags: Flags, *, picked: bool) -> None:
        """End a cycle; what it sets of ``look`` is set later in it, so that the set wins."""
        if self.chosen is not None and not picked:
            return
        if not self._round:
            self._round, flags.look = flags.look, 0
        self.chosen = lowest(self._round) if self._round else None
        self._round &= self._round - 1 if self._round else 0
