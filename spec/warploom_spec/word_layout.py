"""Words of 32 bits as data, and what is derived from them: pack, unpack, Amaranth layout."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final

from warploom_spec.errors import WarploomError

if TYPE_CHECKING:
    from amaranth.lib import data

WORD_BITS: Final = 32


@dataclass(frozen=True)
class WordField:
    """One field of one word, or a value of 64 bits in two whole words, the low one first.

    Attributes
    ----------
    name : str
        Name of the field.
    word, low : int
        Number of its word, and its lowest bit there.
    bits : int
        Width.
    meaning : str
        What it holds.
    names : type of IntEnum, optional
        What its numbers are called.
    """

    name: str
    word: int
    low: int
    bits: int
    meaning: str
    names: type[IntEnum] | None = None

    @property
    def high(self) -> int:
        """Highest bit in its word."""
        return self.low + self.bits - 1

    def pieces(self) -> Iterator["WordField"]:
        """Yield the field as fields of one word each: ``<name>_low`` and ``<name>_high`` if two."""
        if self.bits <= WORD_BITS:
            yield self
            return
        for word, half in enumerate(("low", "high"), self.word):
            meaning = f"{self.meaning}, {half} half"
            yield WordField(f"{self.name}_{half}", word, 0, WORD_BITS, meaning)


@dataclass(frozen=True)
class WordLayout:
    """Several words with fields, none of which crosses a word; bits without a name are 0.

    Attributes
    ----------
    name : str
        Name of the layout, as the C header and the pages use it.
    words : int
        Words that it takes.
    fields : tuple[WordField, ...]
        Its fields.

    Raises
    ------
    WarploomError
        If a field crosses a word, leaves the layout, or two fields share a name or a bit.
    """

    name: str
    words: int
    fields: tuple[WordField, ...]

    def __post_init__(self) -> None:
        """Refuse fields that do not fit, naming the field."""
        taken = [0] * self.words
        for field in self.fields:
            where = f"{self.name}.{field.name}"
            last = field.word + (field.bits - 1) // WORD_BITS
            whole = field.low == 0 and field.bits == 2 * WORD_BITS
            if not whole and not 0 <= field.low <= field.high < WORD_BITS:
                raise WarploomError(f"{where} has bits {field.high}:{field.low}; legal: 31 to 0")
            if not 0 <= field.word <= last < self.words:
                raise WarploomError(
                    f"{where} ends in word {last}; legal: words 0 to {self.words - 1}"
                )
            for piece in field.pieces():
                mask = ((1 << piece.bits) - 1) << piece.low
                if taken[piece.word] & mask:
                    raise WarploomError(f"{where} shares bits of word {piece.word} with another")
                taken[piece.word] |= mask
        for name, count in Counter(field.name for field in self.fields).items():
            if count > 1:
                raise WarploomError(f"{self.name}.{name} is there {count} times; legal: once")

    @cached_property
    def by_name(self) -> dict[str, WordField]:
        """Fields by their names."""
        return {field.name: field for field in self.fields}

    def in_word(self, word: int) -> tuple[WordField, ...]:
        """Return the fields of one word, the halves of a wide field apart; lowest bits first."""
        pieces = (piece for field in self.fields for piece in field.pieces())
        return tuple(sorted((p for p in pieces if p.word == word), key=lambda p: p.low))

    def pack(self, values: Mapping[str, int]) -> tuple[int, ...]:
        """Return the words; every field must be given and fit its width.

        Raises
        ------
        WarploomError
            If a field is missing, unknown or does not fit.
        """
        unknown = values.keys() - self.by_name.keys()
        if unknown:
            raise WarploomError(f"{self.name} has no field {', '.join(sorted(unknown))}")
        whole = 0
        for field in self.fields:
            if field.name not in values:
                raise WarploomError(f"{self.name}.{field.name} is missing")
            value = int(values[field.name])
            if not 0 <= value < 1 << field.bits:
                legal = f"0 to {(1 << field.bits) - 1}"
                raise WarploomError(f"{self.name}.{field.name} is {value}; legal: {legal}")
            whole |= value << (WORD_BITS * field.word + field.low)
        return tuple(whole >> WORD_BITS * k & 0xFFFFFFFF for k in range(self.words))

    def unpack(self, words: Sequence[int]) -> dict[str, int]:
        """Return the fields of so many words; bits without a name are not looked at."""
        whole = sum(word << WORD_BITS * k for k, word in enumerate(words))
        return {
            field.name: whole >> (WORD_BITS * field.word + field.low) & ((1 << field.bits) - 1)
            for field in self.fields
        }

    def layout(self) -> "data.FlexibleLayout":
        """Return the Amaranth layout with the same fields at the same bits."""
        from amaranth.lib import data

        return data.FlexibleLayout(
            WORD_BITS * self.words,
            {
                field.name: data.Field(field.bits, WORD_BITS * field.word + field.low)
                for field in self.fields
            },
        )
