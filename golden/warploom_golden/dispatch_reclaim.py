"""When blocks of BlockDispatcher's cycle model return what they held.

The event model has the same two policies in `event_sms`, written apart on purpose: each of the two
models is evidence for the other.
"""

from collections import deque
from collections.abc import Sequence
from typing import Protocol

from warploom_golden.dispatch_sm import Block
from warploom_spec.config import Config


class Reclaim(Protocol):
    """A reclaim policy."""

    def decided(self, block: Block) -> None:
        """Take note of a decision in this cycle."""

    def tick(self) -> None:
        """Begin a cycle: retire on its state."""

    def returned(self, ended: Sequence[Block]) -> Sequence[Block]:
        """Return the blocks that give back what they hold at the end of this cycle.

        Parameters
        ----------
        ended : sequence of Block
            Blocks whose completion or kill is processed in this cycle.
        """


class OutOfOrder:
    """At once."""

    def decided(self, block: Block) -> None:
        pass

    def tick(self) -> None:
        pass

    def returned(self, ended: Sequence[Block]) -> Sequence[Block]:
        return ended


class InOrder:
    """In order of decision, ``retire_width`` a cycle at most, one cycle after retirement.

    Parameters
    ----------
    width : int
        Blocks retired a cycle.
    """

    def __init__(self, width: int):
        self._width = width
        self._order: deque[Block] = deque()
        self._retired: list[Block] = []
        self._returning: list[Block] = []

    def decided(self, block: Block) -> None:
        self._order.append(block)

    def tick(self) -> None:
        self._returning, self._retired = self._retired, []
        while self._order and self._order[0].done and len(self._retired) < self._width:
            self._retired.append(self._order.popleft())

    def returned(self, ended: Sequence[Block]) -> Sequence[Block]:
        return self._returning


def reclaim(config: Config) -> Reclaim:
    """Return the configuration's reclaim policy in its initial state."""
    return OutOfOrder() if config.reclaim == "out_of_order" else InOrder(config.retire_width)
