"""What KernelQueue's cycle model remembers: launches, streams, and what is on its way."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from warploom_spec.errors import Fate
from warploom_spec.queue import FinalFate

Block = tuple[int, int, int]
FIRST_BLOCK: Block = (0, 0, 0)


class Where(Enum):
    """Where an accepted launch is."""

    LIST = auto()
    STAGE = auto()
    LINE = auto()
    PLACE = auto()
    END = auto()
    SUSPENDED = auto()


@dataclass(eq=False, slots=True)
class Launch:
    """An accepted launch.

    Attributes
    ----------
    fields : mapping
        Fields of ``queue_packets.queue_launch``.
    entry, ticket, number, accepted : int
        Rule 2; ``accepted`` is the clock's value.
    waits : tuple of (int, int)
        Stream and count of each pair that it keeps (4).
    where : Where
        Where it is. A launch that waits or ended in the list is in the list.
    started, marked, ended_in_list : bool
        Rules 9, 12 and 49.
    next_block, next_number, kills, reset_as_drain, cycles, first_offer, offered
        What is kept with its entry (48, 52).
    again, chosen_ahead, met : bool
        From its choice on (31, 56).
    presented, prepared, out : bool
        In the line (33, 36); ``out``: it was in the cycle before.
    history : int
        Its history entry, if it is prepared.
    begun, begun_at, aborted, timed_out, dealt, skipping, draining, killing
        In a place (42); ``begun_at`` is the clock's value of its begin.
    skip_looks : int
        In so many cycles, less one, its skip is judged (45); 0: no more.
    resident : int
        ``n[p]`` of rule 46.
    """

    fields: Mapping[str, int]
    entry: int
    ticket: int
    number: int
    accepted: int
    waits: tuple[tuple[int, int], ...]
    where: Where = Where.LIST
    started: bool = False
    marked: bool = False
    ended_in_list: bool = False
    next_block: Block = FIRST_BLOCK
    next_number: int = 0
    kills: int = 0
    reset_as_drain: bool = False
    cycles: int = 0
    first_offer: int = 0
    offered: bool = False
    again: bool = False
    chosen_ahead: bool = False
    met: bool = False
    presented: bool = False
    prepared: bool = False
    out: bool = False
    history: int = 0
    begun: bool = False
    begun_at: int = 0
    aborted: bool = False
    timed_out: bool = False
    dealt: bool = False
    skipping: bool = False
    draining: bool = False
    killing: bool = False
    skip_looks: int = 0
    resident: int = 0

    @property
    def stream(self) -> int:
        """Return its stream."""
        return self.fields["stream"]

    @property
    def priority(self) -> int:
        """Return its priority."""
        return self.fields["priority"]

    @property
    def stopped(self) -> bool:
        """Whether a stop was sent to it in its place (42)."""
        return self.skipping or self.draining or self.killing

    @property
    def start(self) -> Block:
        """Return where it goes on: its progress, if it has started (35, 38)."""
        return self.next_block if self.started else FIRST_BLOCK

    @property
    def start_number(self) -> int:
        """Return the number of the block ``start`` (38)."""
        return self.next_number if self.started else 0

    def be_chosen(self, ahead: bool) -> None:
        """Enter the stage (31)."""
        self.where = Where.STAGE
        self.again = self.started
        self.chosen_ahead = ahead
        self.met = False

    def enter_line(self, prepared: bool) -> None:
        """Enter the line (32, 67)."""
        self.where = Where.LINE
        self.presented = self.out = False
        self.prepared = prepared

    def take_place(self, aborted: bool) -> None:
        """Enter a place (42)."""
        self.where = Where.PLACE
        self.aborted = aborted
        self.begun = self.timed_out = self.dealt = False
        self.skipping = self.draining = self.killing = False
        self.skip_looks = self.resident = 0

    def go_back(self) -> None:
        """Be suspended, or wait at its list's head again (35, 48)."""
        self.where = Where.SUSPENDED if self.started else Where.LIST


@dataclass(eq=False, slots=True)
class Stream:
    """The state of rule 12.

    Attributes
    ----------
    waiting : deque of Launch
        The list, its head first.
    started : list of Launch
        Started launches that have not ended.
    unfinished : list of Launch
        Accepted launches that have not ended, in order.
    priority, accepted, timeline : int
        As in the rule.
    loaded, held, resuming, broken : bool
        As in the rule.
    boundary : Launch or None
        Last launch of the list that ABORT_STREAMS met.
    left : bool
        In the cycle before the head left the list, before another launch (20).
    began : bool
        The same, and it left because it began (13).
    entered : bool
        In the cycle before a launch was accepted that is the head (23).
    """

    waiting: deque[Launch] = field(default_factory=deque)
    started: list[Launch] = field(default_factory=list)
    unfinished: list[Launch] = field(default_factory=list)
    priority: int = 0
    accepted: int = 0
    timeline: int = 0
    loaded: bool = False
    held: bool = False
    resuming: bool = False
    broken: bool = False
    boundary: Launch | None = None
    left: bool = False
    began: bool = False
    entered: bool = False

    @property
    def head(self) -> Launch | None:
        """Return the list's head."""
        return self.waiting[0] if self.waiting else None

    @property
    def handed(self) -> bool:
        """Whether the head is on its way, in a place or in the end register."""
        return bool(self.waiting) and self.waiting[0].where is not Where.LIST

    @property
    def suspended(self) -> list[Launch]:
        """Return the suspended launches, the lower number first."""
        found = [launch for launch in self.started if launch.where is Where.SUSPENDED]
        return sorted(found, key=lambda launch: self.unfinished.index(launch))

    def leave_list(self) -> None:
        """Let the head leave (13, 20, 24, 37)."""
        gone = self.waiting.popleft()
        self.loaded = False
        self.left = bool(self.waiting)
        if self.boundary is gone:
            self.boundary = None

    def oldest(self) -> int:
        """Return the timeline that its launches say (10)."""
        if self.unfinished:
            return (self.unfinished[0].number - 1) % (1 << 32)
        return self.accepted


@dataclass(eq=False, slots=True)
class Flight:
    """The configuration in flight (36).

    Attributes
    ----------
    launch : Launch or None
        Whose it is; None: an orphan.
    age : int
        Cycles that an orphan has been one.
    """

    launch: Launch | None
    age: int = 0


@dataclass(eq=False, slots=True)
class Ended:
    """The end register (47).

    Attributes
    ----------
    launch : Launch
        Whose end it is.
    end : mapping
        Fields of ``layouts.dispatch_end``.
    number : int
        ``ended_number`` beside them.
    """

    launch: Launch
    end: Mapping[str, int]
    number: int


@dataclass(eq=False, slots=True)
class Preempt:
    """The pending PREEMPT (56).

    Attributes
    ----------
    mask, clock : int
        Its streams, and the clock's value when it was accepted.
    finished : int
        Met launches that ended so.
    fates : dict
        How many met launches were put back or taken back, by fate.
    """

    mask: int
    clock: int
    finished: int = 0
    fates: dict[Fate, int] = field(
        default_factory=lambda: dict.fromkeys((Fate.KILLED, Fate.DRAINED, Fate.SKIPPED), 0)
    )


@dataclass(eq=False, slots=True)
class Abort:
    """The ABORT that is being served (61).

    Attributes
    ----------
    ticket : int
        Whom it names.
    entry : int
        The entry that is compared in this cycle; -1: the places are looked at.
    acts_on : Launch or None
        The launch that it acts on.
    answered : bool
        Whether it has acted for a cycle.
    """

    ticket: int
    entry: int = -1
    acts_on: Launch | None = None
    answered: bool = False


@dataclass(frozen=True, slots=True)
class Passing:
    """What a job that looked in the cycle before ends in this one (24, 25).

    Attributes
    ----------
    launch : Launch
        The launch.
    record : (FinalFate, int) or None
        Fate and code of its record; None: it has its record already.
    """

    launch: Launch
    record: tuple[FinalFate, int] | None
