"""A whole design with its pins: Verilog to a bitstream of an ECP5."""

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from warploom_dev.synth import flow
from warploom_dev.synth.initial_rows import move_rows
from warploom_dev.synth.placer import Placer
from warploom_dev.yosys import run_yosys

#: What `place_and_pack` leaves.
BITSTREAM: Final = "top.bit"
REPORT: Final = "placed.json"
_PACKER: Final = "yowasp-ecppack"
#: With the heap placer, or with LUTs of more than four inputs, thousands of wires stay shared: a
#: warp's lanes are much logic at few places. With `router2` hundreds stay shared; `router1` takes
#: ten minutes.
_ROUTABLE: Final = ("--placer", "static", "--router", "router1")
#: As `synth_ecp5` has it, without `share`: that pass asks a SAT solver whether two multipliers of
#: two SMs are ever used at once, for minutes, and they are.
_COARSE: Final = """
proc -latches error
flatten
tribuf -logic
deminout
opt_expr
opt_clean
opt -nodffe -nosdff
fsm
opt
wreduce
peepopt
opt_clean
techmap -map +/cmp2lut.v -D LUT_WIDTH=4
opt_expr
opt_clean
techmap -map +/mul2dsp.v -D DSP_A_MAXWIDTH=18 -D DSP_B_MAXWIDTH=18 -D DSP_A_MINWIDTH=2 \
    -D DSP_B_MINWIDTH=2 -D DSP_NAME=$__MUL18X18
chtype -set $mul t:$__soft_mul
techmap -map +/lattice/dsp_map_18x18.v
alumacc
opt
memory -nomap
opt_clean
"""
_SCRIPT: Final = """
read_verilog {sources}
synth_ecp5 -top top -nowidelut -run begin:coarse
{coarse}
synth_ecp5 -top top -nowidelut -run map_ram:
tee -q -o whole.json stat -json
write_json top.json
"""


def _script(sources: Sequence[str]) -> str:
    return _SCRIPT.format(sources=" ".join(sources), coarse=_COARSE)


def synthesise(sources: Sequence[Path], folder: Path) -> Counter[str]:
    """Map a design, whose top is ``top``, onto ECP5 cells: ``top.json``.

    Parameters
    ----------
    sources : sequence of Path
        Its Verilog; files that it reads lie in ``folder``.
    folder : Path
        Takes netlist and log.

    Returns
    -------
    Counter of str
        Cells by type.
    """
    names = []
    for source in sources:
        names.append(f"read_{source.name}")
        (folder / names[-1]).write_text(move_rows(source.read_text(), folder))
    run_yosys("top", _script(names), folder)
    return flow.cells_of(folder / "whole.json")


def place_and_pack(
    folder: Path, device: Sequence[str], pins: str, placer: Placer, seed: int
) -> dict[str, Any]:
    """Place and route what `synthesise` left, and pack `BITSTREAM`.

    Parameters
    ----------
    folder : Path
        Has the netlist, takes everything.
    device : sequence of str
        nextpnr's options for it.
    pins : str
        An LPF file in the folder.
    placer : Placer
        The nextpnr that does it.
    seed : int
        Its seed.

    Returns
    -------
    dict
        nextpnr's report.

    Raises
    ------
    ProgramError
        If the design does not fit the device or is not routed.
    """
    options = [*device, "--json", "top.json", "--lpf", pins, "--seed", str(seed)]
    options += [*_ROUTABLE, "--timing-allow-fail", "--quiet", "--log", "placed.log"]
    options += ["--report", REPORT, "--textcfg", "top.config"]
    flow.run_tool("nextpnr", [placer.command, *options], folder)
    packer = str(Path(sys.executable).with_name(_PACKER))
    flow.run_tool("ecppack", [packer, "--compress", "top.config", BITSTREAM], folder)
    report: dict[str, Any] = json.loads((folder / REPORT).read_text())
    return report


def fits(report: dict[str, Any]) -> bool:
    """Return whether the device has all cells that nextpnr's report says are used."""
    return all(kind["used"] <= kind["available"] for kind in report["utilization"].values())
