"""The table of CUDA calls that can be deferred, and their arguments."""

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class CallKind:
    """A call of the table.

    Attributes
    ----------
    sizes : tuple of int
        Bytes of each argument.
    allocates, frees : bool
        Whether the first argument is where a new pointer goes, or a pointer to free.
    source, count, direction : int or None
        Positions of three arguments: the address of host bytes that the call may read, their
        number, and the copy's direction; None: the call has no such argument.
    """

    sizes: tuple[int, ...]
    allocates: bool = False
    frees: bool = False
    source: int | None = None
    count: int | None = None
    direction: int | None = None


#: The calls that can be deferred beside a kernel launch.
DEFERRABLE: Final = {
    "cudaMemcpy": CallKind((8, 8, 8, 4), source=1, count=2, direction=3),
    "cudaMemcpyAsync": CallKind((8, 8, 8, 4, 8), source=1, count=2, direction=3),
    "cudaMemset": CallKind((8, 4, 8)),
    "cudaMemsetAsync": CallKind((8, 4, 8, 8)),
    "cudaEventRecord": CallKind((8, 8)),
    "cudaStreamWaitEvent": CallKind((8, 8, 4)),
    "cudaMalloc": CallKind((8, 8), allocates=True),
    "cudaMallocAsync": CallKind((8, 8, 8), allocates=True),
    "cudaFree": CallKind((8,), frees=True),
    "cudaFreeAsync": CallKind((8, 8), frees=True),
}
#: Directions of a copy that bring nothing back: host to device, device to device.
HOST_TO_DEVICE, DEVICE_TO_DEVICE = 1, 3
LAUNCHES: Final = frozenset({"cudaLaunchKernel", "__cudaLaunchKernel"})
PUSH: Final = "__cudaPushCallConfiguration"
POP: Final = "__cudaPopCallConfiguration"
#: Calls that write a result through their first argument when they are made, and keep no address:
#: how many bytes.
OUTPUTS: Final = {
    "cudaStreamCreate": 8,
    "cudaStreamCreateWithFlags": 8,
    "cudaStreamCreateWithPriority": 8,
    "cudaEventCreate": 8,
    "cudaEventCreateWithFlags": 8,
    "cudaMallocHost": 8,
    "cudaHostAlloc": 8,
    "cudaMallocManaged": 8,
    "cudaGetDevice": 4,
    "cudaGetDeviceCount": 4,
    "cudaEventElapsedTime": 4,
}
#: Bookkeeping of a kernel's stub that runs once in a program, before the first launch.
ONCE: Final = frozenset(
    {"__cxa_guard_acquire", "__cxa_guard_release", "__cxa_guard_abort", "__cudaGetKernel"}
)
_CUDA: Final = re.compile(r"(__)?cuda[A-Z]|cu(blas|fft|rand|dnn|sparse|solver)|cu[A-Z]|nccl[A-Z]")
_API: Final = re.compile(r"(__)?cuda[A-Z]\w*")
_PER_THREAD: Final = re.compile(r"_pt(sz|ds)$")


def plain_name(name: str) -> str:
    """Return a call's name without its version and without the mark of per-thread streams."""
    return _PER_THREAD.sub("", name.partition("@")[0])


def is_cuda(name: str) -> bool:
    """Return whether a function belongs to CUDA's run-time, driver or libraries."""
    return name not in ONCE and _CUDA.match(name) is not None


def is_runtime_entry(name: str) -> bool:
    """Return whether a name is one of the run-time's own, as a statically linked program has it."""
    return _API.fullmatch(name) is not None


_STUB: Final = re.compile(r"_ZZL?(?:N\w*?)?(\d+)(__device_stub_.*)")


def kernel_of_handle(symbol: str) -> str | None:
    """Return the kernel that a variable in its stub, ``__handle``, stands for."""
    found = _STUB.match(symbol)
    if found is None or not symbol.endswith("8__handle"):
        return None
    stub = found[2][: int(found[1])]
    name = stub.removeprefix("__device_stub_")
    return name if name.startswith("_Z") else name.removeprefix("_")


def belongs_to_stub(symbol: str) -> bool:
    """Return whether a variable is a kernel stub's own: handle, guard, success, function."""
    return "__device_stub_" in symbol and symbol.startswith(("_ZZ", "_ZGVZ"))
