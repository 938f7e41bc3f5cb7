"""How many kernels a trace file holds, counted without the reader that the replay's launches use.

A reader that passes a kernel over would pass it over for RTL, model and demanded totals alike.
"""

import gzip
from dataclasses import dataclass
from pathlib import Path

import ijson

_CALLS = ("cuda_runtime", "cuda_driver")


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
    read event by event.
    """
    with path.open("rb") as start:
        opener = gzip.open if start.read(2) == b"\x1f\x8b" else open
    called, kernels = set(), []
    with opener(path, "rb") as file:
        for event in ijson.items(file, "traceEvents.item", use_float=True):
            if event.get("ph") != "X":
                continue
            arguments = event.get("args")
            if event.get("cat") in _CALLS and isinstance(arguments, dict):
                called.add(arguments.get("correlation"))
            elif event.get("cat") == "kernel" and device in (None, arguments["device"]):
                kernels.append((arguments["correlation"], arguments["grid"]))
    grids = [grid for correlation, grid in kernels if correlation in called]
    return KernelCount(len(grids), sum(x * y * z for x, y, z in grids))
