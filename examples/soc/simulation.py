"""The system's simulation on Verilator, built once for the same sources."""

import contextlib
import logging
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from soc import firmware, soc_design
from soc.gpu_verilog import gpu_verilog
from warploom_sim.build_cache import cached
from warploom_sim.cosim import simulators
from warploom_sim.failure import ProgramError

BENCH: Final = firmware.HERE / "uart_bench.cpp"
#: What the ROM begins with.
ROM: Final = "top_rom.init"
#: Clocks after which a program that does not end is given up.
LIMIT: Final = 3_000_000
#: LiteX's and VexRiscv's sources are not ours to mend: nothing that Verilator says of them stops.
_FLAGS: Final = (
    *("--cc", "--exe", "--build", "-j", "2", "-O3", "-Wno-fatal", "-Wno-lint", "-Wno-MULTIDRIVEN"),
    *("--x-assign", "fast", "--noassert", "-CFLAGS", "-O1", "--top-module", "top"),
    *("--Mdir", "model", "-o", "bench"),
)


@dataclass(frozen=True)
class Bench:
    """A built bench.

    Attributes
    ----------
    folder : Path
        With ``model/bench``, and what memories begin with.
    headers : dict of str
        LiteX's headers for a program.
    """

    folder: Path
    headers: dict[str, str]


def bench(bridge: bool = False) -> Bench:
    """Return the system's bench, built now or before; its program comes when it runs.

    Parameters
    ----------
    bridge : bool
        As of `soc_design.Soc`.

    Raises
    ------
    ProgramError, WarploomError
        If a tool is missing, or refuses a source.
    """
    simulators.require("verilator")
    with TemporaryDirectory() as made:
        texts, headers = _written(Path(made), bridge)
    parts = [texts, _FLAGS, simulators.tools("verilator")]
    folder = cached("soc", parts, lambda folder: _build(folder, texts), 4)
    return Bench(folder, headers)


def start(made: Bench, folder: Path, image: bytes, *options: object) -> subprocess.Popen[str]:
    """Start a bench in an empty folder with a program; ``options`` are its arguments."""
    for file in made.folder.glob("*.init"):
        (folder / file.name).write_bytes(file.read_bytes())
    words = (f"{word:08x}\n" for word in firmware.words_of(image))
    (folder / ROM).write_text("".join(words))
    command = [str(made.folder / "model" / "bench"), *map(str, options)]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)


def _written(folder: Path, bridge: bool) -> tuple[dict[str, str], dict[str, str]]:
    """Return the texts of all sources by their names, and the headers."""
    logging.disable(logging.INFO)  # LiteX tells of each of its registers
    system = soc_design.simulated(gpu_verilog(), bridge)
    # LiteX writes what memories begin with into the folder in which it is.
    with contextlib.chdir(folder):
        system.platform.get_verilog(system.get_fragment(), name="top").write("top.v")
    sources = [folder / "top.v", *sorted(folder.glob("*.init")), BENCH]
    sources += [Path(source[0]) for source in system.platform.sources]
    texts = {source.name: source.read_text() for source in sources}
    # LiteX's comments have the time: the same sources would be built anew in each run.
    lines = texts["top.v"].splitlines(keepends=True)
    texts["top.v"] = "".join(line for line in lines if not line.startswith("//"))
    return texts, firmware.headers(system)


def _build(folder: Path, texts: Mapping[str, str]) -> None:
    for name, text in texts.items():
        (folder / name).write_text(text)
    names = [name for name in texts if name.endswith((".v", ".cpp"))]
    environment = os.environ | simulators.environment("verilator")
    done = subprocess.run(
        ["verilator", *_FLAGS, *names],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ProgramError(f"verilator failed: {done.stderr[-2000:]}")
