"""The stand-in for the SMs' cores in the event model, and when blocks return what they held.

A block is one int here: SM << SLOT_BITS | slot. The cycle model has the same two policies in
`dispatch_reclaim`, written apart on purpose: each of the two models is evidence for the other.
"""

from collections import deque
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Final, Protocol

from warploom_spec import Config

SLOT_BITS: Final = 6
SLOT_MASK: Final = (1 << SLOT_BITS) - 1
SM_BITS: Final = 8
SM_MASK: Final = (1 << SM_BITS) - 1
#: A cycle that never comes.
NEVER: Final = 1 << 62


class StandIn:
    """Every SM holds each block for its length and sends one completion a cycle at most.

    Of the blocks that are due the one with the smallest due cycle goes first, then the lowest slot.

    Parameters
    ----------
    sms : int
        Number of SMs.
    """

    def __init__(self, sms: int):
        self._due: list[list[int]] = [[] for _ in range(sms)]
        self._next = [NEVER] * sms
        # Cycle << SM_BITS | SM; an entry that `_next` does not confirm is out of date.
        self._calendar: list[int] = []

    def take(self, sm: int, slot: int, due: int) -> None:
        """Take a block that is due in a later cycle."""
        heappush(self._due[sm], due << SLOT_BITS | slot)
        if due < self._next[sm]:
            self._next[sm] = due
            heappush(self._calendar, due << SM_BITS | sm)

    def next_cycle(self) -> int:
        """Return the first cycle in which something may be sent."""
        return self._calendar[0] >> SM_BITS if self._calendar else NEVER

    def send(self, cycle: int) -> list[int]:
        """Return the blocks that complete in this cycle, by ascending SM."""
        calendar, after = self._calendar, (cycle + 1) << SM_BITS
        sent = []
        while calendar and calendar[0] < after:
            sm = heappop(calendar) & SM_MASK
            if self._next[sm] != cycle:
                continue
            heap = self._due[sm]
            sent.append(sm << SLOT_BITS | heappop(heap) & SLOT_MASK)
            if heap:
                # An overdue block waits for the next cycle.
                following = max(heap[0] >> SLOT_BITS, cycle + 1)
                self._next[sm] = following
                heappush(calendar, following << SM_BITS | sm)
            else:
                self._next[sm] = NEVER
        return sent


class Reclaim(Protocol):
    """When the resources of completed blocks are returned."""

    def decided(self, block: int) -> None:
        """Take note of a decision; blocks come in their order."""

    def processed(self, blocks: Sequence[int]) -> Sequence[int]:
        """Return the blocks returned at the end of a cycle in which these are processed."""

    @property
    def busy(self) -> bool:
        """Whether the next cycle may return something by itself."""


class OutOfOrder:
    """At once."""

    busy = False

    def decided(self, block: int) -> None:
        pass

    def processed(self, blocks: Sequence[int]) -> Sequence[int]:
        return blocks


class InOrder:
    """In order of decision, at most ``retire_width`` a cycle, one cycle after retirement.

    Parameters
    ----------
    width : int
        Blocks retired a cycle.
    """

    def __init__(self, width: int):
        self._width = width
        self._order: deque[int] = deque()
        self._done: set[int] = set()
        self._retired: list[int] = []

    @property
    def busy(self) -> bool:
        return bool(self._retired or (self._order and self._order[0] in self._done))

    def decided(self, block: int) -> None:
        self._order.append(block)

    def processed(self, blocks: Sequence[int]) -> Sequence[int]:
        returned = self._retired
        retired: list[int] = []
        while self._order and len(retired) < self._width and self._order[0] in self._done:
            retired.append(self._order.popleft())
        self._done.difference_update(retired)
        self._done.update(blocks)
        self._retired = retired
        return returned


def reclaim(config: Config) -> Reclaim:
    """Return the configuration's reclaim policy in its initial state."""
    return OutOfOrder() if config.reclaim == "out_of_order" else InOrder(config.retire_width)
