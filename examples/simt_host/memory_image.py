"""A kernel's memory: code, then the arguments, then the buffers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simt_host.kernel_elf import KernelElf
from warploom_spec import WarploomError

#: Width of the memory's addresses, and its bytes, from address 0 on.
MEMORY_BITS: Final = 18
MEMORY_BYTES: Final = 1 << MEMORY_BITS
#: Arguments and buffers begin at multiples of it.
ALIGNMENT: Final = 64
_ZEROS: Final = re.compile(r"zeros:([1-9]\d*)")
_NUMBER: Final = re.compile(r"[+-]?(0x[0-9a-fA-F]+|\d+)")
_NAME: Final = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Buffer:
    """Data that a kernel reads and writes.

    Attributes
    ----------
    name : str
        As arguments name it.
    data : ndarray
        Its values before the launch.
    """

    name: str
    data: NDArray[np.generic]


def read_buffer(text: str) -> Buffer:
    """Read ``NAME=FILE.npy`` or ``NAME=zeros:N``.

    Raises
    ------
    WarploomError
        If the text is neither, or the file holds no plain array.
    """
    name, equals, source = text.partition("=")
    if not equals or not _NAME.fullmatch(name):
        raise WarploomError(f"buffer is {text!r}; legal: NAME=FILE.npy, NAME=zeros:N")
    if zeros := _ZEROS.fullmatch(source):
        words = int(zeros[1])
        if 4 * words > MEMORY_BYTES:
            raise WarploomError(f"buffer {name} has {words} words; legal: 1 to {MEMORY_BYTES // 4}")
        return Buffer(name, np.zeros(words, np.int32))
    if not source.endswith(".npy"):
        raise WarploomError(f"buffer {name} is {source!r}; legal: FILE.npy, zeros:N (words)")
    try:
        data = np.load(Path(source), allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        reason = getattr(error, "strerror", None) or "no array of NumPy"
        raise WarploomError(f"buffer {name}: {source}: {reason}") from error
    if not isinstance(data, np.ndarray) or data.size == 0:
        raise WarploomError(f"buffer {name}: {source} holds no values; legal: one value or more")
    return Buffer(name, np.ascontiguousarray(data))


class MemoryImage:
    """What the memory holds before a launch, and where the buffers are.

    Parameters
    ----------
    kernel : KernelElf
        Code and constants.
    buffers : sequence of Buffer
        In the order in which they lie.
    arguments : sequence of str
        Each the name of a buffer, which stands for its address, or a number of 32 bits.
    memory_bytes : int
        Size of the memory.
    behind : MemoryImage, optional
        Another launch of the same kernel: both are in one memory, this one's data behind its own.

    Attributes
    ----------
    bytes : ndarray of uint8
        The memory.
    arguments : int
        Address of the arguments.
    addresses : dict of str to int
        Address of each buffer.
    end : int
        The first address behind them.

    Raises
    ------
    WarploomError
        If a buffer does not fit, two have one name, or an argument is neither.
    """

    def __init__(
        self,
        kernel: KernelElf,
        buffers: Sequence[Buffer],
        arguments: Sequence[str],
        memory_bytes: int = MEMORY_BYTES,
        behind: "MemoryImage | None" = None,
    ):
        self.bytes: NDArray[np.uint8]
        self.bytes = behind.bytes if behind else np.zeros(memory_bytes, np.uint8)
        self._buffers = tuple(buffers)
        self.addresses: dict[str, int] = {}
        for address, data in kernel.segments:
            self.bytes[address : address + len(data)] = np.frombuffer(data, np.uint8)
        self.arguments = _aligned(behind.end if behind else kernel.end)
        free = self.arguments + 4 * len(arguments)
        for buffer in self._buffers:
            free = self._place(buffer, _aligned(free))
        self.end: int = free
        words = np.array([self._argument(text) for text in arguments], "<u4")
        end = self.arguments + words.nbytes
        if end > memory_bytes:
            raise WarploomError(f"arguments end at {end:#x}; legal: below {memory_bytes:#x}")
        self.bytes[self.arguments : end] = words.view(np.uint8)

    def buffer(self, name: str, memory: NDArray[np.uint8]) -> NDArray[np.generic]:
        """Return a buffer's values in a memory that has the same layout as this one."""
        (data,) = (buffer.data for buffer in self._buffers if buffer.name == name)
        address = self.addresses[name]
        raw = memory[address : address + data.nbytes].tobytes()
        return np.frombuffer(raw, data.dtype).reshape(data.shape)

    def _place(self, buffer: Buffer, address: int) -> int:
        """Put a buffer into the memory; return the first address behind it."""
        if buffer.name in self.addresses:
            raise WarploomError(f"buffer {buffer.name} is given twice; legal: once")
        end = address + buffer.data.nbytes
        if end > len(self.bytes):
            raise WarploomError(
                f"buffer {buffer.name} ends at {end:#x}, outside the memory; legal: up to"
                f" {len(self.bytes):#x}"
            )
        self.bytes[address:end] = np.frombuffer(buffer.data.tobytes(), np.uint8)
        self.addresses[buffer.name] = address
        return end

    def _argument(self, text: str) -> int:
        """Return the word of one argument."""
        if text in self.addresses:
            return self.addresses[text]
        value = int(text, 0) if _NUMBER.fullmatch(text) else None
        if value is None or not -(1 << 31) <= value < 1 << 32:
            names = ", ".join([*self.addresses, "a number from -2^31 to 2^32 - 1"])
            raise WarploomError(f"argument is {text!r}; legal: {names}")
        return value & 0xFFFFFFFF


def _aligned(address: int) -> int:
    return -(-address // ALIGNMENT) * ALIGNMENT
