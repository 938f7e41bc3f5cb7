"""All registers of KernelQueue's cycle model, and what RTL reads from them without inputs."""

from collections import deque

from warploom_golden.launch.queue_launch import (
    Abort,
    Ended,
    Flight,
    Launch,
    Passing,
    Preempt,
    Stream,
    Where,
)
from warploom_spec.config import Config
from warploom_spec.layouts import PLACES
from warploom_spec.timing import timing


class Numbers:
    """The numbers of rules 6 and 7, which a restart keeps.

    Parameters
    ----------
    config : Config
        Entries of a priority.
    """

    def __init__(self, config: Config):
        self._depth = config.queue_depth
        self.records = config.records
        priorities = range(1 << config.priority_bits)
        #: (a) of each priority, and (b), at the end of the cycle before.
        self.entries = [0 for _ in priorities]
        self.promised = 0
        self.reserved = 0
        self.room = (1 << len(priorities)) - 1
        self._lowers_entries = [0 for _ in priorities]
        self._lowers_promised = 0
        self._popped = 0
        self._sent: deque[int | None] = deque([None] * timing(config).launch_check)

    def advance(
        self,
        *,
        sent: int | None,
        refused: bool,
        accepted: bool,
        preempts: bool,
        freed: list[int],
        popped: int,
    ) -> None:
        """End a cycle.

        Parameters
        ----------
        sent : int or None
            Priority of the launch that is sent in this cycle.
        refused, accepted : bool
            Of the launch at ``checked``.
        preempts : bool
            A PREEMPT is accepted.
        freed : list of int
            Priorities of the entries that become free.
        popped : int
            ``record_taken``.
        """
        self._sent.append(sent)
        judged = self._sent.popleft()
        for priority, lower in enumerate(self._lowers_entries):
            self.entries[priority] += (sent == priority) - lower
        self.promised += (sent is not None) + preempts - self._lowers_promised
        self.reserved += accepted + preempts - self._popped
        self._lowers_entries = [freed.count(p) for p in range(len(self.entries))]
        if refused and judged is not None:
            self._lowers_entries[judged] += 1
        self._lowers_promised = refused + popped
        self._popped = popped
        finds_record = self.promised < self.records
        self.room = sum(
            (number < self._depth and finds_record) << priority
            for priority, number in enumerate(self.entries)
        )


class State:
    """All registers but the numbers: a reset and a restart give them these values (65, 66).

    Parameters
    ----------
    config : Config
        Streams, priorities and entries.
    first_count : int
        The streams' first accepted count and timeline.
    """

    def __init__(self, config: Config, first_count: int):
        numbers = range(1 << config.stream_bits)
        self.streams = [Stream(accepted=first_count, timeline=first_count) for _ in numbers]
        self.entries: list[Launch | None] = [None] * (config.queue_depth << config.priority_bits)
        self.closed = False
        #: ``launch_timeout`` of the cycle before.
        self.limit = 0
        # The choice and the line (30 to 41).
        self.last = len(self.streams) - 1
        self.stage: Launch | None = None
        self.line: list[Launch] = []
        #: The front stood there in the cycle before, or it entered an empty line.
        self.front_is_read = False
        self.flight: Flight | None = None
        self.cancel = False
        self.pending_end: int | None = None
        self.pending_line: int | None = None
        self.pending_flight: int | None = None
        # Jobs (21 to 25): the stream that is looked at, loads under way, and what ends.
        self.looking: int | None = None
        self.loads: dict[int, int] = {}
        self.passing: Passing | None = None
        self.looked = False
        # Places and ends (42 to 52).
        self.places: list[Launch | None] = [None] * PLACES
        self.ended: Ended | None = None
        #: The end register was full in the cycle before.
        self.was_full = False
        # Commands (55 to 62).
        self.preempt: Preempt | None = None
        self.abort: Abort | None = None
        #: The launch that an ABORT acted on in the cycle before.
        self.abort_acted_on: Launch | None = None
        # Output registers.
        self.answer = 0
        self.command_answer = 0
        self.abort_answer = 0
        self.release: int | None = None
        self.stop = 0
        self.record = 0
        self.put_back = 0
        self.timeline = 0

    @property
    def front(self) -> Launch | None:
        """Return the launch that entered the line first."""
        return self.line[0] if self.line else None

    def presents(self) -> Launch | None:
        """Return the launch whose configuration stands at ``request`` (36)."""
        if self.flight is not None or self.pending_flight is not None:
            return None
        fresh = (launch for launch in self.line if not launch.presented and not launch.out)
        return next(fresh, None)

    def offers(self) -> Launch | None:
        """Return the launch that stands at ``launch`` (38)."""
        front = self.front
        if front is None or not self.front_is_read or not front.prepared or front.out:
            return None
        return front

    def on_the_way(self) -> list[Launch]:
        """Return the launches in stage, line and places."""
        stage = [self.stage] if self.stage is not None else []
        return stage + self.line + [launch for launch in self.places if launch is not None]

    def meets(self) -> bool:
        """Whether a launch that a PREEMPT met is still to come back (58)."""
        ended = [self.ended.launch] if self.ended is not None else []
        return any(launch.met for launch in self.on_the_way() + ended)

    def settled(self) -> bool:
        """Whether nothing but launches in their lists keeps ``idle`` at 0 (64)."""
        references = self.pending_end, self.pending_line, self.pending_flight
        return (
            self.preempt is None
            and self.abort is None
            and self.flight is None
            and all(reference is None for reference in references)
            and not self.record
        )

    def is_in_list(self, launch: Launch) -> bool:
        """Whether the launch waits in its list and nowhere else."""
        return launch.where is Where.LIST
