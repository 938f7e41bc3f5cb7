"""One bit an SM: room for the next block, in BlockDispatcher's cycle model."""

from warploom_golden.dispatch.amounts import Amounts
from warploom_golden.dispatch.verdicts import Verdict


class Room:
    """Rule 16, and what rules 19 and 35 change of it.

    Parameters
    ----------
    amounts : Amounts
        Compares what is free with what a block needs.
    late : bool
        Whether a verdict counts a cycle later (19).
    grouped : bool
        Whether a change counts in the cycle after it, too (35 b).

    Attributes
    ----------
    room, out : int
        A bit for each SM.
    used : int
        SMs that were enabled, and not lost, in the cycle before.
    """

    def __init__(self, amounts: Amounts, *, late: bool, grouped: bool):
        self._amounts, self._late, self._grouped = amounts, late, grouped
        self._changed = False
        self.room = self.out = self.used = self._kept = 0

    @property
    def settled(self) -> bool:
        """Whether no block is on its way."""
        return not (self.out or self._kept)

    def clears(self, *, changes: bool) -> bool:
        """Tell whether a cycle, in which a change may be made, leaves no SM with room."""
        return changes or (self._grouped and self._changed)

    def tick(
        self,
        needs: int | None,
        landing: tuple[Verdict | None, Verdict | None],
        picked: int | None,
        *,
        changes: bool,
    ) -> None:
        """End a cycle.

        Parameters
        ----------
        needs : int or None
            Those of the active launch. Without one room means nothing: a change clears it.
        landing : tuple of Verdict or None
            What lands, from placements and from returns.
        picked : int or None
            The SM that is picked.
        changes : bool
            Whether a change is made.
        """
        fitting = 0 if needs is None else self._fitting(needs, landing)
        if self._late:
            fitting, self._kept = self._kept & ~self.out, 0 if changes else fitting
        own = landing[0]
        clears, self._changed = self.clears(changes=changes), changes
        room = 0 if clears else (self.room | fitting) & self.used
        if own is not None and own.own:
            self.out &= ~(1 << own.sm)
        if picked is not None:
            room &= ~(1 << picked)
            self.out |= 1 << picked
        self.room = room

    def _fitting(self, needs: int, landing: tuple[Verdict | None, Verdict | None]) -> int:
        """Return the SMs of which a verdict fits and counts (16 c)."""
        fitting = 0
        placement, other = landing
        for verdict in landing:
            if verdict is None or not verdict.counts:
                continue
            counts = verdict.own and verdict is placement
            if not counts and self.out >> verdict.sm & 1:
                continue
            if self._amounts.fits(verdict.free, needs):
                fitting |= 1 << verdict.sm
        return fitting
