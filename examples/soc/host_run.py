"""One kernel from a host: into memory, launched by the driver in Python, compared with NumPy."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from simt_host import Buffer, MemoryImage, read_kernel
from soc import firmware, simulation
from soc.bridge import Bus
from soc.gpu_verilog import CONFIG, MEMORY_BITS
from soc.soc_design import CORE_BASE, CPU_RESET, MEMORY_BASE
from warploom_host import HostDriver, IndexShapes
from warploom_spec import LaunchDescriptor
from warploom_spec.queue import FinalFate

#: Elements of a vector, and threads of a block.
ELEMENTS: Final = 256
THREADS: Final = 8
#: Turns of waiting for an answer: each is an access over the port.
PATIENCE: Final = 1000
#: Clocks after which a simulation that nobody ends is given up.
CLOCKS: Final = 200_000_000
#: `CPU_RESET`'s bit that holds the processor.
HOLD: Final = 2


@contextmanager
def serial_port(name: str) -> Iterator[str]:
    """Give the name of a serial port; ``sim`` is one of a simulation that runs meanwhile."""
    if name != "sim":
        yield name
        return
    bench, program = simulation.bench(bridge=True), firmware.COMMITTED.read_bytes()
    with (
        tempfile.TemporaryDirectory() as folder,
        simulation.start(bench, Path(folder), program, CLOCKS, 1, "pty") as running,
    ):
        try:
            yield running.stdout.readline().strip() if running.stdout else ""
        finally:
            running.terminate()


def driver_on(bus: Bus) -> HostDriver:
    """Return the driver of the core on a bus, once it has found the core that it is for."""

    def read32(address: int) -> int:
        return int(bus.read(CORE_BASE + address))

    def write32(address: int, value: int) -> None:
        bus.write(CORE_BASE + address, [value])

    driver = HostDriver(read32, write32, CONFIG, PATIENCE)
    driver.identify()
    return driver


def vector_add() -> tuple[MemoryImage, LaunchDescriptor, NDArray[np.int32]]:
    """Return the memory before a launch, the launch, and the sum by NumPy."""
    kernel = read_kernel(firmware.KERNEL, 1 << MEMORY_BITS)
    a, b = np.random.default_rng(1).integers(-(1 << 30), 1 << 30, (2, ELEMENTS), np.int32)
    buffers = (Buffer("a", a), Buffer("b", b), Buffer("out", np.zeros(ELEMENTS, np.int32)))
    image = MemoryImage(kernel, buffers, ("a", "b", "out", str(ELEMENTS)), 1 << MEMORY_BITS)
    amounts = firmware.amounts(kernel)
    launch = LaunchDescriptor(
        grid=(ELEMENTS // THREADS, 1, 1),
        block=(THREADS, 1, 1),
        code=amounts["ENTRY"],
        arguments=image.arguments,
        warp_registers=amounts["WARP_REGISTERS"],
        shared=amounts["SHARED"],
        barriers=amounts["BARRIERS"],
    )
    return image, IndexShapes(CONFIG).place(launch), a + b


def run(bus: Bus) -> str | None:
    """Load the kernel, launch it, and print its cycles; return what is wrong, or None.

    The processor is held in reset meanwhile: its program would use the core, too.

    Raises
    ------
    WarploomError, HostTimeout, CommandFailed
        If nobody answers, another core does, or something is refused.
    """
    driver = driver_on(bus)
    bus.load(CPU_RESET, np.array([HOLD], np.uint32))
    driver.soft_reset()
    while driver.take_record():
        pass
    wrong = _compared(bus, driver)
    bus.write(CPU_RESET, [0])  # its program begins anew
    return wrong


def _compared(bus: Bus, driver: HostDriver) -> str | None:
    image, launch, expected = vector_add()
    words = -(-image.end // 4)
    bus.load(MEMORY_BASE, image.bytes[: 4 * words].view("<u4"))
    ticket = driver.launch(0, launch)
    record = driver.wait_record()
    if record.ticket != ticket or record.fate != FinalFate.FINISHED:
        return f"the kernel did not finish: {record}"
    memory = bus.words(MEMORY_BASE, words).astype("<u4").view(np.uint8)
    out: NDArray[Any] = image.buffer("out", memory)
    for n in np.flatnonzero(out != expected)[:1]:
        return f"element {n} is {out[n]}; NumPy has {expected[n]}"
    print(f"vector add ok: {ELEMENTS} elements as NumPy has them, kernel {record.cycles} cycles")
    return None
