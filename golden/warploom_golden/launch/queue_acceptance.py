"""Refusals of KernelQueue's cycle model."""

from collections.abc import Mapping
from dataclasses import dataclass

from warploom_golden.launch.queue_packing import valid_waits
from warploom_golden.launch.queue_state import State
from warploom_spec.errors import ErrorCode
from warploom_spec.host_errors import HostError
from warploom_spec.queue_packets import COUNT_BITS, FIRST_WAIT_WORD, WAIT_AHEAD, WAIT_BITS

Wait = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of the launch at ``checked`` (1, 2).

    Attributes
    ----------
    fields : mapping
        The launch.
    code, argument : int
        Why it is refused; 0 if it is accepted.
    entry : int
        The entry that it gets.
    waits : tuple of (int, int)
        Stream and count of its valid pairs (4).
    """

    fields: Mapping[str, int]
    code: int = ErrorCode.OK
    argument: int = 0
    entry: int = 0
    waits: tuple[Wait, ...] = ()


class Judge:
    """Judges launches on a cycle's state.

    Parameters
    ----------
    state : State
        The registers.
    waits : int
        Pairs of a launch.
    depth : int
        Entries of a priority.
    no_sm, full : bool
        The input; whether all records are reserved.
    """

    def __init__(self, state: State, waits: int, depth: int, *, no_sm: bool, full: bool):
        self._state = state
        self._waits = waits
        self._depth = depth
        self._no_sm = no_sm
        self._full = full

    def judge(self, fields: Mapping[str, int]) -> Verdict:
        """Return the first reason that holds, or the entry (1, 2)."""
        if self._state.closed:
            return Verdict(fields, HostError.RESET)
        if fields["error"]:
            return Verdict(fields, fields["error"], fields["argument"])
        waits: list[Wait] = []
        for k, stream, count in valid_waits(fields, self._waits):
            accepted = self._state.streams[stream].accepted
            behind = (accepted - count) % (1 << WAIT_BITS)
            if behind >= 1 << (WAIT_BITS - 1):
                return Verdict(fields, WAIT_AHEAD, FIRST_WAIT_WORD + k)
            waits.append((stream, (accepted - behind) % (1 << COUNT_BITS)))
        entry = self._lowest_free(fields["priority"])
        code = self._refusal(fields)
        if code or entry is None:
            return Verdict(fields, code or ErrorCode.QUEUE_FULL)
        return Verdict(fields, entry=entry, waits=tuple(waits))

    def _refusal(self, fields: Mapping[str, int]) -> ErrorCode:
        """Return which of (d) to (g) holds first."""
        stream = self._state.streams[fields["stream"]]
        if stream.unfinished and stream.priority != fields["priority"]:
            return ErrorCode.STREAM_PRIORITY
        if stream.broken:
            return ErrorCode.STREAM_BROKEN
        if self._no_sm:
            return ErrorCode.NO_SM
        return ErrorCode.COMPLETION_FULL if self._full else ErrorCode.OK

    def _lowest_free(self, priority: int) -> int | None:
        """Return the lowest free entry of a priority (2)."""
        numbers = range(priority * self._depth, (priority + 1) * self._depth)
        return next((k for k in numbers if self._state.entries[k] is None), None)
