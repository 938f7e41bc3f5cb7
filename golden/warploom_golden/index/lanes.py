"""A warp's lanes as one packed number and as an array."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray


def join(lanes: NDArray[Any], bits: int) -> int:
    """Return lanes as one number, lane 0 in the lowest ``bits`` bits; a lane is cut to ``bits``."""
    ones = (lanes.astype(np.int64)[:, None] >> np.arange(bits) & 1).astype(np.uint8)
    return int.from_bytes(np.packbits(ones, axis=None, bitorder="little").tobytes(), "little")


def split(word: int, bits: int, count: int) -> list[int]:
    """Return the ``count`` lanes of a number, lane 0 first."""
    lane = (1 << bits) - 1
    return [word >> place * bits & lane for place in range(count)]


@lru_cache(maxsize=1024)
def spread(mask: int, bits: int, count: int) -> int:
    """Return ``bits`` ones in each of ``count`` lanes whose bit of ``mask`` is 1."""
    lane = (1 << bits) - 1
    return sum(lane << place * bits for place in range(count) if mask >> place & 1)


class Partial(int):
    """A port's value of which only some bits are defined; equal to all that agree in those.

    Without a hash, as whatever has ``__eq__`` alone: values that agree in some bits share none.

    The undefined bits of the number itself are 0.

    Attributes
    ----------
    care : int
        Ones at the defined bits.
    """

    care: int

    def __new__(cls, value: int, care: int) -> "Partial":
        """Keep the defined bits."""
        made = super().__new__(cls, value & care)
        made.care = care
        return made

    def __eq__(self, other: object) -> bool:
        """Compare the defined bits."""
        return isinstance(other, int) and int(self) == other & self.care

    def __ne__(self, other: object) -> bool:
        """Compare the defined bits."""
        return not self == other
