"""Classifies a loop: its class, or the reason why its calls cannot be deferred."""

from collections.abc import Mapping
from typing import Any, Final

from warploom_loops.events import CudaCall, Event, EventKind, Piece
from warploom_loops.expressions import words
from warploom_loops.induction import Linear, LoopView, Result, Swap
from warploom_loops.marks import Argument, ArgumentKind, Call, LoopMark, Reason
from warploom_loops.symbolic_run import LoopRun
from warploom_loops.trip_count import TripCount, trip_count
from warploom_loops.values import Value, to_signed

_CLASSES: Final = {
    ArgumentKind.CONSTANT: 1,
    ArgumentKind.BYTES: 1,
    ArgumentKind.INCREMENT: 2,
    ArgumentKind.ALTERNATE: 3,
    ArgumentKind.RESULT: 3,
}


class NotDeferrableError(Exception):
    """A loop's calls cannot be deferred.

    Parameters
    ----------
    reason : Reason
        The reason.
    address : int
        Address of the instruction in the loop that shows the reason.
    detail : str
        The reason in words.
    """

    def __init__(self, reason: Reason, address: int, detail: str):
        super().__init__(detail)
        self.reason, self.address, self.detail = reason, address, detail


def classify(
    function: str, run: LoopRun, runs: Mapping[int, LoopRun], events: list[Event]
) -> LoopMark:
    """Return a loop's mark.

    Parameters
    ----------
    function : str
        Name of the loop's function.
    run : LoopRun
        The loop's symbolic iteration.
    runs : mapping of int to LoopRun
        The symbolic iterations of all loops of the function, by address of the header.
    events : list of Event
        All events of the function's symbolic run.
    """
    loop = run.loop
    exits = tuple(dict.fromkeys(edge.site[0] for edge in run.exits))
    try:
        view = LoopView(run, runs)
        made = _calls(view)
        _check_exits(view, made)
        count = _count(view, made)
        calls = tuple(_call(view, call, made) for call in made)
        _check_pointers(view, made, calls)
        _check_uses(view, events)
        _check_tested(view)
    except NotDeferrableError as refusal:
        return LoopMark(
            function,
            loop.header,
            loop.depth,
            reason=refusal.reason,
            reason_address=refusal.address,
            detail=refusal.detail,
            exits=exits,
        )
    variable = count.variable
    return LoopMark(
        function,
        loop.header,
        loop.depth,
        loop_class=max(_class(call) for call in calls),
        first=variable.first.signed if variable else None,
        step=variable.increment.signed if variable else None,
        count=count.count,
        first_expression=words(variable.first) if variable else "",
        step_expression=words(variable.increment) if variable else "",
        count_expression=count.expression,
        exits=exits,
        calls=calls,
    )


# --- what an iteration does -------------------------------------------------------------------


def _calls(view: LoopView) -> tuple[CudaCall, ...]:
    """Return the calls of one iteration; refuse a loop with effects that cannot be deferred."""
    run = view.run
    for kind, reason in ((EventKind.CALL, Reason.CALL), (EventKind.MEMORY, Reason.MEMORY)):
        found = [event for event in run.events if event.kind is kind]
        if found:
            first = min(found, key=lambda event: event.site)
            raise NotDeferrableError(reason, first.site[0], first.detail)
    _check_tests(view)
    if run.latch is None:
        raise NotDeferrableError(Reason.EXIT, run.loop.header, "no second iteration is possible")
    made: tuple[CudaCall, ...] | None = run.latch.trace
    if made is None:
        branch = min((e.site[0] for e in run.events if e.kind is EventKind.BRANCH), default=None)
        raise NotDeferrableError(
            Reason.BRANCH,
            branch if branch is not None else run.loop.header,
            "which calls an iteration makes depends on a branch",
        )
    if not made:
        raise NotDeferrableError(Reason.UNDECIDED, run.loop.header, "no call was reached")
    return made


def _check_tests(view: LoopView) -> None:
    for event in view.run.events:
        tested = event.value if event.kind is EventKind.BRANCH else None
        if tested is not None and view.depends_on_results(tested):
            raise NotDeferrableError(
                Reason.RESULT, event.site[0], "a branch tests what a call gave back"
            )


def _check_exits(view: LoopView, made: tuple[CudaCall, ...]) -> None:
    for edge in view.run.exits:
        if edge.state.trace not in ((), made):
            raise NotDeferrableError(
                Reason.EXIT, edge.site[0], "the loop may end between two calls of an iteration"
            )


def _check_tested(view: LoopView) -> None:
    """Refuse a loop with exits that some iterations do not test: its last iteration is unknown."""
    latch = view.run.latch
    for edge in view.run.exits:
        if latch is not None and edge.site not in latch.passed:
            raise NotDeferrableError(
                Reason.EXIT, edge.site[0], "not every iteration comes to this exit's test"
            )


def _count(view: LoopView, made: tuple[CudaCall, ...]) -> TripCount:
    count = trip_count(view, view.run.exits, len(made))
    if count is None:
        at = min((edge.site[0] for edge in view.run.exits), default=view.run.loop.header)
        raise NotDeferrableError(
            Reason.EXIT, at, "an exit does not compare an induction variable with a fixed value"
        )
    return count


def _check_pointers(view: LoopView, made: tuple[CudaCall, ...], calls: tuple[Call, ...]) -> None:
    """Refuse pointers that outlive an iteration: each must be freed in the one that made it."""
    freed = set()
    for number, (call, marked) in enumerate(zip(made, calls, strict=True)):
        if not call.frees:
            continue
        pointer = marked.arguments[0]
        if pointer.kind is not ArgumentKind.RESULT or pointer.offset or pointer.call in freed:
            raise NotDeferrableError(
                Reason.CALL, call.site[0], f"{call.name} of a pointer from outside the iteration"
            )
        freed.add(pointer.call)
        _check_unused(calls[number + 1 :], pointer.call, call)
    for number, call in enumerate(made):
        if call.allocates and number not in freed:
            raise NotDeferrableError(
                Reason.RESULT, call.site[0], f"the pointer of {call.name} outlives the iteration"
            )


def _check_unused(calls: tuple[Call, ...], pointer: int | None, freed_by: CudaCall) -> None:
    for call in calls:
        for argument in call.arguments:
            if argument.kind is ArgumentKind.RESULT and argument.call == pointer:
                raise NotDeferrableError(
                    Reason.CALL, freed_by.site[0], "a pointer is used after it was freed"
                )


def _check_uses(view: LoopView, events: list[Event]) -> None:
    """Refuse results that code behind the loop uses."""
    for event in events:
        if event.value is None or event.site[0] in view.run.loop.addresses:
            continue
        if event.kind is EventKind.RETURN:
            used = view.returns_result(event.value)
        else:
            used = view.depends_on_results(event.value)
        if used:
            raise NotDeferrableError(
                Reason.RESULT, view.run.loop.header, f"a result is used at {event.site[0]:#x}"
            )


# --- arguments --------------------------------------------------------------------------------


def _class(call: Call) -> int:
    kinds = [argument.kind for argument in (*call.configuration, *call.arguments)]
    return max((_CLASSES[kind] for kind in kinds), default=1)


def _call(view: LoopView, call: CudaCall, made: tuple[CudaCall, ...]) -> Call:
    if call.host_bytes is None or not all(view.is_fixed(value) for value in call.host_bytes):
        raise NotDeferrableError(
            Reason.ARGUMENT, call.site[0], f"the host bytes that {call.name} reads change"
        )
    configuration = tuple(_argument(view, call, made, value) for value in call.configuration)
    arguments = tuple(_whole(view, call, made, pieces) for pieces in call.arguments)
    return Call(call.name, bool(call.configuration), call.site, configuration, arguments)


def _whole(
    view: LoopView, call: CudaCall, made: tuple[CudaCall, ...], pieces: tuple[Piece, ...]
) -> Argument:
    if len(pieces) == 1:
        return _argument(view, call, made, pieces[0].value)
    parts = tuple((p.offset, _argument(view, call, made, p.value)) for p in pieces)
    kinds = {part.kind for _, part in parts} - {ArgumentKind.CONSTANT}
    size = sum(part.size for _, part in parts)
    if len(kinds) > 1:
        raise NotDeferrableError(
            Reason.ARGUMENT, call.site[0], f"a structure of {call.name} changes in several ways"
        )
    kind = kinds.pop() if kinds else ArgumentKind.BYTES
    moving = [part for _, part in parts if part.kind is kind]
    increment = moving[0].increment if len(moving) == 1 else None
    return Argument(kind, size, increment=increment, parts=parts)


def _argument(view: LoopView, call: CudaCall, made: tuple[CudaCall, ...], value: Value) -> Argument:
    if view.depends_on_results(value) and not _is_pointer(view, value):
        raise NotDeferrableError(
            Reason.RESULT, call.site[0], f"an argument of {call.name} comes from a call's result"
        )
    found: Any = view.recurrence(value)
    size = value.bits // 8
    if isinstance(found, Linear):
        return _linear(found, size)
    if isinstance(found, Swap):
        return Argument(
            ArgumentKind.ALTERNATE,
            size,
            value=found.first.number,
            other=found.other.number,
            expression=f"{words(found.first)}, {words(found.other)}",
        )
    if isinstance(found, Result):
        sites = [earlier.site for earlier in made]
        return Argument(
            ArgumentKind.RESULT,
            size,
            call=sites.index(found.site),
            offset=found.offset,
            expression=f"call {sites.index(found.site)}{found.offset:+}",
        )
    raise NotDeferrableError(
        Reason.ARGUMENT,
        call.site[0],
        f"an argument of {call.name} is no recurrence: {words(value)}",
    )


def _is_pointer(view: LoopView, value: Value) -> bool:
    return isinstance(view.recurrence(value), Result)


def _linear(found: Linear, size: int) -> Argument:
    first, increment = found.first, found.increment
    if increment.number == 0:
        return Argument(ArgumentKind.CONSTANT, size, value=first.number, expression=words(first))
    number = increment.number
    return Argument(
        ArgumentKind.INCREMENT,
        size,
        value=first.number,
        increment=to_signed(number, increment.bits) if number is not None else None,
        expression=f"{words(first)} + i*({words(increment)})",
    )
