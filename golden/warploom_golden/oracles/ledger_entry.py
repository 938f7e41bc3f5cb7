"""A ledger's account of one launch and its blocks, and of one SM."""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import assert_never

from warploom_spec import RESOURCES
from warploom_spec.errors import BlockStatus, ErrorCode, Fate, Stop
from warploom_spec.layouts import BLOCK_NUMBER_BITS

#: Place (bx, by, bz) of a block in its grid, or a grid's size.
Coordinates = tuple[int, int, int]


class State(Enum):
    """The state of an offered block; ``OPEN``: neither reported nor lost."""

    OPEN = auto()
    OK = auto()
    FAULT = auto()
    KILLED = auto()
    LOST = auto()


def reported_state(status: BlockStatus, killed: bool) -> State:
    """Return the state of a block after its report; ``killed``: its place is being killed."""
    match status:
        case BlockStatus.OK:
            return State.OK
        case BlockStatus.FAULT:
            return State.FAULT
        case BlockStatus.KILLED:
            return State.KILLED if killed else State.FAULT
        case _:
            assert_never(status)


@dataclass(eq=False)
class Entry:
    """One accepted launch.

    Attributes
    ----------
    ticket, stream, after_previous : int
        The launch's fields, as accepted.
    age : int
        Number of launches that were accepted before this one.
    grid : tuple of three int
        Number of blocks in x, y, z.
    start : tuple of three int
        The block to begin with, (bx, by, bz).
    need : tuple of int
        What one block takes of each resource, as in ``warploom_spec.RESOURCES``.
    words : mapping
        The values that the launch words must have.
    index : tuple of five int
        The values that offers must have: index address, warps, widths of x, y, z in bits.
    first_number : int
        The number of the block ``start``.
    may_kill : bool
        Whether SMs can end the launch's blocks; if not, a kill is a drain.
    tally : Counter
        Number of offered blocks in each state.
    offered : int
        Number of blocks offered. They are offered in the order of their ids.
    place : int or None
        The launch's place in the dispatcher; None: not known yet.
    stops : set of Stop
        The stops that were requested.
    closed : str
        Why no further block may be offered; empty while blocks may be offered.
    last_offer : int or None
        Last cycle in which an offer may become valid; None: no limit.
    killed_from : int or None
        First cycle in which the launch's ``kill`` bit may be 1; None: it may not.
    first_offer, last_report : int or None
        Cycle of the first offer; port cycle of the last report that counted.
    """

    ticket: int
    stream: int
    after_previous: int
    age: int
    grid: Coordinates
    start: Coordinates
    need: tuple[int, ...]
    words: Mapping[str, int]
    index: tuple[int, ...]
    first_number: int = 0
    may_kill: bool = True
    tally: Counter[State] = field(default_factory=Counter)
    offered: int = 0
    place: int | None = None
    stops: set[Stop] = field(default_factory=set)
    closed: str = ""
    last_offer: int | None = None
    killed_from: int | None = None
    first_offer: int | None = None
    last_report: int | None = None

    def id_of(self, block: Coordinates) -> int:
        """Return a block's id, bx + gx (by + gy bz)."""
        (bx, by, bz), (gx, gy, _) = block, self.grid
        return bx + gx * (by + gy * bz)

    def next_number(self) -> int:
        """Return the next block's number, ``first_number`` for the block ``start``."""
        passed = self.id_of(self.next_block) - self.id_of(self.start)
        return (self.first_number + passed) % (1 << BLOCK_NUMBER_BITS)

    @property
    def count(self) -> int:
        """Number of blocks from ``start`` to the grid's end."""
        gx, gy, gz = self.grid
        return gx * gy * gz - self.id_of(self.start)

    @property
    def next_block(self) -> Coordinates:
        """The block that must be offered next, by division."""
        gx, gy, _ = self.grid
        rows, bx = divmod(self.id_of(self.start) + self.offered, gx)
        bz, by = divmod(rows, gy)
        return bx, by, bz

    @property
    def exhausted(self) -> bool:
        """Whether every block was offered."""
        return self.offered == self.count

    def kill(self, cycle: int) -> None:
        """Allow the ``kill`` bit from ``cycle`` on, unless an earlier cycle is allowed already."""
        if self.may_kill and (self.killed_from is None or cycle < self.killed_from):
            self.killed_from = cycle

    def is_killed(self, cycle: int) -> bool:
        """Tell whether the launch's ``kill`` bit may be 1 in a cycle."""
        return self.killed_from is not None and self.killed_from <= cycle

    def end_offers(self, last: int) -> None:
        """Allow no offer to begin after the cycle ``last``, or after an earlier limit."""
        self.last_offer = last if self.last_offer is None else min(self.last_offer, last)

    def close(self, why: str) -> None:
        """Forbid further offers if there are blocks left."""
        if not self.exhausted and not self.closed:
            self.closed = why

    def judge(self, record: Mapping[str, int], all_lost: bool, broken: bool) -> str:
        """Return what is wrong with the final record, or an empty string.

        Parameters
        ----------
        record : mapping
            Fields of ``layouts.dispatch_end``.
        all_lost : bool
            Whether every SM is lost.
        broken : bool
            Whether an SM was lost before with a block of the launch's stream.
        """
        fate, code = Fate(record["fate"]), ErrorCode(record["code"])
        if self.tally[State.OPEN]:
            return f"{self.tally[State.OPEN]} of its blocks are on SMs"
        wanted = self._possible(all_lost, broken)
        if (fate, code) not in wanted:
            return f"fate {fate.name}, {code.name}; possible: {wanted}"
        lasted = 0
        if self.last_report is not None and self.first_offer is not None:
            lasted = (self.last_report - self.first_offer) % (1 << 32)
        if record["cycles"] != lasted:
            return f"cycles {record['cycles']}, want {lasted}"
        if record.get("place", self.place) != self.place:
            return f"place {record['place']}, want {self.place}"
        following = self.next_block if fate is Fate.DRAINED else (0, 0, 0)
        recorded = record["next_x"], record["next_y"], record["next_z"]
        return "" if recorded == following else f"next block {recorded}, want {following}"

    def _possible(self, all_lost: bool, broken: bool) -> list[tuple[Fate, ErrorCode]]:
        """Return the pairs of fate and code that fit what the ledger saw of the launch."""
        if self.tally[State.LOST]:
            return [(Fate.FAILED, ErrorCode.SM_LOST)]
        if self.tally[State.FAULT]:
            return [(Fate.FAILED, ErrorCode.BLOCK_FAULT)]
        possible = [(fate, ErrorCode.OK) for fate in self._plain_fates()]
        if all_lost and not self.exhausted:
            possible.append((Fate.FAILED, ErrorCode.NO_SM))
        if broken and not self.offered:
            possible.append((Fate.FAILED, ErrorCode.STREAM_BROKEN))
        return possible

    def _plain_fates(self) -> list[Fate]:
        """Return the possible fates of a launch that did not fail."""
        if self.exhausted and not self.tally[State.KILLED]:
            return [Fate.FINISHED]
        if not self.stops:
            return []
        if not self.offered:
            return [Fate.SKIPPED]
        if self.tally[State.KILLED]:
            return [Fate.KILLED]
        # A second stop may have come too late to act: either stop's fate is possible.
        return [self._fate_of(stop) for stop in sorted(self.stops, reverse=True)]

    def _fate_of(self, stop: Stop) -> Fate:
        """Return the fate that a stop leads to."""
        match stop:
            case Stop.KILL:
                return Fate.KILLED if self.may_kill else Fate.DRAINED
            case Stop.DRAIN:
                return Fate.DRAINED
            case Stop.NONE:
                raise AssertionError("no stop is none that the ledger notes")
            case _:
                assert_never(stop)


@dataclass(eq=False)
class HeldBlock:
    """A block on an SM.

    Attributes
    ----------
    entry : Entry
        The block's launch.
    slot : int
        The block's slot.
    taken : int or None
        Cycle in which the SM took the offer; None: not yet.
    reported : int or None
        Port cycle of the report that counted; None: not yet.
    lost : bool
        Whether the block was lost with its SM.
    """

    entry: Entry
    slot: int
    taken: int | None = None
    reported: int | None = None
    lost: bool = False

    @property
    def is_held(self) -> bool:
        """Whether the block is neither reported nor lost."""
        return self.reported is None and not self.lost


class Account:
    """The blocks on one SM, and the resources that they take.

    Parameters
    ----------
    slots : int
        Block slots of the SM.

    Attributes
    ----------
    blocks : dict
        The last block of each slot. A block stays here after its end, until the slot is offered
        again.
    used : list of five int
        How much of each resource is taken by the blocks that have not ended.
    standing : HeldBlock or None
        The block whose offer is valid and not taken.
    free : deque of int
        The free slots; the one that has been free longest is first.
    offers : int
        Number of blocks that were offered to the SM.
    lost_since : int or None
        First cycle in which the SM counts as lost; None: it is not lost.
    """

    def __init__(self, slots: int) -> None:
        self.blocks: dict[int, HeldBlock] = {}
        self.used = [0] * len(RESOURCES)
        self.standing: HeldBlock | None = None
        self.free = deque(range(slots))
        self.offers = 0
        self.lost_since: int | None = None

    def charge(self, need: tuple[int, ...], sign: int) -> None:
        """Add a block's need to ``used`` (``sign`` 1), or subtract it (-1)."""
        self.used = [used + sign * one for used, one in zip(self.used, need, strict=True)]

    def running(self, slot: int, cycle: int) -> HeldBlock | None:
        """Return a slot's block if it has not ended, and was taken in ``cycle`` or before."""
        block = self.blocks.get(slot)
        if block is None or not block.is_held or block.taken is None:
            return None
        return block if block.taken <= cycle else None

    def living(self) -> Iterator[HeldBlock]:
        """Yield the blocks that have not ended."""
        return (block for block in self.blocks.values() if block.is_held)

    def silent(self, entry: Entry, till: int) -> bool:
        """Tell whether a block of a launch was not reported by the cycle ``till``."""
        return any(
            block.entry is entry
            and not block.lost
            and (block.reported is None or block.reported > till)
            for block in self.blocks.values()
        )
