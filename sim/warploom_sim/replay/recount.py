"""The kernels of a trace file, read without the reader that the replay's launches use.

A reader that passes a kernel over, or mistakes one of its fields, would do so for RTL, model and
demanded totals alike.
"""

import gzip
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
_SECOND: Final = 1e6
#: What JSON takes as an escape, as one group: `re.split` keeps it.
_ESCAPES: Final = r'(\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt]))'


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


class Ran(NamedTuple):
    """A kernel, with when it was called, when it began, and how long it took."""

    called: float
    start: float
    took: float
    kernel: Kernel


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
    """Return the kernels of a file that `traces.load` has accepted, plain or packed.

    Only those that a call in the file launched, and with ``device`` those of this GPU; in the order
    in which their calls began. The file is read event by event; where it has what ijson refuses (a
    NaN, an integer beyond 64 bits, broken text), as a whole.
    """
    return [ran.kernel for ran in launched(events(path), device)]


def launched(events: Iterable[tuple[int, Any]], device: int | None) -> list[Ran]:
    """Return the kernels with a launch call and times, in the order in which their calls began."""
    began: dict[int, list[float | None]] = {}
    hip: dict[Any, tuple[bool, int]] = {}
    found = []
    for number, event in events:
        arguments = event.get("args")
        if event.get("cat") in CALLS and isinstance(arguments, dict):
            if arguments.get("correlation") is None:
                continue
            call = int(arguments["correlation"])
            began.setdefault(call, []).append(time_of(event, "ts"))
            if str(event.get("name")).startswith("hip"):
                hip[call] = event["name"] in _IN_THREADS, arguments.get("shared memory", 0)
        elif event.get("cat") in KERNELS and device in (None, int(arguments["device"])):
            # AMD's profiler does not always say the grid; such a kernel is left out.
            if "grid" not in arguments:
                continue
            start, took = time_of(event, "ts"), time_of(event, "dur")
            if start is not None and took is not None and took >= 0:
                kernel = _kernel(number, arguments)
                found.append((int(arguments["correlation"]), start, took, kernel, event["name"]))
    calls = call_times(began)
    seen: set[Any] = set()
    result = []
    for call, start, took, kernel, name in found:
        if start == 0 and (took == 0 or calls.get(call, 0) > 0 or call not in calls):
            continue
        same = call, start, took, name, kernel.grid, kernel.block, kernel.queue
        if call in calls and same not in seen:
            seen.add(same)
            ours = _of_hip(kernel, *hip[call]) if call in hip else kernel
            result.append(Ran(calls[call], start, took, ours))
    return sorted(result, key=lambda ran: ran[:2])


def call_times(began: Mapping[int, Sequence[float | None]]) -> dict[int, float]:
    """Return when each call began, of those with a time.

    One call alone may have begun at 0, if the others came within a second.
    """
    known = {call: [time for time in times if time] for call, times in began.items()}
    zeros = {call for call, times in began.items() if 0 in times}
    missing = any(time is None for times in began.values() for time in times)
    first = min((time for times in known.values() for time in times), default=0)
    calls = {call: min(times) for call, times in known.items() if times}
    if len(zeros) == 1 and not missing and first <= _SECOND:
        calls |= dict.fromkeys(zeros, 0.0)
    return calls


def time_of(event: Mapping[str, Any], name: str) -> float | None:
    """Return a time of an event; None if it has none."""
    value = event.get(name)
    return None if value is None else float(value)


def events(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the complete events of such a file with their numbers; last those of two halves."""
    opened: dict[Any, list[tuple[float, int, Any]]] = {}
    for number, event in enumerate(_items(path)):
        if event.get("ph") == "X":
            yield number, event
        elif event.get("ph") in ("B", "E"):
            try:
                when = time_of(event, "ts") or 0.0
            except (TypeError, ValueError):
                when = 0.0
            thread = str(event.get("pid")), str(event.get("tid"))
            opened.setdefault(thread, []).append((when, number, event))
    for halves in opened.values():
        yield from _whole(sorted(halves, key=lambda half: half[:2]))


def _whole(halves: Sequence[tuple[float, int, Any]]) -> Iterator[tuple[int, Any]]:
    """Yield the begins of a thread with their ends' times; an end without a begin is dropped."""
    waiting: list[tuple[float, int, Any]] = []
    for when, _, event in halves:
        if event["ph"] == "B":
            waiting.append((when, _, event))
            continue
        for place in range(len(waiting) - 1, -1, -1):
            begun, number, begin = waiting[place]
            if event.get("name") in (None, begin.get("name")):
                parts = [one.get("args") for one in (event, begin)]
                both = dict(pair for one in parts if isinstance(one, dict) for pair in one.items())
                yield number, {**begin, "dur": when - begun, "args": both}
                del waiting[place]
                break
    # What never ended has no duration.
    yield from ((number, begin) for _, number, begin in waiting)


def _items(path: Path) -> Iterator[Any]:
    count = 0
    try:
        with _opened(path) as file:
            while (first := file.read(1)) in (b" ", b"\t", b"\r", b"\n"):
                pass
        with _opened(path) as file:
            prefix = "item" if first == b"[" else "traceEvents.item"
            for event in ijson.items(file, prefix, use_float=True):
                count += 1
                yield event
    except ijson.JSONError:
        with _opened(path) as file:
            whole = _loaded(file.read().decode("utf-8", "replace"))
        yield from (whole["traceEvents"] if isinstance(whole, dict) else whole)[count:]


def _loaded(text: str) -> Any:
    """Return a text's JSON; a backslash that begins no escape is one."""
    try:
        return json.loads(text, parse_int=_integer, strict=False)
    except json.JSONDecodeError:
        parts = re.split(_ESCAPES, text)
        parts[::2] = [part.replace("\\", "\\\\") for part in parts[::2]]
        return json.loads("".join(parts), parse_int=_integer, strict=False)


def _opened(path: Path) -> BinaryIO:
    """Open a file, unpacked, behind its byte order mark."""
    with path.open("rb") as start:
        magic = start.read(4)
    if magic.startswith(b"\x1f\x8b"):
        file = cast(BinaryIO, gzip.GzipFile(path))
    elif magic == b"\x28\xb5\x2f\xfd" or magic[1:] == b"\x2a\x4d\x18":
        file = _zstd(path)
    else:
        file = path.open("rb")
    if file.read(3) != b"\xef\xbb\xbf":
        file.seek(0)
    return file


def _zstd(path: Path) -> BinaryIO:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return cast(BinaryIO, zstd.open(path))


def _integer(digits: str) -> int | None:
    """Return an integer; None for one of so many digits that no event that counts can have it."""
    return int(digits) if len(digits) < _DIGITS else None


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
        int(arguments.get("registers per thread", 0)),
        int(arguments.get("shared memory", 0)),
        (int(arguments["device"]), int(arguments["stream"])),
    )
