"""The two pipes that look at SMs, in BlockDispatcher's cycle model."""

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from warploom_golden.dispatch.books import Books
from warploom_golden.dispatch.pipe_times import PipeTimes
from warploom_golden.dispatch.resident_launch import ResidentBlock


class Verdict(NamedTuple):
    """What is free on an SM, as a pipe knows it when the verdict lands.

    Attributes
    ----------
    sm : int
        The SM.
    free : int
        Packed `Amounts`.
    own : bool
        Whether it is that of a placement or a return; else it is a look of the scan.
    counts : bool
        Whether it may count for room: a look of the scan on a picked SM does not (23), nor in
        groups one that reads a row in the cycle of its writing (35 c, d).
    """

    sm: int
    free: int
    own: bool
    counts: bool


@dataclass(slots=True)
class _Look:
    """A look on its way: ``amount`` is the book of its first cycle, in the end what is free."""

    sm: int
    amount: int
    own: bool
    counts: bool


class _Pipe:
    """Looks on their way, the newest first.

    Parameters
    ----------
    times : PipeTimes
        Stages of looks and verdicts.

    Attributes
    ----------
    landing : Verdict or None
        What lands in this cycle, if anything does.
    """

    def __init__(self, times: PipeTimes):
        self.landing: Verdict | None = None
        self._times = times
        self._looks: deque[_Look | None] = deque([None] * (times.lands - 1))

    def _end(self, look: _Look | None) -> None:
        """Move on by a cycle, in which ``look`` was made."""
        old = self._looks.pop()
        self.landing = None if old is None else Verdict(old.sm, old.amount, old.own, old.counts)
        self._looks.appendleft(look)


class PlacementPipe(_Pipe):
    """Looks at the SM of each pick, else at the scan's (22, 23, 33).

    A look in u reads `taken` in u and `given` in u + 2, and lands in u + 3; in groups in u + 3 and
    u + 7. Something lands in every cycle, but for the first ones after a reset.
    """

    def tick(
        self,
        books: Books,
        picked: ResidentBlock | None,
        written: ResidentBlock | None,
        sm: int,
        *,
        counts: bool,
    ) -> None:
        """Read the books of a cycle, before they are written at its end.

        Parameters
        ----------
        books : Books
            Both books.
        picked : ResidentBlock or None
            The block that was picked in the cycle before.
        written : ResidentBlock or None
            The block that comes back in this cycle.
        sm : int
            The scan's SM.
        counts : bool
            Whether that SM was not picked so late that its book does not say it.
        """
        second = self._looks[self._times.apart - 1]
        if second is not None:
            # An own placement is in the book by now, and no other one of that SM.
            taken = books.taken[second.sm] if second.own else second.amount
            second.amount = books.given[second.sm] - taken
            second.counts &= not self._times.meets(second.sm, written)
        if picked is not None:
            self._end(_Look(picked.sm, 0, own=True, counts=True))
        else:
            self._end(_Look(sm, books.taken[sm], own=False, counts=counts))


class ReturnPipe(_Pipe):
    """Looks at the SM of each return, else at the scan's (23, 26).

    A look in u reads `given` in u and `taken` in u + 2, and lands in u + 3; in groups in u + 3 and
    u + 7. A return of w is one in w - 1, in groups w - 2, that knows what it gives back.
    """

    def tick(self, books: Books, written: ResidentBlock | None, sm: int | None) -> None:
        """Read the books of a cycle, before they are written at its end.

        Parameters
        ----------
        books : Books
            Both books.
        written : ResidentBlock or None
            The block that comes back in this cycle.
        sm : int or None
            The scan's SM, if the pipe looks at it.
        """
        times = self._times
        if written is not None:
            given = books.given[written.sm] + written.launch.needs
            self._looks[times.back - 1] = _Look(written.sm, given, own=True, counts=True)
        second = self._looks[times.apart - 1]
        if second is not None:
            second.amount -= books.taken[second.sm]
        look = None
        if sm is not None:
            met = times.meets(sm, written)
            look = _Look(sm, books.given[sm], own=False, counts=not met)
        self._end(look)
