"""Conditions that branches test: each one is a value of 8 bits that is 0 or 1."""

from typing import Final

from warploom_loops.machine_state import Flags
from warploom_loops.values import Atom, Value, of, operation, to_signed

#: By an instruction's suffix: the comparison of a with b, and whether a and b are swapped.
_COMPARISONS: Final = {
    "e": ("eq", False),
    "ne": ("ne", False),
    "l": ("slt", False),
    "ge": ("sle", True),
    "le": ("sle", False),
    "g": ("slt", True),
    "b": ("ult", False),
    "ae": ("ule", True),
    "be": ("ule", False),
    "a": ("ult", True),
}
#: By comparison: the opposite comparison, and whether a and b are swapped.
_OPPOSITES: Final = {
    "eq": ("ne", False),
    "ne": ("eq", False),
    "slt": ("sle", True),
    "sle": ("slt", True),
    "ult": ("ule", True),
    "ule": ("ult", True),
}


def compare(kind: str, a: Value, b: Value) -> Value:
    """Return the condition ``a kind b``; a constant where the answer is known."""
    if kind in ("eq", "ne"):
        difference = (a - b).number
        if difference is not None:
            return Value(8, int((difference == 0) == (kind == "eq")))
        inner = _tested(a, b)
        if inner is not None:
            return inner if kind == "ne" else opposite(inner)
    elif a == b:
        return Value(8, int(kind in ("sle", "ule")))
    elif a.number is not None and b.number is not None:
        x, y = a.number, b.number
        if kind[0] == "s":
            x, y = to_signed(x, a.bits), to_signed(y, b.bits)
        return Value(8, int(x < y if kind[1:] == "lt" else x <= y))
    return of(Atom("condition", 8, (kind, a, b)))


def _tested(a: Value, b: Value) -> Value | None:
    """Return ``a`` if it is a condition that is compared with 0; else None."""
    if b.number == 0 and a.atom is not None and a.atom.kind == "condition":
        return Value(8, 0, {a.atom: 1})
    return None


def opposite(condition: Value) -> Value:
    """Return the condition that holds whenever the given one does not."""
    if condition.number is not None:
        return Value(8, 1 - condition.number)
    atom = condition.atom
    if atom is None or atom.kind != "condition":
        return operation("not", 8, condition)
    kind, a, b = atom.key
    other, swapped = _OPPOSITES[kind]
    return compare(other, b, a) if swapped else compare(other, a, b)


def of_flags(suffix: str, flags: Flags | None) -> Value | None:
    """Return the condition that an instruction's suffix tests; None if the flags do not tell."""
    aliases = {"z": "e", "nz": "ne", "c": "b", "nc": "ae", "nae": "b", "nb": "ae"}
    suffix = aliases.get(suffix, suffix)
    if flags is None or flags.kind == "unknown":
        return None
    if flags.kind == "float":
        return operation("float " + suffix, 8, flags.a, flags.b)
    result = flags.a - flags.b
    if suffix in ("s", "ns"):
        sign = compare("slt", result, Value(result.bits))
        return sign if suffix == "s" else opposite(sign)
    if suffix not in _COMPARISONS or (flags.kind == "sum" and suffix not in ("e", "ne")):
        return None
    kind, swapped = _COMPARISONS[suffix]
    a, b = (flags.b, flags.a) if swapped else (flags.a, flags.b)
    return compare(kind, a, b)
