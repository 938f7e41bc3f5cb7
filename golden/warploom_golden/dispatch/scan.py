"""The scan of BlockDispatcher's cycle model: which SM is looked at, and how far it is."""

#: Cycles without an advance after which the scan takes the turn (23).
_PATIENCE = 8


class Scan:
    """Rules 23 and 24.

    Parameters
    ----------
    sms : int
        Number of SMs.
    known_after : int
        Cycles from the first one with nothing to do to the first one in which the round is known.

    Attributes
    ----------
    sm : int
        The SM that is looked at.
    takes_turn : bool
        Whether no block is picked in this cycle.
    """

    def __init__(self, sms: int, known_after: int):
        self._sms, self._known_after = sms, known_after
        self.sm = self._to_do = self._idle = 0
        self.takes_turn = False
        # First cycle with nothing to do since the last begin; None before, and after a reset.
        self._done: int | None = None

    @property
    def waits_at(self) -> int | None:
        """The SM at which it begins in every cycle, if nothing else changes."""
        fresh = self._to_do == self._sms and not (self._idle or self.takes_turn or self._done)
        return self.sm if fresh else None

    def known(self, cycle: int) -> bool:
        """Tell whether the round is known (24)."""
        return self._done is not None and self._done + self._known_after <= cycle

    def tick(self, cycle: int, *, advances: bool, begins: bool, first: int) -> None:
        """End a cycle.

        Parameters
        ----------
        cycle : int
            Its number.
        advances, begins : bool
            Whether the scan does.
        first : int
            Where it begins.
        """
        self.takes_turn = self._to_do > 0 and self._idle == _PATIENCE - 1
        # A cycle with a begin may be one with an advance, too: for `idle` it is.
        self._idle = 0 if advances else (self._idle + 1) % _PATIENCE
        if begins:
            self.sm, self._to_do, self._done = first, self._sms, None
            return
        if advances:
            self.sm = (self.sm + 1) % self._sms
            self._to_do = max(0, self._to_do - 1)
        if self._to_do == 0 and self._done is None:
            self._done = cycle + 1
