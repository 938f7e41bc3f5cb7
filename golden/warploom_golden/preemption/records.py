"""What leaves the kernel queue: final records, and the observer's stream ``put_back``."""

from dataclasses import dataclass

from warploom_spec import Fate
from warploom_spec.queue import FinalFate, RecordKind

_HALF = 0xFFFF


@dataclass(frozen=True, kw_only=True)
class FinalRecord:
    """The one final record of a ticket.

    Attributes
    ----------
    cycle : int
        Cycle in which it is made.
    ticket : int
        Of a launch or a PREEMPT.
    kind : RecordKind
        Which of them.
    fate : FinalFate
        What became of it.
    code : int
        Why it failed; 0 if it did not.
    kills : int
        How often it was killed and put back.
    reset_as_drain : bool
        Its mode is ``reset``, it is not idempotent, and it was drained instead.
    cycles : int
        Cycles of its last residence, first offer to last report.
    words : tuple of int
        Words 3 to 5, by kind: of a PREEMPT how many launches finished; killed and drained; skipped.
    """

    cycle: int
    ticket: int
    kind: RecordKind = RecordKind.LAUNCH
    fate: FinalFate = FinalFate.FINISHED
    code: int = 0
    kills: int = 0
    reset_as_drain: bool = False
    cycles: int = 0
    words: tuple[int, int, int] = (0, 0, 0)

    def pack(self) -> tuple[int, int, int, int, int, int]:
        """Return the record's six words of 32 bits."""
        first = self.code | self.fate << 8 | self.kind << 11 | self.kills << 14
        return self.ticket, first | self.reset_as_drain << 17, self.cycles, *self.words


@dataclass(frozen=True)
class PutBack:
    """A launch that left the dispatcher and is not finished.

    Attributes
    ----------
    cycle, ticket : int
        When, and which.
    fate : Fate
        ``KILLED``, ``DRAINED`` or ``SKIPPED``.
    next_block : int
        Number of the block that it goes on with.
    offered, held : int
        Blocks offered in the residence; slot-cycles that they held.
    """

    cycle: int
    ticket: int
    fate: Fate
    next_block: int
    offered: int
    held: int


@dataclass
class Preemption:
    """A PREEMPT that was accepted and is not reported yet.

    Attributes
    ----------
    ticket : int
        Its ticket.
    finished, killed, drained, skipped : int
        Launches of its queue that came to that since.
    """

    ticket: int
    finished: int = 0
    killed: int = 0
    drained: int = 0
    skipped: int = 0

    def count(self, fate: Fate) -> None:
        """Count what became of one of the queue's launches."""
        if fate is not Fate.FAILED:
            name = fate.name.lower()
            setattr(self, name, getattr(self, name) + 1)

    def record(self, cycle: int) -> FinalRecord:
        """Return the final record."""
        both = (self.killed & _HALF) | (self.drained & _HALF) << 16
        words = self.finished, both, self.skipped
        return FinalRecord(cycle=cycle, ticket=self.ticket, kind=RecordKind.PREEMPT, words=words)
