"""The completion queue of the kernel queue's model: tickets and their final records."""

from warploom_golden.preemption.parameters import QueueParameters
from warploom_golden.preemption.records import FinalRecord


class CompletionQueue:
    """Final records: a place is reserved with the ticket, and free when the host took the record.

    Parameters
    ----------
    parameters : QueueParameters
        The first ticket, and how many places there are.

    Attributes
    ----------
    records : list of FinalRecord
        Final records that were sent, in order; those that the host took are not removed.
    """

    def __init__(self, parameters: QueueParameters):
        self._next_ticket = parameters.first_ticket
        self._places = parameters.completion_places
        # Places that are promised or whose record is not taken; records that the host took.
        self._reserved = self._taken = 0
        # This cycle's records.
        self._made: list[FinalRecord] = []
        self.records: list[FinalRecord] = []

    @property
    def is_full(self) -> bool:
        """Whether no place is left to be reserved."""
        return self._reserved >= self._places

    def reserve(self) -> int:
        """Return the next ticket, with a place for its final record."""
        ticket = self._next_ticket
        self._next_ticket = ticket % 0xFFFF_FFFF + 1
        self._reserved += 1
        return ticket

    def make(self, record: FinalRecord) -> None:
        """Make a record in this cycle."""
        self._made.append(record)

    def send(self) -> None:
        """Send this cycle's records, the older ticket first."""
        self.records += sorted(self._made, key=lambda record: record.ticket)
        self._made.clear()

    def take(self) -> FinalRecord | None:
        """Take the oldest record that was not taken."""
        if self._taken == len(self.records):
            return None
        self._reserved -= 1
        self._taken += 1
        return self.records[self._taken - 1]
