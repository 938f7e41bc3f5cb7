"""One worker: takes tasks, splits them or hands them to its units, and joins."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from warploom_golden.stealing.algorithm import Algorithm
from warploom_golden.stealing.costs import Costs
from warploom_golden.stealing.requests import Delay, Park, Request, Ring
from warploom_golden.stealing.start_up import Assignment
from warploom_golden.stealing.task import Task
from warploom_golden.stealing.task_queue import TaskQueue
from warploom_golden.stealing.victims import VictimPolicy

#: A worker as a generator: it yields requests, and is sent the outcomes of a `Ring`.
Steps = Generator[Request, Any, None]


@dataclass
class Shared:
    """The state and settings that all workers of one run share.

    Attributes
    ----------
    algorithm : Algorithm
        The problem.
    root : Task
        The task of the whole problem.
    queues : list of TaskQueue
        Each worker's queue.
    costs : Costs
        Cycles of each step.
    steal_half : bool
        True: a thief takes half of its victim's tasks, one after the other. False: one task.
    max_nesting : int
        The most tasks that a worker may begin on top of tasks that wait on its stack for their
        parts. A part of the task on top of the stack does not count.
    wake : Callable
        Called after each push, and when the last part that a task waited for is done.
    source_cutoff : bool
        True: follow the flow chart of patent US 11,340,942 B2, in which the two branches at the
        cut-off test are exchanged.
    """

    algorithm: Algorithm
    root: Task
    queues: list[TaskQueue]
    costs: Costs
    steal_half: bool
    max_nesting: int
    wake: Callable[[], None]
    source_cutoff: bool = False


class Worker:
    """One worker on its CPU core.

    Parameters
    ----------
    assignment : Assignment
        The worker's number and units.
    shared : Shared
        What all workers share.
    victims : VictimPolicy
        Chooses the workers that this worker steals from.

    Attributes
    ----------
    steals, attempts : int
        Tasks stolen, and attempts to steal.
    splits, leaves, rounds : int
        Tasks split, tasks run by units, and mailbox rounds (one a unit).
    deepest : int
        The most tasks that were nested at once, counted as for ``max_nesting``.
    """

    def __init__(self, assignment: Assignment, shared: Shared, victims: VictimPolicy):
        self.assignment = assignment
        self._shared = shared
        self._victims = victims
        self._queue = shared.queues[assignment.worker]
        self._nested = 0
        self.steals = self.attempts = 0
        self.splits = self.leaves = self.rounds = 0
        self.deepest = 0

    def run(self) -> Steps:
        """Take tasks until the root is done."""
        root = self._shared.root
        while not root.done:
            task = yield from self._take(may_steal=True)
            if task is not None:
                yield from self._run(task)

    # --- taking a task ---------------------------------------------------------------------------

    def _take(self, may_steal: bool) -> Generator[Request, Any, Task | None]:
        """Pop a task, or try once to steal one; return None if the worker got no task."""
        if len(self._queue):
            yield Delay(self._shared.costs.pop, "pop")
            # A thief may have taken the last task during the pop.
            return self._queue.pop() if len(self._queue) else None
        if may_steal and any(len(queue) for queue in self._shared.queues):
            return (yield from self._steal())
        yield Park()
        return None

    def _steal(self) -> Generator[Request, Any, Task | None]:
        """Try one victim; return the first task, and put further ones into the thief's queue."""
        queues = self._shared.queues
        victim = queues[
            self._victims.choose(self.assignment.worker, [len(queue) for queue in queues])
        ]
        wanted = -(-len(victim) // 2) if self._shared.steal_half else 1
        first = yield from self._steal_one(victim)
        while first is not None and (wanted := wanted - 1) > 0 and not self._queue.is_full:
            if (task := (yield from self._steal_one(victim))) is None:
                break
            self._queue.push(task)
            self._shared.wake()
        return first

    def _steal_one(self, victim: TaskQueue) -> Generator[Request, Any, Task | None]:
        self.attempts += 1
        yield Delay(self._shared.costs.steal, "steal")
        if not len(victim):
            return None
        self.steals += 1
        return victim.steal()

    # --- running a task --------------------------------------------------------------------------

    def _run(self, task: Task) -> Steps:
        shared = self._shared
        task.owner = self.assignment.worker
        yield Delay(shared.costs.test, "test")
        if shared.algorithm.is_leaf(task.item) != shared.source_cutoff:
            yield from self._run_leaf(task)
        else:
            yield from self._run_parts(task)
        if task.parent is None or not task.parent.waits_for:
            shared.wake()

    def _run_leaf(self, task: Task) -> Steps:
        """Ring the doorbells of the worker's units and wait for all of them."""
        algorithm = self._shared.algorithm
        units = self.assignment.units
        parts = [task.item] if len(units) == 1 else algorithm.leaf_parts(task.item, len(units))
        self.leaves += 1
        self.rounds += len(parts)
        outcomes = yield Ring(units[: len(parts)], tuple(parts))
        code = next((code for code, _ in outcomes if code), 0)
        results = [result for _, result in outcomes]
        if len(parts) == 1 or code:
            task.finish(None if code else results[0], code)
            return
        yield Delay(algorithm.join_cycles(task.item), "join")
        task.finish(algorithm.join(task.item, results), 0)

    def _run_parts(self, task: Task) -> Steps:
        """Split, push, work on while the parts are not done, join."""
        shared = self._shared
        self.splits += 1
        yield Delay(shared.costs.split, "split")
        parts = task.split_into(shared.algorithm.split(task.item))
        # Push in reverse: the first part is at the bottom and popped first, as in serial execution.
        for part in reversed(parts):
            if self._queue.is_full:
                yield from self._run(part)
                continue
            yield Delay(shared.costs.push, "push")
            self._queue.push(part)
            shared.wake()
        while task.waits_for:
            yield from self._work_while_waiting(task)
        if code := task.failure:
            task.finish(None, code)
            return
        yield Delay(shared.algorithm.join_cycles(task.item), "join")
        task.finish(shared.algorithm.join(task.item, task.results), 0)

    def _work_while_waiting(self, waiting: Task) -> Steps:
        """Run one more task on top of a waiting one; at ``max_nesting`` only one of its parts."""
        bottom = self._queue.bottom
        at_limit = self._nested == self._shared.max_nesting
        if at_limit and (bottom is None or bottom.parent is not waiting):
            yield Park()
            return
        task = yield from self._take(may_steal=not at_limit)
        if task is None:
            return
        foreign = task.parent is not waiting
        self._nested += foreign
        self.deepest = max(self.deepest, self._nested)
        yield from self._run(task)
        self._nested -= foreign
