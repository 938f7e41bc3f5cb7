"""A C kernel that one LOOP calls a hundred times, on SimtCores: what NumPy computes."""

import numpy as np
import pytest

from simt_gpu import SimtGpu
from simt_host import Buffer, MemoryImage
from simt_host.gpu_run import KernelRun, launch_fields
from simt_host.memory_image import MEMORY_BITS
from tb.examples.kernel_cases import kernel
from tb.host import c_driver
from tb.support.dispatch_configs import config_of
from warploom.lib.axil_pins import AxilPins
from warploom_sim.cosim.lockstep.build import built
from warploom_sim.cosim.lockstep.cocotb_runner import in_simulator
from warploom_sim.cosim.lockstep.recipe import Recipe
from warploom_sim.verilog.register_map import c_header

CONFIG = "tiny"
CALLS, THREADS = 100, 8
#: Bytes of a call's arguments, by which their pointer steps: a, b, out, n.
STEP = 16


def made(seed):
    """Return memory and kernel: each call adds a row to what the call before it made.

    So a call that is lost, done twice, out of order or too early is seen in all rows behind it.
    """
    rng = np.random.default_rng(seed)
    rows = rng.integers(-(2**31), 2**31, (CALLS, THREADS), np.int64).astype(np.int32)
    sums = np.zeros((CALLS + 1, THREADS), np.int32)
    sums[0] = rng.integers(-1000, 1000, THREADS)
    elf = kernel("vector_add")
    arguments = np.zeros((CALLS, STEP // 4), "<u4")
    buffers = [Buffer("rows", rows), Buffer("sums", sums), Buffer("calls", arguments)]
    image = MemoryImage(elf, buffers, ["calls"])
    row, at = 4 * THREADS, image.addresses
    for call, words in enumerate(arguments):
        own = at["sums"] + row * call
        words[:] = (own, at["rows"] + row * call, own + row, THREADS)
    first = at["calls"]
    image.bytes[first : first + arguments.nbytes] = arguments.reshape(-1).view(np.uint8)
    expected = np.cumsum(np.vstack([sums[:1], rows]), axis=0, dtype=np.int32)
    return elf, image, expected


@pytest.mark.deep
def test_a_kernel_called_a_hundred_times_computes_what_numpy_does(tmp_path, seed):
    config = config_of(CONFIG)
    elf, image, expected = made(seed)
    np.save(tmp_path / "image.npy", image.bytes)
    run = KernelRun(elf, ((1, 1, 1),), ((THREADS, 1, 1),), (image,), index_address=0)
    (launch,) = launch_fields(run, config)
    launch["arguments"] = image.addresses["calls"]
    # Its file is called warploom, as a package is: not where the simulation runs.
    driver = tmp_path / "driver"
    driver.mkdir()
    library = c_driver.build(driver, c_header(config, "gpu"))
    plan = {"config": CONFIG, "library": str(library), "launch": launch, "step": STEP}
    plan |= {"iterations": CALLS, "image": str(tmp_path / "image.npy")}
    plan |= {"memory": str(tmp_path / "memory.npy"), "words": -(-image.end // 4)}
    gpu = built(Recipe.of(AxilPins, Recipe.of(SimtGpu, config, MEMORY_BITS)), "verilator")
    found = in_simulator("loop", "tb.examples.loop_on_gpu", gpu, "verilator", tmp_path, plan)
    assert "failure" not in found, found
    counts = {"accepted": CALLS, "finished": CALLS}
    assert not any(found["codes"]) and found["outcome"] == {"code": 0, "argument": 0} | counts
    memory = np.load(tmp_path / "memory.npy")
    np.testing.assert_array_equal(image.buffer("sums", memory), expected)
    # Nothing else has changed.
    first = image.addresses["sums"]
    for each in (memory, image.bytes):
        each[first : first + expected.nbytes] = 0
    np.testing.assert_array_equal(memory, image.bytes)
