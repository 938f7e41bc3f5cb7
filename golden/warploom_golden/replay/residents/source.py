"""The launch source of a replay, for the launch path with residents.

Its rules stand in ``docs/replay/replay.md``, 'The launch source' and 'Kills'.
"""

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import replace

from warploom_golden.replay.event_constants import NEVER
from warploom_golden.replay.residents.launches import SentLaunch
from warploom_golden.replay.residents.path import ResidentPath
from warploom_golden.replay.waits import Waits
from warploom_spec import LaunchDescriptor, timing
from warploom_spec.queue_packets import WAIT_BITS


class ReplaySource:
    """Sends launches in their order, takes every record, and aborts launches.

    Parameters
    ----------
    launches : sequence of LaunchDescriptor
        In the order in which they are sent.
    path : ResidentPath
        Where they go; its dispatcher says which launches are to be aborted.
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
        path: ResidentPath,
        waits: Waits | None = None,
        arrivals: Sequence[int] | None = None,
    ):
        self._launches = launches
        self._path = path
        self._pairs = waits.pairs if waits else [()] * len(launches)
        self._held = waits.held if waits else [()] * len(launches)
        self._arrivals = arrivals or [0] * len(launches)
        self._offer = path.cycles_to_offer
        # A record is popped in the cycle after its last word.
        self._known_after = timing(path.config).record_known - 1
        self._sent = 0
        # Records that were popped and are not known yet: from which cycle on they are, and tickets.
        self._coming: deque[tuple[int, int]] = deque()
        self._known: set[int] = set()
        # Launches to abort: from which cycle on, and tickets; in the order of their offers.
        self._aborts: deque[tuple[int, int]] = deque()
        self._marks = 0
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

    def step(self, cycle: int, path: ResidentPath) -> None:
        """Do what is done in this cycle."""
        for answer in path.log.answers[len(self.tickets) :]:
            self.tickets.append(answer.ticket)
            self.note_answer(len(self.tickets) - 1, answer.number)
        while self._coming and self._coming[0][0] <= cycle:
            self._known.add(self._coming.popleft()[1])
        self._wake = min(self._send(cycle), self._pop(cycle), self._abort(cycle))

    def note_answer(self, number: int, count: int) -> None:
        """Take note of the answer to a launch; ``count`` is its number in its stream."""

    def sent_launch(self, number: int) -> SentLaunch | None:
        """Return a launch as it is sent in this cycle; None if it cannot be sent yet."""
        return SentLaunch(self._launches[number], tuple(self._pairs[number]))

    def _send(self, cycle: int) -> int:
        """Send the next launch if it may be; return when to look again."""
        if self._sent == len(self._launches):
            return NEVER
        arrival = max(self._arrivals[self._sent], 1)
        if cycle < arrival:
            return arrival
        path, priority = self._path, self._launches[self._sent].priority
        if not path.has_room(priority) or not self._is_free(self._sent):
            return NEVER
        if not path.may_send:
            return cycle + 1
        launch = self.sent_launch(self._sent)
        if launch is None:
            return NEVER
        path.send(launch)
        self._sent += 1
        return cycle + 1

    def _is_free(self, number: int) -> bool:
        """Tell whether the records are known of all launches that one is held for."""
        tickets = [
            self.tickets[other] if other < len(self.tickets) else None
            for other in self._held[number]
        ]
        return all(ticket == 0 or ticket in self._known for ticket in tickets)

    def _pop(self, cycle: int) -> int:
        """Pop a record; return when to look again."""
        if self._path.has_record:
            record = self._path.pop()
            self.note_end(record["ticket"])
            self._coming.append((cycle + self._known_after, record["ticket"]))
            return cycle + 1
        return self._coming[0][0] if self._coming else NEVER

    def note_end(self, ticket: int) -> None:
        """Take note of a launch's record."""

    def _abort(self, cycle: int) -> int:
        """Abort a launch whose time has come; return when to look again."""
        marked = self._path.dispatcher.take_mark()
        if marked is not None:
            # Its block was picked in the cycle before.
            self._aborts.append((cycle + self._offer, marked))
        if not self._aborts:
            return NEVER
        since, ticket = self._aborts[0]
        if since > cycle:
            return since
        if self._path.takes_abort:
            self._aborts.popleft()
            self._path.abort(ticket)
        return cycle + 1


class UnorderedSource(ReplaySource):
    """Sends each launch in a stream of its own: one in which no other launch is unfinished.

    Event waits stay: a pair still waits for the launch that it named.

    Parameters
    ----------
    launches, path, waits, arrivals
        As for `ReplaySource`; the path has as many streams as launches may be unfinished.
    streams : int
        How many it has.
    """

    def __init__(
        self,
        launches: Sequence[LaunchDescriptor],
        path: ResidentPath,
        waits: Waits | None,
        arrivals: Sequence[int] | None,
        streams: int,
    ):
        super().__init__(launches, path, waits, arrivals)
        self._free = deque(range(streams))
        # By launch that was answered: its stream, and its number there.
        self._stands: dict[int, tuple[int, int]] = {}
        # By stream of the trace and number there: the launch. How many were accepted.
        self._numbered: dict[tuple[int, int], int] = {}
        self._accepted: Counter[int] = Counter()
        self._given: list[int] = []
        self._counts: Counter[int] = Counter()
        self._ended: set[int] = set()
        self._by_ticket: dict[int, int] = {}

    def note_answer(self, number: int, count: int) -> None:
        """Take note of the answer to a launch; ``count`` is its number in its stream."""
        ticket, own = self.tickets[number], self._launches[number].stream
        if not ticket:
            self._free.append(self._given[number])
            return
        self._accepted[own] += 1
        self._numbered[own, self._accepted[own] % (1 << WAIT_BITS)] = number
        self._stands[number] = self._given[number], count
        self._counts[self._given[number]] = count
        self._by_ticket[ticket] = number

    def note_end(self, ticket: int) -> None:
        """Take note of a launch's record: its stream is free."""
        number = self._by_ticket[ticket]
        self._ended.add(number)
        self._free.append(self._stands[number][0])

    def sent_launch(self, number: int) -> SentLaunch | None:
        """Return a launch as it is sent in this cycle; None if it cannot be sent yet."""
        awaited = [self._numbered.get(pair) for pair in self._pairs[number]]
        answered = len(self.tickets) == number
        if not self._free or (None in awaited and not answered):
            return None
        stream = self._free.popleft()
        self._given.append(stream)
        launch = replace(self._launches[number], stream=stream)
        if None in awaited:
            # What it waits for was not accepted, and will not be: it is refused for this here, too.
            return SentLaunch(launch, ((stream, self._counts[stream] + 1),))
        left = (other for other in awaited if other is not None and other not in self._ended)
        return SentLaunch(launch, tuple(self._stands[other] for other in left))
