"""How many kernels a trace file holds, counted without the reader that the replay's launches use.

A reader that passes a kernel over would pass it over for RTL, model and demanded totals alike.
"""

import gzip
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import ijson

_CALLS = ("cuda_runtime", "cuda_driver")
#: More than an integer of 64 bits has, and fewer than Python refuses.
_DIGITS: Final = 1000


@dataclass(frozen=True)
class KernelCount:
    """Kernel events with a launch call, and the blocks of their grids."""

    kernels: int
    blocks: int

    def __str__(self) -> str:
        return f"{self.kernels:,} kernel events of {self.blocks:,} blocks"


def count(path: Path, device: int | None = None) -> KernelCount:
    """Count the kernel events of a file that `traces.load` has accepted, plain or gzip.

    Only those that a call in the file launched, and with ``device`` those of this GPU. The file is
    read event by event; where it has what ijson refuses (a NaN, an integer beyond 64 bits), as a
    whole.
    """
    try:
        with _opened(path) as file:
            return _counted(ijson.items(file, "traceEvents.item", use_float=True), device)
    except ijson.JSONError:
        with _opened(path) as file:
            return _counted(json.load(file, parse_int=_integer)["traceEvents"], device)


def _opened(path: Path) -> BinaryIO:
    with path.open("rb") as start:
        packed = start.read(2) == b"\x1f\x8b"
    return cast(BinaryIO, gzip.open(path)) if packed else path.open("rb")


def _integer(digits: str) -> int | None:
    """Return an integer; None for one of so many digits that no event that counts can have it."""
    return int(digits) if len(digits) < _DIGITS else None


def _counted(events: Iterable[Any], device: int | None) -> KernelCount:
    called, kernels = set(), []
    for event in events:
        if event.get("ph") != "X":
            continue
        arguments = event.get("args")
        if event.get("cat") in _CALLS and isinstance(arguments, dict):
            called.add(arguments.get("correlation"))
        elif event.get("cat") == "kernel" and device in (None, arguments["device"]):
            kernels.append((arguments["correlation"], arguments["grid"]))
    grids = [grid for correlation, grid in kernels if correlation in called]
    return KernelCount(len(grids), sum(x * y * z for x, y, z in grids))
