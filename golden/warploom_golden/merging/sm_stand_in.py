"""What stands in for the SMs: each holds a block until it is due, and reports one a cycle."""

from heapq import heappop, heappush
from typing import Final

#: A cycle that never comes.
NEVER: Final = 1 << 62


class SmStandIn:
    """All SMs, as ``docs/replay/replay.md`` describes one.

    Of the blocks that are due an SM reports the one that was due first, ties to the lowest slot.

    Parameters
    ----------
    sms : int
        SMs.
    """

    def __init__(self, sms: int):
        # Of each SM its blocks as (due, slot, merged id).
        self._due: list[list[tuple[int, int, int]]] = [[] for _ in range(sms)]
        # (cycle, SM): when an SM may report next; only the one in `_planned` counts.
        self._calendar: list[tuple[int, int]] = []
        self._planned = [NEVER] * sms

    @property
    def next(self) -> int:
        """The next cycle in which an SM may report."""
        return self._calendar[0][0] if self._calendar else NEVER

    def hold(self, sm: int, slot: int, block: int, due: int) -> None:
        """Hold a block, which may be reported from the cycle ``due`` on, a later one."""
        heappush(self._due[sm], (due, slot, block))
        self._plan(sm, due)

    def _plan(self, sm: int, cycle: int) -> None:
        if cycle < self._planned[sm]:
            self._planned[sm] = cycle
            heappush(self._calendar, (cycle, sm))

    def send(self, cycle: int) -> list[tuple[int, int, int]]:
        """Return (SM, slot, block) of what is reported in a cycle, in order of SM."""
        sent = []
        while self._calendar and self._calendar[0][0] <= cycle:
            planned, sm = heappop(self._calendar)
            if planned != self._planned[sm]:
                continue
            _, slot, block = heappop(self._due[sm])
            sent.append((sm, slot, block))
            self._planned[sm] = NEVER
            if self._due[sm]:
                # One that is overdue waits for the next cycle.
                self._plan(sm, max(self._due[sm][0][0], cycle + 1))
        return sent
