"""Memories with one writer."""

from typing import Any

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import memory

#: Words of one block memory of which each is one bit wide (ECP5: 16 Kbit).
_BLOCK_BITS = 16384
#: Deeper block memories are cut into slices so narrow that no gate stands behind them.
_DEEP = 2048
#: Of so many words, or fewer, a choice between registers is smaller than distributed memory, which
#: has 16 words.
_FEW = 2


def style(depth: int) -> dict[str, str]:
    """Return the attributes of a memory that is read in the cycle in which it is asked."""
    return {"ram_style": "registers"} if depth <= _FEW else {}


class Rows:
    """Rows of bits in a memory with one writer and any number of readers.

    A read in the cycle of a write of its row gives the row before it, where `now` is used. Where
    `later` is used such a read means nothing: the synthesis adds no gates for it.

    Parameters
    ----------
    m : Module
        The module that has the memory.
    name : str
        Name of the memory.
    width, depth : int
        Bits of a row; rows.
    block : bool, optional
        Whether it stands in block memory, for `later`; else in distributed memory, for both.
    """

    def __init__(self, m: Module, name: str, width: int, depth: int, *, block: bool = False):
        step = width if not block or depth <= _DEEP else max(1, _BLOCK_BITS // depth)
        where = {"ram_style": "block"} if block else style(depth)
        attributes: Any = {"no_rw_check": 1, **where}
        self._m, self._width = m, width
        self._parts: list[memory.Memory] = []
        for low in range(0, width, step):
            part: memory.Memory = memory.Memory(
                shape=min(step, width - low), depth=depth, init=[], attrs=attributes
            )
            m.submodules[f"{name}_{low}" if step < width else name] = part
            self._parts.append(part)

    def write(self, enable: Any, row: Any, value: Any) -> None:
        """Write a row at the end of a cycle with ``enable``. Called once."""
        bits, low = Value.cast(value), 0
        assert len(bits) == self._width, (len(bits), self._width)
        for part in self._parts:
            port = part.write_port()
            self._m.d.comb += [
                port.en.eq(enable),
                port.addr.eq(row),
                port.data.eq(bits[low : low + len(port.data)]),
            ]
            low += len(port.data)

    def now(self, row: Any) -> Value:
        """Return a row in the cycle in which it is asked for."""
        ports = [part.read_port(domain="comb") for part in self._parts]
        for port in ports:
            self._m.d.comb += port.addr.eq(row)
        return Cat(*(port.data for port in ports))

    def later(self, row: Any, moves: Any = 1) -> Value:
        """Return a row in the cycle after it is asked for, late in that cycle.

        In a cycle without ``moves`` nothing is asked for, and the row before stands on.
        """
        ports = [part.read_port() for part in self._parts]
        for port in ports:
            self._m.d.comb += [port.addr.eq(row), port.en.eq(moves)]
        return Cat(*(port.data for port in ports))
