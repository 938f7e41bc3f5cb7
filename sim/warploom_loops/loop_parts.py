"""Loops that the compiler split into parts: a later part goes on where an earlier part ended.

At -O3 a compiler may split a loop so that a condition holds in all iterations of one part. The
parts count as one loop. They can be deferred if each part can, with the same rules.
"""

from collections.abc import Mapping
from dataclasses import replace

from warploom_loops.induction import LoopView
from warploom_loops.marks import Argument, LoopMark, Reason
from warploom_loops.symbolic_run import LoopRun
from warploom_loops.trip_count import trip_count
from warploom_loops.values import Value, atoms_within


def agree(marks: list[LoopMark], runs: Mapping[int, LoopRun]) -> list[LoopMark]:
    """Return marks in which the parts of one loop are refused unless their rules are the same.

    A loop counts as a part of an earlier one if its variable goes on from the earlier one's.

    Parameters
    ----------
    marks : list of LoopMark
        A function's loops.
    runs : mapping of int to LoopRun
        Their symbolic iterations, by header.
    """
    by_header = {mark.header: mark for mark in marks}
    changed = True
    while changed:
        changed = False
        for mark in list(by_header.values()):
            if mark.loop_class is None:
                continue
            for header in _before(runs, mark.header):
                earlier = by_header.get(header)
                if earlier is None or _rules(earlier) == _rules(mark):
                    continue
                by_header[mark.header] = _refused(mark, earlier)
                if earlier.loop_class is not None:
                    by_header[header] = _refused(earlier, mark)
                changed = True
                break
    return [by_header[mark.header] for mark in marks]


def _refused(mark: LoopMark, other: LoopMark) -> LoopMark:
    """Return the mark of a part that another part keeps from being deferred."""
    return replace(
        LoopMark(mark.function, mark.header, mark.depth, exits=mark.exits),
        reason=other.reason or Reason.ARGUMENT,
        reason_address=other.reason_address or other.header,
        detail="the compiler split the loop, and its parts differ"
        if other.reason is None
        else f"another part of the loop: {other.detail}",
    )


def _before(runs: Mapping[int, LoopRun], header: int) -> set[int]:
    """Return the loops, beside this one, from whose variable this one's variable goes on."""
    run = runs[header]
    count = trip_count(LoopView(run, runs), run.exits, 0)
    if count is None or count.variable is None:
        return set()
    outer = {h for h, other in runs.items() if header in other.loop.blocks}
    return _origins(count.variable.first) - outer


def _origins(value: Value) -> set[int]:
    return {
        atom.key[0][1]
        for atom in atoms_within([value])
        if atom.kind == "cell" and atom.key[0][0] == "loop"
    }


def _rules(mark: LoopMark) -> object:
    """Return what parts of one loop have in common: calls, kinds, increments."""
    if mark.loop_class is None:
        return None
    return [
        (call.name, [_rule(a) for a in (*call.configuration, *call.arguments)])
        for call in mark.calls
    ]


def _rule(argument: Argument) -> tuple[object, ...]:
    parts = tuple((place, _rule(part)) for place, part in argument.parts)
    return argument.kind, argument.size, argument.increment, argument.call, argument.offset, parts
