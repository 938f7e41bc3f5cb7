"""Amounts of all resources of an SM, side by side in one word."""

from amaranth.hdl import C, Cat, Value
from amaranth.lib import data

from warploom_spec import Config
from warploom_spec.resources import SM_RESOURCES


class Amounts:
    """Word of amounts: block slots, warps, registers, shared memory, barriers.

    A sum or difference is taken modulo 2^width of each field. So a book that only grows is right,
    as what is free never exceeds what an SM has.

    Parameters
    ----------
    config : Config
        The SM's resources.
    """

    def __init__(self, config: Config) -> None:
        sizes = {r.name: r.capacity(config) for r in SM_RESOURCES}
        self.layout = data.StructLayout({name: size.bit_length() for name, size in sizes.items()})
        self.names = tuple(sizes)
        self.bits = self.layout.size
        #: What an empty SM has.
        self.all = Cat(*(C(size, size.bit_length()) for size in sizes.values()))
        self._sizes = sizes

    @property
    def all_number(self) -> int:
        """What an empty SM has, as a number."""
        return sum(size << self.layout[name].offset for name, size in self._sizes.items())

    def fields(self, word: Value) -> list[Value]:
        """Return the word's fields."""
        return [
            word[field.offset : field.offset + field.width]
            for field in (self.layout[name] for name in self.names)
        ]

    def sum(self, a: Value, b: Value) -> Value:
        """Return the sum of each field."""
        return Cat(
            *((x + y)[: len(x)] for x, y in zip(self.fields(a), self.fields(b), strict=True))
        )

    def difference(self, a: Value, b: Value) -> Value:
        """Return the difference of each field."""
        return Cat(
            *((x - y)[: len(x)] for x, y in zip(self.fields(a), self.fields(b), strict=True))
        )

    def enough(self, free: Value, needs: Value) -> Value:
        """Return a bit for each field: what is free is enough."""
        return Cat(*(x >= y for x, y in zip(self.fields(free), self.fields(needs), strict=True)))
