"""What each SM has free, as BlockDispatcher sees it, and the policies that choose one.

Sets of SMs are bit masks in an int, so that a decision costs the same for 2 SMs and for 132.
"""

from collections import deque
from typing import Final, NamedTuple, Protocol

from warploom_spec import Config

#: Resources in the order of the stall counters.
RESOURCES: Final = ("slots", "warps", "registers", "shared", "barriers")


class Need(NamedTuple):
    """What one block takes of an SM beside its slot."""

    warps: int
    registers: int
    shared: int
    barriers: int


def lowest(mask: int) -> int:
    """Return the number of the lowest set bit."""
    return (mask & -mask).bit_length() - 1


def first_from(mask: int, start: int) -> int:
    """Return the first set bit from ``start`` on, cyclically."""
    above = mask >> start
    return start + lowest(above) if above else lowest(mask)


class Room:
    """Free resources of all SMs, and which SMs have room for the block that is next.

    Parameters
    ----------
    config : Config
        Number and size of the SMs.

    Attributes
    ----------
    room : int
        Mask of the SMs in which every resource suffices for the current need.
    lacking : list of int
        For each of `RESOURCES` the mask of the SMs that lack it.
    by_warps : list of int
        For each number of free warp slots the mask of the SMs that have it.
    """

    def __init__(self, config: Config):
        self._sms = config.sms
        self._slots = [(1 << config.block_slots) - 1] * config.sms
        self._free = [
            [amount] * config.sms
            for amount in (
                config.warp_slots,
                config.register_units,
                config.shared_units,
                config.barriers,
            )
        ]
        self._all = (1 << config.sms) - 1
        self._need = Need(0, 0, 0, 0)
        # Blocks of an earlier launch on each SM, as long as it is not known what fits beside them.
        self._unknown = [0] * config.sms
        self._places = config.block_slots
        self.by_warps = [0] * config.warp_slots + [self._all]
        self.room = self._all
        self.lacking = [0] * len(RESOURCES)

    def fit(self, need: Need, *, known: bool, last: int | None = None) -> None:
        """Make this the need that ``room`` and ``lacking`` speak of.

        Parameters
        ----------
        need : Need
            What one block of the next launch takes.
        known : bool
            Whether it is known how many of them fit beside the blocks that are there now; if not,
            they go only where none of those is, until this is called again.
        last : int, optional
            The SM that got the last of those blocks just now: of that one it is never known.
        """
        self._need = need
        for sm, slots in enumerate(self._slots):
            unknown = not known or sm == last
            self._unknown[sm] = self._places - slots.bit_count() if unknown else 0
        self.room = 0
        for sm in range(self._sms):
            self._judge(sm)

    def _judge(self, sm: int) -> None:
        bit, lacking, need = 1 << sm, self.lacking, self._need
        warps, registers, shared, barriers = self._free
        lacks = (
            not self._slots[sm],
            warps[sm] < need.warps,
            registers[sm] < need.registers,
            shared[sm] < need.shared,
            barriers[sm] < need.barriers,
        )
        unknown = self._unknown[sm] > 0
        if unknown:
            lacks = (lacks[0], False, False, False, False)
        for k in range(5):
            if lacks[k]:
                lacking[k] |= bit
            else:
                lacking[k] &= ~bit
        if unknown or True in lacks:
            self.room &= ~bit
        else:
            self.room |= bit

    def take(self, sm: int) -> int:
        """Take the current need and the lowest free slot of an SM; return the slot."""
        mask = self._slots[sm]
        slot = lowest(mask)
        self._slots[sm] = mask & mask - 1
        self._change(sm, self._need, -1)
        return slot

    def give(self, sm: int, slot: int, need: Need, *, earlier: bool) -> None:
        """Return a block's slot and resources; ``earlier``: of a launch before the next block's."""
        if earlier and self._unknown[sm]:
            self._unknown[sm] -= 1
        self._slots[sm] |= 1 << slot
        self._change(sm, need, 1)

    def _change(self, sm: int, need: Need, sign: int) -> None:
        warps, registers, shared, barriers = self._free
        bit, by_warps = 1 << sm, self.by_warps
        by_warps[warps[sm]] &= ~bit
        warps[sm] += sign * need.warps
        by_warps[warps[sm]] |= bit
        registers[sm] += sign * need.registers
        shared[sm] += sign * need.shared
        barriers[sm] += sign * need.barriers
        self._judge(sm)


class Policy(Protocol):
    """A placement policy; all but `FreedFirst` need the first call alone."""

    def choose(self, room: int) -> int:
        """Return the SM of a decision, ``room`` (not 0) being the SMs that have room."""

    def freed(self, sm: int) -> None:
        """Take note that one slot of an SM became free at the end of this cycle."""

    def tick(self, resident: bool) -> bool:
        """End a cycle, before `freed`; return whether the next one may change something."""


class FirstFit:
    """Lowest number."""

    def choose(self, room: int) -> int:
        return lowest(room)

    def freed(self, sm: int) -> None:
        pass

    def tick(self, resident: bool) -> bool:
        return False


class RoundRobin(FirstFit):
    """First from one past the SM that got the last block.

    Parameters
    ----------
    sms : int
        How many there are.
    """

    def __init__(self, sms: int):
        self._sms = sms
        self._pointer = 0

    def choose(self, room: int) -> int:
        chosen = first_from(room, self._pointer)
        self._pointer = (chosen + 1) % self._sms
        return chosen


class LeastLoaded(FirstFit):
    """Fewest occupied warps, ties to the lowest number.

    Parameters
    ----------
    by_warps : list of int
        For each number of free warps the SMs that have so many, kept up to date by `Room`.
    """

    def __init__(self, by_warps: list[int]):
        self._by_warps = by_warps

    def choose(self, room: int) -> int:
        return next(lowest(sms & room) for sms in reversed(self._by_warps) if sms & room)


class FreedFirst:
    """The SM whose slot became free first, else the next in the order table (the identity).

    Parameters
    ----------
    sms, slots : int
        SMs, and slots of each: the queue has a place for each slot.
    """

    def __init__(self, sms: int, slots: int):
        self._table = RoundRobin(sms)
        self._sms = sms
        self._depth = sms * slots
        self._queue: deque[int] = deque()
        self._stood = 0
        self._waiting = [0] * sms
        self._waits = 0
        self._pointer = 0

    def choose(self, room: int) -> int:
        self._stood = len(self._queue)
        if self._queue:
            head = self._queue.popleft()
            if room >> head & 1:
                return head
        return self._table.choose(room)

    def freed(self, sm: int) -> None:
        self._waiting[sm] += 1
        self._waits |= 1 << sm

    def tick(self, resident: bool) -> bool:
        # Full is judged before this cycle's decision.
        full = max(self._stood, len(self._queue)) == self._depth
        self._stood = 0
        entering = None
        if self._waits and not full:
            entering = first_from(self._waits, self._pointer)
            self._pointer = (entering + 1) % self._sms
        if not resident:
            self._queue.clear()
            self._waiting = [0] * self._sms
            self._waits = 0
        elif entering is not None:
            self._queue.append(entering)
            self._waiting[entering] -= 1
            if not self._waiting[entering]:
                self._waits &= ~(1 << entering)
        return entering is not None


def policy(config: Config, room: Room) -> Policy:
    """Return the configuration's placement policy in its initial state."""
    policies: dict[str, Policy] = {
        "first_fit": FirstFit(),
        "round_robin": RoundRobin(config.sms),
        "least_loaded": LeastLoaded(room.by_warps),
        "freed_first": FreedFirst(config.sms, config.block_slots),
    }
    return policies[config.policy]
