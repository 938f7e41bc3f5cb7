"""A packet's value taken apart by its fields, for those who read a failure's report.

The names of codes, and of the host's words that a field shows, are data of the packet's fields
(``warploom_spec.packet.Field``): nothing here knows a block.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from amaranth.lib import data

from warploom_spec.host_map import Word
from warploom_spec.host_registers import AddressedWord
from warploom_spec.packet_layout import PacketLayout


class PacketField(NamedTuple):
    """One field of a port's packet.

    Attributes
    ----------
    name : str
        Its name: ``offer.slot``, ``parts[2]``.
    low, width : int
        Its lowest bit and its width.
    names : type of IntEnum or None
        What its numbers are called.
    word : AddressedWord or None
        Of a field that shows a host's word: where the word's address stands.
    """

    name: str
    low: int
    width: int
    names: type[IntEnum] | None = None
    word: AddressedWord | None = None

    def of(self, value: int) -> int:
        """Return the field's number in a packet's value."""
        return value >> self.low & (1 << self.width) - 1


#: The fields of a port, from the lowest bit up; none of a plain number.
Fields = tuple[PacketField, ...]


def fields_of(value: object) -> Fields:
    """Return the fields of a port that is a packet; none if it is a plain number."""
    if not isinstance(value, data.View):
        return ()
    return tuple(_fields(value.shape(), "", 0))


def _fields(layout: data.Layout, path: str, low: int) -> Iterator[PacketField]:
    packet = layout.packet if isinstance(layout, PacketLayout) else None
    said = {field.name: field for field in packet.fields} if packet else {}
    for key, field in layout:
        name = f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}" if path else str(key)
        if isinstance(field.shape, data.Layout):
            yield from _fields(field.shape, name, low + field.offset)
        elif field.width:
            own = said.get(str(key))
            names, word = (own.names, own.word) if own else (None, None)
            yield PacketField(name, low + field.offset, field.width, names, word)


def differing(
    fields: Fields, got: int, want: int, address: int | None = None
) -> list[tuple[str, str, str]]:
    """Return name, value and wanted value of each field that differs.

    Numbers are decimal and hexadecimal, or decimal with their name. Of a field that shows a host's
    word the word's fields are named, as ``ERROR.code``.

    Parameters
    ----------
    fields : tuple of PacketField
        Of the port.
    got, want : int
        The packet as the component and as the model has it; below 0: not resolved.
    address : int or None
        What the word that a field shows is addressed by, if another port says it.
    """
    if got < 0 or want < 0:
        return []
    return [
        line
        for field in fields
        if field.of(got) != field.of(want)
        for line in _differing(
            field, field.of(got), field.of(want), _word(field, fields, want, address)
        )
    ]


def _differing(
    field: PacketField, got: int, want: int, word: Word | None
) -> Iterator[tuple[str, str, str]]:
    if word is None:
        yield field.name, _number(got, field.names), _number(want, field.names)
        return
    for part in _parts(word):
        a, b = part.of(got), part.of(want)
        if a != b:
            yield part.name, _number(a, part.names), _number(b, part.names)
    named = sum(((1 << part.width) - 1) << part.low for part in _parts(word))
    if (got ^ want) & ~named:
        yield f"{word.name}, bits without a name", _number(got & ~named), _number(want & ~named)


def shown(fields: Fields, value: int, address: int | None = None) -> str:
    """Return a packet's value for one cycle of the history; fields that are 0 are left out."""
    parts = []
    for field in fields:
        number = field.of(value)
        word = _word(field, fields, value, address)
        if word is not None:
            parts += [_short(part, part.of(number)) for part in _parts(word) if part.of(number)]
        elif number:
            parts.append(_short(field, number))
    return f"{{{', '.join(parts)}}}"


def _short(field: PacketField, number: int) -> str:
    return f"{field.name}: {_number(number, field.names) if field.names else hex(number)}"


def _word(field: PacketField, fields: Fields, value: int, address: int | None) -> Word | None:
    """Return the host's word that a field shows."""
    if field.word is None:
        return None
    if not field.word.port:
        own = {one.name: one for one in fields}
        address = own[field.word.field].of(value)
    return None if address is None else field.word.find(address)


def _parts(word: Word) -> list[PacketField]:
    """Return a word's fields by their names: ``ERROR.code``; ``RESULT0`` is one number."""
    whole = len(word.fields) == 1 and word.fields[0].name == "value"
    return [
        PacketField(word.name if whole else f"{word.name}.{f.name}", f.low, f.bits, f.names)
        for f in word.fields
    ]


def _number(value: int, names: type[IntEnum] | None = None) -> str:
    if names is not None:
        known = value in names.__members__.values()
        return f"{value} {names(value).name if known else 'unknown'}"
    return str(value) if value < 10 else f"{value} ({value:#x})"
