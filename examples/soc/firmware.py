"""The soft core's program: compiled where a compiler for RISC-V is there, else as committed."""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from simt_host.kernel_elf import KernelElf, read_kernel
from soc.gpu_verilog import CONFIG, MEMORY_BITS
from warploom_sim.failure import ProgramError
from warploom_sim.verilog.register_map import c_header
from warploom_spec import WarploomError
from warploom_spec.launch import REGISTER_UNIT, SHARED_UNIT_BYTES

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
FOLDER: Final = HERE / "firmware"
COMMITTED: Final = FOLDER / "main.bin"
KERNEL: Final = ROOT / "examples" / "kernels" / "vector_add.elf"
COMPILER: Final = "riscv64-unknown-elf-gcc"
_CURE: Final = "run: sudo apt-get install gcc-riscv64-unknown-elf"
_FLAGS: Final = (
    *(
        "-march=rv32im",
        "-mabi=ilp32",
        "-std=c99",
        "-O3",
        "-ffunction-sections",
        "-ffreestanding",
        "-nostdlib",
    ),
    *("-Wall", "-Wextra", "-Werror"),
)


def kernel_header(path: Path) -> str:
    """Return a C header with a kernel's words, and what a launch of it takes.

    Raises
    ------
    WarploomError
        If the file is no kernel, or does not lie in one piece.
    """
    kernel = read_kernel(path, 1 << MEMORY_BITS)
    pieces = [segment for segment in kernel.segments if segment[1]]
    if len(pieces) != 1:
        raise WarploomError(f"{path.name} has {len(pieces)} pieces of code and data; legal: 1")
    [(address, data)] = pieces
    data += bytes(-len(data) % 4)
    words = [int.from_bytes(data[n : n + 4], "little") for n in range(0, len(data), 4)]
    values = {"ADDRESS": address, "WORDS": len(words)} | amounts(kernel)
    lines = [f"#define KERNEL_{name} {value}u" for name, value in values.items()]
    table = ", ".join(f"{word:#010x}u" for word in words)
    return "\n".join([*lines, f"static const unsigned kernel_words[] = {{{table}}};", ""])


def amounts(kernel: KernelElf) -> dict[str, int]:
    """Return the entry, and what a block takes, in the hardware's units."""
    return {
        "ENTRY": kernel.entry,
        "WARP_REGISTERS": -(-kernel.registers * CONFIG.warp_size // REGISTER_UNIT),
        "SHARED": -(-kernel.shared_bytes // SHARED_UNIT_BYTES),
        "BARRIERS": kernel.barriers,
    }


def headers(soc: Any) -> dict[str, str]:
    """Return LiteX's headers of a system and the driver's, by their names."""
    from litex.soc.integration import export

    base = soc.mem_regions["csr"].origin
    return {
        "csr.h": export.get_csr_header(
            soc.csr.regions, soc.constants, base, with_access_functions=False
        ),
        "mem.h": export.get_mem_header(soc.mem_regions),
        "soc_constants.h": export.get_soc_header(soc.constants, with_access_functions=False),
        "warploom_host.h": c_header(CONFIG, "soc"),
    }


def image(
    headers: Mapping[str, str], folder: Path, main: Path | None = None, kernel: Path | None = None
) -> bytes:
    """Return the program: compiled, or without a compiler the committed one.

    Parameters
    ----------
    headers : dict of str
        Of `headers`.
    folder : Path
        An empty one.
    main, kernel : Path or None
        A program and a kernel of your own.

    Raises
    ------
    ProgramError
        If the compiler fails.
    WarploomError
        If there is none, for files of your own, or the kernel is refused.
    """
    for name, text in {**headers, "kernel.h": kernel_header(kernel or KERNEL)}.items():
        (folder / name).write_text(text)
    if shutil.which(COMPILER):
        return _compiled(folder, main or FOLDER / "main.c")
    if main or kernel:
        raise WarploomError(f"{COMPILER} is not installed, to compile your own files; {_CURE}")
    return COMMITTED.read_bytes()


def _compiled(folder: Path, main: Path) -> bytes:
    host = ROOT / "host" / "c"
    sources = (FOLDER / "start.S", main, *sorted(host.glob("warploom*.c")))
    elf, image = folder / "main.elf", folder / "main.bin"
    includes = [f"-I{path}" for path in (folder, host, FOLDER)]
    script = f"-T{FOLDER / 'firmware.ld'}"
    copy = [COMPILER.replace("gcc", "objcopy"), "-O", "binary", str(elf), str(image)]
    compile = [COMPILER, *_FLAGS, *includes, script, *map(str, sources), "-o", str(elf)]
    for command in (compile, copy):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ProgramError(f"{command[0]} failed: {done.stderr}")
    return image.read_bytes()


def words_of(image: bytes) -> list[int]:
    """Return a program as the ROM's words."""
    image += bytes(-len(image) % 4)
    return [int.from_bytes(image[n : n + 4], "little") for n in range(0, len(image), 4)]
