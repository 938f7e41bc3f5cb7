"""A worker's queue: its owner works at the bottom, thieves take from the top."""

from collections import deque

from warploom_golden.stealing.task import Task
from warploom_spec.errors import WarploomError


class TaskQueue:
    """A double-ended queue of tasks with a fixed number of places.

    Parameters
    ----------
    places : int
        Most tasks in the queue, at least 1.
    """

    def __init__(self, places: int):
        if places < 1:
            raise WarploomError(f"queue is {places}; legal: 1 or more places")
        self._places = places
        self._tasks: deque[Task] = deque()

    def __len__(self) -> int:
        return len(self._tasks)

    @property
    def is_full(self) -> bool:
        """Whether a push would find no place."""
        return len(self._tasks) == self._places

    @property
    def bottom(self) -> Task | None:
        """The task that the owner would pop; None if the queue is empty."""
        return self._tasks[-1] if self._tasks else None

    def push(self, task: Task) -> None:
        """Put a task at the bottom; the owner's.

        Raises
        ------
        OverflowError
            If the queue is full: its owner asks first.
        """
        if self.is_full:
            raise OverflowError(f"queue of {self._places} tasks is full")
        self._tasks.append(task)

    def pop(self) -> Task:
        """Take the task at the bottom; the owner's."""
        return self._tasks.pop()

    def steal(self) -> Task:
        """Take the task at the top; a thief's."""
        return self._tasks.popleft()
