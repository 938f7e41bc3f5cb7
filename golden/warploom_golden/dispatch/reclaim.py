"""Reclaim policies of BlockDispatcher's cycle model: when ended blocks return what they take.

The event model has the same two policies in `event_sms`, written apart on purpose: each of
the two models is evidence for the other.
"""

from collections import deque
from typing import Protocol

from warploom_golden.dispatch.sm.sm import Block
from warploom_spec.config import Config


class Reclaim(Protocol):
    """A reclaim policy."""

    def enter(self, block: Block) -> None:
        """Take in a block, two cycles after its decision."""

    def returned(self, cycle: int, reported: list[Block]) -> list[tuple[int, Block]]:
        """Return the blocks that return, each with the cycle in which it does.

        Parameters
        ----------
        cycle : int
            The current cycle.
        reported : list of Block
            Blocks whose reports stood at the ports in the cycle before.
        """


class OutOfOrder:
    """In the cycle of the report."""

    def enter(self, block: Block) -> None:
        pass

    def returned(self, cycle: int, reported: list[Block]) -> list[tuple[int, Block]]:
        return [(cycle - 1, block) for block in reported]


class InOrder:
    """In order of decision, one a cycle, from two cycles after the report on."""

    def __init__(self) -> None:
        self._order: deque[Block] = deque()

    def enter(self, block: Block) -> None:
        self._order.append(block)

    def returned(self, cycle: int, reported: list[Block]) -> list[tuple[int, Block]]:
        if not self._order:
            return []
        first = self._order[0]
        done = first.reported is not None and first.reported <= cycle - 2
        if not (done or first.sm.lost):
            return []
        return [(cycle, self._order.popleft())]


def reclaim(config: Config) -> Reclaim:
    """Return the configuration's reclaim policy in its initial state."""
    return OutOfOrder() if config.reclaim == "out_of_order" else InOrder()
