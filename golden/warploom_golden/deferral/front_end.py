"""Front end: caches the calls of a deferrable loop and sends them as one group."""

from collections.abc import Callable, Sequence
from typing import Final

from warploom_golden.deferral.calls import Answer, Argument, Bytes, Call, Constant, Group, Value
from warploom_golden.deferral.message import decode, encode
from warploom_golden.deferral.plan import LoopPlan, Site
from warploom_golden.deferral.recurrence import Recurrence

#: Most calls of one group.
MAX_GROUP: Final = 65_536
#: Numbers that stand for results which are not there yet, and the distance between two of them: a
#: result plus a constant still says which result is meant.
FIRST_STAND_IN: Final = 0xD000_0000_0000_0000
STAND_IN_STEP: Final = 1 << 32


class DeferredError(RuntimeError):
    """A call of a group failed: raised where the group ends.

    Attributes
    ----------
    code : int
        What the call returned.
    iteration, call : int
        Which iteration of the group, and which call of it.
    """

    def __init__(self, code: int, iteration: int, call: int):
        super().__init__(f"call {call} of iteration {iteration} failed with code {code}")
        self.code, self.iteration, self.call = code, iteration, call


class _Pending:
    """A group that grows call by call."""

    def __init__(self, plan: LoopPlan):
        self.plan = plan
        self.iteration = 0
        self.position = 0
        self.results: list[int] = [0] * len(plan.calls)
        self.before: list[int] = [0] * len(plan.calls)
        self.values: list[tuple[Value, ...]] = []
        self.rules = [
            [Recurrence(argument, number) for argument in call.arguments]
            for number, call in enumerate(plan.calls)
        ]

    @property
    def calls(self) -> int:
        """Calls so far."""
        return self.iteration * len(self.plan.calls) + self.position

    def accepts(self, site: Site, name: str, values: tuple[Value, ...]) -> bool:
        """Return whether a call is the plan's next and all of its arguments keep to their rules."""
        call = self.plan.calls[self.position]
        rules = self.rules[self.position]
        if (call.site, call.name, len(rules)) != (site, name, len(values)):
            return False
        return all(
            rule.accepts(value, self.iteration, self.results, self.before)
            for rule, value in zip(rules, values, strict=True)
        )

    def add(self, values: tuple[Value, ...], stand_in: int) -> None:
        """Count a call that was accepted; a number stands for its result."""
        self.results[self.position] = stand_in
        self.values.append(values)
        self.position += 1
        if self.position == len(self.plan.calls):
            self.iteration += 1
            self.position = 0
            self.before, self.results = self.results, [0] * len(self.plan.calls)
            self.values.clear()

    def whole_iterations(self) -> tuple[Call, ...]:
        """Return one iteration's calls, for all whole iterations."""
        return tuple(
            Call(call.name, tuple(rule.argument() for rule in rules))
            for call, rules in zip(self.plan.calls, self.rules, strict=True)
        )


class FrontEnd:
    """Stand between a program and the back end.

    A group ends at the loop's trip count if the plan has it, at a call that is not the plan's next,
    at an argument that breaks its rule, at any call that no loop begins with, at ``max_group``
    calls, and at `flush`. Whole iterations are one message; the rest of a broken one is a second.

    Parameters
    ----------
    application : int
        Number of the program.
    plans : sequence of LoopPlan
        Its deferrable loops.
    send : Callable
        Takes a message, returns the back end's answer.
    max_group : int
        Most calls of one group.
    """

    def __init__(
        self,
        application: int,
        plans: Sequence[LoopPlan],
        send: Callable[[bytes], bytes],
        max_group: int = MAX_GROUP,
    ):
        self._application = application
        self._plans = {(plan.calls[0].site, plan.calls[0].name): plan for plan in plans}
        self._send = send
        self._max_group = max_group
        self._sequence = 0
        self._stand_in = FIRST_STAND_IN
        self._known: dict[int, int] = {}
        self._pending: _Pending | None = None

    def call(self, site: Site, name: str, *values: Value) -> Value:
        """Make a call; return its result, or what stands for it while it is deferred.

        Parameters
        ----------
        site : int or tuple of int
            Where the program makes the call, as its plan has it.
        name : str
            The function.
        values : int or bytes
            Its arguments; numbers of up to 64 bits without a sign.

        Raises
        ------
        DeferredError
            If this call ends a group in which an earlier call failed, or fails itself.
        """
        known = tuple(self._resolve(value) for value in values)
        if self._pending and not self._pending.accepts(site, name, known):
            self.flush()
            known = tuple(self._resolve(value) for value in values)
        if not self._pending:
            plan = self._plans.get((site, name))
            pending = _Pending(plan) if plan else None
            if pending is None or not pending.accepts(site, name, known):
                return self._call_now(name, known)
            self._pending = pending
        self._stand_in += STAND_IN_STEP
        result = self._stand_in
        self._pending.add(known, result)
        plan = self._pending.plan
        if plan.count == self._pending.iteration or self._pending.calls >= self._max_group:
            self.flush()
        return self._resolve(result)

    def flush(self) -> None:
        """End the group that grows, if any.

        Raises
        ------
        DeferredError
            If one of its calls failed.
        """
        pending, self._pending = self._pending, None
        if pending is None:
            return
        if pending.iteration:
            plan = pending.plan
            answer = self._exchange(
                plan.loop_class,
                pending.whole_iterations(),
                plan.initial,
                plan.step,
                pending.iteration,
            )
            self._learn(pending.before, answer)
        if pending.position:
            answer = self._exchange(0, self._rest(pending))
            self._learn(pending.results, answer)

    def _rest(self, pending: _Pending) -> tuple[Call, ...]:
        """Return the calls of the iteration that was broken off, with their values."""
        return tuple(
            Call(
                pending.plan.calls[number].name,
                tuple(
                    self._fixed(rule, value)
                    for rule, value in zip(pending.rules[number], values, strict=True)
                ),
            )
            for number, values in enumerate(pending.values)
        )

    def _fixed(self, rule: Recurrence, value: Value) -> Argument:
        """Return an argument that has one value, or is a result of the same message."""
        if rule.plan.kind == "result" and not rule.uses_iteration_before:
            return rule.argument()
        return _constant(self._resolve(value), rule.plan.size)

    def _call_now(self, name: str, values: tuple[Value, ...]) -> Value:
        """Make a call that cannot be deferred, and wait for it."""
        call = Call(name, tuple(_constant(value) for value in values))
        return self._exchange(0, (call,)).results[0]

    def _exchange(
        self,
        loop_class: int,
        calls: tuple[Call, ...],
        initial: int = 0,
        step: int = 0,
        count: int = 1,
    ) -> Answer:
        group = Group(self._application, self._sequence, loop_class, initial, step, count, calls)
        self._sequence = (self._sequence + 1) % (1 << 32)
        answer = decode(self._send(encode(group)))
        assert isinstance(answer, Answer)
        if answer.code:
            raise DeferredError(answer.code, answer.iteration, answer.call)
        return answer

    def _learn(self, stand_ins: list[int], answer: Answer) -> None:
        """Remember what the stand-ins of a group's last iteration stood for."""
        for stand_in, result in zip(stand_ins, answer.results, strict=False):
            if isinstance(result, int):
                self._known[stand_in] = result

    def _resolve(self, value: Value) -> Value:
        """Return a value with the result that it stands for, if that is known by now."""
        if isinstance(value, bytes) or value < FIRST_STAND_IN:
            return value
        base = (value + STAND_IN_STEP // 2) // STAND_IN_STEP * STAND_IN_STEP
        if base not in self._known:
            return value
        return (self._known[base] + value - base) % (1 << 64)


def _constant(value: Value, size: int = 8) -> Argument:
    return Bytes(value) if isinstance(value, bytes) else Constant(value, size)
