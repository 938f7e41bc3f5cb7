"""`freed_first`: the SM whose slot became free first, else the next of the order table."""

from collections import deque
from collections.abc import Sequence

from warploom_golden.replay.recorded_policies.policy import Load, Policy, first_from
from warploom_spec.config import Config


class FreedFirst(Policy):
    """The SM whose slot became free first; else the next eligible one in the order table."""

    def __init__(self, config: Config):
        super().__init__(config)
        self.table = list(range(config.sms))
        self._places = config.sms * config.block_slots
        self._table_pointer = 0
        self._queue: deque[int] = deque()
        self._full = False
        self._waiting = [0] * config.sms
        self._entry_pointer = 0

    def choose(self, eligible: Sequence[bool], sms: Sequence[Load]) -> int:
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
