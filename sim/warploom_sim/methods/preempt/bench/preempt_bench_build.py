"""The simulation of ``warploom preempt --rtl``: generated and compiled once, then kept."""

import dataclasses
import functools
import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from warploom_sim.build_cache import cached, cached_by_sources, digest, versions
from warploom_sim.cosim import simulators
from warploom_sim.failure import build_failure
from warploom_sim.replay.bench import replay_bench_build
from warploom_spec import Config, WarploomError

#: The one simulator that is quick enough.
SIMULATOR: Final = "verilator"
#: What the replay's bench has for this one, too, in the order in which it is compiled.
_SHARED: Final = ("mix.v", "sm_core.v")
_CLOCK: Final = "clock.cpp"


def build(config: Config) -> Path:
    """Return the program of LaunchPath in its bench, compiled now or before.

    Parameters
    ----------
    config : Config
        Configuration of the hardware.

    Raises
    ------
    WarploomError
        If the simulator or Yosys is missing, or the configuration is refused.
    ProgramError
        If the Verilog does not compile, with the end of the log; or the disk is full.
    """
    simulators.require(SIMULATOR)
    job = dataclasses.asdict(config)
    shared = [replay_bench_build.SOURCES / name for name in (*_SHARED, _CLOCK)]
    makers = [platform.python_version(), *versions(replay_bench_build.TOOLS)]
    parts: list[object] = [job, *makers]
    text = cached_by_sources("preempt-verilog", parts, functools.partial(_generate, job))
    host = Path(__file__).with_name("preempt_host.v")
    files = [*shared[:-1], host, shared[-1], *sorted(text.glob("*.v"))]
    flags = replay_bench_build.VERILATOR_FLAGS
    parts = [digest([path.read_text() for path in files]), flags, simulators.tools(SIMULATOR)]
    folder = cached("preempt-verilator", parts, functools.partial(_compile, files))
    return folder / "model" / "bench"


def _generate(job: dict[str, object], folder: Path) -> None:
    """Generate Verilog in a process of its own, whose hash seed is fixed."""
    # Amaranth takes half a second to import: only a build needs it.
    from warploom_sim.verilog.generate import child_environment

    module = "warploom_sim.methods.preempt.bench.preempt_bench_verilog"
    command = [sys.executable, "-m", module, json.dumps(job), str(folder)]
    done = subprocess.run(
        command, env=child_environment(), capture_output=True, text=True, check=False
    )
    if done.returncode == 2:
        raise WarploomError(done.stderr.strip())
    if done.returncode:
        raise build_failure("the generator of the Verilog", done.returncode, done.stderr, folder)


def _compile(files: Sequence[Path], folder: Path) -> None:
    command = [
        "verilator",
        *replay_bench_build.VERILATOR_FLAGS,
        *(str(path.absolute()) for path in files),
    ]
    environment = {**os.environ, **simulators.environment(SIMULATOR)}
    done = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise build_failure("verilator", done.returncode, done.stdout + done.stderr, folder)
    simulators.remove_intermediates(folder)
