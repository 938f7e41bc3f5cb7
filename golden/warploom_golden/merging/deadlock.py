"""A merged kernel's deadlock: which blocks wait, and for what."""

from collections.abc import Sequence
from dataclasses import dataclass

from warploom_golden.oracles.index_reference import Dims

#: The most waiting blocks that an error message names.
_SHOWN = 4


@dataclass(frozen=True)
class Waiter:
    """A block of a deadlocked kernel: it waits for a mark, a tag or room that never comes.

    Attributes
    ----------
    merged_id : int
        The block's id in the merged kernel.
    task : int
        Number of the block's task.
    block : Dims
        The block's place (bx, by, bz) in its task's grid.
    where : str
        Where the block waits: ``on SM 3``, ``at the dispatcher``.
    cause : str
        What the block waits for, in words.
    """

    merged_id: int
    task: int
    block: Dims
    where: str
    cause: str

    def __str__(self) -> str:
        return f"block {self.block} of task {self.task} {self.where} waits for {self.cause}"


class Deadlock(RuntimeError):
    """A merged kernel is not finished, and no event can come any more.

    Attributes
    ----------
    waiters : list of Waiter
        Every block that waits on an SM, in order of merged id. Then the dispatcher's next block, if
        one is left.
    """

    def __init__(self, waiters: Sequence[Waiter]):
        self.waiters = list(waiters)
        shown = [str(waiter) for waiter in self.waiters]
        if len(shown) > _SHOWN:
            # Name the first blocks and the last one. The dispatcher's block, if any, is the last.
            more = len(shown) - _SHOWN
            shown[_SHOWN - 1 : -1] = [f"{more} more blocks wait"]
        super().__init__(f"deadlock: {'; '.join(shown)}")
