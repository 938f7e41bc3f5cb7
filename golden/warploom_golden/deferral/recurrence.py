"""One argument of a loop's call: each new value is checked against the argument's rule."""

from dataclasses import dataclass, field

from warploom_golden.deferral.calls import (
    Alternate,
    Argument,
    Bytes,
    Constant,
    FromResult,
    Linear,
    Value,
)
from warploom_golden.deferral.plan import ArgumentPlan


@dataclass
class Recurrence:
    """The values of one argument since its group began.

    Attributes
    ----------
    plan : ArgumentPlan
        The argument's rule.
    call : int
        Number of the argument's call within the iteration.
    seen : list
        The argument's values in iterations 0 and 1.
    """

    plan: ArgumentPlan
    call: int
    seen: list[Value] = field(default_factory=list)

    @property
    def uses_iteration_before(self) -> bool:
        """Whether the argument is a result of the iteration before."""
        return self.plan.kind == "result" and self.plan.call >= self.call

    def accepts(self, value: Value, iteration: int, results: list[int], before: list[int]) -> bool:
        """Return whether a value keeps to the rule; remember the first two.

        Parameters
        ----------
        value : int or bytes
            The argument's value in this call.
        iteration : int
            Number of the iteration, from 0.
        results, before : list of int
            Stand-ins for the results of this iteration's calls, and of the iteration before.
        """
        if isinstance(value, bytes) != (self.plan.kind == "bytes"):
            return False
        if not self._follows(value, iteration, results, before):
            return False
        if len(self.seen) == iteration < 2:
            self.seen.append(value)
        return True

    @property
    def increment(self) -> int:
        """The signed increment of a ``linear`` argument; 0 while it is not known."""
        if self.plan.increment is not None:
            return self.plan.increment
        if len(self.seen) < 2:
            return 0
        first, second = self.seen
        assert isinstance(first, int) and isinstance(second, int)
        half = 1 << 8 * self.plan.size - 1
        return (second - first + half) % (2 * half) - half

    def _follows(self, value: Value, iteration: int, results: list[int], before: list[int]) -> bool:
        plan = self.plan
        mask = (1 << 8 * plan.size) - 1
        if isinstance(value, int) and not 0 <= value <= mask:
            return False
        if plan.kind == "result" and (plan.call < self.call or iteration):
            source = results if plan.call < self.call else before
            return value == (source[plan.call] + plan.offset) & mask
        if not iteration:
            return True
        if plan.kind == "linear":
            assert isinstance(self.seen[0], int)
            if iteration == 1 and plan.increment is None:
                return True
            return value == (self.seen[0] + iteration * self.increment) & mask
        if plan.kind == "alternate":
            return iteration == 1 or value == self.seen[iteration % 2]
        return value == self.seen[0]

    def argument(self) -> Argument:
        """Return the argument as the message has it, for all iterations."""
        plan = self.plan
        first = self.seen[0]
        if isinstance(first, bytes):
            return Bytes(first)
        if plan.kind == "linear":
            return Linear(first, self.increment, plan.size)
        if plan.kind == "alternate":
            other = self.seen[-1]
            assert isinstance(other, int)
            return Alternate(first, other, plan.size)
        if plan.kind == "result":
            seen_first = first if self.uses_iteration_before else 0
            return FromResult(plan.call, plan.offset, seen_first)
        return Constant(first, plan.size)
