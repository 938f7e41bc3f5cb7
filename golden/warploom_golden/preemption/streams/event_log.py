"""Events of the kernel queue, each with the cycle in which it is at its port."""

from dataclasses import dataclass, field
from typing import NamedTuple

from warploom_golden.replay.event_filter import Accepted
from warploom_spec import Fate
from warploom_spec.queue import FinalFate, RecordKind


class Answer(NamedTuple):
    """Ticket or refusal of a launch, at ``answer``."""

    cycle: int
    ticket: int
    code: int
    argument: int
    number: int


class Code(NamedTuple):
    """What was answered to a command, or to an ABORT."""

    cycle: int
    code: int


class PutBack(NamedTuple):
    """A launch left stage, line or place unfinished, at ``put_back``.

    ``next_block`` is a linear number. ``offered`` and ``held`` are of the residence that ended: its
    blocks, and the slot-cycles that they held.
    """

    cycle: int
    ticket: int
    fate: Fate
    next_block: int
    offered: int = 0
    held: int = 0


class Step(NamedTuple):
    """A stream's timeline has changed, at ``timeline``."""

    cycle: int
    stream: int
    reached: int


class Handed(NamedTuple):
    """A launch transferred to the dispatcher."""

    cycle: int
    ticket: int
    place: int
    next_block: int


class Begin(NamedTuple):
    """A residence has begun: the cycle of its first offer."""

    cycle: int
    ticket: int


class Decision(NamedTuple):
    """An index decision: ``hit`` says whether the indices were there."""

    cycle: int
    hit: bool
    entry: int


class Lookup(NamedTuple):
    """What the index generator said of a launch's configuration, and what follows from it."""

    ticket: int
    accepted: Accepted


class StopSent(NamedTuple):
    """A stop at the dispatcher's port: 1 drain, 2 kill, 3 skip."""

    cycle: int
    place: int
    stop: int


@dataclass(frozen=True, kw_only=True)
class FinalRecord:
    """The one final record of a ticket, or of a PREEMPT; fields are those of ``final_record``.

    Attributes
    ----------
    cycle : int
        The cycle in which it is at ``record``, one after it was made.
    """

    cycle: int
    ticket: int
    code: int = 0
    fate: FinalFate = FinalFate.FINISHED
    kind: RecordKind = RecordKind.LAUNCH
    kills: int = 0
    reset_as_drain: bool = False
    stream: int = 0
    offered: bool = False
    word2: int = 0
    word3: int = 0
    word4: int = 0
    accepted: int = 0
    first_offer: int = 0
    made: int = 0


@dataclass
class Log:
    """All events so far, each kind in order of its cycles.

    Attributes
    ----------
    answers : list of Answer
        To launches.
    commands, aborts : list of Code
        What was answered to commands, and to ABORTs.
    records : list of FinalRecord
        At ``record``.
    put_back : list of PutBack
        At ``put_back``.
    timeline : list of Step
        At ``timeline``.
    handed : list of Handed
        At ``launch``.
    begins : list of Begin
        First offers of residences.
    stops : list of StopSent
        At ``stop``.
    decisions : list of Decision
        At ``decision``.
    lookups : list of Lookup
        Of each decision its launch.
    went_on : list of int
        Cycles in which the dispatcher decided the first block of a launch after it had yielded. The
        launch had started before.
    """

    answers: list[Answer] = field(default_factory=list)
    commands: list[Code] = field(default_factory=list)
    aborts: list[Code] = field(default_factory=list)
    records: list[FinalRecord] = field(default_factory=list)
    put_back: list[PutBack] = field(default_factory=list)
    timeline: list[Step] = field(default_factory=list)
    handed: list[Handed] = field(default_factory=list)
    begins: list[Begin] = field(default_factory=list)
    stops: list[StopSent] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    lookups: list[Lookup] = field(default_factory=list)
    went_on: list[int] = field(default_factory=list)
