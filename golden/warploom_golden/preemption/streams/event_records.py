"""RecordQueue in the event model: which record is shown, and what a pop removes.

Page: ``docs/launch/record_queue.md``.
"""


class EventRecords:
    """Counts records that came, are shown, and were removed.

    Attributes
    ----------
    is_shown : bool
        Whether a record is shown in this cycle.
    shown_count : int
        Records that are, or were, shown.
    """

    def __init__(self) -> None:
        self.is_shown = False
        self.shown_count = 0
        # Records that were made up to the cycle before; those that the memory holds or held.
        self._made = self._stored = 0
        self._pops = self._removed = False

    def pop(self) -> None:
        """Let ``pop`` be 1 in this cycle."""
        self._pops = True

    def step(self, made: int) -> bool:
        """Run one cycle; return ``record_taken``.

        Parameters
        ----------
        made : int
            Records that were made up to the cycle before: the last of them is at ``record`` now.
        """
        taken, self._removed = self._removed, self._pops and self.is_shown
        shows = self.shown_count < self._stored and (not self.is_shown or self._removed)
        self.is_shown = shows or (self.is_shown and not self._removed)
        self.shown_count += shows
        self._stored, self._pops = made, False
        return taken

    @property
    def is_moving(self) -> bool:
        """Whether the next cycle differs without anything new."""
        waiting = self.shown_count < self._stored and not self.is_shown
        return self._removed or waiting
