"""Runs kernels on a simulated SimtGpu."""

import functools
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from amaranth.hdl import UnusedElaboratable
from numpy.typing import NDArray

from simt_gpu import SimtGpu
from simt_host.c_driver import built_driver
from simt_host.kernel_elf import KernelElf
from simt_host.memory_image import MEMORY_BITS, MemoryImage
from warploom.lib.axil_pins import AxilPins
from warploom_sim.cosim import simulators
from warploom_sim.cosim.lockstep.build import built
from warploom_sim.cosim.lockstep.cocotb_runner import in_simulator
from warploom_sim.cosim.lockstep.recipe import Recipe
from warploom_sim.failure import ProgramError
from warploom_spec import Config, WarploomError
from warploom_spec.config import BLOCK_LIMITS
from warploom_spec.launch import REGISTER_UNIT, SHARED_UNIT_BYTES
from warploom_spec.resources import SM_RESOURCES, block_amounts

#: Cycles after which a launch without a record is aborted.
LIMIT: Final = 2_000_000
Dimensions = tuple[int, int, int]


@dataclass(frozen=True)
class KernelRun:
    """One launch, or several of one kernel at once.

    Attributes
    ----------
    kernel : KernelElf
        The kernel.
    grids, blocks : tuple of tuple of int
        Of each launch, which has a stream of its own unless its fields say another.
    images : tuple of MemoryImage
        Of each launch; all in the memory of the last one.
    abort_after : int or None
        Cycles after which the first launch is aborted.
    sms : int or None
        How many SMs get blocks; None: all.
    limit : int
        Cycles after which launches without a record are aborted.
    tasks : tuple of dict
        Tasks for unit 0, one after the other, as the C driver takes them; the launches stay for
        as long as their kernel likes.
    index_address : int or None
        Of all launches; None: the driver gives each block shape its own.
    shared_more : tuple of int
        Bytes of shared memory that a block of each launch takes beyond what its kernel needs.
    fields : tuple of dict
        Of each launch: fields as the C driver takes them, instead of what else they would be.
    after : tuple of tuple of int
        Of each launch: the earlier launches, by number, after whose end it begins; empty: none.
    pauses : tuple of int
        Cycles before each launch.
    launch_timeout : int
        Cycles of one residence after which a launch fails; 0: no limit.
    watch : bool
        Whether the offers are noted.
    waits : tuple of int
        Addresses of the loads with which a block waits: how long is noted, too.
    read_bytes : int or None
        Bytes from address 0 on that are read afterwards; None: from the arguments to the end of the
        last buffer. The rest of the outcome's memory is what was written before.
    """

    kernel: KernelElf
    grids: tuple[Dimensions, ...]
    blocks: tuple[Dimensions, ...]
    images: tuple[MemoryImage, ...]
    abort_after: int | None = None
    sms: int | None = None
    limit: int = LIMIT
    tasks: tuple[dict[str, int], ...] = ()
    index_address: int | None = None
    shared_more: tuple[int, ...] = ()
    fields: tuple[dict[str, int], ...] = ()
    after: tuple[tuple[int, ...], ...] = ()
    pauses: tuple[int, ...] = ()
    launch_timeout: int = 0
    watch: bool = False
    waits: tuple[int, ...] = ()
    read_bytes: int | None = None


@dataclass(frozen=True)
class KernelOutcome:
    """What came of a run.

    Attributes
    ----------
    code : int
        0, or why a launch was refused, or the driver's code.
    records : list of dict
        Final records in the order in which launches ended; ``launch`` says which one it is.
    instructions, index_reads : int
        Turns of warps, and rows of packed indices that the SMs read.
    memory : ndarray of uint8
        Afterwards.
    tasks : list of dict
        What came of each task: its outcome, ``error`` and ``results``, its words.
    offers : list of dict
        Each offer in order, as `simt_host.watchers.Watcher` notes it.
    """

    code: int
    records: list[dict[str, int]]
    instructions: int
    index_reads: int
    memory: NDArray[np.uint8]
    tasks: list[dict[str, Any]]
    offers: list[dict[str, int]] = field(default_factory=list)


def run_kernels(
    runs: Sequence[KernelRun], config: Config, simulator: str, folder: Path, waves: bool = False
) -> list[KernelOutcome]:
    """Make runs one after the other, in one simulation.

    Parameters
    ----------
    runs : sequence of KernelRun
        What is run.
    config : Config
        The front end's.
    simulator : str
        ``icarus`` or ``verilator``.
    folder : Path
        An existing folder for this call alone.
    waves : bool
        Whether a waveform comes into the folder.

    Raises
    ------
    ProgramError
        If the simulator fails.
    WarploomError
        If a launch does not fit the configuration's fields.
    """
    fields = [launch_fields(run, config) for run in runs]
    library = built_driver(config)
    waveform = simulators.waveform(simulator) if waves else None
    simulation = _simulation(config, simulator, waveform)
    plans: list[dict[str, Any]] = []
    for number, (run, launches) in enumerate(zip(runs, fields, strict=True)):
        image, memory = folder / f"image{number}.npy", folder / f"memory{number}.npy"
        np.save(image, run.images[-1].bytes)
        limits = [run.images[0].arguments // 4, -(-run.images[-1].end // 4)]
        if run.read_bytes is not None:
            limits = [0, -(-run.read_bytes // 4)]
        paths = {"image": str(image), "memory": str(memory), "read_back": limits}
        plan: dict[str, Any] = {
            "launches": launches,
            "limit": run.limit,
            "abort_after": run.abort_after,
            "tasks": run.tasks,
            "pauses": run.pauses or (0,) * len(launches),
            "after": run.after or [()] * len(launches),
            "launch_timeout": run.launch_timeout,
            "watch": run.waits if run.watch else None,
        }
        plan["sms"] = (1 << (run.sms or config.sms)) - 1
        plans.append(plan | paths)
    whole = {"library": str(library), "config": asdict(config), "runs": plans}
    name = "run of kernels"
    made = in_simulator(name, "simt_host.gpu_bench", simulation, simulator, folder, whole, waves)
    if "failure" in made:
        raise ProgramError(f"{name}: {made['failure']}")
    pairs = zip(made["runs"], plans, strict=True)
    return [_outcome(found, np.load(plan["memory"])) for found, plan in pairs]


@functools.cache
def _simulation(config: Config, simulator: str, waveform: simulators.Waveform | None) -> Path:
    # A component is also made to read its ports.
    warnings.filterwarnings("ignore", category=UnusedElaboratable)
    gpu = Recipe.of(SimtGpu, config, MEMORY_BITS)
    return built(Recipe.of(AxilPins, gpu), simulator, waveform)


def _outcome(found: dict[str, Any], memory: NDArray[np.uint8]) -> KernelOutcome:
    counts = (found.get("instructions", 0), found.get("index_reads", 0))
    notes = (found.get("tasks", []), found["offers"])
    return KernelOutcome(found["code"], found["records"], *counts, memory, *notes)


def launch_fields(run: KernelRun, config: Config) -> list[dict[str, int]]:
    """Return each launch as the C driver takes it, which gives each block shape its indices."""
    launches: list[dict[str, int]] = []
    more = run.shared_more or (0,) * len(run.grids)
    for stream, (grid, block) in enumerate(zip(run.grids, run.blocks, strict=True)):
        shared = run.kernel.shared_bytes + more[stream]
        _check_shape(grid, block, config)
        fields = dict(zip(("gx", "gy", "gz"), grid, strict=True))
        fields |= dict(zip(("dx", "dy", "dz"), block, strict=True))
        fields |= {
            "code": run.kernel.entry,
            "arguments": run.images[stream].arguments,
            "stream": stream,
            "warp_registers": -(-run.kernel.registers * config.warp_size // REGISTER_UNIT),
            "shared": -(-shared // SHARED_UNIT_BYTES),
            "barriers": run.kernel.barriers,
        }
        if run.index_address is not None:
            fields["index_address"] = run.index_address
        if run.fields:
            fields |= run.fields[stream]
        _check_amounts(fields, -(-int(np.prod(block)) // config.warp_size), config)
        launches.append(fields)
    return launches


def _check_amounts(fields: dict[str, int], warps: int, config: Config) -> None:
    """Refuse a block that takes more of a resource than it may, with the legal amounts."""
    amounts = block_amounts(fields, warps, config)
    for resource, amount in zip(SM_RESOURCES, amounts, strict=True):
        if amount > resource.limit(config):
            legal = f"up to {resource.limit(config)}"
            raise WarploomError(f"a block takes {amount} {resource.unit}; legal: {legal}")


def _check_shape(grid: Dimensions, block: Dimensions, config: Config) -> None:
    """Refuse a shape that the configuration does not take, with the legal values."""
    for what, dimensions, limits in (
        ("grid", grid, config.max_grid),
        ("block", block, BLOCK_LIMITS),
    ):
        for axis, value, most in zip("xyz", dimensions, limits, strict=True):
            if not 1 <= value <= most:
                raise WarploomError(f"{what} {axis} is {value}; legal: 1 to {most}")
    threads = int(np.prod(block))
    warps = min(config.warp_slots, config.index_memory_warps)
    most = min(config.max_threads, warps * config.warp_size)
    if threads > most:
        raise WarploomError(f"block {block} has {threads} threads; legal: 1 to {most}")
