"""A kernel's parameters in memory, for launches that have more than travel in inline words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from warploom_golden.deferral.calls import Number, argument_value

#: Alignment of a block, and of the step from one block to the next, in bytes.
BLOCK_ALIGN: Final = 8


class Memory(Protocol):
    """Gives out memory that a core's kernels can read."""

    def take(self, size: int, align: int) -> int | None:
        """Return the address of so many bytes, or None if there is no room."""


@dataclass(frozen=True)
class MemoryBlocks:
    """Parameter blocks of one template, one behind the other: one an iteration, or one for all.

    The back end writes ``data`` to ``address`` before it rings the LOOP.
    """

    address: int
    data: bytes


def block_size(sizes: Sequence[int]) -> int:
    """Return the bytes of one block: each parameter stands at a multiple of its size."""
    return -(-(_places(sizes)[-1] + sizes[-1]) // BLOCK_ALIGN) * BLOCK_ALIGN if sizes else 0


def block_data(parameters: Sequence[Number], sizes: Sequence[int], iterations: int) -> bytes:
    """Return the blocks of so many iterations.

    Parameters
    ----------
    parameters : sequence of Number
        Rules of the parameters; none is a result.
    sizes : sequence of int
        Their sizes in bytes.
    iterations : int
        Blocks to make.
    """
    whole = bytearray(iterations * block_size(sizes))
    places = _places(sizes)
    for iteration in range(iterations):
        start = iteration * block_size(sizes)
        for parameter, place, size in zip(parameters, places, sizes, strict=True):
            value = argument_value(parameter, 0, iteration, [], None)
            assert isinstance(value, int)
            low = value & ((1 << 8 * size) - 1)
            whole[start + place : start + place + size] = low.to_bytes(size, "little")
    return bytes(whole)


def _places(sizes: Sequence[int]) -> list[int]:
    places, end = [], 0
    for size in sizes:
        places.append(-(-end // size) * size)
        end = places[-1] + size
    return places
