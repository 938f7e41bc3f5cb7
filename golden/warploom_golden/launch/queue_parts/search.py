"""The search for the ticket of an ABORT (18)."""

from typing import NamedTuple

from warploom_golden.launch.queue_parts.rows import Launch
from warploom_spec.errors import ErrorCode
from warploom_spec.queue import QueueCode

#: Cycles from an entry's reading to the next one's, to its second look, and from an entry that is
#: given back to ``abort.ready``.
READS_EVERY = 3
SECOND_LOOK = 2
GIVEN_TO_READY = 2


class Around(NamedTuple):
    """What a search sees of a cycle.

    Attributes
    ----------
    cycle : int
        The cycle.
    valid, ticket : int
        ``abort``.
    busy : bool
        Whether the writer is busy.
    given : int or None
        The entry that is given back.
    """

    cycle: int
    valid: int
    ticket: int
    busy: bool
    given: int | None


class Search:
    """An ABORT from its search to its answer.

    Parameters
    ----------
    entries : int
        Number of entries.

    Attributes
    ----------
    launches : dict
        The last launch of each entry.
    under_way : bool
        Whether an ABORT is under way.
    hit : Launch or None
        The launch whose ABORT is wanted.
    """

    def __init__(self, entries: int):
        self._entries = entries
        self.launches: dict[int, Launch] = {}
        self.under_way = False
        self.hit: Launch | None = None
        self._ticket = self._next = self._read_from = 0
        self._read: Launch | None = None
        self._read_in: int | None = None
        self._ready_in: int | None = None
        self._code = 0

    @property
    def given_back(self) -> bool:
        """Whether the hit's entry was given back: it is wanted, and not picked."""
        return self.hit is not None and self._ready_in is not None

    def ready(self, cycle: int) -> bool:
        """Return whether ``abort.ready`` is 1; the answer comes a cycle later."""
        return cycle == self._ready_in

    def answer(self, cycle: int) -> int | None:
        """Return the code that is answered in a cycle, if any."""
        answered = self._ready_in is not None and cycle == self._ready_in + 1
        return self._code if answered else None

    def step(self, now: Around) -> None:
        """End a cycle; its events have done what they do."""
        if not self.under_way:
            if now.valid:
                self._begin(now)
        elif self._ready_in is not None:
            self._finish(now)
        else:
            self._go_on(now)

    def serve(self, last: int) -> None:
        """The ABORT is picked; the cycle of its last step."""
        self._ready_in, self._code = last, ErrorCode.OK
        self.hit = None

    def _begin(self, now: Around) -> None:
        self.under_way = True
        self._ticket, self._next, self._read_from = now.ticket, 0, now.cycle + 1
        self._read = self._read_in = self._ready_in = self.hit = None

    def _finish(self, now: Around) -> None:
        self.hit = None
        if self.answer(now.cycle) is not None:
            self.under_way = False

    def _unknown(self, ready_in: int) -> None:
        self._ready_in, self._code = ready_in, QueueCode.TICKET_UNKNOWN

    def _go_on(self, now: Around) -> None:
        if self._read_in is not None and now.cycle == self._read_in + SECOND_LOOK:
            self._look_again(now)
        if self.hit is not None:
            if now.given == self.hit.entry:
                self._unknown(now.cycle + GIVEN_TO_READY)
        elif now.cycle >= self._read_from and not now.busy and self._ready_in is None:
            self._look(now.cycle)

    def _look_again(self, now: Around) -> None:
        if self._read is not None and self._read.in_use(now.cycle):
            self.hit = self._read
        elif self._next == self._entries:
            self._unknown(now.cycle + 1)

    def _look(self, cycle: int) -> None:
        launch = self.launches.get(self._next)
        found = launch is not None and launch.in_use(cycle) and launch.ticket == self._ticket
        self._read = launch if found else None
        self._read_in, self._read_from = cycle, cycle + READS_EVERY
        self._next += 1
