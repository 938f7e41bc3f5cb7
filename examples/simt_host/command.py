"""What ``warploom run`` does: one launch of one kernel, its buffers in and out."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simt_host.gpu_run import Dimensions, KernelRun, run_kernels
from simt_host.kernel_elf import read_kernel
from simt_host.memory_image import MEMORY_BYTES, MemoryImage, read_buffer
from warploom_host.outcomes import code_name
from warploom_sim.cosim.lockstep.cocotb_runner import waves_name
from warploom_sim.json_file import whole_file, write_whole
from warploom_spec import Config, ErrorCode, WarploomError
from warploom_spec.errors import EXPLANATIONS
from warploom_spec.queue import FinalFate


@dataclass(frozen=True)
class RunFigures:
    """Figures of a run, under the names of the JSON file."""

    simulator: str
    fate: str
    code: int
    cycles: int
    blocks: int
    warps: int
    instructions: int
    index_reads: int
    #: From the doorbell to the record.
    doorbell_to_record: int


def run_one(
    path: Path,
    grid: Dimensions,
    block: Dimensions,
    buffers: Sequence[str],
    arguments: Sequence[str],
    *,
    config: Config,
    simulator: str,
    limit: int,
    out: Path,
    wave: Path | None,
) -> RunFigures:
    """Run a kernel, and write its buffers as ``out``/NAME.npy.

    Raises
    ------
    WarploomError
        If the kernel, a buffer, an argument or the launch is refused. No file is written.
    """
    kernel = read_kernel(path, MEMORY_BYTES)
    given = [read_buffer(text) for text in buffers]
    image = MemoryImage(kernel, given, arguments)
    run = KernelRun(kernel, (grid,), (block,), (image,), limit=limit)
    with tempfile.TemporaryDirectory() as folder:
        waves = wave is not None
        (outcome,) = run_kernels([run], config, simulator, Path(folder), waves)
        if outcome.code:
            raise WarploomError(_refusal(outcome.code))
        if wave:
            write_whole(wave, (Path(folder) / waves_name(simulator)).read_bytes())
    out.mkdir(parents=True, exist_ok=True)
    for buffer in given:
        with whole_file(out / f"{buffer.name}.npy") as file:
            np.save(file, image.buffer(buffer.name, outcome.memory))
    record = outcome.records[0]
    blocks = int(np.prod(grid))
    return RunFigures(
        simulator=simulator,
        fate=FinalFate(record["fate"]).name.lower(),
        code=record["code"],
        cycles=record["cycles"],
        blocks=blocks,
        warps=blocks * -(-int(np.prod(block)) // config.warp_size),
        instructions=outcome.instructions,
        index_reads=outcome.index_reads,
        doorbell_to_record=record["waited"],
    )


def _refusal(code: int) -> str:
    """Return in words why the core refused the launch."""
    name = code_name(code)
    if code in list(ErrorCode):
        cause, cure = EXPLANATIONS[ErrorCode(code)]
        return f"the launch is refused: {name}: {cause}; {cure}"
    return f"the launch is refused: code {code} ({name})"
