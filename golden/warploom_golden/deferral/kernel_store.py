"""What a back end knows of an application's kernels and streams."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from warploom_golden.oracles.index_reference import Dims
from warploom_spec.queue import Mode

#: Sizes of parameters that a message can send as numbers, in bytes.
NUMBER_SIZES: Final = (1, 2, 4, 8)


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """One kernel.

    Attributes
    ----------
    code : int
        Its code pointer.
    parameters : tuple of int
        Size of each parameter in bytes, in order.
    registers : int
        Registers of a thread.
    shared_bytes : int
        Static shared memory of a block.
    barriers : int
        Barriers of a block.
    idempotent : bool
        Whether a launch may be killed and run again.
    mode : Mode
        How its launches make way for urgent ones.
    """

    code: int
    parameters: tuple[int, ...] = ()
    registers: int = 0
    shared_bytes: int = 0
    barriers: int = 1
    idempotent: bool = False
    mode: Mode = Mode.AUTO


@dataclass(frozen=True)
class CoreStream:
    """The core's stream that a CUDA stream has: its number and its priority."""

    number: int
    priority: int = 0


@dataclass(frozen=True, kw_only=True)
class KernelStore:
    """An application's kernels, streams and block shapes.

    Attributes
    ----------
    kernels : Mapping of str to Kernel
        Kernels by the names that calls have.
    streams : Mapping of int to CoreStream
        The core's stream of each CUDA stream handle.
    index_addresses : Mapping of Dims to int
        First warp of the packed indices of each block shape; a shape that is not there has 0.
    address_space : int
        The application's address-space id.
    """

    kernels: Mapping[str, Kernel]
    streams: Mapping[int, CoreStream] = field(default_factory=lambda: {0: CoreStream(0)})
    index_addresses: Mapping[Dims, int] = field(default_factory=dict)
    address_space: int = 0
