"""The reclaim orders of BlockDispatcher's cycle model: when what a block took comes back."""

from collections import deque
from typing import Protocol

from warploom_golden.dispatch.resident_launch import ResidentBlock
from warploom_spec.config import Config

#: Cycles from a block's books of its report to the first cycle in which it retires.
_TO_RETIRE = 3


class Retirement(Protocol):
    """A reclaim order."""

    @property
    def settled(self) -> bool:
        """Whether nothing happens without a new offer or return."""

    def written(self, returned: ResidentBlock | None) -> ResidentBlock | None:
        """Return the block whose resources and slot are written back in this cycle.

        Parameters
        ----------
        returned : ResidentBlock or None
            The block whose stream's books are written in this cycle.
        """

    def looks_for_scan(self, before_books: bool) -> bool:
        """Tell whether the pipe of returns looks for the scan (23).

        Parameters
        ----------
        before_books : bool
            Whether somebody has his turn at the books in the next cycle.
        """

    def tick(self, cycle: int, offered: ResidentBlock | None) -> None:
        """End a cycle, in which a block may have been offered."""


class OutOfOrder:
    """In the cycle of its stream's books."""

    settled = True

    def written(self, returned: ResidentBlock | None) -> ResidentBlock | None:
        return returned

    def looks_for_scan(self, before_books: bool) -> bool:
        return not before_books

    def tick(self, cycle: int, offered: ResidentBlock | None) -> None:
        pass


class InOrder:
    """In the order of offers: the line, and the looks at its places ('in_order').

    Places are counted from the line's oldest block on.
    """

    def __init__(self) -> None:
        self._line: deque[ResidentBlock] = deque()
        # The place to be addressed. Of one cycle before and of two: whether a look was addressed.
        # A look that is judged is always one at the oldest block: those before it have retired.
        self._next = 0
        self._addressed = self._judged = False
        self._retired: ResidentBlock | None = None

    @property
    def settled(self) -> bool:
        return not (self._line or self._addressed or self._judged or self._retired)

    def written(self, returned: ResidentBlock | None) -> ResidentBlock | None:
        return self._retired

    def looks_for_scan(self, before_books: bool) -> bool:
        return not self._judged

    def tick(self, cycle: int, offered: ResidentBlock | None) -> None:
        # A block that is offered in this cycle enters at its end.
        addressed = self._next < len(self._line)
        judged, before = self._judged, self._retired
        self._retired = None
        if judged and self._retires(cycle, before):
            self._retired = self._line.popleft()
            self._next -= 1
        if judged and self._retired is None:
            self._next = 0
            self._addressed = self._judged = False
        else:
            self._next += addressed
            self._addressed, self._judged = addressed, self._addressed
        if offered is not None:
            self._line.append(offered)

    def _retires(self, cycle: int, before: ResidentBlock | None) -> bool:
        """Tell whether the oldest block retires; ``before`` did in the cycle before."""
        block = self._line[0]
        # A sweep's return counts as a report's books, though the page names a report only.
        done = block.returned is not None and block.returned <= cycle - _TO_RETIRE
        return done and (before is None or before.sm != block.sm)


def retirement(config: Config) -> Retirement:
    """Return the configuration's reclaim order in its initial state."""
    return OutOfOrder() if config.reclaim == "out_of_order" else InOrder()
