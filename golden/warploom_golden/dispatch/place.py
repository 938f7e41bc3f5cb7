"""A resident place of BlockDispatcher's cycle model, and what becomes of the launch in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from warploom_golden.dispatch.grid_walker import Place3
from warploom_spec.errors import ErrorCode, Fate


class Stop(IntEnum):
    """How a launch is stopped; a higher value wins."""

    NONE = 0
    DRAIN = 1
    KILL = 2


@dataclass(frozen=True, slots=True)
class Need:
    """What one block takes of an SM beside its slot."""

    warps: int
    registers: int
    shared: int
    barriers: int


@dataclass(eq=False, slots=True)
class Place:
    """A resident place while a launch occupies it.

    Attributes
    ----------
    number : int
        0 or 1.
    launch : mapping
        Fields of ``layouts.dispatch_launch``.
    need : Need
        What one block takes.
    transferred : int
        Cycle in which the launch transferred.
    walking, started, exhausted, fault, killed, lost, no_sm : bool
        As on the block's page.
    stop : Stop
        Whether and how it is stopped.
    kill_since : int
        First cycle with ``stop`` = kill.
    out : int
        Blocks decided and not returned.
    first_offer, last_seen : int or None
        Cycle in which the first offer became valid; port cycle of the last completion or of the
        last acknowledgement that really killed a block.
    next_block : tuple of int
        The block that a drained launch goes on with.
    gone_since : int or None
        First cycle in which nothing is left of it.
    """

    number: int
    launch: Mapping[str, int]
    need: Need
    transferred: int
    walking: bool = False
    started: bool = False
    exhausted: bool = False
    fault: bool = False
    killed: bool = False
    lost: bool = False
    no_sm: bool = False
    stop: Stop = Stop.NONE
    kill_since: int = 0
    out: int = 0
    first_offer: int = 0
    last_seen: int | None = None
    next_block: Place3 = (0, 0, 0)
    gone_since: int | None = None

    @property
    def start(self) -> Place3:
        """The block to begin with."""
        launch = self.launch
        return launch["start_x"], launch["start_y"], launch["start_z"]

    @property
    def grid(self) -> Place3:
        """Blocks of the grid."""
        return self.launch["gx"], self.launch["gy"], self.launch["gz"]

    def end_with(self, stop: Stop, cycle: int) -> None:
        """Stop the launch at the end of ``cycle``, unless it is stopped as hard already."""
        if stop > self.stop:
            self.stop = stop
            if stop is Stop.KILL:
                self.kill_since = cycle + 1

    def lose(self, cycle: int) -> None:
        """Note at the end of ``cycle`` that a block was lost."""
        self.lost = True
        self.end_with(Stop.DRAIN, cycle)

    def fate(self) -> tuple[Fate, ErrorCode]:
        """Return fate and code of a launch that is gone."""
        if self.lost:
            return Fate.FAILED, ErrorCode.SM_LOST
        if self.no_sm:
            return Fate.FAILED, ErrorCode.NO_SM
        if self.fault:
            return Fate.FAILED, ErrorCode.BLOCK_FAULT
        if self.exhausted and not self.killed:
            return Fate.FINISHED, ErrorCode.OK
        if not self.started:
            return Fate.SKIPPED, ErrorCode.OK
        if self.stop is Stop.KILL or self.killed:
            return Fate.KILLED, ErrorCode.OK
        return Fate.DRAINED, ErrorCode.OK

    def record(self) -> dict[str, int]:
        """Return the fields of ``layouts.dispatch_end`` for a launch that is gone."""
        fate, code = self.fate()
        lasted = 0 if self.last_seen is None else self.last_seen - self.first_offer
        x, y, z = self.next_block if fate is Fate.DRAINED else (0, 0, 0)
        return {
            "ticket": self.launch["ticket"],
            "fate": fate,
            "code": code,
            "cycles": lasted % (1 << 32),
            "next_x": x,
            "next_y": y,
            "next_z": z,
            "entries": self.launch["entries"],
            "stream": self.launch["stream"],
        }
