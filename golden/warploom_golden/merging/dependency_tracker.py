"""DependencyTracker: counts tags one a cycle, and sets marks."""

from collections import deque
from collections.abc import Iterable, Sequence

from warploom_golden.merging.mapping_table import Integers
from warploom_golden.merging.sm_choice import first_from


def reporting_last(tasks: Integers, blocks: Integers, count: int, rule: str) -> list[int]:
    """Return of each task the merged id of the block that reports last, by one of `LAST_RULES`.

    Parameters
    ----------
    tasks, blocks : array
        Of each merged id its task and its block id.
    count : int
        Tasks.
    rule : str
        ``merged_id``: the highest merged id, the one that is dispatched last. ``block_id``: the
        highest block id, as the source may be read; a permuted table then deadlocks.
    """
    chosen = [0] * count
    highest = [-1] * count
    keys = range(len(tasks)) if rule == "merged_id" else blocks.tolist()
    for merged_id, (task, key) in enumerate(zip(tasks.tolist(), keys, strict=True)):
        if key > highest[task]:
            chosen[task], highest[task] = merged_id, key
    return chosen


#: Which block of a task reports last.
LAST_RULES = ("merged_id", "block_id")


class DependencyTracker:
    """Tags and marks of one launch with a table.

    A report sets its block's tag. Tags wait at their SM and are counted one a cycle; SMs that have
    some take turns, from a rotating pointer on. In the cycle after a task's last tag was counted
    its mark stands.

    Parameters
    ----------
    counts : sequence of int
        Blocks of each task.
    sms : int
        SMs.
    marked : iterable of int
        Tasks whose mark stands from the start, of a launch that goes on where it was drained.

    Attributes
    ----------
    marks : int
        Mask of the tasks whose mark stands in the cycle after the last call of `count`.
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
        """Return how many tags of a task were not counted."""
        return self._left[task]

    def enter(self, sm: int, task: int) -> None:
        """Let the tag of a reported block wait at its SM."""
        self._waiting[sm].append(task)
        self._some_wait |= 1 << sm

    def count(self) -> int | None:
        """Count one tag at the end of a cycle; return its task, None if none waits."""
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
