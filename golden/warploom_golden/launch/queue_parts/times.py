"""Runs that take too long (19)."""

from typing import NamedTuple


class Visit(NamedTuple):
    """What a visit changes in the cycle after it.

    Attributes
    ----------
    stream : int
        The visited one.
    rest : int
        Its new rest.
    late : bool
        Whether its run is late.
    """

    stream: int
    rest: int
    late: bool


class Levels(NamedTuple):
    """A stream's levels in the cycle of its visit.

    Attributes
    ----------
    runs : bool
        It has a resident, and that has begun.
    stands : bool
        ``hold`` or ``yields`` is 1.
    limit : int
        ``launch_timeout``.
    """

    runs: bool
    stands: bool
    limit: int


class Times:
    """Rests of all streams, and the one LATE that may be wanted.

    Parameters
    ----------
    streams : int
        Number of streams.

    Attributes
    ----------
    turn : int
        The visited stream.
    wanted : int or None
        The stream whose LATE is wanted.
    """

    def __init__(self, streams: int):
        self._rests = [0] * streams
        self._fresh = 0
        self.turn = 0
        self.wanted: int | None = None
        self._visit: Visit | None = None
        self._end_before = False
        self._unlimited_before = True

    def start(self, stream: int) -> None:
        """A launch of the stream starts in this cycle, which `step` has ended."""
        self._fresh |= 1 << stream

    def step(self, levels: Levels, *, picked: bool, ended: int | None) -> None:
        """End a cycle.

        Parameters
        ----------
        levels : Levels
            Of the visited stream.
        picked : bool
            A LATE is picked.
        ended : int or None
            Stream of the END whose last step it is.
        """
        visit, self._visit = self._visit, self._look(levels)
        if self._unlimited_before:
            self._fresh = (1 << len(self._rests)) - 1
        self._unlimited_before = not levels.limit
        was_wanted = self.wanted is not None
        if picked or self.wanted == ended:
            self.wanted = None
        if visit is not None:
            self._rests[visit.stream] = visit.rest
            ends = ended is not None or self._end_before
            if visit.late and not was_wanted and not ends:
                self.wanted = visit.stream
        self._end_before = ended is not None
        self.turn = (self.turn + 1) % len(self._rests)

    def _look(self, levels: Levels) -> Visit:
        stream, rest = self.turn, self._rests[self.turn]
        first = bool(self._fresh >> stream & 1)
        self._fresh &= ~(1 << stream)
        if first or not levels.runs:
            return Visit(stream, levels.limit // len(self._rests), late=False)
        late = rest < 0 and levels.limit != 0
        return Visit(stream, rest if levels.stands else rest - 1, late)
