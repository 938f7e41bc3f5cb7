"""What the registers and the stack frame hold at one point of a program, symbolically."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from warploom_golden.deferral.registers import GENERAL, VECTOR
from warploom_golden.deferral.values import FRAME, Atom, Value, extract, join_parts, of

#: A byte: of which value, and which one of its bytes.
Byte = tuple[Value, int]
#: Where a location's content comes from: the function's entry, a loop's header, a call.
Origin = tuple[Any, ...]
ENTRY: Final[Origin] = ("entry",)


def cell(origin: Origin, space: str, offset: int, size: int) -> Value:
    """Return what ``size`` bytes of a location held where ``origin`` says."""
    return of(Atom("cell", 8 * size, (origin, space, offset)))


@dataclass(frozen=True, slots=True)
class Flags:
    """The operands or the result that the processor's flags come from.

    Attributes
    ----------
    kind : {'difference', 'result', 'sum', 'float', 'unknown'}
        Of a - b; of a logic result (no carry, no overflow); of a sum or shift (only zero and sign
        are known); of a comparison of floats; of anything else that comes from a and b.
    a, b : Value
        The operands; of a result, it and 0.
    """

    kind: str
    a: Value
    b: Value


@dataclass
class State:
    """Registers, frame and flags.

    Attributes
    ----------
    general : dict of str to Value
        The 64-bit registers.
    vector : dict of str to list of Byte
        The sixteen bytes of each vector register.
    frame : dict of int to (Byte or Origin)
        The stack, by the distance from the stack pointer at the function's entry.
    rest : Origin
        Where bytes of the frame come from that ``frame`` does not hold.
    flags : Flags or None
        None if unknown.
    trace : tuple or None
        CUDA calls made in this iteration; None once paths that differ in them have met.
    escaped : frozenset of int
        Places of the frame whose address went to code that is not known.
    pending : tuple
        The launch configuration that was pushed and not yet popped; empty if none.
    passed : frozenset of tuple of int
        Branches that every path of this iteration came to.
    """

    general: dict[str, Value]
    vector: dict[str, list[Byte]]
    frame: dict[int, Byte | Origin] = field(default_factory=dict)
    rest: Origin = ENTRY
    flags: Flags | None = None
    trace: tuple[Any, ...] | None = ()
    escaped: frozenset[int] = frozenset()
    pending: tuple[Value, ...] = ()
    passed: frozenset[tuple[int, ...]] = frozenset()

    def copy(self) -> "State":
        """Return a state that changes by itself."""
        return State(
            dict(self.general),
            {name: list(data) for name, data in self.vector.items()},
            dict(self.frame),
            self.rest,
            self.flags,
            self.trace,
            self.escaped,
            self.pending,
            self.passed,
        )

    def load(self, offset: int, size: int) -> Value:
        """Return bytes of the frame as one value."""
        return join_bytes(self.load_bytes(offset, size))

    def load_bytes(self, offset: int, size: int) -> list[Byte]:
        """Return bytes of the frame; neighbours that were never written come as one value."""
        found: list[Byte] = []
        place = offset
        while place < offset + size:
            data = self.frame.get(place, self.rest)
            if not is_origin(data):
                found.append(data)
                place += 1
                continue
            count = 1
            while (
                place + count < offset + size
                and count < 8
                and self.frame.get(place + count, self.rest) == data
            ):
                count += 1
            count = 1 << (count.bit_length() - 1)
            value = cell(data, "frame", place, count)
            found += [(value, index) for index in range(count)]
            place += count
        return found

    def store(self, offset: int, value: Value) -> None:
        """Write a value to the frame."""
        self.store_bytes(offset, bytes_of(value))

    def store_bytes(self, offset: int, data: Sequence[Byte]) -> None:
        """Write bytes to the frame."""
        for index, byte in enumerate(data):
            self.frame[offset + index] = byte

    def forget_frame(self, origin: Origin) -> None:
        """Take it that every byte of the frame may have been written."""
        self.frame.clear()
        self.rest = origin

    def drop_below(self, offset: int) -> None:
        """Forget what lies beyond the top of the stack."""
        for place in [p for p in self.frame if p < offset]:
            del self.frame[place]


def is_origin(data: Byte | Origin) -> bool:
    """Return whether a byte of the frame is as it was where its origin says."""
    return not (data and isinstance(data[0], Value))


def entry_state() -> State:
    """Return the state at a function's entry."""
    general = {name: cell(ENTRY, name, 0, 8) for name in GENERAL}
    general["rsp"] = of(FRAME)
    vector = {name: cell_bytes(ENTRY, name) for name in VECTOR}
    return State(general, vector)


def cell_bytes(origin: Origin, register: str) -> list[Byte]:
    """Return a vector register's bytes where ``origin`` says."""
    halves = [cell(origin, register, offset, 8) for offset in (0, 8)]
    return [(half, index) for half in halves for index in range(8)]


def bytes_of(value: Value) -> list[Byte]:
    """Return a value's bytes, the lowest first."""
    return [(value, index) for index in range(value.bits // 8)]


def join_bytes(data: Sequence[Byte]) -> Value:
    """Return bytes, the lowest first, as one value."""
    parts: list[Value] = []
    place = 0
    while place < len(data):
        value, first = data[place]
        count = 1
        while place + count < len(data) and data[place + count] == (value, first + count):
            count += 1
        parts.append(extract(value, 8 * first, 8 * count))
        place += count
    return join_parts(parts)


def meet(states: Sequence[State], place: Any) -> State:
    """Return what holds at a place that several paths reach.

    Where they differ, the value is an atom that names the place and all that it may be.
    """
    first = states[0]
    if len(states) == 1:
        return first.copy()
    met = first.copy()
    for name in GENERAL:
        values = [state.general[name] for state in states]
        if any(value != values[0] for value in values):
            met.general[name] = _choice(place, name, 0, values)
    for name in VECTOR:
        for half in (0, 8):
            parts = [state.vector[name][half : half + 8] for state in states]
            if any(part != parts[0] for part in parts):
                choice = _choice(place, name, half, [join_bytes(part) for part in parts])
                met.vector[name][half : half + 8] = bytes_of(choice)
    _meet_frames(met, states, place)
    met.flags = first.flags if all(s.flags == first.flags for s in states) else None
    met.trace = first.trace if all(s.trace == first.trace for s in states) else None
    met.escaped = frozenset().union(*(s.escaped for s in states))
    met.passed = first.passed.intersection(*(s.passed for s in states))
    met.pending = first.pending if all(s.pending == first.pending for s in states) else ()
    return met


def _choice(place: Any, space: str, offset: int, values: Iterable[Value]) -> Value:
    options = tuple(values)
    return of(Atom("choice", options[0].bits, (place, space, offset, options)))


def _meet_frames(met: State, states: Sequence[State], place: Any) -> None:
    first = states[0]
    if any(s.rest != first.rest for s in states):
        met.forget_frame(("met", place))
        return
    known = sorted(set().union(*(s.frame for s in states)))
    differing = {
        p
        for p in known
        if any(s.frame.get(p, s.rest) != first.frame.get(p, first.rest) for s in states)
    }
    for offset in sorted(differing):
        if offset not in differing:
            continue
        size = next(n for n in (8, 4, 2, 1) if _is_one_cell(states, offset, n, differing))
        choice = _choice(place, "frame", offset, [s.load(offset, size) for s in states])
        met.store(offset, choice)
        differing -= set(range(offset, offset + size))


def _is_one_cell(states: Sequence[State], offset: int, size: int, differing: set[int]) -> bool:
    """Return whether bytes that differ hold one value on every path."""
    if size == 1:
        return True
    if offset % size or not all(place in differing for place in range(offset, offset + size)):
        return False
    for state in states:
        value = state.load(offset, size)
        if any(atom.kind == "joined" for atom in value.terms):
            return False
    return True
