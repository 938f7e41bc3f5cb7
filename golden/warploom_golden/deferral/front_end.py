"""Front end: caches the calls of a deferrable loop and sends them as one group."""

from collections.abc import Callable, Sequence
from typing import Final

from warploom_golden.deferral.calls import Answer, Argument, Bytes, Call, Constant, Group, Value
from warploom_golden.deferral.message import decode, encode
from warploom_golden.deferral.plan import LoopPlan, Site
from warploom_golden.deferral.recurrence import Recurrence

#: The most calls of one group.
MAX_GROUP: Final = 65_536
#: A stand-in is a number that takes the place of a deferred call's result. These are the limit
#: above which stand-ins lie, and the distance between two of them: the distance is large, so a
#: stand-in plus a constant still tells which result is meant.
FIRST_STAND_IN: Final = 0xD000_0000_0000_0000
STAND_IN_STEP: Final = 1 << 32


class DeferredError(RuntimeError):
    """A call of a group failed. The error is raised when the group ends.

    Attributes
    ----------
    code : int
        The error code that the call returned.
    iteration, call : int
        Number of the iteration within the group, and of the call within the iteration.
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
        """Number of calls so far."""
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
        """Add an accepted call; ``stand_in`` takes the place of its result."""
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
    """Caches a program's deferrable calls, and sends them to the back end in groups.

    A group ends

    - at the loop's trip count, if the plan has one,
    - at a call that is not the plan's next, or with an argument that breaks its rule,
    - at ``max_group`` calls,
    - at `flush`.

    The whole iterations of a group are one message. The calls of a broken-off iteration are a
    second message.

    Parameters
    ----------
    application : int
        Number of the program, 32 bits.
    plans : sequence of LoopPlan
        The program's deferrable loops.
    send : Callable
        Takes a message's bytes, returns the bytes of the back end's answer.
    max_group : int
        The most calls of one group.
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
        """Make or defer a call; return its result, or a stand-in while the call is deferred.

        Parameters
        ----------
        site : int or tuple of int
            The call's site, in the form that the plan has.
        name : str
            Name of the function.
        values : int or bytes
            The arguments; numbers are unsigned, of up to 64 bits.

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
        """Send the group that is being cached, if there is one.

        Raises
        ------
        DeferredError
            If a call of the group failed.
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
            self._note_results(pending.before, answer)
        if pending.position:
            answer = self._exchange(0, self._unfinished_iteration(pending))
            self._note_results(pending.results, answer)

    def _unfinished_iteration(self, pending: _Pending) -> tuple[Call, ...]:
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
        """Return an argument of a single call: a constant, or a result of the same message."""
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

    def _note_results(self, stand_ins: list[int], answer: Answer) -> None:
        """Note the results for the stand-ins of a group's last iteration."""
        for stand_in, result in zip(stand_ins, answer.results, strict=False):
            if isinstance(result, int):
                self._known[stand_in] = result

    def _resolve(self, value: Value) -> Value:
        """Return a value in which a stand-in is replaced by its result, if the result is known."""
        if isinstance(value, bytes) or value < FIRST_STAND_IN:
            return value
        base = (value + STAND_IN_STEP // 2) // STAND_IN_STEP * STAND_IN_STEP
        if base not in self._known:
            return value
        return (self._known[base] + value - base) % (1 << 64)


def _constant(value: Value, size: int = 8) -> Argument:
    return Bytes(value) if isinstance(value, bytes) else Constant(value, size)
