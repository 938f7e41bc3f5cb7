"""A worker's queue: its owner works at the bottom, thieves take from the top."""

from collections import deque

from warploom_golden.stealing.task import Task
from warploom_spec.errors import WarploomError


class TaskQueue:
    """A double-ended queue of tasks with a fixed number of entries.

    Parameters
    ----------
    entries : int
        The most tasks in the queue, at least 1.

    Raises
    ------
    WarploomError
        If there are no entries.
    """

    def __init__(self, entries: int):
        if entries < 1:
            raise WarploomError(f"queue is {entries}; legal: 1 or more entries")
        self._entries = entries
        self._tasks: deque[Task] = deque()

    def __len__(self) -> int:
        return len(self._tasks)

    @property
    def is_full(self) -> bool:
        """Whether no entry is free for a push."""
        return len(self._tasks) == self._entries

    @property
    def bottom(self) -> Task | None:
        """The task that the owner would pop; None if the queue is empty."""
        return self._tasks[-1] if self._tasks else None

    def push(self, task: Task) -> None:
        """Put a task at the bottom; only the owner does so.

        Raises
        ------
        OverflowError
            If the queue is full; the owner asks `is_full` first.
        """
        if self.is_full:
            raise OverflowError(f"queue of {self._entries} tasks is full")
        self._tasks.append(task)

    def pop(self) -> Task:
        """Take the task at the bottom; only the owner does so."""
        return self._tasks.pop()

    def steal(self) -> Task:
        """Take the task at the top; only thieves do so."""
        return self._tasks.popleft()
