"""The kernel queue's outputs: final records, and the stream ``put_back`` for observers.

Rules 24 to 26 of ``docs/preemption/preemption.md``.
"""

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
        Cycle in which the record is made.
    ticket : int
        Ticket of the launch or PREEMPT, 32 bits.
    kind : RecordKind
        Whether the ticket is a launch's or a PREEMPT's.
    fate : FinalFate
        How the launch ended.
    code : int
        Why the launch failed, 8 bits; 0 if it did not.
    kills : int
        How often the launch was killed and put back, 3 bits.
    reset_as_drain : bool
        The launch's mode is ``reset``. It was drained instead, because it is not idempotent.
    cycles : int
        Cycles of the launch's last residence, from the first offer to the last report.
    words : tuple of three int
        Words 3 to 5 of the record. For a PREEMPT these are counts of launches: finished; killed
        [15:0] and drained [31:16]; skipped.
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
        The cycle in which the launch was put back, and its ticket.
    fate : Fate
        ``KILLED``, ``DRAINED`` or ``SKIPPED``.
    next_block : int
        Number of the block with which the launch goes on.
    offered : int
        Number of blocks that were offered in this residence.
    held : int
        Slot-cycles that those blocks held.
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
        The PREEMPT's ticket.
    finished, killed, drained, skipped : int
        How many launches of the queue had this fate since the PREEMPT was accepted.
    """

    ticket: int
    finished: int = 0
    killed: int = 0
    drained: int = 0
    skipped: int = 0

    def count(self, fate: Fate) -> None:
        """Count the fate of one of the queue's launches; failed ones are not counted."""
        if fate is not Fate.FAILED:
            name = fate.name.lower()
            setattr(self, name, getattr(self, name) + 1)

    def record(self, cycle: int) -> FinalRecord:
        """Return the PREEMPT's final record, made in a cycle."""
        both = (self.killed & _HALF) | (self.drained & _HALF) << 16
        words = self.finished, both, self.skipped
        return FinalRecord(cycle=cycle, ticket=self.ticket, kind=RecordKind.PREEMPT, words=words)
