"""The two pipes that look at SMs, in ResidentDispatcher's cycle model."""

from typing import NamedTuple

from warploom_golden.dispatch.books import Books
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
        Whether it may count for room: a look of the scan on a picked SM does not (23).
    """

    sm: int
    free: int
    own: bool
    counts: bool


class _Look(NamedTuple):
    """A look on its way: ``book`` is what was read in its first cycle."""

    sm: int
    book: int
    own: bool
    counts: bool


class PlacementPipe:
    """Looks at the SM of each pick, else at the scan's (22, 23, 35).

    A look in u reads `taken` in u and `given` in u + 2, and lands in u + 3.

    Attributes
    ----------
    landing : Verdict or None
        What lands in this cycle: one in every cycle, but for the first ones after a reset.
    """

    def __init__(self) -> None:
        self.landing: Verdict | None = None
        self._looks: tuple[_Look | None, _Look | None] = (None, None)

    def tick(self, books: Books, picked: ResidentBlock | None, sm: int, *, counts: bool) -> None:
        """Read the books of a cycle, before they are written at its end.

        Parameters
        ----------
        books : Books
            Both books.
        picked : ResidentBlock or None
            The block that was picked in the cycle before.
        sm : int
            The scan's SM.
        counts : bool
            Whether that SM was not picked two cycles before.
        """
        old, newer = self._looks
        if old is None:
            self.landing = None
        else:
            # An own placement is in the book by now, and no other one of that SM.
            taken = books.taken[old.sm] if old.own else old.book
            self.landing = Verdict(old.sm, books.given[old.sm] - taken, old.own, old.counts)
        if picked is not None:
            look = _Look(picked.sm, 0, own=True, counts=True)
        else:
            look = _Look(sm, books.taken[sm], own=False, counts=counts)
        self._looks = newer, look


class ReturnPipe:
    """Looks at the SM of each return, else at the scan's (23, 26).

    A look in u reads `given` in u and `taken` in u + 2, and lands in u + 3. A return of w is one in
    w - 1 that knows what it gives back.

    Attributes
    ----------
    landing : Verdict or None
        What lands in this cycle, if anything does.
    """

    def __init__(self) -> None:
        self.landing: Verdict | None = None
        self._looks: tuple[_Look | None, _Look | None] = (None, None)

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
        old, newer = self._looks
        self.landing = None
        if old is not None:
            self.landing = Verdict(old.sm, old.book - books.taken[old.sm], old.own, counts=True)
        if written is not None:
            given = books.given[written.sm] + written.launch.needs
            newer = _Look(written.sm, given, own=True, counts=True)
        look = None if sm is None else _Look(sm, books.given[sm], own=False, counts=True)
        self._looks = newer, look
