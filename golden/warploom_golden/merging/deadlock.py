"""A merged kernel that stands still: who waits, and for what."""

from collections.abc import Sequence
from dataclasses import dataclass

from warploom_golden.oracles.index_reference import Dims

#: Waiting blocks that a message names.
_SHOWN = 4


@dataclass(frozen=True)
class Waiter:
    """A block that waits for what never comes.

    Attributes
    ----------
    merged_id, task : int
        Which block.
    block : Dims
        Its (bx, by, bz) in its task's grid.
    where : str
        Who holds it: ``on SM 3``, ``at the dispatcher``.
    cause : str
        What it waits for.
    """

    merged_id: int
    task: int
    block: Dims
    where: str
    cause: str

    def __str__(self) -> str:
        return f"block {self.block} of task {self.task} {self.where} waits for {self.cause}"


class Deadlock(RuntimeError):
    """A merged kernel that can do nothing more.

    Attributes
    ----------
    waiters : list of Waiter
        Every block that waits on an SM, in order of merged id, then the dispatcher's next one.
    """

    def __init__(self, waiters: Sequence[Waiter]):
        self.waiters = list(waiters)
        shown = [str(waiter) for waiter in self.waiters]
        if len(shown) > _SHOWN:
            # The first ones, and the dispatcher's: the last.
            more = len(shown) - _SHOWN
            shown[_SHOWN - 1 : -1] = [f"{more} more blocks wait"]
        super().__init__(f"deadlock: {'; '.join(shown)}")
