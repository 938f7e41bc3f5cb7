"""The launch source of a replay whose launches a host sends: what it did, and when, is given.

Its rules stand in ``docs/replay/replay.md``, 'Host'.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warploom_golden.replay.event_constants import NEVER
from warploom_golden.replay.residents.launches import SentLaunch
from warploom_spec import LaunchDescriptor

if TYPE_CHECKING:
    from warploom_golden.replay.residents.path import ResidentPath


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

    A transfer is none if there is no launch left, or no room for it; so is a pop without a record.
    The answers, or the records, differ then.

    Parameters
    ----------
    launches : sequence of LaunchDescriptor
        In the order in which they are sent.
    pairs : sequence of sequence of (int, int)
        By launch: its pairs (stream, count).
    cycles : HostCycles
        When.
    """

    def __init__(
        self,
        launches: Sequence[LaunchDescriptor],
        pairs: Sequence[Sequence[tuple[int, int]]],
        cycles: HostCycles,
    ):
        waiting = zip(launches, pairs, strict=True)
        self._launches = deque(SentLaunch(launch, tuple(own)) for launch, own in waiting)
        self._transfers, self._pops = deque(cycles.transfers), deque(cycles.pops)

    @property
    def wake(self) -> int:
        """The next cycle in which the host acts; `NEVER` if there is none."""
        return min([*list(self._transfers)[:1], *list(self._pops)[:1], NEVER])

    def step(self, cycle: int, path: "ResidentPath") -> None:
        """Do what is done in this cycle."""
        if self._transfers and self._transfers[0] == cycle:
            self._transfers.popleft()
            if self._launches and self._may_send(path):
                path.send(self._launches.popleft())
        if self._pops and self._pops[0] == cycle:
            self._pops.popleft()
            if path.has_record:
                path.pop()

    def _may_send(self, path: "ResidentPath") -> bool:
        return path.may_send and path.has_room(self._launches[0].descriptor.priority)
