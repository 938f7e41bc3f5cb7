"""What happens to launches of a replay, each with its cycle."""

from dataclasses import dataclass, field
from typing import NamedTuple

from warploom_golden.replay.event_filter import Accepted
from warploom_spec import LaunchDescriptor


class SentLaunch(NamedTuple):
    """A launch as it is at LaunchPath's port ``launch``.

    Attributes
    ----------
    descriptor : LaunchDescriptor
        The launch; its ``mode`` has three bits.
    waits : tuple of (int, int) or None
        Pairs (stream, count), the count modulo 2^16; None: the pair is not valid.
    """

    descriptor: LaunchDescriptor
    waits: tuple[tuple[int, int] | None, ...] = ()


class Answer(NamedTuple):
    """Ticket or refusal of a launch, and its number in its stream, at ``answer``."""

    cycle: int
    ticket: int
    code: int
    argument: int
    number: int


class Code(NamedTuple):
    """What was answered to a command, or to an ABORT."""

    cycle: int
    code: int


class Start(NamedTuple):
    """A launch transferred at ``start``: it is resident from the next cycle on."""

    cycle: int
    ticket: int
    stream: int
    entry: int


class Killed(NamedTuple):
    """A run was killed; its launch starts again later."""

    cycle: int
    stream: int


class Step(NamedTuple):
    """A stream's timeline has changed, at ``timeline``."""

    cycle: int
    stream: int
    reached: int


class Word(NamedTuple):
    """A word of a final record, at ``record``."""

    cycle: int
    last: int
    word: int
    data: int


class Lookup(NamedTuple):
    """What the index generator said of a launch's configuration, and what follows from it."""

    ticket: int
    accepted: Accepted


@dataclass
class Log:
    """All events so far, each kind in order of its cycles.

    Attributes
    ----------
    answers : list of Answer
        To launches.
    commands, aborts : list of Code
        To commands and ABORTs.
    starts : list of Start
        At ``start``.
    killed : list of Killed
        At ``killed``.
    cancels : list of (int, int)
        Cycle of ``cancel``, and the stream whose head's configuration is taken back.
    timeline : list of Step
        At ``timeline``.
    lookups : list of Lookup
        Of each decision its launch.
    words : list of Word
        At ``record``.
    records : list of dict of str to int
        Final records: ``cycle``, in which the last word is at ``record``, and the fields of
        ``final_record``.
    levels : list of (int, int, int)
        Cycle, and ``hold`` and ``stop`` from it on.
    """

    answers: list[Answer] = field(default_factory=list)
    commands: list[Code] = field(default_factory=list)
    aborts: list[Code] = field(default_factory=list)
    starts: list[Start] = field(default_factory=list)
    killed: list[Killed] = field(default_factory=list)
    cancels: list[tuple[int, int]] = field(default_factory=list)
    timeline: list[Step] = field(default_factory=list)
    lookups: list[Lookup] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)
    records: list[dict[str, int]] = field(default_factory=list)
    levels: list[tuple[int, int, int]] = field(default_factory=list)
