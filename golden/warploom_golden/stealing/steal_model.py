"""Discrete-event model of cooperative work stealing in front of execution units."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from warploom_golden.stealing.algorithm import Algorithm, Item, Result
from warploom_golden.stealing.costs import Costs
from warploom_golden.stealing.requests import Delay, Park, Request, Ring
from warploom_golden.stealing.start_up import assignments
from warploom_golden.stealing.task import Task
from warploom_golden.stealing.task_queue import TaskQueue
from warploom_golden.stealing.victims import make_victims
from warploom_golden.stealing.worker import Shared, Steps, Worker
from warploom_spec.errors import WarploomError

STEALS: Final = ("one", "half")


@dataclass(frozen=True, kw_only=True)
class StealOptions:
    """One run's settings.

    Attributes
    ----------
    workers, units : int
        How many; each worker needs a unit of its own.
    mapping : str
        ``one_to_one``: a worker uses the first of its units. ``one_to_many``: all of them.
    victims : str
        ``random``, ``round_robin`` or ``most_loaded``.
    steal : str
        A thief takes ``one`` task, or ``half`` of the victim's tasks.
    queue : int
        Number of entries of each worker's queue.
    max_nesting : int
        See `Shared`.
    seed : int
        Seed of the random victims.
    costs : Costs
        Cycles of each step.
    source_cutoff : bool
        See `Shared`.

    Raises
    ------
    WarploomError
        If a value is not legal.
    """

    workers: int = 4
    units: int = 4
    mapping: str = "one_to_one"
    victims: str = "random"
    steal: str = "one"
    queue: int = 1024
    max_nesting: int = 64
    seed: int = 0
    costs: Costs = field(default_factory=Costs)
    source_cutoff: bool = False

    def __post_init__(self) -> None:
        """Refuse a value that is not legal."""
        if self.steal not in STEALS:
            raise WarploomError(f"steal is {self.steal!r}; legal: {', '.join(STEALS)}")
        if self.max_nesting < 0:
            raise WarploomError(f"nesting is {self.max_nesting}; legal: 0 or more")
        assignments(self.workers, self.units, self.mapping)
        make_victims(self.victims, 0, self.seed)
        TaskQueue(self.queue)


@dataclass(frozen=True)
class Slice:
    """One step of a worker in the cycles [start, end): ``on`` is its name, ``unit`` or ``idle``."""

    worker: int
    start: int
    end: int
    on: str


@dataclass(frozen=True)
class StealRun:
    """The results of one run.

    Attributes
    ----------
    makespan : int
        Cycles from the host's call to the end of the root's join.
    result : object
        The root's result; None if the root failed.
    code : int
        The failure code that reached the root; 0: no failure.
    steals, attempts, leaves, splits, rounds : int
        Sums over the workers, see `Worker`.
    deepest : int
        Deepest nesting of any worker.
    idle : int
        Sum over the workers: cycles without a task.
    busy : int
        Sum over the rounds: cycles in which units worked.
    slices : list of Slice
        The steps of all workers, noted in the order in which the model computed them.
    """

    makespan: int
    result: Result
    code: int
    steals: int
    attempts: int
    leaves: int
    splits: int
    rounds: int
    deepest: int
    idle: int
    busy: int
    slices: list[Slice]


def root_and_workers(
    algorithm: Algorithm, options: StealOptions, wake: Callable[[], None]
) -> tuple[Task, list[Worker]]:
    """Return the root task, which stands in worker 0's queue, and all workers.

    Parameters
    ----------
    algorithm : Algorithm
        The problem.
    options : StealOptions
        Settings.
    wake : Callable
        Called when parked workers must look again.
    """
    root = Task(algorithm.root())
    shared = Shared(
        algorithm=algorithm,
        root=root,
        queues=[TaskQueue(options.queue) for _ in range(options.workers)],
        costs=options.costs,
        steal_half=options.steal == "half",
        max_nesting=options.max_nesting,
        wake=wake,
        source_cutoff=options.source_cutoff,
    )
    shared.queues[0].push(root)
    workers = [
        Worker(assignment, shared, make_victims(options.victims, assignment.worker, options.seed))
        for assignment in assignments(options.workers, options.units, options.mapping)
    ]
    return root, workers


class StealModel:
    """Discrete-event model of one run: an algorithm on workers and units.

    The same arguments always give the same run. When the steps of several workers end in the same
    cycle, the workers go on in the order in which those steps began.

    Parameters
    ----------
    algorithm : Algorithm
        The problem.
    options : StealOptions
        Settings.
    fails : Callable or None
        Given the item of a leaf's part, returns its failure code, 0: ok. None: nothing fails.

    Notes
    -----
    Source: patent US 11,340,942 B2, *Cooperative work-stealing scheduler*, as corrected on
    ``docs/stealing/work_stealing.md``.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        options: StealOptions,
        fails: Callable[[Item], int] | None = None,
    ):
        self._algorithm = algorithm
        self._costs = options.costs
        self._fails = fails
        self._root, self._workers = root_and_workers(algorithm, options, self._wake)
        self._runs: list[Steps] = [worker.run() for worker in self._workers]
        self._agenda: list[tuple[int, int, int, Any]] = []
        self._parked: dict[int, int] = {}
        self._now = 0
        self._order = 0
        self._busy = 0
        self._slices: list[Slice] = []

    def run(self) -> StealRun:
        """Run until the root is done, and return the results.

        Raises
        ------
        RuntimeError
            If every worker waits and the root is not done: a fault of the method, not of the
            problem.
        """
        for worker in range(len(self._workers)):
            self._resume_at(self._costs.start_up, worker, None)
        while self._agenda and not self._root.done:
            self._now, _, worker, answer = heapq.heappop(self._agenda)
            self._step(worker, answer)
        if not self._root.done:
            raise RuntimeError(f"deadlock in cycle {self._now}: every worker waits")
        for worker in sorted(self._parked):
            self._note(worker, self._parked[worker], self._now, "idle")
        return self._outcome()

    def _step(self, worker: int, answer: Any) -> None:
        """Let a worker go on to its next request."""
        try:
            request: Request = self._runs[worker].send(answer)
        except StopIteration:
            return
        if isinstance(request, Delay):
            self._note(worker, self._now, self._now + request.cycles, request.on)
            self._resume_at(self._now + request.cycles, worker, None)
        elif isinstance(request, Ring):
            self._ring(worker, request)
        else:
            assert isinstance(request, Park)
            self._parked[worker] = self._now

    def _ring(self, worker: int, request: Ring) -> None:
        """Run a leaf's parts side by side; the worker waits for the slowest."""
        cycles = [self._algorithm.leaf_cycles(part) for part in request.parts]
        self._busy += sum(cycles)
        end = self._now + self._costs.round_trip + max(cycles)
        codes = [self._fails(part) if self._fails else 0 for part in request.parts]
        outcomes = [
            (code, None if code else self._algorithm.run(part))
            for code, part in zip(codes, request.parts, strict=True)
        ]
        self._note(worker, self._now, end, "unit")
        self._resume_at(end, worker, outcomes)

    def _wake(self) -> None:
        """Let every parked worker look again, in order of number, in this cycle."""
        for worker in sorted(self._parked):
            self._note(worker, self._parked.pop(worker), self._now, "idle")
            self._resume_at(self._now, worker, None)

    def _resume_at(self, cycle: int, worker: int, answer: Any) -> None:
        self._order += 1
        heapq.heappush(self._agenda, (cycle, self._order, worker, answer))

    def _note(self, worker: int, start: int, end: int, on: str) -> None:
        if end > start:
            self._slices.append(Slice(worker, start, end, on))

    def _outcome(self) -> StealRun:
        workers = self._workers
        return StealRun(
            makespan=self._now,
            result=self._root.result,
            code=self._root.code,
            steals=sum(worker.steals for worker in workers),
            attempts=sum(worker.attempts for worker in workers),
            leaves=sum(worker.leaves for worker in workers),
            splits=sum(worker.splits for worker in workers),
            rounds=sum(worker.rounds for worker in workers),
            deepest=max(worker.deepest for worker in workers),
            idle=sum(one.end - one.start for one in self._slices if one.on == "idle"),
            busy=self._busy,
            slices=[one for one in self._slices if one.start < self._now],
        )
