"""The launch source of a replay whose launches a host sends: what it did, and when, is given.

Its rules stand in ``docs/replay/replay.md``, 'Host'.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from warploom_golden.replay.event_constants import NEVER
from warploom_golden.replay.residents.launches import SentLaunch
from warploom_spec import ErrorCode, LaunchDescriptor

if TYPE_CHECKING:
    from warploom_golden.replay.residents.path import ResidentPath

#: Codes after which the host rings again.
AGAIN: Final = (ErrorCode.QUEUE_FULL, ErrorCode.COMPLETION_FULL)


@dataclass(frozen=True)
class HostCycles:
    """When a host did what it did.

    Attributes
    ----------
    transfers : sequence of int
        Cycles in which launches transferred, in rising order.
    pops : sequence of int
        Cycles in which it popped a record, in rising order.
    """

    transfers: Sequence[int]
    pops: Sequence[int]


class HostSource:
    """Sends launches and pops records in given cycles.

    A launch that is refused because a queue is full is the next one again. Transfers that are more
    than there are launches are none: the answers differ then.

    Parameters
    ----------
    launches : sequence of LaunchDescriptor
        In the order in which they are sent.
    pairs : sequence of sequence of (int, int)
        By launch: its pairs (stream, count).
    cycles : HostCycles
        When.

    Attributes
    ----------
    tickets : list of int
        Of each launch that was answered for good its ticket; 0 if it was refused.
    """

    def __init__(
        self,
        launches: Sequence[LaunchDescriptor],
        pairs: Sequence[Sequence[tuple[int, int]]],
        cycles: HostCycles,
    ):
        self._launches = [
            SentLaunch(launch, tuple(own)) for launch, own in zip(launches, pairs, strict=True)
        ]
        self._transfers, self._pops = deque(cycles.transfers), deque(cycles.pops)
        self._next = self._heard = 0
        # Launches that were sent and not answered, by their numbers.
        self._asked: deque[int] = deque()
        self.tickets: list[int] = []

    @property
    def wake(self) -> int:
        """The next cycle in which the host acts; `NEVER` if there is none."""
        return min([*list(self._transfers)[:1], *list(self._pops)[:1], NEVER])

    def step(self, cycle: int, path: "ResidentPath") -> None:
        """Do what is done in this cycle."""
        for answer in path.log.answers[self._heard :]:
            number = self._asked.popleft()
            if answer.code in AGAIN:
                self._next = number
            else:
                self.tickets.append(answer.ticket)
        self._heard = len(path.log.answers)
        if self._transfers and self._transfers[0] == cycle:
            self._transfers.popleft()
            if self._next < len(self._launches):
                path.send(self._launches[self._next])
                self._asked.append(self._next)
                self._next += 1
        if self._pops and self._pops[0] == cycle:
            self._pops.popleft()
            path.pop()
