"""A persistent kernel on a SimtCore: its warps are the cores of the unit that a host rings."""

import numpy as np
import pytest

from simt_host import Buffer, MemoryImage
from simt_host.gpu_run import KernelRun, run_kernels
from tb.examples.kernel_cases import kernel
from warploom_sim.variant import with_settings
from warploom_spec import ErrorCode
from warploom_spec.host_errors import HostError
from warploom_spec.queue import FinalFate

#: One SM whose 32 warps are the 32 cores of the unit.
SETTINGS = ("sms=1", "warp_slots=32", "cores_per_unit=32", "core_timeout=1000000")
CONFIG = with_settings("tiny", SETTINGS)
CORES, LANES = 32, CONFIG.warp_size
THREADS = CORES * LANES
END, SUM, COLLECT = 0, 1, 2


def task(code: int, elements: int, parts: int, arguments: int, first: int = 0) -> dict[str, int]:
    """Return a task that is split evenly, the larger parts first."""
    small, larger = divmod(elements, parts)
    split = {"first": first, "parts": parts, "larger": larger, "small": small}
    return {"code": code, "arguments": arguments, **split}


@pytest.mark.deep
def test_32_parts_of_a_sum_equal_numpy(tmp_path, seed: int) -> None:
    values = np.random.default_rng(seed).integers(-(2**31), 2**31, 300, np.int64)
    values = values.astype(np.int32)
    buffers = [Buffer("in", values), Buffer("sums", np.full(THREADS, -1, np.int32))]
    # Arguments of SUM, then those of COLLECT.
    arguments = ["in", "sums", str(LANES), "sums", "0", str(LANES)]
    image = MemoryImage(kernel("unit_sum"), buffers, arguments)
    of_sum, of_collect = image.arguments, image.arguments + 12
    tasks = (
        task(SUM, len(values) - 3, CORES, of_sum, first=3),
        task(COLLECT, THREADS, 8, of_collect),
        task(7, 5, 5, of_sum),
        task(END, CORES, CORES, of_sum),
    )
    run = KernelRun(kernel("unit_sum"), ((1, 1, 1),), ((THREADS, 1, 1),), (image,), tasks=tasks)
    (outcome,) = run_kernels([run], CONFIG, "verilator", tmp_path)
    assert [(FinalFate(r["fate"]), r["code"]) for r in outcome.records] == [(FinalFate.FINISHED, 0)]

    summed, collected, unknown, ended = outcome.tasks
    every = (1 << CORES) - 1
    for made in (summed, ended):
        assert (made["error"], made["succeeded"], made["parts"]) == (ErrorCode.OK, every, every)
    # Part k begins where the parts before it end; lane l has each LANES-th element of it.
    parts = np.array_split(values[3:], CORES)
    sums = [part[lane::LANES].sum(dtype=np.int32) for part in parts for lane in range(LANES)]
    np.testing.assert_array_equal(image.buffer("sums", outcome.memory), sums)
    words = np.array(collected["results"], np.uint32).view(np.int32)
    eighths = np.array(sums).reshape(8, -1).sum(axis=1, dtype=np.int32)
    np.testing.assert_array_equal(words, eighths)
    assert words.sum(dtype=np.int32) == values[3:].sum(dtype=np.int32)
    assert (collected["succeeded"], collected["parts"]) == (0xFF, 0xFF)
    # Every core fails. The one that arrives first is noted: which one is a matter of turns.
    assert (unknown["error"], unknown["argument"]) == (HostError.CORE_FAILED, 1)
    assert unknown["core"] in range(5)
    assert (unknown["succeeded"], unknown["parts"]) == (0, 0x1F)
    assert [made["task"] for made in outcome.tasks] == [1, 2, 3, 4]
