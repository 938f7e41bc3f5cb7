"""Symbolic values in words."""

from typing import Any

from warploom_loops.registers import ARGUMENTS
from warploom_loops.values import Atom, Value, to_signed

#: The longest expression that is shown, in characters.
_LONGEST = 120


def words(value: Value) -> str:
    """Return a value as a sum: ``3*arg2 + 5``."""
    parts = []
    for atom, factor in value.terms.items():
        signed = to_signed(factor, value.bits)
        name = _name(atom)
        parts.append(name if signed == 1 else f"-{name}" if signed == -1 else f"{signed}*{name}")
    constant = to_signed(value.const, value.bits) if value.bits else 0
    if constant or not parts:
        parts.append(str(constant))
    text = " + ".join(sorted(parts, key=_is_number)).replace("+ -", "- ")
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _is_number(text: str) -> bool:
    return text.lstrip("-").isdigit()


def _name(atom: Atom) -> str:
    kind, key = atom.kind, atom.key
    if kind == "cell":
        return _cell(key, atom.bits)
    if kind in ("zero_extended", "sign_extended"):
        return f"({words(key[0])})"
    if kind == "product":
        return f"({words(key[0])})*({words(key[1])})"
    if kind == "unknown":
        site, what = key[:2]
        return what if what.endswith("()") else f"{what}@{site[-1]:#x}"
    if kind in ("result", "error"):
        return f"{kind}@{key[0][-1]:#x}"
    if kind in ("frame", "image"):
        return kind
    if kind == "operation":
        return f"{key[0]}({', '.join(_part(part) for part in key[1:])})"
    if kind == "part":
        return f"bits({words(key[0])}, {key[1]})"
    return kind


def _part(part: Any) -> str:
    return words(part) if isinstance(part, Value) else str(part)


def _cell(key: tuple[Any, ...], bits: int) -> str:
    origin, space, offset = key
    if origin[0] == "entry":
        if space in ARGUMENTS:
            return f"arg{ARGUMENTS.index(space) + 1}"
        if space.startswith("xmm") and offset == 0:
            return f"float_arg{int(space[3:]) + 1}"
        if space == "frame" and offset >= 8:
            return f"arg{len(ARGUMENTS) + offset // 8}"
    place = f"stack[{offset}]" if space == "frame" else space
    return place if origin[0] == "entry" else f"{place}:{bits // 8}@{origin[0]}"
