"""What LaunchPath's cycle model remembers: waiting launches, and what became of streams."""

from collections.abc import Mapping
from dataclasses import dataclass

from warploom_spec.config import Config
from warploom_spec.errors import ErrorCode, Fate


@dataclass(eq=False, slots=True)
class Waiting:
    """An accepted launch in the queue.

    Attributes
    ----------
    ticket : int
        Its ticket.
    launch : mapping
        Fields of ``layouts.checked_launch``.
    presented : bool
        Its configuration transferred to the index generator.
    prepared : bool
        Its indices are decided; ``entry`` is their history entry.
    taken_back : bool
        Stopped before the hand-over.
    new : bool
        This is its first cycle in the queue.
    """

    ticket: int
    launch: Mapping[str, int]
    presented: bool = False
    prepared: bool = False
    entry: int = 0
    taken_back: bool = False
    new: bool = True


@dataclass(frozen=True, slots=True)
class Record:
    """A final record on its way to the record queue.

    Attributes
    ----------
    fields : mapping
        Fields of ``layouts.end_record``.
    stream : int
        The launch's stream.
    entry : int or None
        History entry to release.
    """

    fields: Mapping[str, int]
    stream: int
    entry: int | None

    @classmethod
    def of_waiting(cls, waiting: Waiting, broken: bool) -> "Record":
        """Make the record of a launch that never reached the dispatcher.

        Parameters
        ----------
        waiting : Waiting
            The launch.
        broken : bool
            Whether its stream is broken; else no SM is left, unless it was taken back.
        """
        fate, code = Fate.SKIPPED, ErrorCode.OK
        if not waiting.taken_back:
            fate, code = Fate.FAILED, ErrorCode.STREAM_BROKEN if broken else ErrorCode.NO_SM
        fields = {"ticket": waiting.ticket, "fate": fate, "code": code, "cycles": 0}
        fields |= {"next_x": 0, "next_y": 0, "next_z": 0}
        return cls(fields, waiting.launch["stream"], waiting.entry if waiting.prepared else None)

    @classmethod
    def of_dispatched(cls, end: Mapping[str, int]) -> "Record":
        """Make a record of the fields of ``layouts.dispatch_end``."""
        entries, stream = end["entries"], end["stream"]
        fields = {name: end[name] for name in end if name not in ("place", "entries", "stream")}
        return cls(fields, stream, entries.bit_length() - 1)


class Streams:
    """Unfinished launches, priority and soundness of each stream.

    Parameters
    ----------
    config : Config
        Number of streams.
    """

    def __init__(self, config: Config):
        count = 1 << config.stream_bits
        self._unfinished = [0] * count
        self._priority = [0] * count
        self._broken = [False] * count
        self._broken_before = [False] * count
        self._noted: tuple[int | None, Record | None] = None, None

    def is_broken(self, stream: int) -> bool:
        """Whether a launch of the stream was lost with an SM."""
        return self._broken[stream]

    def was_broken(self, stream: int) -> bool:
        """Whether it was broken in the cycle before."""
        return self._broken_before[stream]

    def has_other_priority(self, stream: int, priority: int) -> bool:
        """Whether unfinished launches of the stream have another priority."""
        return self._unfinished[stream] > 0 and self._priority[stream] != priority

    def accept(self, stream: int, priority: int) -> None:
        """Count an accepted launch."""
        self._unfinished[stream] += 1
        self._priority[stream] = priority

    def note(self, cleared: int | None, record: Record | None) -> None:
        """Take note of what changes streams at the end of the next cycle (17, 19).

        Parameters
        ----------
        cleared : int or None
            The stream that the host cleared.
        record : Record or None
            The launch that ended.
        """
        self._noted = cleared, record

    def settle(self) -> None:
        """End a cycle: let what was noted in the cycle before count; a break after a clear."""
        self._broken_before = list(self._broken)
        cleared, record = self._noted
        self._noted = None, None
        if cleared is not None:
            self._broken[cleared] = False
        if record is not None:
            self._unfinished[record.stream] -= 1
            if record.fields["code"] == ErrorCode.SM_LOST:
                self._broken[record.stream] = True
