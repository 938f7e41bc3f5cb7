"""The C driver in a bench's program: its sources for one configuration, compiled as C."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from warploom_sim.failure import build_failure
from warploom_spec import Config

#: The compiler is that of Verilator's builds, which is known to be there.
COMMAND: Final = ("g++", "-x", "c", "-std=c99", "-O2", "-c")
_FOLDER: Final = "driver"


def driver_texts(config: Config) -> dict[str, str]:
    """Return the driver's files by their names, ``warploom_host.h`` for the configuration."""
    from warploom_host.c_driver import c_driver
    from warploom_sim.verilog.register_map import c_header

    return c_driver() | {"warploom_host.h": c_header(config, "bench")}


def compile_driver(texts: Mapping[str, str], folder: Path) -> tuple[str, ...]:
    """Compile the driver in a build's folder; return what links Verilator's program with it.

    Raises
    ------
    ProgramError
        If it does not compile.
    """
    there = folder / _FOLDER
    there.mkdir()
    for name, text in texts.items():
        (there / name).write_text(text)
    sources = sorted(name for name in texts if name.endswith(".c"))
    done = subprocess.run(
        (*COMMAND, *sources), cwd=there, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise build_failure(COMMAND[0], done.returncode, done.stderr, folder)
    objects = (str((there / name).with_suffix(".o").absolute()) for name in sources)
    return ("-CFLAGS", f"-I{there.absolute()}", *objects)
