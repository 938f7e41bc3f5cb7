"""Launches of the event model: as the host sends them, in the queue, in the line, in a place."""

from dataclasses import dataclass
from enum import Enum, IntEnum, auto

from warploom_spec import LaunchDescriptor
from warploom_spec.queue import Mode
from warploom_spec.queue_packets import MAX_KILLS, STOP_SKIP


class StopCode(IntEnum):
    """What ``stop`` has for a place."""

    NONE = 0
    DRAIN = 1
    KILL = 2
    SKIP = STOP_SKIP


@dataclass(frozen=True)
class SentLaunch:
    """A launch as it is at the port ``launch``.

    Attributes
    ----------
    descriptor : LaunchDescriptor
        The launch; its ``mode`` has three bits.
    waits : tuple of (int, int) or None
        Pairs (stream, count), the count modulo 2^16; None: the pair is not valid.
    """

    descriptor: LaunchDescriptor
    waits: tuple[tuple[int, int] | None, ...] = ()


class Where(Enum):
    """Where an accepted launch is; ``LIST``: in its stream's list and nowhere else."""

    LIST = auto()
    STAGE = auto()
    LINE = auto()
    PLACE = auto()
    END = auto()
    SUSPENDED = auto()


@dataclass(eq=False)
class Launch:
    """An accepted launch.

    Attributes
    ----------
    ticket : int
        Its ticket.
    descriptor : LaunchDescriptor
        As it was sent.
    waits : tuple of (int, int)
        Pairs (stream, count) that it keeps, with counts of 32 bits.
    number : int
        Its number in its stream, from 1 on.
    entry : int
        Its entry.
    accepted : int
        The clock when it was accepted.
    warps : int
        Warps of a block.
    order : int
        How many launches were accepted before it.
    where : Where
        Where it is.
    started : bool
        It has begun, and has not ended.
    ended_in_list : bool
        It ended before it was its stream's head's turn.
    marked : bool
        ABORT_STREAMS met it after its start.
    met : bool
        The pending PREEMPT met it.
    chosen_ahead : bool
        Its stream was ahead when it was chosen.
    next_block, kills : int
        The block with which it goes on, and how often it was killed.
    cycles, first_offer, offered : int, int, bool
        Of its last residence that began: its cycles, the clock of its first offer; whether there
        was one.
    reset_as_drain : bool
        Its mode is ``reset``, and it was drained.
    """

    ticket: int
    descriptor: LaunchDescriptor
    waits: tuple[tuple[int, int], ...]
    number: int
    entry: int
    accepted: int
    warps: int
    order: int = 0
    where: Where = Where.LIST
    started: bool = False
    ended_in_list: bool = False
    marked: bool = False
    met: bool = False
    chosen_ahead: bool = False
    next_block: int = 0
    kills: int = 0
    cycles: int = 0
    first_offer: int = 0
    offered: bool = False
    reset_as_drain: bool = False

    @property
    def stream(self) -> int:
        """Its stream."""
        return self.descriptor.stream

    @property
    def mode(self) -> int:
        """Its mode."""
        return self.descriptor.mode

    def unstarted_stop(self) -> StopCode:
        """Return what its mode says if it has not started (rule 44)."""
        if self.mode in (Mode.WAIT, Mode.YIELD):
            return StopCode.SKIP
        return self._by_idempotence()

    def started_stop(self, held: bool) -> StopCode:
        """Return what its mode says if it has started (rule 44); ``held`` is its stream's."""
        if self.mode == Mode.WAIT:
            return StopCode.NONE
        if self.mode == Mode.YIELD:
            return StopCode.DRAIN if held else StopCode.NONE
        return self._by_idempotence()

    def _by_idempotence(self) -> StopCode:
        killable = self.mode in (Mode.AUTO, Mode.RESET) and self.descriptor.idempotent
        return StopCode.KILL if killable and self.kills < MAX_KILLS else StopCode.DRAIN


@dataclass(eq=False)
class InLine:
    """A launch in the line.

    Attributes
    ----------
    launch : Launch
        The launch.
    since : int
        First cycle in the line.
    was_out : bool
        Whether it was out in the cycle before.
    presented, prepared : bool
        Its configuration was presented, and decided.
    history : int or None
        Its history entry, once it is decided.
    """

    launch: Launch
    since: int
    was_out: bool = False
    presented: bool = False
    prepared: bool = False
    history: int | None = None


@dataclass(eq=False)
class Resident:
    """A launch in a place of the dispatcher.

    Attributes
    ----------
    launch : Launch
        The launch.
    place : int
        The place.
    history : int or None
        Its history entry.
    aborted, timed_out, dealt : bool
        As in rule 42.
    skipping, draining, killing : bool
        The stops that were sent.
    is_started : bool
        The dispatcher's ``started`` of the place, as it is in this cycle.
    begun : bool
        It has begun in this residence.
    first_offer : int
        The clock when it began.
    skip_check : int
        Cycle in which it is known whether the skip has failed; -1: no skip was sent.
    run : int
        Cycles of this residence in which it was started and did not yield.
    runs : bool
        Whether the cycle that was stepped last was such a cycle.
    """

    launch: Launch
    place: int
    history: int | None
    aborted: bool = False
    timed_out: bool = False
    dealt: bool = False
    skipping: bool = False
    draining: bool = False
    killing: bool = False
    is_started: bool = False
    begun: bool = False
    first_offer: int = 0
    skip_check: int = -1
    run: int = 0
    runs: bool = False

    @property
    def stopping(self) -> bool:
        """Whether a stop was sent."""
        return self.skipping or self.draining or self.killing
