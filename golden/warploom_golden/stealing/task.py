"""One task: an item, and the outcomes of its parts."""

from dataclasses import dataclass, field

from warploom_golden.stealing.algorithm import Item, Result


@dataclass(eq=False)
class Task:
    """A piece of work in a queue or on a worker's stack.

    Attributes
    ----------
    item : object
        The algorithm's piece of the problem.
    parent : Task or None
        The task from whose split this task comes; None for the root.
    place : int
        Number of this part among the parent's parts, from 0.
    waits_for : int
        Number of parts that are not done yet.
    results : list
        Results of the parts, in the parts' order.
    result : object
        The task's own result; None before the task is done, and if it failed.
    code : int
        The failure code that the task carries to its parent; 0: no failure.
    codes : dict of int to int
        Failure code of each failed part, by the part's place.
    done : bool
        Whether ``result`` and ``code`` are final.
    owner : int
        Number of the worker that runs the task; -1 before a worker has it.
    """

    item: Item
    parent: "Task | None" = None
    place: int = 0
    waits_for: int = 0
    results: list[Result] = field(default_factory=list)
    result: Result = None
    code: int = 0
    codes: dict[int, int] = field(default_factory=dict)
    done: bool = False
    owner: int = -1

    def split_into(self, items: list[Item]) -> "list[Task]":
        """Return a task for each part; this task waits for all of them."""
        self.waits_for = len(items)
        self.results = [None] * len(items)
        return [Task(item, self, place) for place, item in enumerate(items)]

    def finish(self, result: Result, code: int) -> None:
        """Note the outcome, and pass it to the parent.

        Raises
        ------
        RuntimeError
            If the task was done already.
        """
        if self.done:
            raise RuntimeError(f"task {self.item!r} ran twice")
        self.done, self.result, self.code = True, result, code
        if self.parent is not None:
            self.parent.waits_for -= 1
            self.parent.results[self.place] = result
            if code:
                self.parent.codes[self.place] = code

    @property
    def failure(self) -> int:
        """The code of the first failed part in the parts' order; 0 if none failed."""
        return self.codes[min(self.codes)] if self.codes else 0
