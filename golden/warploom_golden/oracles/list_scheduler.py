"""List scheduling without time: the reference for where the cycle model places each block.

A test lets the cycle model come to rest between two changes. Then the model must have placed the
same blocks on the same SMs in the same order as the list scheduler.
"""

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass

from warploom_golden.oracles.predicted_policies import check_predicted
from warploom_spec.config import Config
from warploom_spec.resources import RESOURCES, capacities

#: What a block takes beside a slot, in the order of `NEEDED`.
Need = tuple[int, ...]
#: The names of what is in a `Need`; a block takes one slot beside them.
NEEDED = tuple(name for name in RESOURCES if name != "slots")
#: The placement policies that `ListScheduler` knows.
POLICIES = ("first_fit", "round_robin", "least_loaded", "freed_first")


@dataclass(eq=False)
class Job:
    """One launch.

    Attributes
    ----------
    ticket, stream : int
        Ticket and stream of the launch.
    after_previous : bool
        Whether the launch waits for the earlier launches of its stream.
    grid : tuple of three int
        Number of blocks in x, y, z.
    need : tuple of int
        What one block takes of an SM beside a slot: a `Need`.
    placed, returned : int
        Number of blocks that were placed, and that were returned, so far.
    """

    ticket: int
    stream: int
    after_previous: bool
    grid: tuple[int, int, int]
    need: Need
    placed: int = 0
    returned: int = 0

    @property
    def blocks(self) -> int:
        """Number of blocks of the grid."""
        x, y, z = self.grid
        return x * y * z

    @property
    def over(self) -> bool:
        """Whether all blocks were placed and returned."""
        return self.returned == self.blocks

    def block(self, number: int) -> tuple[int, int, int]:
        """Return (bx, by, bz) of the block with an id, by division."""
        rows, x = divmod(number, self.grid[0])
        z, y = divmod(rows, self.grid[1])
        return x, y, z


@dataclass(frozen=True)
class Placement:
    """One block, (bx, by, bz) in its launch's grid, and the SM where it was placed."""

    ticket: int
    block: tuple[int, int, int]
    sm: int


@dataclass(eq=False)
class _Placed:
    """A placed block whose resources are not free again yet."""

    job: Job
    sm: int
    done: bool = False


@dataclass
class _Room:
    """The free slots and resources of one SM, and its occupied warps."""

    slots: int
    free: list[int]
    warps_used: int = 0

    def fits(self, need: Need) -> bool:
        """Whether one more block fits."""
        return not self.lacks(need)

    def lacks(self, need: Need) -> set[str]:
        """Return the resources of which too little is free for one more block."""
        free = zip(NEEDED, self.free, need, strict=True)
        lacking = {name for name, have, one in free if have < one}
        return lacking if self.slots else lacking | {"slots"}

    def charge(self, need: Need, sign: int) -> None:
        """Take one block's room (1) or give it back (-1)."""
        self.slots -= sign
        self.free = [have - sign * one for have, one in zip(self.free, need, strict=True)]
        self.warps_used += sign * need[NEEDED.index("warps")]


class ListScheduler:
    """Place the next block whenever some SM has room.

    Parameters
    ----------
    config : Config
        SMs, placement policy, reclaim policy.

    Raises
    ------
    WarploomError
        If the placement policy is not known here.

    Attributes
    ----------
    table : list of int
        SMs in the order of ``freed_first``.
    refusing : set of int
        SMs that take no offer. A block goes to such an SM, and no other while it stands there.
    """

    def __init__(self, config: Config):
        check_predicted(config.policy, POLICIES, "oracles/list_scheduler.py")
        self._config = config
        self._rooms = [self._empty_room() for _ in range(config.sms)]
        self._jobs: list[Job] = []
        self._placed: dict[tuple[int, tuple[int, int, int]], _Placed] = {}
        self._order: deque[tuple[int, tuple[int, int, int]]] = deque()
        self._pointer = 0
        self._freed: deque[int] = deque()
        self._standing: set[int] = set()
        self.table = list(range(config.sms))
        self.refusing: set[int] = set()

    def launch(self, job: Job) -> None:
        """Add a launch behind the earlier ones."""
        self._jobs.append(job)

    def run(self) -> list[Placement]:
        """Place blocks until the next one fits nowhere; return them in their order."""
        placements = []
        while (placement := self._place()) is not None:
            placements.append(placement)
        return placements

    def take(self) -> None:
        """Let every SM take the offer that stands at it, and those to come."""
        self._standing.clear()
        self.refusing.clear()

    def held_back(self, in_use: Collection[int]) -> set[str]:
        """Return what holds the next block or launch back, once nothing more is placed.

        The names are those of `warploom_spec.STALL_CAUSES`.

        Parameters
        ----------
        in_use : collection of int
            The SMs that may get blocks.
        """
        job = self._next()
        if job is None:
            waiting = any(one.placed < one.blocks for one in self._resident())
            return {"order"} if waiting else set()
        causes: set[str] = set()
        for sm in in_use:
            causes |= {"offer"} if self._rooms[sm].fits(job.need) else self._limits(job)
        return causes

    def complete(self, ticket: int, block: tuple[int, int, int]) -> None:
        """End one block; its room is free at once, or after that of all blocks placed before it.

        Raises
        ------
        KeyError
            If the block is not placed.
        """
        self._placed[ticket, block].done = True
        if self._config.reclaim == "out_of_order":
            self._order.remove((ticket, block))
            self._give((ticket, block))
            return
        while self._order and self._placed[self._order[0]].done:
            self._give(self._order.popleft())

    @property
    def outstanding(self) -> list[tuple[int, tuple[int, int, int]]]:
        """Ticket and block of every block that runs, in order of placement."""
        return [key for key, placed in self._placed.items() if not placed.done]

    @property
    def finished(self) -> list[int]:
        """Tickets of the launches that are over."""
        return [job.ticket for job in self._jobs if job.over]

    def _give(self, key: tuple[int, tuple[int, int, int]]) -> None:
        placed = self._placed.pop(key)
        self._rooms[placed.sm].charge(placed.job.need, -1)
        placed.job.returned += 1
        self._freed.append(placed.sm)

    def _limits(self, job: Job) -> set[str]:
        """Return what an SM that is full of a launch's blocks, and of nothing else, lacks."""
        room = self._empty_room()
        while room.fits(job.need):
            room.charge(job.need, 1)
        return room.lacks(job.need)

    def _empty_room(self) -> _Room:
        sizes = capacities(self._config)
        return _Room(sizes["slots"], [sizes[name] for name in NEEDED])

    def _resident(self) -> list[Job]:
        """Return the two oldest launches that are not over, or fewer."""
        return [job for job in self._jobs if not job.over][:2]

    def _next(self) -> Job | None:
        """Return the launch whose block is placed next, or None.

        The older of the two resident launches comes first. The younger one's turn is when the older
        has no block left to place and stream order allows it.
        """
        waiting = self._resident()
        for job in waiting:
            if job.placed == job.blocks:
                continue
            older = waiting[0]
            if job is not older and job.after_previous and job.stream == older.stream:
                return None
            return job
        return None

    def _place(self) -> Placement | None:
        job = self._next()
        if not any(one.placed and not one.over for one in self._jobs):
            self._freed.clear()
        if job is None:
            return None
        fits = [sm for sm, room in enumerate(self._rooms) if room.fits(job.need)]
        fits = [sm for sm in fits if sm not in self._standing]
        if not fits:
            return None
        sm = self._choose(fits)
        self._standing |= {sm} & self.refusing
        block = job.block(job.placed)
        job.placed += 1
        self._rooms[sm].charge(job.need, 1)
        self._placed[job.ticket, block] = _Placed(job, sm)
        self._order.append((job.ticket, block))
        return Placement(job.ticket, block, sm)

    def _choose(self, fits: list[int]) -> int:
        """Return the SM that the placement policy chooses from the SMs with room."""
        policy = self._config.policy
        if policy == "first_fit":
            return min(fits)
        if policy == "least_loaded":
            return min(fits, key=lambda sm: (self._rooms[sm].warps_used, sm))
        if policy == "freed_first" and self._freed:
            head = self._freed.popleft()
            if head in fits:
                return head
        return self._from_pointer(fits)

    def _from_pointer(self, fits: list[int]) -> int:
        """Return the first of the SMs in the order table from the pointer on, and move the pointer.

        The pointer moves to the position after the chosen SM's.
        """
        count = len(self.table)
        steps = (self.table.index(sm) for sm in fits)
        position = min(steps, key=lambda place: (place - self._pointer) % count)
        self._pointer = (position + 1) % count
        return self.table[position]
