"""The system on a board: LiteX writes ``top.v``, ``top.lpf`` and what memories begin with.

LiteX names signals after the calls that made them, and sets date and revision in comments. So
`write_sources` runs this module in a process of its own, always by the same way, and leaves these
comments out: the same sources give the same files.
"""

import contextlib
import hashlib
import importlib
import logging
import os
import shutil
import subprocess
import sys
from importlib import util
from pathlib import Path
from typing import Any, Final

from soc import boards, firmware
from warploom_sim.failure import ProgramError
from warploom_spec import WarploomError

TOP: Final = "top.v"
PINS: Final = "top.lpf"
_EXAMPLES: Final = firmware.ROOT / "examples"
_MODULES: Final = ("litex", "litex_boards", "migen", "pythondata_cpu_vexriscv")


def write_sources(board: boards.Board, folder: Path) -> tuple[Path, ...]:
    """Write all that the bitstream is made of into an empty folder; return the Verilog.

    Raises
    ------
    WarploomError
        If a package is missing.
    ProgramError
        If LiteX fails; with its last lines.
    """
    for module in _MODULES:
        if not util.find_spec(module):
            raise WarploomError(f"{module} is not installed; make fpga installs it")
    path = os.pathsep.join([str(_EXAMPLES), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", __spec__.name, board.name, str(folder)],
        env=os.environ | {"PYTHONPATH": path, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ProgramError(f"LiteX failed for {board.name}:\n{done.stderr[-2000:]}")
    return tuple(sorted(folder.glob("*.v")))


def top_hash(folder: Path) -> str:
    """Return the SHA-256 of what LiteX wrote as Verilog."""
    return hashlib.sha256((folder / TOP).read_bytes()).hexdigest()


def sources_hash(folder: Path) -> str:
    """Return a SHA-256 of all that `write_sources` wrote: also the GPU, the processor, the ROM."""
    files = {file.name: file.read_bytes() for file in sorted(folder.iterdir())}
    parts = (f"{name} {hashlib.sha256(data).hexdigest()}\n" for name, data in files.items())
    return hashlib.sha256("".join(parts).encode()).hexdigest()


def system(board: boards.Board, verilog: Path) -> Any:
    """Return the system on a board, not finalized; LiteX's, which no type checker knows."""
    from litex.gen import ClockDomain, LiteXModule, Signal
    from litex.soc.cores.clock import ECP5PLL

    from soc.soc_design import Soc

    class Clock(LiteXModule):
        def __init__(self, platform: Any) -> None:
            self.rst = Signal()
            self.cd_sys = ClockDomain()
            self.pll = ECP5PLL()
            self.comb += self.pll.reset.eq(platform.request("rst") | self.rst)
            self.pll.register_clkin(platform.request("clk25"), board.crystal_hz)
            self.pll.create_clkout(self.cd_sys, board.hz)
            # The other chip of the board resets this one otherwise.
            self.comb += platform.request("wifi_gpio0").eq(1)

    module = importlib.import_module(f"litex_boards.platforms.{board.platform}")
    platform = module.Platform(device=board.part, toolchain="trellis")
    rom = firmware.words_of(firmware.COMMITTED.read_bytes())
    clock = Clock(platform)
    return Soc(platform, clock, board.hz, verilog, bridge=True, rom=rom, baud=board.baud)


def _write(board: boards.Board, folder: Path) -> None:
    from soc.gpu_verilog import gpu_verilog

    logging.disable(logging.WARNING)  # LiteX tells of each of its registers
    made = system(board, gpu_verilog())
    made.finalize()
    for source, *_ in made.platform.sources:
        shutil.copy(source, folder)
    with contextlib.chdir(folder):
        made.platform.build(made.get_fragment(), build_name="top", build_dir=".", run=False)
        # A script for programs that are not here, and its commands: they name this machine's paths.
        for name in ("build_top.sh", "top.ys"):
            Path(name).unlink()
    lines = (folder / TOP).read_text().splitlines(keepends=True)
    (folder / TOP).write_text("".join(line for line in lines if not line.startswith("//")))


if __name__ == "__main__":
    _write(boards.board(sys.argv[1]), Path(sys.argv[2]))
