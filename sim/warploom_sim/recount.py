"""How many kernels a trace file holds, counted without the reader that the replay's launches use.

A reader that passes a kernel over would pass it over for RTL, model and demanded totals alike.
"""

import gzip
import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class KernelCount:
    """Kernel events and the blocks of their grids."""

    kernels: int
    blocks: int

    def __str__(self) -> str:
        return f"{self.kernels:,} kernel events of {self.blocks:,} blocks"


def count(path: Path) -> KernelCount:
    """Count the kernel events of a file that `traces.load` has accepted, plain or gzip."""
    opener = gzip.open if path.read_bytes()[:2] == b"\x1f\x8b" else open
    with opener(path, "rb") as file:
        events = json.load(file)["traceEvents"]
    found = (event for event in events if (event.get("ph"), event.get("cat")) == ("X", "kernel"))
    grids = [event["args"]["grid"] for event in found]
    return KernelCount(len(grids), sum(x * y * z for x, y, z in grids))
