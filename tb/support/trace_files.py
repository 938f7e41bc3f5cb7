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


def record(correlation: int, ts: float, name: str = "cudaEventRecordWithFlags") -> dict[str, Any]:
    return call(correlation, ts) | {"name": name}


def wait(
    correlation: int, ts: float, stream: int, name: str = "cudaStreamWaitEvent", **said: int
) -> list[dict[str, Any]]:
    """Return a wait's call, and what the profiler says of it."""
    unknown = {"wait_on_stream": -1, "wait_on_cuda_event_record_corr_id": -1}
    arguments = unknown | {"stream": stream, "correlation": correlation, "device": 0} | said
    sync = {"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "ts": ts, "args": arguments}
    return [call(correlation, ts) | {"name": name}, sync]


def document() -> dict[str, Any]:
    return {
        "deviceProperties": [copy.deepcopy(DEVICE)],
        "traceEvents": [call(1, 10.0), call(2, 20.0), kernel(1), kernel(2, 1005.0)],
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
        launch["dur"] = rng.uniform(0.05, 1.0)
        events += [call(n, float(n)), launch]
    return {"deviceProperties": [copy.deepcopy(DEVICE)], "traceEvents": events}


def waiting_document(rng: random.Random, launches: int, streams: int) -> dict[str, Any]:
    """Draw a trace of small grids on some streams, whose launches wait for those of others.

    Each stream has a launch. The next launch of a stream waits for up to four others.
    """
    content = random_document(rng, launches)
    events = []
    pairs = zip(content["traceEvents"][::2], content["traceEvents"][1::2], strict=True)
    for n, (called, ran) in enumerate(pairs):
        stream = 7 + (n if n < streams else rng.randrange(streams))
        ran["args"]["stream"] = stream
        # One after the other: all that were called before a launch had ended when it began.
        ran["ts"] = 1000.0 + 5 * n
        others = [7 + other for other in range(min(n, streams)) if 7 + other != stream]
        wanted = rng.sample(others, min(len(others), rng.choice((0, 0, 1, 2, 4))))
        for k, other in enumerate(wanted):
            recorded, waits = 10_000 + 10 * n + k, 20_000 + 10 * n + k
            named = {"wait_on_cuda_event_record_corr_id": recorded, "wait_on_stream": other}
            events += [record(recorded, n - 0.5), *wait(waits, n - 0.4, stream, **named)]
        events += [called, ran]
    return content | {"traceEvents": events}


def uneven_document(streams: int) -> dict[str, Any]:
    """Draw 96 launches of 1 to 40 blocks and 20 to 2,000 us, in turn on some streams."""
    rng = random.Random(1)
    events = []
    for n in range(96):
        ran = kernel(n, ts=100.0 + 40 * n, stream=7 + n % streams, grid=[rng.randint(1, 40), 1, 1])
        ran["args"]["block"] = [rng.choice((64, 128, 256, 512)), 1, 1]
        ran["args"] |= {"registers per thread": rng.choice((16, 32, 64)), "shared memory": 0}
        events += [call(n, 10.0 + 4 * n), ran | {"dur": rng.uniform(20, 2000)}]
    return document() | {"traceEvents": events}
