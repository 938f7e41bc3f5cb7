"""Finds the recurrence of a value: how it changes from one iteration of a loop to the next."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from warploom_loops.events import EventKind
from warploom_loops.machine_state import State, join_bytes
from warploom_loops.symbolic_run import LoopRun
from warploom_loops.values import (
    Atom,
    Value,
    atoms_within,
    low,
    multiply,
    sign_extend,
    to_signed,
    zero_extend,
)

#: Kinds of atoms that are the same in every iteration of every loop.
_FIXED = frozenset({"frame", "image", "kernel"})
#: Kinds of atoms that depend on nothing but the atoms inside them.
_PURE = frozenset(
    {"zero_extended", "sign_extended", "product", "joined", "part", "operation", "condition"}
)


@dataclass(frozen=True, slots=True)
class Linear:
    """A value that changes by the same amount from each iteration to the next.

    Attributes
    ----------
    first : Value
        The value in iteration 0.
    increment : Value
        The amount added in each iteration; 0 for a value that does not change. The increment
        depends on nothing that the loop changes.
    """

    first: Value
    increment: Value


@dataclass(frozen=True, slots=True)
class Swap:
    """A value that alternates between two values.

    Attributes
    ----------
    first, other : Value
        The values in even and in odd iterations.
    """

    first: Value
    other: Value


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a call in the same iteration, plus a constant.

    Attributes
    ----------
    site : tuple of int
        Site of the call.
    offset : int
        The constant, with sign.
    """

    site: tuple[int, ...]
    offset: int


Recurrence = Linear | Swap | Result


class LoopView:
    """Answers how values change in one loop.

    Parameters
    ----------
    run : LoopRun
        The loop's symbolic iteration.
    runs : mapping of int to LoopRun
        The symbolic iterations of all loops of the function, by address of the header.
    """

    def __init__(self, run: LoopRun, runs: Mapping[int, LoopRun]):
        self.run = run
        self._runs = runs
        self._cells: dict[Atom, Linear | Swap | None] = {}
        self._fixed: dict[Atom, bool] = {}
        self._choices_are_fixed = False
        # A choice among fixed values is fixed if every branch in the loop tests a fixed value.
        # Branches that leave the loop do not count: the iteration ends there.
        self._choices_are_fixed = all(
            event.value is not None and self.is_fixed(event.value)
            for event in run.events
            if event.kind is EventKind.BRANCH and not self._is_exit(event.site)
        )

    def _is_exit(self, site: tuple[int, ...]) -> bool:
        return any(edge.site == site for edge in self.run.exits)

    # --- invariance -----------------------------------------------------------------------

    def is_fixed(self, value: Value) -> bool:
        """Return whether a value is the same in every iteration."""
        return all(self._atom_is_fixed(atom) for atom in value.terms)

    def _atom_is_fixed(self, atom: Atom) -> bool:
        if atom not in self._fixed:
            # The atom counts as not fixed while it is judged: this ends a recursion.
            self._fixed[atom] = False
            self._fixed[atom] = self._decide_fixed(atom)
        return self._fixed[atom]

    def _decide_fixed(self, atom: Atom) -> bool:
        loop = self.run.loop
        if atom.kind in _FIXED:
            return True
        if atom.kind == "cell":
            return self._cell_is_fixed(atom)
        if atom.kind in ("unknown", "error", "result"):
            return atom.key[0][0] not in loop.addresses
        if atom.kind == "choice":
            place, _, _, options = atom.key
            # `place` is ("latch", header) for a choice made where the ends of an iteration meet.
            if isinstance(place[0], str):
                inside = place[1] in loop.blocks
            else:
                inside = place[0] in loop.addresses
            return not inside or (
                self._choices_are_fixed and all(self.is_fixed(option) for option in options)
            )
        return atom.kind in _PURE and all(self._part_is_fixed(part) for part in atom.key)

    def _part_is_fixed(self, part: Any) -> bool:
        return not isinstance(part, Value) or self.is_fixed(part)

    def _cell_is_fixed(self, atom: Atom) -> bool:
        origin = atom.key[0]
        if origin[0] == "entry":
            return True
        if origin[0] == "loop":
            if origin[1] == self.run.loop.header:
                linear = self.cell(atom)
                return isinstance(linear, Linear) and linear.increment.number == 0
            return origin[1] not in self.run.loop.blocks
        if origin[0] == "unknown":
            return origin[1][0] not in self.run.loop.addresses
        return False

    # --- locations ------------------------------------------------------------------------

    def cell(self, atom: Atom) -> Linear | Swap | None:
        """Return a location's recurrence; None if it has none.

        Parameters
        ----------
        atom : Atom
            The location's content at the loop's header, of kind ``cell``.
        """
        if atom not in self._cells:
            # The location has no recurrence while it is judged: this ends a recursion.
            self._cells[atom] = None
            self._cells[atom] = self._recurrence(atom)
        return self._cells[atom]

    def _recurrence(self, atom: Atom) -> Linear | Swap | None:
        first, last = self.at_entry(atom), self.at_latch(atom)
        if last is None:
            return None
        here = Value(atom.bits, 0, {atom: 1})
        increment = last - here
        if increment.number is not None or self.is_fixed(increment):
            return Linear(first, increment)
        return (
            self._widened(atom, first, last)
            or self._swapped(atom, first, last)
            or self._following(first, last)
        )

    def _following(self, first: Value, last: Value) -> Linear | None:
        """Return the recurrence of a location that each iteration sets to a linear value.

        The content before the loop, ``first``, must be the linear value of iteration -1: the
        location then follows that value by one iteration. Else None is returned.
        """
        linear = self.linear(last)
        if linear is None or linear.first - linear.increment != first:
            return None
        return Linear(first, linear.increment)

    def at_entry(self, atom: Atom) -> Value:
        """Return what a location holds before the loop."""
        return _content(self.run.entry, atom)

    def at_latch(self, atom: Atom) -> Value | None:
        """Return what a location holds when an iteration ends; None if no path goes round."""
        return None if self.run.latch is None else _content(self.run.latch, atom)

    def _widened(self, atom: Atom, first: Value, last: Value) -> Linear | None:
        """Return the recurrence of a 64-bit location that holds an extended 32-bit value."""
        if atom.bits != 64:
            return None
        for extend in (zero_extend, sign_extend):
            if extend(low(last, 32), 64) == last and extend(low(first, 32), 64) == first:
                inner = self.linear(low(Value(64, 0, {atom: 1}), 32))
                if inner is not None and (extend is sign_extend or _rises(inner)):
                    return Linear(first, sign_extend(inner.increment, 64))
        return None

    def _swapped(self, atom: Atom, first: Value, last: Value) -> Swap | None:
        other = last.atom
        if other is None or other.kind != "cell" or other.key[0] != atom.key[0]:
            return None
        if other.bits != atom.bits or self.at_latch(other) != Value(atom.bits, 0, {atom: 1}):
            return None
        return Swap(first, self.at_entry(other))

    # --- values ---------------------------------------------------------------------------

    def linear(self, value: Value) -> Linear | None:
        """Return a value's first value and increment; None if the increment is not fixed."""
        first, increment = Value(value.bits, value.const), Value(value.bits)
        for atom, factor in value.terms.items():
            part = self._linear_atom(atom)
            if part is None or not _keeps_width(atom, value.bits, part):
                return None
            first += _widen(part.first, value.bits, signed=False).times(factor)
            increment += _widen(part.increment, value.bits, signed=True).times(factor)
        return Linear(first, increment)

    def _linear_atom(self, atom: Atom) -> Linear | None:
        here = Value(atom.bits, 0, {atom: 1})
        if atom.kind == "cell" and atom.key[0] == ("loop", self.run.loop.header):
            known = self.cell(atom)
            return known if isinstance(known, Linear) else None
        if self._atom_is_fixed(atom):
            return Linear(here, Value(atom.bits))
        if atom.kind in ("zero_extended", "sign_extended"):
            return self._extended(atom)
        if atom.kind == "product":
            return self._product(*atom.key)
        return None

    def _extended(self, atom: Atom) -> Linear | None:
        """Return an extension's recurrence.

        The recurrence holds while the 32-bit value does not wrap. The front end checks this when
        the program runs.
        """
        (inner,) = atom.key
        linear = self.linear(inner)
        if linear is None or inner.bits != 32:
            return None
        if atom.kind == "zero_extended" and not _rises(linear):
            return None
        extend = zero_extend if atom.kind == "zero_extended" else sign_extend
        return Linear(extend(linear.first, atom.bits), sign_extend(linear.increment, atom.bits))

    def _product(self, a: Value, b: Value) -> Linear | None:
        for factor, other in ((a, b), (b, a)):
            if self.is_fixed(factor):
                linear = self.linear(other)
                if linear is not None:
                    return Linear(
                        multiply(linear.first, factor), multiply(linear.increment, factor)
                    )
        return None

    def recurrence(self, value: Value) -> Recurrence | None:
        """Return a value's recurrence; None if it is no `Linear`, `Swap` or `Result`."""
        linear = self.linear(value)
        if linear is not None:
            return linear
        moving = [atom for atom in value.terms if not self._atom_is_fixed(atom)]
        if len(moving) != 1 or value.terms[moving[0]] != 1 or moving[0].bits != value.bits:
            return None
        (atom,) = moving
        rest = value - Value(value.bits, 0, {atom: 1})
        if atom.kind == "result" and rest.number is not None:
            return Result(atom.key[0], to_signed(rest.number, rest.bits))
        if atom.kind == "cell" and atom.key[0] == ("loop", self.run.loop.header):
            swap = self.cell(atom)
            if isinstance(swap, Swap) and self._are_fixed(swap):
                return Swap(swap.first + rest, swap.other + rest)
        return None

    def _are_fixed(self, swap: Swap) -> bool:
        return self.is_fixed(swap.first) and self.is_fixed(swap.other)

    # --- results --------------------------------------------------------------------------

    def depends_on_results(self, value: Value) -> bool:
        """Return whether a value may depend on a result of this loop's calls."""
        seen: set[Atom] = set()
        waiting = [value]
        while waiting:
            for atom in atoms_within([waiting.pop()]):
                if atom in seen:
                    continue
                seen.add(atom)
                if atom.kind in ("error", "result"):
                    if atom.key[0][0] in self.run.loop.addresses:
                        return True
                elif atom.kind == "cell" and atom.key[0][0] == "loop":
                    run = self._runs.get(atom.key[0][1])
                    if run is not None:
                        waiting.append(_content(run.entry, atom))
                        if run.latch is not None:
                            waiting.append(_content(run.latch, atom))
        return False

    def returns_result(self, value: Value, seen: frozenset[Atom] = frozenset()) -> bool:
        """Return whether a function's return value may depend on a result of this loop's calls.

        A result that a call only left in ``rax`` does not count: a function without a return value
        leaves such a result there, too.

        Parameters
        ----------
        value : Value
            Content of ``rax`` when the function returns.
        seen : frozenset of Atom
            Atoms that were judged already; they are not judged again.
        """
        atom = value.atom
        if atom is None or atom in seen or atom.bits != 64:
            return atom not in seen and self.depends_on_results(value)
        seen |= {atom}
        if atom.kind == "left":
            return False
        if atom.kind == "choice":
            return any(self.returns_result(option, seen) for option in atom.key[3])
        run = self._runs.get(atom.key[0][1]) if _is_result_cell(atom) else None
        if run is None:
            return self.depends_on_results(value)
        states = [run.entry] + ([run.latch] if run.latch else [])
        return any(self.returns_result(_content(state, atom), seen) for state in states)


def _is_result_cell(atom: Atom) -> bool:
    return atom.kind == "cell" and atom.key[1:] == ("rax", 0) and atom.key[0][0] == "loop"


def _rises(linear: Linear) -> bool:
    """Return whether a recurrence starts at 0 or more and never falls.

    An unsigned value that falls below 0 would wrap.
    """
    increment = linear.increment.signed
    if increment is None or increment < 0:
        return increment == 0
    first = linear.first
    parts = [*first.terms.values(), first.const]
    return all(to_signed(part, first.bits) >= 0 for part in parts)


def _keeps_width(atom: Atom, bits: int, linear: Linear) -> bool:
    """Return whether an atom's recurrence also holds in a value of ``bits`` bits.

    The front end checks when the program runs that a 32-bit value does not wrap.
    """
    if atom.bits == bits or linear.increment.number == 0:
        return True
    return atom.bits == 32 and _rises(linear)


def _widen(value: Value, bits: int, *, signed: bool) -> Value:
    return sign_extend(value, bits) if signed else zero_extend(value, bits)


def _content(state: State, atom: Atom) -> Value:
    """Return what the location of a ``cell`` atom holds in a state."""
    _, space, offset = atom.key
    size = atom.bits // 8
    if space == "frame":
        return state.load(offset, size)
    if space in state.vector:
        return join_bytes(state.vector[space][offset : offset + size])
    return low(state.general[space], atom.bits)
