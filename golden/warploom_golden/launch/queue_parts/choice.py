"""Which ready head is prepared next (20, 21)."""

from collections.abc import Sequence

from warploom_golden.launch.queue_parts.looks import lowest
from warploom_golden.launch.queue_parts.rows import Flags, Row


class Choice:
    """The choice of a head.

    Parameters
    ----------
    streams : int
        Number of streams.
    """

    def __init__(self, streams: int):
        self._streams = streams
        self._best = self._wanted = 0
        self._last = streams - 1
        self._among = 0
        self._chosen: int | None = None

    def step(
        self, flags: Flags, rows: Sequence[Row], *, room: bool, served: int | None
    ) -> int | None:
        """End a cycle, by the state in it.

        Parameters
        ----------
        flags : Flags
            The streams' flags.
        rows : sequence of Row
            Their priorities.
        room : bool
            Preparation is empty, or a launch starts.
        served : int or None
            The stream whose event the engine serves.

        Returns
        -------
        int or None
            The stream whose head enters preparation.
        """
        may = flags.ready & ~flags.held & ~flags.tried
        best, entered = self._best, None
        if self._among:
            self._choose()
        elif self._chosen is None:
            self._begin(may, rows)
        elif not may >> self._chosen & 1 or best != self._wanted:
            self._chosen = None
            self._begin(may, rows)
        elif room and served != self._chosen:
            entered, self._chosen = self._chosen, None
        if may:
            self._best = max(row.priority for s, row in enumerate(rows) if may >> s & 1)
        return entered

    def _begin(self, may: int, rows: Sequence[Row]) -> None:
        self._wanted = self._best
        self._among = sum(
            1 << s for s, row in enumerate(rows) if may >> s & 1 and row.priority == self._best
        )

    def _choose(self) -> None:
        behind = self._among >> self._last + 1 << self._last + 1
        self._chosen = self._last = lowest(behind or self._among)
        self._among = 0
