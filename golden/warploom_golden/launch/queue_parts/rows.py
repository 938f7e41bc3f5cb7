"""What KernelQueue keeps of launches and streams."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from warploom_spec.queue_packets import COUNT_BITS, WAIT_BITS


class Pair(NamedTuple):
    """A stream, and the timeline that a launch waits for there."""

    stream: int
    until: int


@dataclass(eq=False, slots=True)
class Launch:
    """A launch from its transfer at ``checked`` on.

    Attributes
    ----------
    fields : mapping
        Fields of ``resident_packets.resident_launch``.
    entry, clock : int
        Its entry's number, and the time of its acceptance (4).
    ticket, number : int
        0 until it is accepted; its number in its stream.
    waits : tuple of Pair
        The pairs that it keeps, with counts of 32 bits (11).
    dead : bool
        Its record was made by an ABORT (18).
    accepted_in, made_in : int or None
        Last step of its ACCEPT, and of the event that made its record.
    """

    fields: Mapping[str, int]
    entry: int
    clock: int
    ticket: int = 0
    number: int = 0
    waits: tuple[Pair, ...] = ()
    dead: bool = False
    accepted_in: int | None = None
    made_in: int | None = None

    def in_use(self, cycle: int) -> bool:
        """Return whether its entry is in use in a cycle (18)."""
        if self.accepted_in is None or cycle <= self.accepted_in:
            return False
        return self.made_in is None or cycle <= self.made_in

    @property
    def stream(self) -> int:
        """Its stream."""
        return self.fields["stream"]

    @property
    def priority(self) -> int:
        """Its priority."""
        return self.fields["priority"]

    @property
    def plain(self) -> bool:
        """Whether it keeps no pair (11)."""
        return not self.waits

    @property
    def loop(self) -> int:
        """0, or its loop's number + 1 (32)."""
        return self.fields.get("loop", 0)

    @property
    def quiet(self) -> bool:
        """Whether it has a record only if it does not finish (32)."""
        return bool(self.fields.get("quiet", 0))

    def valid_pairs(self, number: int) -> list[int]:
        """Return the numbers of its valid pairs."""
        return [k for k in range(number) if self.fields[f"wait{k}_valid"]]

    def pair(self, number: int, rows: Sequence["Row"]) -> Pair:
        """Return a valid pair as its ACCEPT sees it: relative to what was accepted (10)."""
        fields, name = self.fields, f"wait{number}_"
        stream, count = fields[f"{name}stream"], fields[f"{name}count"]
        if fields.get(f"{name}relative", 0):
            count = (rows[stream].accepted - count) % (1 << WAIT_BITS)
        return Pair(stream, count)


@dataclass(eq=False, slots=True)
class Row:
    """A stream: events alone read and write it, but for its priority.

    Attributes
    ----------
    accepted, timeline : int
        Launches that were accepted, and that have ended.
    launches : deque of Launch
        The unfinished ones, and dead ones; the first is the head.
    priority : int
        Of its launches, or of its last one.
    kills : int
        Of its head.
    aborted, timed : bool
        Of its head.
    broken, gap : bool
        Rules 16 and 18.
    bound : Launch or None
        The stream is doomed up to this one (15).
    waiters : int
        Its row of waiters, a bit a stream.
    """

    accepted: int
    timeline: int
    launches: deque[Launch] = field(default_factory=deque)
    priority: int = 0
    kills: int = 0
    aborted: bool = False
    timed: bool = False
    broken: bool = False
    gap: bool = False
    bound: Launch | None = None
    waiters: int = 0

    @property
    def doomed(self) -> bool:
        """Whether an ABORT_STREAMS has met its head."""
        return self.bound is not None

    @property
    def head(self) -> Launch:
        """The first of its launches; there is one."""
        return self.launches[0]


@dataclass(slots=True)
class Flags:
    """What is asked in each cycle, a bit a stream.

    Attributes
    ----------
    ready, live, look
        Rules 11, 16 and 17.
    held : int
        By command (5).
    stuck, tried : int
        Held up by the index filter (26).
    resident : int
        From the transfer at ``start`` to the last step of its END.
    """

    ready: int = 0
    live: int = 0
    look: int = 0
    held: int = 0
    stuck: int = 0
    tried: int = 0
    resident: int = 0

    def make_ready(self, stream: int) -> None:
        """Set ``ready`` and ``live``."""
        self.ready |= 1 << stream
        self.live |= 1 << stream

    def look_at(self, stream: int) -> None:
        """Set ``look``, and clear ``ready``."""
        self.look |= 1 << stream
        self.ready &= ~(1 << stream)


def is_reached(timeline: int, count: int, bits: int) -> bool:
    """Return whether a timeline has reached a count, both modulo a power of two (11, 17)."""
    return (timeline - count) % (1 << bits) < 1 << bits - 1


def widened(timeline: int, count: int) -> int:
    """Return the next count of 32 bits, at or above a timeline, with these 16 low bits (11)."""
    return (timeline + (count - timeline) % (1 << WAIT_BITS)) % (1 << COUNT_BITS)
