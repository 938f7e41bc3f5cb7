"""The launch source of a replay.

Its rules stand in ``docs/replay/replay.md``, 'The launch source' and 'Kills'.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from warploom_golden.preemption.streams import EventQueue, SentLaunch
from warploom_golden.preemption.streams.stopped_dispatcher import StoppedDispatcher
from warploom_golden.replay.event_constants import NEVER
from warploom_spec import Config, LaunchDescriptor, timing

#: From the cycle in which a record is shown and popped to the first one in which its source knows
#: it: it is at ``oldest`` in between.
_TAKEN = 2


@dataclass(frozen=True)
class Waits:
    """What the launches of a replay wait for.

    Attributes
    ----------
    pairs : sequence of sequence of (int, int)
        By launch: its pairs (stream, count).
    held : sequence of sequence of int
        By launch: earlier launches whose records its source takes before it sends it.
    """

    pairs: Sequence[Sequence[tuple[int, int]]]
    held: Sequence[Sequence[int]]


class ReplaySource:
    """Sends launches in their order, takes every record, and aborts launches.

    Parameters
    ----------
    launches : sequence of LaunchDescriptor
        In the order in which they are sent.
    config : Config
        The configuration.
    dispatcher : StoppedDispatcher
        Says which launches are to be aborted.
    waits : Waits or None
        What they wait for; None: nothing.
    arrivals : sequence of int or None
        Of each launch the first cycle in which it may be sent, in rising order; None: any cycle.

    Attributes
    ----------
    tickets : list of int
        Of each launch that was answered its ticket; 0 if it was refused.
    """

    def __init__(
        self,
        launches: Sequence[LaunchDescriptor],
        config: Config,
        dispatcher: StoppedDispatcher,
        waits: Waits | None = None,
        arrivals: Sequence[int] | None = None,
    ):
        pairs = waits.pairs if waits else [()] * len(launches)
        self._launches = [
            SentLaunch(launch, tuple(own)) for launch, own in zip(launches, pairs, strict=True)
        ]
        self._held = waits.held if waits else [()] * len(launches)
        self._arrivals = arrivals or [0] * len(launches)
        self._dispatcher = dispatcher
        self._offer = timing(config).offer
        self._sent = self._popped = 0
        # Records that were popped and are not known yet: from which cycle on they are, and tickets.
        self._coming: deque[tuple[int, int]] = deque()
        self._known: set[int] = set()
        # Launches to abort: from which cycle on, and tickets; the one that is at the port already.
        self._aborts: list[tuple[int, int]] = []
        self._asked: int | None = None
        self._wake = 1
        self.tickets: list[int] = []

    def check_sent(self) -> None:
        """Refuse the end of a run in which a launch was not answered.

        Raises
        ------
        RuntimeError
            If one was not: nothing can happen any more.
        """
        if len(self.tickets) < len(self._launches):
            raise RuntimeError("the event model stands still while launches wait")

    @property
    def wake(self) -> int:
        """The next cycle in which the source acts by itself; `NEVER` while it waits."""
        return self._wake

    def step(self, cycle: int, queue: EventQueue) -> None:
        """Do what is done in this cycle."""
        self.tickets += [each.ticket for each in queue.log.answers[len(self.tickets) :]]
        while self._coming and self._coming[0][0] <= cycle:
            self._known.add(self._coming.popleft()[1])
        wake = [self._send(cycle, queue), self._pop(cycle, queue), self._abort(cycle, queue)]
        self._wake = min(wake)

    def _send(self, cycle: int, queue: EventQueue) -> int:
        """Send the next launch if it may be; return when to look again."""
        if self._sent == len(self._launches):
            return NEVER
        arrival = max(self._arrivals[self._sent], 1)
        if cycle < arrival:
            return arrival
        launch = self._launches[self._sent]
        if not queue.room(launch.descriptor.priority) or not self._is_free(self._sent):
            return NEVER
        queue.send(launch)
        self._sent += 1
        return cycle + 1

    def _is_free(self, number: int) -> bool:
        """Tell whether the records are known of all launches that one is held for."""
        tickets = [
            self.tickets[other] if other < len(self.tickets) else None
            for other in self._held[number]
        ]
        return all(ticket == 0 or ticket in self._known for ticket in tickets)

    def _pop(self, cycle: int, queue: EventQueue) -> int:
        """Pop the record that is shown; return when to look again."""
        if queue.has_record:
            self._coming.append((cycle + _TAKEN, queue.log.records[self._popped].ticket))
            self._popped += 1
            queue.pop()
            return cycle + 1
        return self._coming[0][0] if self._coming else NEVER

    def _abort(self, cycle: int, queue: EventQueue) -> int:
        """Abort a launch whose time has come; return when to look again."""
        # Its block was decided in the cycle before.
        marked = self._dispatcher.take_mark()
        if marked is not None:
            self._aborts.append((cycle + self._offer, marked))
        if self._asked is None:
            # In the order of the offers; one block is offered in a cycle.
            due = (ticket for since, ticket in self._aborts if since <= cycle)
            self._asked = next(due, None)
        if self._asked is not None and queue.takes_abort:
            queue.abort(self._asked)
            self._aborts = [each for each in self._aborts if each[1] != self._asked]
            self._asked = None
            return cycle + 1
        return min((since for since, _ in self._aborts if since > cycle), default=NEVER)
