"""Placement policies of BlockDispatcher's cycle model."""

from collections import deque
from collections.abc import Sequence
from typing import Protocol

from warploom_golden.dispatch.sm.sm import Sm
from warploom_spec.config import Config


class Policy(Protocol):
    """A placement policy."""

    def choose(self, eligible: Sequence[bool], sms: Sequence[Sm]) -> int:
        """Return the SM of a decision; at least one is eligible."""

    def tick(self, resident: bool, freed: Sequence[int]) -> None:
        """End a cycle, in which `choose` may have been called before.

        Parameters
        ----------
        resident : bool
            Whether a launch was resident in this cycle's state.
        freed : sequence of int
            SMs of which a slot counts as free at the end of this cycle.
        """


def first_from(wanted: Sequence[bool], start: int) -> int | None:
    """Return the first wanted position from ``start`` on, cyclically."""
    positions = (*range(start, len(wanted)), *range(start))
    return next((position for position in positions if wanted[position]), None)


class FirstFit:
    """Lowest number."""

    def choose(self, eligible: Sequence[bool], sms: Sequence[Sm]) -> int:
        return eligible.index(True)

    def tick(self, resident: bool, freed: Sequence[int]) -> None:
        pass


class RoundRobin(FirstFit):
    """First from the pointer on; the pointer moves to one past the SM that got a block."""

    def __init__(self) -> None:
        self._pointer = 0

    def choose(self, eligible: Sequence[bool], sms: Sequence[Sm]) -> int:
        chosen = first_from(eligible, self._pointer)
        assert chosen is not None
        self._pointer = (chosen + 1) % len(eligible)
        return chosen


class LeastLoaded(FirstFit):
    """Fewest occupied warps, ties to the lowest number."""

    def choose(self, eligible: Sequence[bool], sms: Sequence[Sm]) -> int:
        candidates = (number for number, fits in enumerate(eligible) if fits)
        return min(candidates, key=lambda number: sms[number].occupied_warps)


class FreedFirst(FirstFit):
    """The SM whose slot became free first; else the next with room in the order table.

    Parameters
    ----------
    config : Config
        Number of SMs and slots.
    """

    def __init__(self, config: Config):
        self.table = list(range(config.sms))
        self._places = config.sms * config.block_slots
        self._table_pointer = 0
        self._queue: deque[int] = deque()
        self._full = False
        self._waiting = [0] * config.sms
        self._entry_pointer = 0

    def choose(self, eligible: Sequence[bool], sms: Sequence[Sm]) -> int:
        head = self._queue.popleft() if self._queue else None
        if head is not None and eligible[head]:
            return head
        position = first_from([eligible[sm] for sm in self.table], self._table_pointer)
        assert position is not None
        self._table_pointer = (position + 1) % len(self.table)
        return self.table[position]

    def tick(self, resident: bool, freed: Sequence[int]) -> None:
        entering = None
        if not self._full:
            entering = first_from([count > 0 for count in self._waiting], self._entry_pointer)
        if entering is not None:
            self._entry_pointer = (entering + 1) % len(self._waiting)
            self._waiting[entering] -= 1
            self._queue.append(entering)
        for sm in freed:
            self._waiting[sm] += 1
        if not resident:
            self._queue.clear()
            self._waiting = [0] * len(self._waiting)
        # Judged on the state: what leaves in a cycle makes no room in that cycle.
        self._full = len(self._queue) == self._places

    def swap(self, first: int, second: int) -> None:
        """Swap two positions of the order table."""
        table = self.table
        table[first], table[second] = table[second], table[first]


def policy(config: Config) -> Policy:
    """Return the configuration's placement policy in its initial state."""
    if config.policy == "freed_first":
        return FreedFirst(config)
    return {"first_fit": FirstFit, "round_robin": RoundRobin, "least_loaded": LeastLoaded}[
        config.policy
    ]()
