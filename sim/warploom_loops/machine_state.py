"""The symbolic content of the registers and the stack frame at one point of a program."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from warploom_loops.registers import GENERAL, VECTOR
from warploom_loops.values import FRAME, Atom, Value, extract, join_parts, of

#: One byte: the value that it is part of, and its number in that value. The lowest byte is 0.
Byte = tuple[Value, int]
#: The point at which a location got its content: the function's entry, a loop's header, an
#: instruction that may have written it, or a point where paths meet.
Origin = tuple[Any, ...]
ENTRY: Final[Origin] = ("entry",)


def cell(origin: Origin, space: str, offset: int, size: int) -> Value:
    """Return the content that ``size`` bytes of a location got at the point ``origin``."""
    return of(Atom("cell", 8 * size, (origin, space, offset)))


@dataclass(frozen=True, slots=True)
class Flags:
    """The operands or the result that set the processor's flags.

    Attributes
    ----------
    kind : {'difference', 'result', 'sum', 'float', 'unknown'}
        The operation that set the flags. ``difference`` is a - b. ``result`` is a logic result,
        which clears carry and overflow. ``sum`` is a sum or shift, of which only zero and sign are
        known. ``float`` is a comparison of floats. ``unknown`` is any other operation.
    a, b : Value
        The operands of ``difference`` and ``float``; for the other kinds, the result and 0.
    """

    kind: str
    a: Value
    b: Value


@dataclass
class State:
    """Registers, stack frame and flags at one point of a program.

    Attributes
    ----------
    general : dict of str to Value
        Content of the 64-bit registers, by name.
    vector : dict of str to list of Byte
        The sixteen bytes of each vector register, the lowest first.
    frame : dict of int to (Byte or Origin)
        Bytes of the stack, by their distance from the stack pointer at the function's entry. An
        origin stands for a byte that was not written after that point.
    rest : Origin
        Origin of the bytes of the stack that ``frame`` does not hold.
    flags : Flags or None
        The processor's flags; None if they are unknown.
    trace : tuple or None
        CUDA calls of this iteration so far. None after paths with different calls have met.
    escaped : frozenset of int
        Places of the stack whose addresses other code knows, by the same distance.
    pending : tuple
        The launch configuration that was pushed and not yet popped: grid x, y, z, block x, y, z,
        shared memory, stream. Empty if none was pushed.
    passed : frozenset of tuple of int
        Sites of the branches that lie on every path of this iteration so far.
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
        """Return a copy that later changes of this state do not reach."""
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
        """Return bytes of the frame.

        Neighbouring bytes of the same origin, at most eight, come as parts of one value.
        """
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
        """Treat every byte of the frame as unknown, and as written at the point ``origin``."""
        self.frame.clear()
        self.rest = origin

    def drop_below(self, offset: int) -> None:
        """Forget the bytes below ``offset``: they lie beyond the top of the stack."""
        for place in [p for p in self.frame if p < offset]:
            del self.frame[place]


def is_origin(data: Byte | Origin) -> bool:
    """Return whether an entry of the frame is an origin, not a byte of a known value."""
    return not (data and isinstance(data[0], Value))


def entry_state() -> State:
    """Return the state at a function's entry."""
    general = {name: cell(ENTRY, name, 0, 8) for name in GENERAL}
    general["rsp"] = of(FRAME)
    vector = {name: cell_bytes(ENTRY, name) for name in VECTOR}
    return State(general, vector)


def cell_bytes(origin: Origin, register: str) -> list[Byte]:
    """Return the bytes that a vector register got at the point ``origin``."""
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
    """Return the state at a point of the program that several paths reach.

    A location whose values differ gets an atom of kind ``choice``. This atom names the point and
    all possible values.
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
    """Return whether ``size`` bytes at ``offset`` differ and hold one value on every path."""
    if size == 1:
        return True
    if offset % size or not all(place in differing for place in range(offset, offset + size)):
        return False
    for state in states:
        value = state.load(offset, size)
        if any(atom.kind == "joined" for atom in value.terms):
            return False
    return True
