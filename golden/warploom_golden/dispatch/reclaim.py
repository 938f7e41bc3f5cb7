"""When blocks of BlockDispatcher's cycle model return what they held.

The event model has the same two policies in `event_machine`, written apart on purpose: each of
the two models is evidence for the other.
"""

from collections import deque
from collections.abc import Sequence
from typing import Protocol

from warploom_golden.dispatch.sm.sm import Block
from warploom_spec.config import Config
from warploom_spec.timing import timing


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
    """In order of decision, ``retire_width`` a cycle at most.

    What was retired in u is returned at the end of u + ``timing.returns`` - 1.

    Parameters
    ----------
    config : Config
        Blocks retired a cycle.
    """

    def __init__(self, config: Config):
        self._width = config.retire_width
        self._order: deque[Block] = deque()
        # Retired in each of the last cycles, the oldest first.
        self._retired: deque[list[Block]] = deque([] for _ in range(timing(config).returns - 1))
        self._returning: list[Block] = []

    def decided(self, block: Block) -> None:
        self._order.append(block)

    def tick(self) -> None:
        self._returning = self._retired.popleft()
        retired: list[Block] = []
        while self._order and self._order[0].done and len(retired) < self._width:
            retired.append(self._order.popleft())
        self._retired.append(retired)

    def returned(self, ended: Sequence[Block]) -> Sequence[Block]:
        return self._returning


def reclaim(config: Config) -> Reclaim:
    """Return the configuration's reclaim policy in its initial state."""
    return OutOfOrder() if config.reclaim == "out_of_order" else InOrder(config)
