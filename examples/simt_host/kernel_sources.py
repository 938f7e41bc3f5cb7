"""Which sources the committed kernels were compiled from; compiles them anew if they are stale."""

import hashlib
import shutil
import subprocess
from pathlib import Path
from typing import Final

from simt_host.kernel_elf import KernelElf, read_kernel
from simt_host.memory_image import MEMORY_BYTES
from warploom_sim.failure import ProgramError
from warploom_spec import WarploomError

KERNELS: Final = Path(__file__).parents[1] / "kernels"
COMPILER: Final = "riscv64-unknown-elf-gcc"


def sources_hash(folder: Path = KERNELS) -> str:
    """Return the SHA-256 of all kernels' sources, as ``build.sh`` takes it."""
    sources = [*sorted(folder.glob("*.c")), *sorted(folder.glob("*.h"))]
    sources += [folder / "kernel.flags", folder / "kernel.ld"]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


def is_fresh(folder: Path = KERNELS) -> bool:
    """Tell whether the kernels were compiled from the sources that lie beside them."""
    return (folder / "sources.sha256").read_text().strip() == sources_hash(folder)


def current_kernel(name: str, work: Path, folder: Path = KERNELS) -> KernelElf:
    """Return a kernel, compiled anew into the folder ``work`` if the committed one is stale.

    Raises
    ------
    WarploomError
        If it is stale, and the compiler is not installed.
    ProgramError
        If the compiler fails.
    """
    path = folder / f"{name}.elf"
    if not is_fresh(folder):
        if shutil.which(COMPILER) is None:
            raise WarploomError(
                f"{path.name} is older than its sources, and {COMPILER} is not installed; run:"
                f" sudo apt-get install gcc-riscv64-unknown-elf"
            )
        path = work / path.name
        source = folder / f"{name}.c"
        command = [COMPILER, "@examples/kernels/kernel.flags", "-o", str(path), str(source)]
        done = subprocess.run(
            command, cwd=KERNELS.parents[1], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise ProgramError(f"{COMPILER}: {done.stderr.strip()}")
    return read_kernel(path, MEMORY_BYTES)
