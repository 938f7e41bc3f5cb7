"""The lower bound of every schedule's makespan, and the makespan without stealing."""

from dataclasses import dataclass

from warploom_golden.stealing.algorithm import Algorithm, Item, even_cuts
from warploom_golden.stealing.costs import Costs


@dataclass(frozen=True)
class Bounds:
    """Work and span of a problem, in cycles.

    Attributes
    ----------
    work : int
        T1: cycles of all steps of all tasks, one after the other. Mailbox rounds, splits, pushes
        and pops are included.
    span : int
        Tinf: cycles of the longest chain of steps in which each step waits for the one before.
    leaves : int
        Number of tasks that units run.
    """

    work: int
    span: int
    leaves: int

    def makespan(self, workers: int) -> int:
        """Return the lower bound for P workers in cycles: max(T1 / P, Tinf), rounded up."""
        return max(-(-self.work // workers), self.span)


def bounds(algorithm: Algorithm, costs: Costs, item: Item = None, units: int = 1) -> Bounds:
    """Return work and span of an item, from a walk over its whole tree.

    Parameters
    ----------
    algorithm : Algorithm
        The problem.
    costs : Costs
        Cycles of each step; start-up is not counted.
    item : object, optional
        The item; None: the root.
    units : int
        Number of units that share a leaf.
    """
    item = algorithm.root() if item is None else item
    begin = costs.pop + costs.test
    if algorithm.is_leaf(item):
        cycles = begin + _leaf_cycles(algorithm, costs, item, units)
        return Bounds(cycles, cycles, 1)
    items = algorithm.split(item)
    parts = [bounds(algorithm, costs, part, units) for part in items]
    own = begin + costs.split + costs.push * len(parts) + algorithm.join_cycles(item)
    return Bounds(
        own + sum(part.work for part in parts),
        own + max((part.span for part in parts), default=0),
        sum(part.leaves for part in parts),
    )


def static_makespan(algorithm: Algorithm, costs: Costs, workers: int, units: int = 1) -> int:
    """Return the makespan of a static partition in cycles: tasks are dealt out once.

    The first worker splits the tree level by level, until there is a task for each worker or only
    leaves are left. Each worker gets a run of neighbouring tasks, and runs them alone; the workers'
    counts of tasks differ by at most one. Then the first worker joins the tasks that it split.

    Parameters
    ----------
    algorithm : Algorithm
        The problem.
    costs : Costs
        Cycles of each step; start-up is counted.
    workers : int
        Number of workers.
    units : int
        Number of units that share a leaf.
    """
    level = [algorithm.root()]
    shared = costs.start_up
    while len(level) < workers and not all(algorithm.is_leaf(item) for item in level):
        below: list[Item] = []
        for item in level:
            if algorithm.is_leaf(item):
                below.append(item)
                continue
            items = algorithm.split(item)
            shared += costs.pop + costs.test + costs.split + costs.push * len(items)
            shared += algorithm.join_cycles(item)
            below += items
        level = below
    loads = [bounds(algorithm, costs, item, units).work for item in level]
    return shared + max(sum(loads[a:b]) for a, b in even_cuts(0, len(loads), workers))


def _leaf_cycles(algorithm: Algorithm, costs: Costs, item: Item, units: int) -> int:
    if units == 1:
        return costs.round_trip + algorithm.leaf_cycles(item)
    parts = algorithm.leaf_parts(item, units)
    slowest = max(algorithm.leaf_cycles(part) for part in parts)
    joins = algorithm.join_cycles(item) if len(parts) > 1 else 0
    return costs.round_trip + slowest + joins
