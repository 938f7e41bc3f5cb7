"""One task: an item, and what became of its parts."""

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
        The task that was split; None for the root.
    place : int
        Which part of the parent this is, from 0.
    waits_for : int
        Parts that are not done yet.
    results : list
        Of the parts, in their order.
    result : object
        The task's own, when it is done and did not fail.
    code : int
        0, or the failure that the task carries to its parent.
    codes : dict
        Code of each failed part, by its place.
    done : bool
        Whether result or code stand.
    owner : int
        The worker that runs it; -1 before.
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
        """Return a task for each part; this one waits for all of them."""
        self.waits_for = len(items)
        self.results = [None] * len(items)
        return [Task(item, self, place) for place, item in enumerate(items)]

    def finish(self, result: Result, code: int) -> None:
        """Note the outcome and tell the parent.

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
        """Code of the first failed part in their order; 0 if none failed."""
        return self.codes[min(self.codes)] if self.codes else 0
