"""The completion queue in the kernel queue's model: it gives tickets, and keeps final records.

Rules 24 and 25 of ``docs/preemption/preemption.md``.
"""

from warploom_golden.preemption.parameters import QueueParameters
from warploom_golden.preemption.records import FinalRecord


class CompletionQueue:
    """Tickets and final records.

    An entry for the final record is reserved with its ticket. The entry is free again when the host
    takes the record.

    Parameters
    ----------
    parameters : QueueParameters
        The first ticket, and the number of entries.

    Attributes
    ----------
    records : list of FinalRecord
        All final records that were sent, in order. Records that the host took stay in the list.
    """

    def __init__(self, parameters: QueueParameters):
        self._next_ticket = parameters.first_ticket
        self._entries = parameters.completion_entries
        # `_reserved`: entries whose record is not made yet or not taken yet.
        # `_taken`: records that the host took.
        self._reserved = self._taken = 0
        # Records that were made in this cycle.
        self._made: list[FinalRecord] = []
        self.records: list[FinalRecord] = []

    @property
    def is_full(self) -> bool:
        """Whether no entry is left to be reserved."""
        return self._reserved >= self._entries

    def reserve(self) -> int:
        """Reserve an entry for a final record, and return its ticket: 1 to 2**32 - 1, then 1 again.

        Ask `is_full` first.
        """
        ticket = self._next_ticket
        self._next_ticket = ticket % 0xFFFF_FFFF + 1
        self._reserved += 1
        return ticket

    def make(self, record: FinalRecord) -> None:
        """Add a record to those of this cycle."""
        self._made.append(record)

    def send(self) -> None:
        """Send this cycle's records, the lowest ticket first."""
        self.records += sorted(self._made, key=lambda record: record.ticket)
        self._made.clear()

    def take(self) -> FinalRecord | None:
        """Take the oldest record that was not taken yet; None if there is none."""
        if self._taken == len(self.records):
            return None
        self._reserved -= 1
        self._taken += 1
        return self.records[self._taken - 1]
