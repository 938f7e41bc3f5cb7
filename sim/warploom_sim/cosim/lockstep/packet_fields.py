"""A packet's value taken apart by its fields, for those who read a failure's report."""

from __future__ import annotations

from typing import NamedTuple

from amaranth.lib import data


class PacketField(NamedTuple):
    """One field: its name (``offer.slot``, ``parts[2]``), lowest bit and width."""

    name: str
    low: int
    width: int


def fields_of(value: object) -> tuple[PacketField, ...]:
    """Return the fields of a port that is a packet; none if it is a plain number."""
    if not isinstance(value, data.View):
        return ()
    return tuple(_fields(value.shape(), "", 0))


def _fields(layout: data.Layout, path: str, low: int) -> list[PacketField]:
    found = []
    for key, field in layout:
        name = f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}" if path else str(key)
        if isinstance(field.shape, data.Layout):
            found += _fields(field.shape, name, low + field.offset)
        elif field.width:
            found.append(PacketField(name, low + field.offset, field.width))
    return found


def differing(fields: tuple[PacketField, ...], got: int, want: int) -> list[tuple[str, str, str]]:
    """Return name, value and wanted value of each field that differs, decimal and hexadecimal."""
    if got < 0 or want < 0:
        return []
    return [
        (field.name, _number(a), _number(b))
        for field in fields
        for a, b in [tuple(v >> field.low & (1 << field.width) - 1 for v in (got, want))]
        if a != b
    ]


def _number(value: int) -> str:
    return str(value) if value < 10 else f"{value} ({value:#x})"
