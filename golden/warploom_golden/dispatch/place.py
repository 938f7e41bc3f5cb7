"""A place of BlockDispatcher's cycle model, and what becomes of the launch in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from warploom_golden.dispatch.grid_walker import Place3, Walk
from warploom_spec.config import Config
from warploom_spec.errors import ErrorCode, Fate, Stop
from warploom_spec.resources import RESOURCES, capacities

#: Fate and code of a record.
Verdict = tuple[Fate, ErrorCode]


@dataclass(frozen=True, slots=True)
class Need:
    """What one block of a launch takes of an SM.

    Attributes
    ----------
    amounts : tuple of int
        Of each of ``warploom_spec.RESOURCES``; one slot.
    most : int
        Most blocks that fit on an empty SM.
    limiting : tuple of bool
        For each resource, whether one block more would need too much of it.
    """

    amounts: tuple[int, ...]
    most: int
    limiting: tuple[bool, ...]

    @classmethod
    def of(cls, launch: Mapping[str, int], config: Config) -> "Need":
        """Return what one block of a launch takes."""
        amounts = tuple(1 if name == "slots" else launch[name] for name in RESOURCES)
        sizes = capacities(config).values()
        most = min(size // n for n, size in zip(amounts, sizes, strict=True) if n)
        limiting = tuple((most + 1) * n > size for n, size in zip(amounts, sizes, strict=True))
        return cls(amounts, most, limiting)


def stopped_fate(stop: Stop) -> Fate:
    """Return the fate of a launch with blocks that were offered and blocks that were not."""
    match stop:
        case Stop.KILL:
            return Fate.KILLED
        case Stop.DRAIN | Stop.NONE:
            # Without a stop the launch is not gone yet, and nobody reads its verdict.
            return Fate.DRAINED
        case _:
            assert_never(stop)


@dataclass(eq=False, slots=True)
class Place:
    """A place while a launch occupies it.

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
    walk : Walk or None
        The first block that was not decided; None after the last one.
    may_kill : bool
        Whether SMs can end its blocks; if not, a kill is a drain.
    priority : int
        What came beside the launch; 0 without ``preempts``.
    may_yield : bool
        Whether the launch yields to higher priorities.
    given, started, exhausted, fault, sm_lost, no_sm : bool
        As on the block's page.
    any_killed : bool
        A block was reported ``KILLED``.
    skipped : bool
        A skip has acted (58).
    stop : Stop
        Whether and how it is stopped.
    stopped_since, kill_since : int or None
        First cycle in which it is stopped, in which its ``kill`` bit is 1.
    out : int
        Blocks that are out.
    first_offer, last_report : int or None
        First cycle in which its first offer was valid; port cycle of the last report that counted.
    gone_since : int or None
        First cycle in which the place is gone.
    verdict : tuple
        Fate and code on the flags of the cycle before.
    """

    number: int
    launch: Mapping[str, int]
    need: Need
    transferred: int
    walk: Walk | None
    may_kill: bool = True
    priority: int = 0
    may_yield: bool = False
    given: bool = False
    started: bool = False
    exhausted: bool = False
    fault: bool = False
    sm_lost: bool = False
    no_sm: bool = False
    any_killed: bool = False
    skipped: bool = False
    stop: Stop = Stop.NONE
    stopped_since: int | None = None
    kill_since: int | None = None
    out: int = 0
    first_offer: int | None = None
    last_report: int | None = None
    gone_since: int | None = None
    verdict: Verdict = (Fate.SKIPPED, ErrorCode.OK)

    def stop_from(self, cycle: int, stop: Stop) -> None:
        """Stop the launch from ``cycle`` on, unless it is stopped as hard already (28, 46)."""
        if stop is Stop.KILL and not self.may_kill:
            stop = Stop.DRAIN
        if stop <= self.stop:
            return
        if not self.stop:
            self.stopped_since = cycle
        if stop is Stop.KILL:
            self.kill_since = cycle
        self.stop = stop

    def was_stopped_in(self, cycle: int) -> bool:
        """Tell whether the launch was stopped in a cycle that is over, or is the current one."""
        return self.stopped_since is not None and self.stopped_since <= cycle

    def judge(self) -> Verdict:
        """Return fate and code, once the launch is gone, by the flags as they are."""
        if self.sm_lost:
            return Fate.FAILED, ErrorCode.SM_LOST
        if self.fault:
            return Fate.FAILED, ErrorCode.BLOCK_FAULT
        if self.no_sm and not self.exhausted:
            return Fate.FAILED, ErrorCode.NO_SM
        if self.exhausted and not self.any_killed:
            return Fate.FINISHED, ErrorCode.OK
        if not self.started:
            return Fate.SKIPPED, ErrorCode.OK
        return stopped_fate(self.stop), ErrorCode.OK

    @property
    def goes_on_at(self) -> Walk | None:
        """Return the walk at its next block if the launch was drained (38)."""
        return self.walk if self.verdict[0] is Fate.DRAINED else None

    @property
    def next_number(self) -> int:
        """Return the number of the record's next block (49)."""
        return 0 if self.goes_on_at is None else self.goes_on_at.number

    def record(self) -> dict[str, int]:
        """Return the fields of ``layouts.dispatch_end``."""
        fate, code = self.verdict
        following: Place3 = (0, 0, 0) if self.goes_on_at is None else self.goes_on_at.block
        cycles = 0
        if self.first_offer is not None and self.last_report is not None:
            cycles = self.last_report - self.first_offer
        launch = self.launch
        return {
            "ticket": launch["ticket"],
            "fate": fate,
            "code": code,
            "cycles": cycles % (1 << 32),
            "next_x": following[0],
            "next_y": following[1],
            "next_z": following[2],
            "place": self.number,
            "entries": launch["entries"],
            "stream": launch["stream"],
        }
