"""Launches in LaunchCheck, their acceptance, tickets, reserved records, ``room`` (rules 1 to 7)."""

from collections import deque
from dataclasses import replace

from warploom_golden.oracles.index_reference import warps
from warploom_golden.preemption.streams.event_launch import Launch, SentLaunch
from warploom_golden.preemption.streams.event_log import Answer
from warploom_golden.preemption.streams.event_state import EventState
from warploom_golden.preemption.streams.event_streams import is_reached
from warploom_golden.replay.event_constants import NEVER
from warploom_golden.replay.event_front import judge
from warploom_spec import ErrorCode, timing
from warploom_spec.host_errors import HostError
from warploom_spec.queue import Mode
from warploom_spec.queue_packets import FIRST_WAIT_WORD, MODE_WORD, WAIT_AHEAD

_COUNTS = 1 << 32
_WAIT_COUNTS = 1 << 16
#: Modes that LaunchCheck knows have two bits.
_CHECKED_MODES = 4


class Admission:
    """Judges launches, gives tickets and entries, and counts reserved records.

    Parameters
    ----------
    state : EventState
        What all parts share.
    first_ticket : int
        The first accepted launch's ticket.

    Attributes
    ----------
    room : list of bool
        Of each priority, as it is in this cycle.
    """

    def __init__(self, state: EventState, first_ticket: int):
        self._state = state
        config = state.config
        self._check = timing(config).launch_check
        self._depth, self._records = config.queue_depth, config.records
        self._next_ticket = first_ticket
        # LaunchCheck's pipeline: the cycle in which each launch leaves it.
        self._pipe: deque[tuple[int, SentLaunch]] = deque()
        self._sent: SentLaunch | None = None
        self._reserved = self._accepted = 0
        # Rule 7's numbers, and what lowers them from the next cycle on.
        self._counted = [0] * (1 << config.priority_bits)
        self._counted_records = self._records_before = 0
        self._taken = self._was_taken = False
        self._preempts = 0
        self.room = [True] * (1 << config.priority_bits)

    def send(self, launch: SentLaunch) -> None:
        """Let a launch transfer in this cycle."""
        assert self._sent is None, "two launches in one cycle"
        self._sent = launch

    def record_taken(self) -> None:
        """Let ``record_taken`` be 1 in this cycle."""
        self._taken = True

    @property
    def has_record_for_preempt(self) -> bool:
        """Whether a PREEMPT in this cycle finds a record's place (rule 56)."""
        return self._records_before + (self._sent is not None) < self._records

    def reserve_for_preempt(self) -> None:
        """Reserve a record for the PREEMPT of this cycle."""
        self._preempts = 1

    def step(self) -> bool:
        """Run one cycle, after all other parts; tell whether the next one may differ for it."""
        s = self._state
        sent, self._sent = self._sent, None
        if sent is not None:
            self._counted[sent.descriptor.priority] += 1
            self._counted_records += 1
            self._pipe.append((s.cycle + self._check, sent))
        accepted, refused = self._judge_next()
        self._counted_records += self._preempts
        records = self._counted_records < self._records
        room = [records and count < self._depth for count in self._counted]
        moved = room != self.room or bool(s.freed) or self._taken or self._was_taken
        self.room, self._records_before = room, self._counted_records
        # What follows counts in the numbers of rule 7 from the next cycle on.
        for launch in s.freed:
            self._counted[launch.descriptor.priority] -= 1
        s.freed.clear()
        if refused is not None:
            self._counted[refused.descriptor.priority] -= 1
        self._counted_records -= (refused is not None) + self._taken
        self._reserved += accepted + self._preempts - self._was_taken
        self._was_taken, self._taken, self._preempts = self._taken, False, 0
        return moved or sent is not None or refused is not None

    @property
    def wake(self) -> int:
        """The cycle in which the next launch leaves LaunchCheck."""
        return self._pipe[0][0] if self._pipe else NEVER

    # --- acceptance ------------------------------------------------------------------------------
    def _judge_next(self) -> tuple[bool, SentLaunch | None]:
        """Judge the launch that leaves LaunchCheck.

        Returns whether one was accepted, and the one that was refused.
        """
        s = self._state
        if not self._pipe or self._pipe[0][0] != s.cycle:
            return False, None
        sent = self._pipe.popleft()[1]
        code, argument = self._refusal(sent)
        if code:
            s.log.answers.append(Answer(s.cycle + 1, 0, code, argument, 0))
            return False, sent
        self._accept(sent)
        return True, None

    def _refusal(self, sent: SentLaunch) -> tuple[int, int]:
        """Return the first reason to refuse a launch, and its argument (rule 1)."""
        s, launch = self._state, sent.descriptor
        code, argument = judge(replace(launch, mode=launch.mode % _CHECKED_MODES), s.config)
        if code:
            return code, argument
        if launch.mode > Mode.YIELD:
            return HostError.FIELD_RANGE, MODE_WORD
        for k, wait in enumerate(sent.waits):
            if wait is not None and self._distance(wait) >= _WAIT_COUNTS // 2:
                return WAIT_AHEAD, FIRST_WAIT_WORD + k
        stream = s.streams[launch.stream]
        if stream.unfinished and stream.priority != launch.priority:
            return ErrorCode.STREAM_PRIORITY, 0
        if stream.broken:
            return ErrorCode.STREAM_BROKEN, 0
        if s.no_sm:
            return ErrorCode.NO_SM, 0
        if self._reserved >= self._records:
            return ErrorCode.COMPLETION_FULL, 0
        return (0, 0) if None in self._entries_of(launch.priority) else (ErrorCode.QUEUE_FULL, 0)

    def _distance(self, wait: tuple[int, int]) -> int:
        """Return how far a pair lies behind its stream's accepted count."""
        stream, count = wait
        return (self._state.streams[stream].accepted - count) % _WAIT_COUNTS

    def _entries_of(self, priority: int) -> list[Launch | None]:
        first = priority * self._depth
        return self._state.entries[first : first + self._depth]

    def _accept(self, sent: SentLaunch) -> None:
        """Accept a launch (rules 2 to 5)."""
        s, descriptor = self._state, sent.descriptor
        stream = s.streams[descriptor.stream]
        number = (stream.accepted + 1) % _COUNTS
        entry = self._entries_of(descriptor.priority).index(None)
        pairs = [wait for wait in sent.waits if wait is not None]
        waits = [(w[0], (s.streams[w[0]].accepted - self._distance(w)) % _COUNTS) for w in pairs]
        launch = Launch(
            self._next_ticket,
            descriptor,
            tuple(waits),
            number,
            descriptor.priority * self._depth + entry,
            s.clock,
            warps(descriptor.block, s.config.warp_size),
            self._accepted,
        )
        self._accepted += 1
        self._next_ticket = self._next_ticket % (_COUNTS - 1) + 1
        s.log.answers.append(Answer(s.cycle + 1, launch.ticket, 0, 0, number % _WAIT_COUNTS))

        cycle = s.cycle

        def accept() -> None:
            # What ends in this cycle counts.
            launch.waits = tuple(w for w in launch.waits if not is_reached(s.streams, w))
            s.entries[launch.entry] = launch
            stream.priority = descriptor.priority
            stream.accepted = number
            stream.unfinished.append(launch)
            stream.enter_list(launch, cycle)

        s.later(accept)
