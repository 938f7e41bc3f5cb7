"""A host of the event model that sends launches in their order, with what their source holds."""

from collections.abc import Sequence

from warploom_golden.preemption.streams.event_launch import SentLaunch
from warploom_golden.preemption.streams.event_queue import EventQueue
from warploom_golden.replay.event_constants import NEVER


class OrderedHost:
    """Sends one launch a cycle, each when there is room and its host need not wait any more.

    It pops each record in the first cycle in which it is shown. A launch is sent after the cycles
    in which the records of the launches that it is held for were popped.

    Parameters
    ----------
    launches : sequence of SentLaunch
        In their order.
    held : sequence of sequence of int
        By launch: the launches that it is held for. Empty: none is held.

    Attributes
    ----------
    tickets : list of int
        Of each launch that was answered its ticket; 0 if it was refused.
    """

    def __init__(self, launches: Sequence[SentLaunch], held: Sequence[Sequence[int]] = ()):
        self._launches = launches
        self._held = held or [()] * len(launches)
        self._sent = 0
        self._popped = 0
        self._done: set[int] = set()
        self._wake = 0
        self.tickets: list[int] = []

    @property
    def wake(self) -> int:
        """The next cycle in which the host acts by itself; `NEVER` while it waits for the queue."""
        return self._wake

    def step(self, cycle: int, queue: EventQueue) -> None:
        """Send the next launch, if it may be sent; pop a record, if one is shown."""
        answers = queue.log.answers
        self.tickets += [each.ticket for each in answers[len(self.tickets) :]]
        sends = self._sent < len(self._launches) and self._may_send(queue)
        if sends:
            queue.send(self._launches[self._sent])
            self._sent += 1
        self._wake = cycle + 1 if sends else NEVER
        if queue.has_record:
            self._done.add(queue.log.records[self._popped].ticket)
            self._popped += 1
            queue.pop()
            self._wake = cycle + 1

    def _may_send(self, queue: EventQueue) -> bool:
        launch = self._launches[self._sent]
        if not queue.room(launch.descriptor.priority):
            return False
        for other in self._held[self._sent]:
            if other >= len(self.tickets):
                return False
            if self.tickets[other] and self.tickets[other] not in self._done:
                return False
        return True
