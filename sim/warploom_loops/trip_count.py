"""The number of a loop's iterations: the first one in which an exit's condition holds ends it."""

from dataclasses import dataclass

from warploom_loops.expressions import words
from warploom_loops.induction import Linear, LoopView
from warploom_loops.symbolic_run import Edge
from warploom_loops.values import Value, atoms_within, to_signed


@dataclass(frozen=True, slots=True)
class TripCount:
    """A loop's number of iterations.

    Attributes
    ----------
    count : int or None
        Iterations that make their calls; None if known only when the program runs.
    expression : str
        The same in words. Less than 0 means 0; a loop that tests at its end runs at least once.
    variable : Linear or None
        The loop variable: the location that the exit compares.
    """

    count: int | None
    expression: str
    variable: Linear | None


def trip_count(view: LoopView, exits: list[Edge], calls: int) -> TripCount | None:
    """Return when a loop ends; None if an exit is no comparison of a recurrence.

    Parameters
    ----------
    view : LoopView
        The loop.
    exits : list of Edge
        The loop's exits. At each exit either none or all of an iteration's calls have been made.
    calls : int
        How many calls an iteration makes.
    """
    found = []
    for edge in exits:
        known = _one(view, edge, after_calls=bool(calls and edge.state.trace))
        if known is None:
            return None
        found.append(known)
    if not found:
        return None
    if len(found) == 1:
        return found[0]
    counts = [f.count for f in found]
    text = ", ".join(dict.fromkeys(f.expression for f in found))
    known_counts = [count for count in counts if count is not None]
    count = min(known_counts) if len(known_counts) == len(counts) else None
    if known_counts and min(known_counts) == 0:
        count = 0
    return TripCount(count, str(count) if count is not None else f"min({text})", found[0].variable)


def _one(view: LoopView, edge: Edge, *, after_calls: bool) -> TripCount | None:
    atom = edge.condition.atom if edge.condition is not None else None
    if atom is None or atom.kind != "condition":
        return None
    kind, a, b = atom.key
    left, right = view.linear(a), view.linear(b)
    if left is None or right is None:
        return None
    moving = [side for side, linear in ((a, left), (b, right)) if linear.increment.number != 0]
    if len(moving) != 1:
        return None
    steps = _steps(kind, left, right)
    if steps is None:
        return None
    count, text = steps
    return TripCount(
        count + after_calls if count is not None else None,
        str(count + after_calls) if count is not None else _plus_one(text, after_calls),
        _variable(view, moving[0]),
    )


def _plus_one(text: tuple[Value, Value], after_calls: bool) -> str:
    """Return the quotient of distance and step in words, plus one for a test at the end."""
    distance, step = text
    if after_calls:
        distance += step
    number = step.signed
    if number == 1:
        return words(distance)
    if number is not None:
        coefficients = [to_signed(f, distance.bits) for f in distance.terms.values()]
        constant = to_signed(distance.const, distance.bits)
        if all(c % number == 0 for c in [*coefficients, constant]):
            terms = {
                atom: to_signed(f, distance.bits) // number for atom, f in distance.terms.items()
            }
            return words(Value(distance.bits, constant // number, terms))
    return f"ceil(({words(distance)}) / ({words(step)}))"


def _steps(kind: str, left: Linear, right: Linear) -> tuple[int | None, tuple[Value, Value]] | None:
    """Return the first iteration in which a comparison holds, as a number if it is one.

    In words it is a distance over a step; None if it may never hold.
    """
    bits = left.first.bits
    if kind == "ne":
        return None
    if kind == "eq":
        return _until_equal(left, right)
    # Holds once (right - left) is above 0, or, with `le`, at least 0.
    rise = right.increment - left.increment
    strict = kind.endswith("lt")
    distance = left.first - right.first + Value(bits, int(strict))
    if rise.signed is not None and rise.signed <= 0:
        return None
    x, y = left.first.number, right.first.number
    if x is None or y is None or rise.signed is None:
        return None, (distance, rise)
    if kind.startswith("s"):
        x, y = to_signed(x, bits), to_signed(y, bits)
    return max(0, -(-(x - y + strict) // rise.signed)), (distance, rise)


def _until_equal(left: Linear, right: Linear) -> tuple[int | None, tuple[Value, Value]] | None:
    difference, step = left.first - right.first, left.increment - right.increment
    if step.signed is not None and step.signed < 0:
        difference, step = difference.times(-1), step.times(-1)
    distance = difference.times(-1)
    if distance.number is None or step.signed is None:
        return None, (distance, step)
    count, rest = divmod(distance.number, step.signed)
    return None if rest else (count, (distance, step))


def _variable(view: LoopView, side: Value) -> Linear | None:
    """Return the location behind a comparison's moving side."""
    origin = ("loop", view.run.loop.header)
    for atom in atoms_within([side]):
        if atom.kind == "cell" and atom.key[0] == origin:
            known = view.cell(atom)
            if isinstance(known, Linear) and known.increment.number != 0:
                return known
    return None
