"""The kernels of a trace file, read without the reader that the replay's launches use.

A reader that passes a kernel over, or mistakes one of its fields, would do so for RTL, model and
demanded totals alike.
"""

import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, cast

import ijson

#: Categories, the names that older profilers gave them among them.
CALLS: Final = ("cuda_runtime", "cuda_driver", "Runtime")
KERNELS: Final = ("kernel", "Kernel")
#: HIP's calls whose grid counts threads, not blocks.
_IN_THREADS: Final = ("hipExtModuleLaunchKernel", "hipHccModuleLaunchKernel")
#: More than an integer of 64 bits has, and fewer than Python refuses.
_DIGITS: Final = 1000


class Kernel(NamedTuple):
    """One kernel event with a launch call, as its file has it.

    Attributes
    ----------
    event : int
        Number of its event in ``traceEvents``, from 0.
    grid, block : tuple of int
        Blocks of the grid, threads of the block.
    registers, shared_bytes : int
        Registers of a thread; bytes of shared memory of a block.
    queue : tuple of int
        Its device and its stream there.
    """

    event: int
    grid: tuple[int, ...]
    block: tuple[int, ...]
    registers: int
    shared_bytes: int
    queue: tuple[int, int]


@dataclass(frozen=True)
class KernelCount:
    """Kernel events with a launch call, and the blocks of their grids."""

    kernels: int
    blocks: int

    def __str__(self) -> str:
        return f"{self.kernels:,} kernel events of {self.blocks:,} blocks"


def counted(kernels: Iterable[Kernel]) -> KernelCount:
    """Count kernels and their blocks."""
    sizes = [x * y * z for x, y, z in (kernel.grid for kernel in kernels)]
    return KernelCount(len(sizes), sum(sizes))


def read(path: Path, device: int | None = None) -> list[Kernel]:
    """Return the kernels of a file that `traces.load` has accepted, plain or gzip.

    Only those that a call in the file launched, and with ``device`` those of this GPU; in the order
    in which their calls began. The file is read event by event; where it has what ijson refuses (a
    NaN, an integer beyond 64 bits), as a whole.
    """
    return _launched(events(path), device)


def events(path: Path) -> Iterator[Any]:
    """Yield the events of such a file."""
    count = 0
    try:
        with _opened(path) as file:
            for event in ijson.items(file, "traceEvents.item", use_float=True):
                count += 1
                yield event
    except ijson.JSONError:
        with _opened(path) as file:
            yield from json.load(file, parse_int=_integer)["traceEvents"][count:]


def _opened(path: Path) -> BinaryIO:
    with path.open("rb") as start:
        packed = start.read(2) == b"\x1f\x8b"
    return cast(BinaryIO, gzip.open(path)) if packed else path.open("rb")


def _integer(digits: str) -> int | None:
    """Return an integer; None for one of so many digits that no event that counts can have it."""
    return int(digits) if len(digits) < _DIGITS else None


def _launched(events: Iterable[Any], device: int | None) -> list[Kernel]:
    began: dict[Any, float] = {}
    hip: dict[Any, tuple[bool, int]] = {}
    found = []
    for number, event in enumerate(events):
        if event.get("ph") != "X":
            continue
        arguments = event.get("args")
        if event.get("cat") in CALLS and isinstance(arguments, dict):
            call = arguments.get("correlation")
            if call is None:
                continue
            began[call] = min(event["ts"], began.get(call, event["ts"]))
            if str(event.get("name")).startswith("hip"):
                hip[call] = event["name"] in _IN_THREADS, arguments.get("shared memory", 0)
        elif event.get("cat") in KERNELS and device in (None, arguments["device"]):
            # AMD's profiler does not always say the grid; such a kernel is left out.
            if "grid" not in arguments:
                continue
            found.append((arguments["correlation"], event["ts"], _kernel(number, arguments)))
    called = [
        (began[call], start, _of_hip(one, *hip[call]) if call in hip else one)
        for call, start, one in found
        if call in began
    ]
    return [one for *_, one in sorted(called, key=lambda entry: entry[:2])]


def _of_hip(kernel: Kernel, in_threads: bool, shared_bytes: int) -> Kernel:
    """Return a kernel of AMD: its grid in blocks, with the shared memory that its call asks for."""
    grid = kernel.grid
    if in_threads:
        pairs = zip(grid, kernel.block, strict=True)
        grid = tuple(
            (size + threads - 1) // threads if threads else size for size, threads in pairs
        )
    return kernel._replace(grid=grid, shared_bytes=kernel.shared_bytes or shared_bytes)


def _kernel(number: int, arguments: dict[str, Any]) -> Kernel:
    return Kernel(
        number,
        tuple(arguments["grid"]),
        tuple(arguments["block"]),
        arguments.get("registers per thread", 0),
        arguments.get("shared memory", 0),
        (arguments["device"], arguments["stream"]),
    )
