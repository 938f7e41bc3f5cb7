"""A packet as data, and what is derived from it: Amaranth layout, pack, unpack, NumPy dtype."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING

from warploom_spec.errors import WarploomError

if TYPE_CHECKING:
    import numpy as np

    from warploom_spec.host_registers import AddressedWord
    from warploom_spec.packet_layout import PacketLayout


@dataclass(frozen=True)
class Field:
    """One field of a packet.

    Attributes
    ----------
    name : str
        Name of the field.
    bits : int
        Width.
    meaning : str
        What it holds.
    names : type of IntEnum, optional
        What its numbers are called: SystemVerilog gets an enum, a failed comparison the names.
    word : AddressedWord, optional
        Of a field that shows a host's word: where the word's address stands.
    """

    name: str
    bits: int
    meaning: str
    names: type[IntEnum] | None = None
    word: "AddressedWord | None" = None


@dataclass(frozen=True)
class Packet:
    """A flat packet; the first field stands in the lowest bits.

    Attributes
    ----------
    name : str
        Name of the packet, as the C header and the docs use it.
    fields : tuple[Field, ...]
        Fields from the lowest bit up. A field of width 0 is left out everywhere.
    """

    name: str
    fields: tuple[Field, ...]

    @cached_property
    def present(self) -> tuple[Field, ...]:
        """Fields with at least one bit."""
        return tuple(f for f in self.fields if f.bits)

    @cached_property
    def bits(self) -> int:
        """Width of the whole packet."""
        return sum(f.bits for f in self.fields)

    @cached_property
    def offsets(self) -> dict[str, int]:
        """Lowest bit of each field."""
        place, result = 0, {}
        for f in self.present:
            result[f.name] = place
            place += f.bits
        return result

    @cached_property
    def _places(self) -> tuple[tuple[str, int, int], ...]:
        """Name, lowest bit and mask of each field; of a field of width 0 both numbers are 0."""
        return tuple((f.name, self.offsets.get(f.name, 0), (1 << f.bits) - 1) for f in self.fields)

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(f.name for f in self.fields)

    def layout(self) -> "PacketLayout":
        """Return the Amaranth layout with the same fields at the same bits."""
        from warploom_spec.packet_layout import PacketLayout  # drivers need no Amaranth

        return PacketLayout(self)

    def pack(self, values: Mapping[str, int]) -> int:
        """Return the packet's word; every field must be given and fit its width.

        Raises
        ------
        WarploomError
            If a field is missing, unknown or does not fit.
        """
        word = 0
        for name, offset, mask in self._places:
            if not mask:
                continue
            if name not in values:
                raise WarploomError(f"{self.name}.{name} is missing")
            value = int(values[name])
            if not 0 <= value <= mask:
                raise WarploomError(f"{self.name}.{name} is {value}; legal: 0 to {mask}")
            word |= value << offset
        unknown = values.keys() - self._names
        if unknown:
            raise WarploomError(f"{self.name} has no field {', '.join(sorted(unknown))}")
        return word

    def unpack(self, word: int) -> dict[str, int]:
        """Return the fields of a packet's word (0 for a field of width 0)."""
        return {name: word >> offset & mask for name, offset, mask in self._places}

    def dtype(self) -> "np.dtype[np.void]":
        """Return the NumPy record: the smallest unsigned type for a field, uint64 words above."""
        import numpy as np  # a command's help needs the packets, but no NumPy

        return np.dtype([(f.name, *_numpy_field(f.bits)) for f in self.present])


def _numpy_field(bits: int) -> tuple[type, ...] | tuple[type, tuple[int]]:
    import numpy as np

    for width, kind in ((8, np.uint8), (16, np.uint16), (32, np.uint32), (64, np.uint64)):
        if bits <= width:
            return (kind,)
    return np.uint64, (-(-bits // 64),)
