"""What a ledger knows of one launch and its blocks, and of one SM."""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from warploom_golden.oracles.list_scheduler import CAUSES
from warploom_spec.errors import ErrorCode, Fate

#: Stops as the ``drain`` bit says.
KILL, DRAIN = 0, 1
#: (x, y, z)
Coordinates = tuple[int, int, int]


class State(Enum):
    """What an offered block has come to."""

    OPEN = auto()
    COMPLETED = auto()
    KILLED = auto()
    LOST = auto()


@dataclass(eq=False)
class Entry:
    """One accepted launch.

    Attributes
    ----------
    ticket, stream, after_previous : int
        As accepted.
    age : int
        Launches accepted before it.
    grid, start : tuple of int
        Blocks in x, y, z; the one to begin with.
    need : tuple of int
        Warps, register units, shared units, barriers and slots of one block.
    words : mapping
        What its launch words must show.
    index : tuple of int
        What its offers must show: index address, warps, widths of x, y, z.
    tally : Counter
        Offered blocks by what they have come to.
    offered : int
        Blocks offered; they are offered in the order of their ids, so this says which.
    stops : set of int
        Stops asked for.
    fault : bool
        Whether a block completed with a fault.
    closed : str
        Why no further block may be offered; empty while one may.
    last_offer : int or None
        Last cycle in which an offer may become valid.
    killed_from : int or None
        First cycle in which the launch is being killed.
    first_offer, last_seen : int or None
        Cycle of the first offer; port cycle of the last completion or effective acknowledgement.
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
    tally: Counter[State] = field(default_factory=Counter)
    offered: int = 0
    stops: set[int] = field(default_factory=set)
    fault: bool = False
    closed: str = ""
    last_offer: int | None = None
    killed_from: int | None = None
    first_offer: int | None = None
    last_seen: int | None = None

    def id_of(self, block: Coordinates) -> int:
        """Return the block id, bx + gx (by + gy bz)."""
        (bx, by, bz), (gx, gy, _) = block, self.grid
        return bx + gx * (by + gy * bz)

    @property
    def count(self) -> int:
        """Blocks from its start to the grid's end."""
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
        """Note that it is being killed from ``cycle`` on, or from before.

        A fault may be noted after a stop, and count before it.
        """
        if self.killed_from is None or cycle < self.killed_from:
            self.killed_from = cycle

    def close(self, why: str) -> None:
        """Forbid further offers if there are blocks left."""
        if not self.exhausted and not self.closed:
            self.closed = why

    def judge(self, record: Mapping[str, int], all_lost: bool, broken: bool) -> str:
        """Return what is wrong with the final record, or an empty string.

        Parameters
        ----------
        record : mapping
            Fields of ``layouts.end_record``.
        all_lost : bool
            Whether every SM is lost.
        broken : bool
            Whether an SM was lost with a block of its stream before.
        """
        fate, code = Fate(record["fate"]), ErrorCode(record["code"])
        if self.tally[State.OPEN]:
            return f"{self.tally[State.OPEN]} of its blocks are on SMs"
        wanted = self._possible(all_lost, broken)
        if (fate, code) not in wanted:
            return f"fate {fate.name}, {code.name}; possible: {wanted}"
        lasted = 0
        if self.last_seen is not None and self.first_offer is not None:
            lasted = (self.last_seen - self.first_offer) % (1 << 32)
        if record["cycles"] != lasted:
            return f"cycles {record['cycles']}, want {lasted}"
        following = self.next_block if fate is Fate.DRAINED else (0, 0, 0)
        told = record["next_x"], record["next_y"], record["next_z"]
        return "" if told == following else f"next block {told}, want {following}"

    def _possible(self, all_lost: bool, broken: bool) -> list[tuple[Fate, ErrorCode]]:
        """Return the fates that fit what was seen of the launch."""
        if self.tally[State.LOST]:
            return [(Fate.FAILED, ErrorCode.SM_LOST)]
        if self.fault and not all_lost:
            return [(Fate.FAILED, ErrorCode.BLOCK_FAULT)]
        possible = []
        if self.fault:
            possible.append((Fate.FAILED, ErrorCode.BLOCK_FAULT))
        if all_lost and not self.exhausted:
            possible.append((Fate.FAILED, ErrorCode.NO_SM))
        if broken and not self.offered:
            possible.append((Fate.FAILED, ErrorCode.STREAM_BROKEN))
        if self.fault:
            return possible
        return possible + [(fate, ErrorCode.OK) for fate in self._plain_fates()]

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
        # A second stop may have come after the launch was gone.
        return [
            fate
            for fate, stop in ((Fate.KILLED, KILL), (Fate.DRAINED, DRAIN))
            if stop in self.stops
        ]


@dataclass(eq=False)
class Tenant:
    """A block on an SM.

    Attributes
    ----------
    entry : Entry
        Its launch.
    slot : int
        Its slot.
    running_from : int or None
        Cycle from which it runs; None while its offer stands.
    processed : int or None
        Cycle in which its completion or kill counted.
    outlived : bool
        Its offer still stood when its launch was being killed.
    """

    entry: Entry
    slot: int
    running_from: int | None = None
    processed: int | None = None
    outlived: bool = False


class Account:
    """What is on one SM.

    Attributes
    ----------
    tenants : dict
        Slot -> its last block, kept after its end until the slot is offered again.
    used : list of int
        Warps, register units, shared units, barriers and slots of the blocks that have not ended.
    standing : Tenant or None
        The block whose offer stands.
    named : int
        Slots of the kill that waits for its acknowledgement.
    named_in : int
        Cycle of that kill's pulse.
    lost_since : int or None
        First cycle in which the SM counts as lost.
    looks : deque
        For each of the last two cycles, the older first: whether a kill was outstanding, and
        whether a slot was free.
    offered_in : int
        Cycle in which its last offer became valid.
    """

    def __init__(self) -> None:
        self.tenants: dict[int, Tenant] = {}
        self.used = [0] * 5
        self.standing: Tenant | None = None
        self.named = 0
        self.named_in = 0
        self.lost_since: int | None = None
        self.looks = deque([(False, True)] * 2, maxlen=2)
        self.offered_in = -1

    def charge(self, need: tuple[int, ...], sign: int) -> None:
        """Add a block's need, or take it off."""
        self.used = [used + sign * one for used, one in zip(self.used, need, strict=True)]

    def running(self, slot: int, cycle: int) -> Tenant | None:
        """Return the block that runs in a slot in this cycle."""
        tenant = self.tenants.get(slot)
        if tenant is None or tenant.processed is not None or tenant.running_from is None:
            return None
        return tenant if tenant.running_from <= cycle else None

    def look(self, named: int, slots: int, cycle: int) -> None:
        """Note whether a slot is free in this cycle, ``named`` being what a kill holds in it."""
        held = sum(
            1 << slot
            for slot, tenant in self.tenants.items()
            if tenant.processed is None or tenant.processed == cycle
        )
        self.looks.append((bool(named), bool(~(held | named) & ((1 << slots) - 1))))

    def ran(self, slot: int, cycle: int) -> Tenant | None:
        """Return the block that runs in a slot in this cycle and did in the one before."""
        tenant = self.running(slot, cycle)
        was_running = tenant is not None and self.running(slot, cycle - 1) is tenant
        return tenant if was_running else None

    def living(self) -> Iterator[Tenant]:
        """Yield the blocks that have not ended."""
        return (tenant for tenant in self.tenants.values() if tenant.processed is None)


class Stalls:
    """What the stall counters counted, held against what was offered.

    Parameters
    ----------
    delay : int
        Cycles from a stalled cycle to the one in which a counter shows it, at least 2.
    bits : int
        Width of the counters.
    """

    def __init__(self, delay: int, bits: int) -> None:
        self._wrap = 1 << bits
        self._shown = dict.fromkeys(CAUSES, 0)
        # Whether the cycle that is shown now had a decision, which is an offer one cycle later, and
        # whether it had a launch with blocks left: the oldest first.
        self._decided = deque([False] * (delay - 1))
        self._left = deque([False] * delay)

    def look(self, shown: Mapping[str, int], begun: bool, left: bool) -> str:
        """Take in one cycle; return what is wrong with the counters, or an empty string.

        Parameters
        ----------
        shown : mapping
            What they show in this cycle, by cause.
        begun : bool
            Whether an offer becomes valid in this cycle.
        left : bool
            Whether in this cycle an accepted launch has blocks that were not offered yet.
        """
        steps = {c: (shown[c] - self._shown[c]) % self._wrap for c in CAUSES}
        self._shown = {cause: shown[cause] for cause in CAUSES}
        self._decided.append(begun)
        self._left.append(left)
        decided, had_left = self._decided.popleft(), self._left.popleft()
        rose = [cause for cause in CAUSES if steps[cause]]
        if any(steps[cause] > 1 for cause in rose):
            return f"stall counters moved by {steps}"
        if rose and not had_left:
            return f"stalls of {rose} with no block left"
        if rose and decided:
            return f"stalls of {rose} in a cycle with a decision"
        if "order" in rose and len(rose) > 1:
            return f"stalls of {rose} in one cycle: a head waits or it does not"
        return ""
