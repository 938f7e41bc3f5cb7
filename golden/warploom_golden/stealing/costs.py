"""The cost of each step of a worker, in cycles of the front end's clock."""

from dataclasses import dataclass
from typing import Final

from warploom_spec.errors import WarploomError

#: How a worker and a unit order their accesses to shared memory: memory fences, or atomic accesses.
SYNCS: Final = ("fence", "atomic")
#: Points of one mailbox round at which worker or unit orders its accesses (see `fences`).
SYNC_POINTS: Final = 4


@dataclass(frozen=True, kw_only=True)
class Costs:
    """The cost of each step in cycles, 0 or more.

    Attributes
    ----------
    start_up : int
        From the host's call until every worker looks for its first task.
    test : int
        Test of the cut-off condition, once a task.
    split : int
        Split of one task.
    push, pop : int
        One task put into, or taken from, the worker's own queue.
    steal : int
        One attempt to take a task from another worker's queue, successful or not.
    mailbox : int
        One round through the mailbox without its ordering points: write the task register, ring,
        see the doorbell cleared, read the outcome.
    fence, atomic : int
        One ordering point: by a memory fence, or by an atomic access.
    sync : str
        ``fence`` or ``atomic``: which of them a mailbox round uses.

    Raises
    ------
    WarploomError
        If a cost is below 0 or ``sync`` is unknown.
    """

    start_up: int = 200
    test: int = 2
    split: int = 10
    push: int = 4
    pop: int = 4
    steal: int = 24
    mailbox: int = 32
    fence: int = 2
    atomic: int = 24
    sync: str = "fence"

    def __post_init__(self) -> None:
        """Refuse a cost below 0 and an unknown way of ordering."""
        if self.sync not in SYNCS:
            raise WarploomError(f"sync is {self.sync!r}; legal: {', '.join(SYNCS)}")
        for name, value in vars(self).items():
            if name != "sync" and (not isinstance(value, int) or value < 0):
                raise WarploomError(f"{name} is {value!r}; legal: 0 or more cycles")

    @property
    def round_trip(self) -> int:
        """Cycles of one mailbox round with its ordering points, without the unit's own work."""
        return self.mailbox + SYNC_POINTS * (self.fence if self.sync == "fence" else self.atomic)
