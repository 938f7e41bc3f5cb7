"""Symbolic values: a sum of atoms with integer coefficients, modulo a power of two.

An atom is a quantity that the analysis does not look into: a register at a function's entry, a
location at a loop's header, a call's result, a product. Equal atoms have equal values.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final


class Atom:
    """A named unknown of some bits.

    Attributes
    ----------
    kind : str
        The atom's kind, such as ``cell``, ``result`` or ``product``.
    bits : int
        The atom's width: its value is at least 0 and below 2^bits.
    key : tuple
        Distinguishes the atom from others of its kind; may hold values.
    """

    __slots__ = ("_hash", "bits", "key", "kind")

    def __init__(self, kind: str, bits: int, key: tuple[Any, ...] = ()):
        self.kind, self.bits, self.key = kind, bits, key
        self._hash = hash((kind, bits, key))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Atom) or self._hash != other._hash:
            return False
        return (self.kind, self.bits, self.key) == (other.kind, other.bits, other.key)

    def __repr__(self) -> str:
        return f"{self.kind}{self.bits}{self.key}"


class Value:
    """A constant plus atoms times coefficients, modulo 2^bits.

    Attributes
    ----------
    bits : int
        Width. No atom is wider.
    terms : mapping of Atom to int
        Coefficients, none of them 0.
    const : int
        The constant, from 0 to 2^bits - 1.
    """

    __slots__ = ("_hash", "bits", "const", "terms")

    def __init__(self, bits: int, const: int = 0, terms: Mapping[Atom, int] | None = None):
        mask = (1 << bits) - 1
        self.bits = bits
        self.const = const & mask
        self.terms = {a: c & mask for a, c in terms.items() if c & mask} if terms else {}
        self._hash = hash((bits, self.const, frozenset(self.terms.items())))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Value) or self._hash != other._hash:
            return False
        return (self.bits, self.const, self.terms) == (other.bits, other.const, other.terms)

    def __repr__(self) -> str:
        return " + ".join([f"{c}*{a}" for a, c in self.terms.items()] + [str(self.const)])

    def __add__(self, other: "Value") -> "Value":
        terms = dict(self.terms)
        for atom, factor in other.terms.items():
            terms[atom] = terms.get(atom, 0) + factor
        return Value(self.bits, self.const + other.const, terms)

    def __sub__(self, other: "Value") -> "Value":
        return self + other.times(-1)

    def times(self, factor: int) -> "Value":
        """Return the value times an integer."""
        return Value(self.bits, self.const * factor, {a: c * factor for a, c in self.terms.items()})

    @property
    def number(self) -> int | None:
        """The value as an unsigned number; None if the value is no constant."""
        return None if self.terms else self.const

    @property
    def signed(self) -> int | None:
        """The value as a signed number; None if the value is no constant."""
        return None if self.terms else to_signed(self.const, self.bits)

    @property
    def atom(self) -> Atom | None:
        """The atom, if the value is one atom with nothing added; else None."""
        if self.const or len(self.terms) != 1:
            return None
        ((atom, factor),) = self.terms.items()
        return atom if factor == 1 else None


def to_signed(number: int, bits: int) -> int:
    """Return a number's value in two's complement."""
    return number - (1 << bits) if number >> (bits - 1) & 1 else number


def of(atom: Atom) -> Value:
    """Return the value of one atom: the atom times 1."""
    return Value(atom.bits, 0, {atom: 1})


def operation(name: str, bits: int, *arguments: Any) -> Value:
    """Return a pure function's result as an atom: equal arguments give equal results."""
    return of(Atom("operation", bits, (name, *arguments)))


def low(value: Value, bits: int) -> Value:
    """Return the low bits of a value."""
    if bits >= value.bits:
        return value
    result = Value(bits, value.const)
    for atom, factor in value.terms.items():
        if factor & ((1 << bits) - 1):
            result += low_of_atom(atom, bits).times(factor)
    return result


def low_of_atom(atom: Atom, bits: int) -> Value:
    """Return the low bits of an atom, as a value of that width."""
    if atom.bits <= bits:
        return Value(bits, 0, {atom: 1})
    if atom.kind == "cell":
        return of(Atom("cell", bits, atom.key))
    if atom.kind in ("zero_extended", "sign_extended"):
        (inner,) = atom.key
        if bits <= inner.bits:
            return low(inner, bits)
        return zero_extend(inner, bits) if atom.kind[0] == "z" else sign_extend(inner, bits)
    if atom.kind == "product":
        return multiply(low(atom.key[0], bits), low(atom.key[1], bits))
    if atom.kind == "joined":
        return join_parts(cut(atom.key, 0, bits))
    return of(Atom("part", bits, (of(atom), 0)))


def zero_extend(value: Value, bits: int) -> Value:
    """Return a value in more bits, the new ones 0."""
    if bits <= value.bits or not value.terms:
        return Value(bits, value.const) if not value.terms else value
    atom = value.atom
    if atom is not None:
        return Value(bits, 0, {atom: 1})
    return of(Atom("zero_extended", bits, (value,)))


def sign_extend(value: Value, bits: int) -> Value:
    """Return a value in more bits, the new ones its sign."""
    if not value.terms:
        return Value(bits, to_signed(value.const, value.bits))
    atom = value.atom
    if atom is not None and atom.bits < value.bits:
        return Value(bits, 0, {atom: 1})
    return of(Atom("sign_extended", bits, (value,)))


def multiply(a: Value, b: Value) -> Value:
    """Return a product; of two unknowns it is an atom."""
    for factor, other in ((a, b), (b, a)):
        if factor.number is not None:
            return other.times(factor.number)
    first, second = sorted((a, b), key=hash)
    return of(Atom("product", a.bits, (first, second)))


def extract(value: Value, shift: int, bits: int) -> Value:
    """Return some of a value's bits, from bit ``shift`` on."""
    if shift == 0:
        return low(value, bits)
    if not value.terms:
        return Value(bits, value.const >> shift)
    if shift + bits < value.bits:
        return extract(low(value, shift + bits), shift, bits)
    atom = value.atom
    if atom is not None and atom.bits <= shift:
        return Value(bits)
    if atom is not None and atom.kind == "zero_extended" and atom.key[0].bits <= shift:
        return Value(bits)
    if atom is not None and atom.kind == "joined":
        return join_parts(cut(atom.key, shift, bits))
    if atom is not None and atom.kind == "part":
        inner, before = atom.key
        return extract(inner, before + shift, bits)
    split = _split(value, shift)
    if split is not None:
        return low(split, bits)
    return of(Atom("part", bits, (value, shift)))


def _split(value: Value, shift: int) -> Value | None:
    """Return the high part of a sum whose low part cannot carry into it; None if it might."""
    below = (1 << shift) - 1
    narrow = [a for a, c in value.terms.items() if c & below]
    if len(narrow) > 1 or (narrow and value.const & below):
        return None
    for atom in narrow:
        width = atom.key[0].bits if atom.kind == "zero_extended" else atom.bits
        if value.terms[atom] != 1 or width > shift:
            return None
    high = value.bits - shift
    result = Value(high, value.const >> shift)
    for atom, factor in value.terms.items():
        if atom not in narrow:
            result += low_of_atom(atom, high).times(factor >> shift)
    return result


def cut(parts: Iterable[Value], shift: int, bits: int) -> list[Value]:
    """Return the parts, low ones first, that hold some of the bits of all."""
    found = []
    for part in parts:
        begin, end = max(shift, 0), min(shift + bits, part.bits)
        if begin < end:
            found.append(extract(part, begin, end - begin))
        shift -= part.bits
    return found


def join_parts(parts: Iterable[Value]) -> Value:
    """Return the value whose parts stand one above the other, the lowest first."""
    merged: list[Value] = []
    for part in parts:
        whole = _merge(merged[-1], part) if merged else None
        if whole is None:
            merged.append(part)
        else:
            merged[-1] = whole
    if len(merged) == 1:
        return merged[0]
    bits = sum(part.bits for part in merged)
    if all(part.number == 0 for part in merged[1:]):
        return zero_extend(merged[0], bits)
    return of(Atom("joined", bits, tuple(merged)))


def _merge(lower: Value, upper: Value) -> Value | None:
    """Return two neighbours as one value where they are constants or parts of one; else None."""
    bits = lower.bits + upper.bits
    if lower.number is not None and upper.number is not None:
        return Value(bits, lower.number | upper.number << lower.bits)
    above = upper.atom
    if above is not None and above.kind == "part":
        inner, shift = above.key
        if shift >= lower.bits and extract(inner, shift - lower.bits, lower.bits) == lower:
            return extract(inner, shift - lower.bits, bits)
    return None


def atoms_within(values: Iterable[Any]) -> Iterator[Atom]:
    """Walk through all atoms of values, those inside other atoms included."""
    seen: set[Atom] = set()
    waiting = [*values]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Value):
            waiting.extend(item.terms)
        elif isinstance(item, tuple):
            waiting.extend(item)
        elif isinstance(item, Atom) and item not in seen:
            seen.add(item)
            yield item
            waiting.extend(item.key)


#: The function's stack pointer at its entry; the image's load address.
FRAME: Final = Atom("frame", 64)
IMAGE: Final = Atom("image", 64)


def offset_from(value: Value, base: Atom) -> int | None:
    """Return the signed distance of an address from a base; None if it is no such address."""
    if len(value.terms) == 1 and value.terms.get(base) == 1:
        return to_signed(value.const, value.bits)
    return None
