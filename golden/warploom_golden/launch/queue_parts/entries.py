"""Free entries, places for records, the pace, and the launch that waits at ``checked``."""

from collections import deque
from collections.abc import Mapping

from warploom_golden.launch.queue_parts.rows import Launch
from warploom_spec.config import Config
from warploom_spec.packet import Packet

#: Cycles behind the boot's last row in which no launch is sent (1).
PACE_AFTER_BOOT = 4
#: Cycles behind a ``sent`` without pace (2).
PACE_AFTER_SENT = 2


class Kept:
    """What a restart keeps: the next ticket, places for records and `records_left` (1, 3).

    Parameters
    ----------
    config : Config
        Places for records.
    ticket : int
        The first ticket.
    """

    def __init__(self, config: Config, ticket: int):
        self.ticket = ticket
        self.places = config.records
        self.records_left = 0


class Entries:
    """Free entries, a ring of them for each priority (1, 2, 4).

    Parameters
    ----------
    config : Config
        Priorities and entries of each.

    Attributes
    ----------
    room : int
        The output.
    given : int or None
        The entry that is given back in this cycle.
    """

    def __init__(self, config: Config):
        self._depth = config.queue_depth
        priorities = 1 << config.priority_bits
        self.number = self._depth * priorities
        self.boot = max(self.number, 1 << config.stream_bits)
        self._rings: list[deque[int]] = [deque() for _ in range(priorities)]
        self._free = [0] * priorities
        self._counts_next: int | None = None
        self.room = 0
        self.given: int | None = None
        self._since_sent = PACE_AFTER_SENT + 1

    @property
    def all_free(self) -> bool:
        """Whether each priority counts all its entries as free."""
        return sum(self._free) == self.number

    def pace(self, cycle: int) -> bool:
        """Return whether a launch may be sent in this cycle (1, 2)."""
        return cycle >= self.boot + PACE_AFTER_BOOT and self._since_sent > PACE_AFTER_SENT

    def take(self, priority: int) -> int:
        """Return the entry of a priority that was given back first (4)."""
        return self._rings[priority].popleft()

    def give(self, entry: int) -> None:
        """Give an entry back in this cycle."""
        assert self.given is None, "two entries are given back in one cycle"
        self.given = entry
        self._rings[entry // self._depth].append(entry)

    def step(self, cycle: int, sent: int | None) -> None:
        """End a cycle; its events have given back what they give.

        Parameters
        ----------
        cycle : int
            The cycle.
        sent : int or None
            Priority of the launch that is sent in it.
        """
        if cycle < self.number:
            self.give(cycle)
        self.room = sum(bool(free) << priority for priority, free in enumerate(self._free))
        if self._counts_next is not None:
            self._free[self._counts_next // self._depth] += 1
        self._counts_next, self.given = self.given, None
        self._since_sent += 1
        if sent is not None:
            self._free[sent] -= 1
            self._since_sent = 1
        assert min(self._free) >= 0, "a launch is sent, and no entry is free"


class Inbox:
    """The launch that waits for its ACCEPT (4).

    Parameters
    ----------
    packet : Packet
        Of the port ``checked``.

    Attributes
    ----------
    ready : bool
        ``checked.ready``.
    launch : Launch or None
        The inbox's.
    """

    def __init__(self, packet: Packet):
        self._packet = packet
        self.ready = False
        self.launch: Launch | None = None

    def step(self, inputs: Mapping[str, int], entries: Entries, *, emptied: bool) -> None:
        """End a cycle; ``emptied``: it is the last step of an ACCEPT."""
        waits = bool(inputs["checked__valid"])
        takes, self.ready = waits and self.ready, waits and self.launch is None and not self.ready
        if emptied:
            self.launch = None
        if takes:
            fields = self._packet.unpack(inputs["checked__payload"])
            entry = entries.take(fields["priority"])
            self.launch = Launch(fields, entry, inputs["clock"])
