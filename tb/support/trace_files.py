"""Trace files that tests write: small, whole, and of any content."""

import copy
import json
import random
from pathlib import Path
from typing import Any

#: The recordings without event waits: a replay keeps the whole order of their launches, and the
#: studies of the pages are of them.
WITHOUT_EVENT_WAITS = (
    "gpt2_generate",
    "llama_generate",
    "resnet50_infer",
    "stencil3d_shapes",
    "two_streams_priority",
)

DEVICE = {
    "id": 0,
    "name": "NVIDIA H200",
    "computeMajor": 9,
    "computeMinor": 0,
    "maxThreadsPerMultiprocessor": 2048,
    "regsPerMultiprocessor": 65536,
    "sharedMemPerMultiprocessor": 233472,
    "warpSize": 32,
    "numSms": 132,
}


def kernel(correlation: int, ts: float = 1000.0, **arguments: Any) -> dict[str, Any]:
    return {
        "ph": "X",
        "cat": "kernel",
        "name": f"kernel{correlation}",
        "ts": ts,
        "dur": 5.0,
        "args": {
            "device": 0,
            "stream": 7,
            "correlation": correlation,
            "registers per thread": 32,
            "shared memory": 0,
            "grid": [4, 2, 1],
            "block": [128, 1, 1],
        }
        | arguments,
    }


def call(correlation: int, ts: float, cat: str = "cuda_runtime") -> dict[str, Any]:
    name = {"cuda_runtime": "cudaLaunchKernel", "cuda_driver": "cuLaunchKernel"}[cat]
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "args": {"correlation": correlation}}


def document() -> dict[str, Any]:
    return {
        "deviceProperties": [copy.deepcopy(DEVICE)],
        "traceEvents": [call(1, 10.0), call(2, 20.0), kernel(1), kernel(2)],
    }


def large_document() -> dict[str, Any]:
    """Return a trace of a little more than 2^24 blocks."""
    content = document()
    for event in content["traceEvents"]:
        if event["cat"] == "kernel":
            event["args"] |= {"grid": [2**20, 9, 1], "block": [32, 1, 1]}
            event["args"] |= {"registers per thread": 16, "shared memory": 0}
    return content


def write(folder: Path, content: Any) -> Path:
    path = folder / "trace.json"
    path.write_text(json.dumps(content))
    return path


def random_document(rng: random.Random, launches: int) -> dict[str, Any]:
    """Draw a trace of small grids on three streams, with shapes that `tiny` refuses."""
    shapes = ((32, 1, 1), (64, 2, 1), (5, 7, 3), (8, 8, 1), (16, 4, 4), (96, 5, 2), (256, 1, 1))
    events = []
    for n in range(launches):
        grid = [rng.randint(1, 9), rng.randint(1, 3), rng.randint(1, 2)]
        launch = kernel(
            n,
            ts=1000.0 + n,
            grid=grid,
            block=list(rng.choice(shapes)),
            stream=rng.choice((7, 20, 21)),
        )
        launch["args"]["registers per thread"] = rng.choice((16, 32, 40))
        launch["args"]["shared memory"] = rng.choice((0, 1000, 4096))
        launch["dur"] = rng.uniform(0.1, 3.0)
        events += [call(n, float(n)), launch]
    return {"deviceProperties": [copy.deepcopy(DEVICE)], "traceEvents": events}
