"""A stand-in for the SMs: each holds a block until it is due, and reports one block a cycle."""

from heapq import heappop, heappush
from typing import Final

#: A cycle that never comes.
NEVER: Final = 1 << 62


class SmStandIn:
    """All SMs; ``docs/replay/replay.md`` describes how one behaves.

    An SM reports the block that was due first. Of blocks that are due in the same cycle it reports
    the one in the lowest slot.

    Parameters
    ----------
    sms : int
        Number of SMs.
    """

    def __init__(self, sms: int):
        # For each SM a heap of its blocks: (due, slot, merged id).
        self._due: list[list[tuple[int, int, int]]] = [[] for _ in range(sms)]
        # A heap of (cycle in which the SM may report next, SM). An entry is valid only if its
        # cycle is the one in `_planned`.
        self._calendar: list[tuple[int, int]] = []
        self._planned = [NEVER] * sms

    @property
    def next(self) -> int:
        """The next cycle in which an SM may report."""
        return self._calendar[0][0] if self._calendar else NEVER

    def hold(self, sm: int, slot: int, block: int, due: int) -> None:
        """Hold a block that may be reported from the cycle ``due`` on; ``due`` is in the future."""
        heappush(self._due[sm], (due, slot, block))
        self._plan(sm, due)

    def _plan(self, sm: int, cycle: int) -> None:
        if cycle < self._planned[sm]:
            self._planned[sm] = cycle
            heappush(self._calendar, (cycle, sm))

    def send(self, cycle: int) -> list[tuple[int, int, int]]:
        """Return (SM, slot, block) of each block that is reported in a cycle, in order of SM."""
        sent = []
        while self._calendar and self._calendar[0][0] <= cycle:
            planned, sm = heappop(self._calendar)
            if planned != self._planned[sm]:
                continue
            _, slot, block = heappop(self._due[sm])
            sent.append((sm, slot, block))
            self._planned[sm] = NEVER
            if self._due[sm]:
                # An SM reports one block a cycle: a block that is overdue waits for the next one.
                self._plan(sm, max(self._due[sm][0][0], cycle + 1))
        return sent
