"""DependencyTracker: counts one tag a cycle, and sets marks.

Rules 6 to 8 of ``docs/merging/merged_kernels.md``; tags and marks are those of patent CN102708009A.
"""

from collections import deque
from collections.abc import Iterable, Sequence

from warploom_golden.merging.mapping_table import Integers


def reporting_last(tasks: Integers, blocks: Integers, count: int, rule: str) -> list[int]:
    """Return the merged id of each task's last block: the block that reports last.

    Parameters
    ----------
    tasks, blocks : array of int64, shape (merged blocks,)
        For each merged id: the task, and the block's id in the task's grid.
    count : int
        Number of tasks.
    rule : str
        One of `LAST_RULES`. ``merged_id``: the block with the highest merged id, which is
        dispatched last. ``block_id``: the block with the highest block id. The patent may be read
        so; a permuted table may then deadlock.

    Returns
    -------
    list of int
        One merged id for each task; 0 for a task without blocks.
    """
    chosen = [0] * count
    highest = [-1] * count
    keys = range(len(tasks)) if rule == "merged_id" else blocks.tolist()
    for merged_id, (task, key) in enumerate(zip(tasks.tolist(), keys, strict=True)):
        if key > highest[task]:
            chosen[task], highest[task] = merged_id, key
    return chosen


#: The rules for which block of a task reports last.
LAST_RULES = ("merged_id", "block_id")


class DependencyTracker:
    """Tags and marks of one merged launch.

    A block's report sets the block's tag. Tags wait in a queue of their SM. One tag is counted a
    cycle; SMs with waiting tags take turns, from a rotating pointer on. A task's mark stands in
    the cycle after the task's last tag was counted.

    Parameters
    ----------
    counts : sequence of int
        Number of blocks of each task.
    sms : int
        Number of SMs.
    marked : iterable of int
        Tasks whose mark stands from the start. A launch that goes on after a drain has such tasks.

    Attributes
    ----------
    marks : int
        Mask, one bit a task: the marks that stand in the cycle after the last call of `count`.
    """

    def __init__(self, counts: Sequence[int], sms: int, marked: Iterable[int] = ()):
        self._left = list(counts)
        self.marks = 0
        for task in marked:
            self._left[task] = 0
            self.marks |= 1 << task
        self._uncounted = sum(self._left)
        self._sms = sms
        self._waiting: list[deque[int]] = [deque() for _ in range(sms)]
        self._some_wait = 0
        self._pointer = 0

    @property
    def waiting(self) -> bool:
        """Whether a tag waits to be counted."""
        return self._some_wait > 0

    @property
    def done(self) -> bool:
        """Whether every tag was counted."""
        return self._uncounted == 0

    def left(self, task: int) -> int:
        """Return how many tags of a task are not counted yet."""
        return self._left[task]

    def enter(self, sm: int, task: int) -> None:
        """Put the tag of a reported block into the queue of its SM."""
        self._waiting[sm].append(task)
        self._some_wait |= 1 << sm

    def count(self) -> int | None:
        """Count one tag at the end of a cycle; return the tag's task, or None if no tag waits."""
        if not self._some_wait:
            return None
        sm = first_from(self._some_wait, self._pointer)
        self._pointer = (sm + 1) % self._sms
        task = self._waiting[sm].popleft()
        if not self._waiting[sm]:
            self._some_wait &= ~(1 << sm)
        self._uncounted -= 1
        self._left[task] -= 1
        if not self._left[task]:
            self.marks |= 1 << task
        return task


def first_from(mask: int, start: int) -> int:
    """Return the number of the lowest set bit at or above ``start``, else of the lowest of all.

    ``mask`` must not be 0.
    """
    above = mask >> start
    if above:
        return start + (above & -above).bit_length() - 1
    return (mask & -mask).bit_length() - 1
