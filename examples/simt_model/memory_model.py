"""Memory as lanes see it: one memory for all, and a window with the block's shared memory."""

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

#: Where a block's shared memory begins.
WINDOW: Final = 0x8000_0000

Words = NDArray[np.uint32]
Lanes = NDArray[np.bool_]


class Fault(Exception):
    """What ends a block with the status FAULT; the text says why."""


@dataclass
class Memory:
    """The memory of all blocks, and one block's shared memory.

    Attributes
    ----------
    common : ndarray of uint8
        From address 0 on.
    shared : ndarray of uint8
        From address `WINDOW` on.
    """

    common: NDArray[np.uint8]
    shared: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, np.uint8))

    def fetch(self, pc: int) -> int:
        """Return the instruction word at ``pc``."""
        if pc & 3 or pc + 4 > len(self.common):
            raise Fault(f"no instruction at {pc:#x}")
        return int.from_bytes(self.common[pc : pc + 4].tobytes(), "little")

    def load(self, addresses: Words, lanes: Lanes, size: int, signed: bool) -> Words:
        """Return one value a lane; 0 for lanes that do not take part.

        Raises
        ------
        Fault
            If an address is misaligned, or not in the memory.
        """
        self._check(addresses, lanes, size)
        values = np.zeros(len(addresses), np.uint32)
        windowed = addresses >= WINDOW
        for source, start, some in (
            (self.common, 0, lanes & ~windowed),
            (self.shared, WINDOW, lanes & windowed),
        ):
            at = addresses[some] - np.uint32(start)
            for byte in range(size):
                values[some] |= source[at + np.uint32(byte)].astype(np.uint32) << np.uint32(
                    8 * byte
                )
        if signed:
            shift = np.uint32(32 - 8 * size)
            values = ((values << shift).view(np.int32) >> shift.view(np.int32)).view(np.uint32)
        return values

    def store(self, addresses: Words, lanes: Lanes, size: int, values: Words) -> None:
        """Store one value a lane, lane 0 first; lanes before one that faults have stored.

        Raises
        ------
        Fault
            If an address is misaligned, or not in the memory.
        """
        for lane in np.flatnonzero(lanes):
            only = np.arange(len(lanes)) == lane
            self._check(addresses, only, size)
            target, at = self._place(int(addresses[lane]))
            target[at : at + size] = values[lane : lane + 1].view(np.uint8)[:size]

    def _place(self, address: int) -> tuple[NDArray[np.uint8], int]:
        return (self.shared, address - WINDOW) if address >= WINDOW else (self.common, address)

    def _check(self, addresses: Words, lanes: Lanes, size: int) -> None:
        wide = addresses.astype(np.uint64)
        inside = wide + size <= len(self.common)
        inside |= (wide >= WINDOW) & (wide + size <= WINDOW + len(self.shared))
        bad = lanes & (~inside | (wide % size != 0))
        if bad.any():
            address = int(addresses[bad][0])
            what = "misaligned" if address % size else "outside the memory"
            raise Fault(f"an access of {size} bytes at {address:#x} is {what}")
