"""Makes the plan that the front end follows from a loop's mark."""

from collections.abc import Sequence

from warploom_golden.deferral.plan import ArgumentPlan, CallPlan, LoopPlan, Site
from warploom_loops.marks import Argument, ArgumentKind, LoopMark

#: Largest size, in bytes, of an argument that is sent as a number.
NUMBER_BYTES = 8


def loop_plan(loop: LoopMark, sites: Sequence[Site]) -> LoopPlan | None:
    """Return the plan of a loop; None if the front end cannot follow it.

    A message has no kind of argument for a structure by value that changes in part. The front end
    sends the calls of such a loop one by one.

    Parameters
    ----------
    loop : LoopMark
        A mark that has a class: the loop can be deferred.
    sites : sequence
        The site of each of the loop's calls, as the front end will see it.
    """
    calls = []
    for call, site in zip(loop.calls, sites, strict=True):
        plans = [_argument(rule) for rule in (*call.configuration, *call.arguments)]
        if any(plan is None for plan in plans):
            return None
        calls.append(CallPlan(site, call.name, tuple(plan for plan in plans if plan)))
    assert loop.loop_class is not None
    return LoopPlan(loop.loop_class, tuple(calls), loop.first or 0, loop.step or 0, loop.count)


def _argument(rule: Argument) -> ArgumentPlan | None:
    if rule.kind is ArgumentKind.BYTES or (not rule.parts and rule.size > NUMBER_BYTES):
        return ArgumentPlan("bytes") if rule.size > NUMBER_BYTES else _number(rule, "constant")
    if rule.parts:
        return None
    if rule.kind is ArgumentKind.INCREMENT:
        return ArgumentPlan("linear", rule.size, increment=rule.increment)
    if rule.kind is ArgumentKind.ALTERNATE:
        return _number(rule, "alternate")
    if rule.kind is ArgumentKind.RESULT:
        assert rule.call is not None
        return ArgumentPlan("result", call=rule.call, offset=rule.offset or 0)
    return _number(rule, "constant")


def _number(rule: Argument, kind: str) -> ArgumentPlan | None:
    return ArgumentPlan(kind, rule.size) if rule.size in (1, 2, 4, NUMBER_BYTES) else None
