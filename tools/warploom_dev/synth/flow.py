"""Yosys and nextpnr: a block's Verilog to ECP5 cells, and those cells to a clock rate."""

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from warploom_dev.synth.initial_rows import move_rows
from warploom_dev.synth.placer import PACKAGE, Placer
from warploom_dev.synth.source import Port
from warploom_dev.yosys import run_yosys
from warploom_sim.failure import ProgramError
from warploom_spec import WarploomError

#: Packages whose version decides the figures.
TOOLS: Final = ("pyosys", PACKAGE)
#: nextpnr's options for each device that a row may name.
DEVICES: Final = {
    "25k": ("--25k", "--package", "CABGA381", "--speed", "6"),
    "85k": ("--85k", "--package", "CABGA756", "--speed", "6"),
}
#: nextpnr's further options for a whole system on a device with room to spare: the usual placer
#: spreads it, and its wires become long.
STATIC: Final = ("--placer", "static")
#: Asked of nextpnr; what it reaches is the same whatever it is asked for.
TARGET_MHZ: Final = 100

#: Words of Verilog that are names of ports: the wrapper escapes them.
KEYWORDS: Final = ("begin", "release")
INSTANCE: Final = "dut"
#: The netlist that is placed.
WRAPPED: Final = "wrap.json"
_LIBRARY: Final = "read_verilog -lib +/ecp5/cells_sim.v +/ecp5/cells_bb.v"

# The block alone, its hierarchy flattened: its area, and the cells that are placed.
_BLOCK: Final = """
read_verilog block.v
synth_ecp5 -top {top}
check -assert
tee -q -o block.json stat -json
rename {top} dut
select dut
write_rtlil -selected block.il
"""
# The wrapper is synthesised apart and joined afterwards: across the border nothing is optimised.
_WRAP: Final = f"""
read_verilog wrap.v
synth_ecp5 -top wrap
select wrap
write_rtlil -selected wrap.il
design -reset
{_LIBRARY}
read_rtlil block.il
read_rtlil wrap.il
hierarchy -check -top wrap
flatten
tee -q -o joined.json stat -json
select wrap
write_json -selected {WRAPPED}
"""


def versions() -> dict[str, str]:
    """Return the versions of the tools.

    Raises
    ------
    WarploomError
        If one is not installed; says how.
    """
    try:
        return {name: metadata.version(name) for name in TOOLS}
    except metadata.PackageNotFoundError as error:
        raise WarploomError(
            f"{error.name} is not installed; run: make synth, or pip install 'warploom[fpga]'"
        ) from error


def recipe(tools: Mapping[str, str], device: str, static: bool = False) -> str:
    """Return all that decides a figure beside the block's Verilog.

    Parameters
    ----------
    tools : mapping of str to str
        The `versions`.
    device : str
        One of `DEVICES`.
    static : bool
        Whether the block is placed with the options `STATIC`.
    """
    # Few ports, but every rule of the wrapper shows: two bits to fold first, then one.
    ports = (Port(name="i", direction="in", bits=2), Port(name="o", direction="out", bits=5))
    wrappers = [wrapper(ports, clocked) for clocked in (True, False)]
    parts = [dict(tools), _BLOCK, _WRAP, wrappers, _place_options(device, static)]
    return json.dumps(parts, sort_keys=True)


def recipe_hash(tools: Mapping[str, str], device: str, static: bool = False) -> str:
    """Return the SHA-256 of the `recipe`."""
    return hashlib.sha256(recipe(tools, device, static).encode()).hexdigest()


def synthesise(top: str, verilog: str, folder: Path) -> Counter[str]:
    """Map a block alone onto ECP5 cells.

    Parameters
    ----------
    top : str
        The block's Verilog module.
    verilog : str
        Its text.
    folder : Path
        Takes ``block.il``, the cells as a netlist, the log, and deep memories' first rows.

    Returns
    -------
    Counter of str
        Cells by type.
    """
    (folder / "block.v").write_text(move_rows(verilog, folder))
    run_yosys("block", _BLOCK.format(top=top), folder)
    return cells_of(folder / "block.json")


def cells_by_name(folder: Path) -> list[tuple[str, str]]:
    """Return type and hierarchical name of each of the block's cells, from ``block.il``."""
    netlist = folder / "block.il"
    found = re.findall(r"^  cell \\(\w+) \\?(\S+)$", netlist.read_text(), re.MULTILINE)
    if not found:
        raise ProgramError(f"{netlist} has no cell: nothing was checked")
    return found


def wrap(ports: tuple[Port, ...], folder: Path) -> Counter[str]:
    """Put the cells of `synthesise` between registers: ``wrap.json``, to be placed.

    Returns
    -------
    Counter of str
        The wrapper's own cells by type.

    Raises
    ------
    ProgramError
        If a cell of the block is not in the wrapped netlist.
    """
    netlist = (folder / "block.il").read_text()
    clocked = re.search(r"^  wire .*input \d+ \\clk$", netlist, re.MULTILINE) is not None
    (folder / "wrap.v").write_text(wrapper(ports, clocked))
    run_yosys("wrap", _WRAP, folder)
    block, joined = cells_of(folder / "block.json"), cells_of(folder / "joined.json")
    own = Counter({name: joined[name] - block[name] for name in {*block, *joined}})
    _check_wrapped(block, folder)
    return +own


def _check_wrapped(block: Counter[str], folder: Path) -> None:
    cells = json.loads((folder / WRAPPED).read_text())["modules"]["wrap"]["cells"]
    inside = Counter(
        cell["type"]
        for name, cell in cells.items()
        if name.startswith(f"{INSTANCE}.") and cell["type"] != "$scopeinfo"
    )
    if inside != block:
        names = sorted({*block, *inside})
        differing = {n: (block[n], inside[n]) for n in names if block[n] != inside[n]}
        raise ProgramError(f"the wrapper changed the block's cells (alone, wrapped): {differing}")


def wrapper(ports: tuple[Port, ...], clocked: bool = True) -> str:
    """Return Verilog that feeds ``dut`` from a shift register and folds its outputs.

    Each output bit is captured in a register of its own, then folded by four bits a stage: no path
    that is not the block's is long, and no port is constant or unused. A block without registers
    has neither clock nor reset.
    """
    inputs = [("rst", 1)] if clocked else []
    inputs += [(p.name, p.bits) for p in ports if p.direction == "in"]
    outputs = [(p.name, p.bits) for p in ports if p.direction == "out"]
    width, folded = sum(bits for _, bits in inputs), sum(bits for _, bits in outputs)
    lines = [
        "(* blackbox *)",
        f"module {INSTANCE}(",
        ",\n".join(
            [
                *(["  input clk"] if clocked else []),
                *(f"  input [{bits - 1}:0] {_escaped(name)}" for name, bits in inputs),
                *(f"  output [{bits - 1}:0] {_escaped(name)}" for name, bits in outputs),
            ]
        ),
        ");",
        "endmodule",
        "module wrap(input clk, input si, output so);",
        f"  reg [{width}:0] feed;",
        "  always @(posedge clk) feed <= {feed, si};",
        *_connections(inputs, outputs, clocked),
        f"  reg [{folded - 1}:0] fold0;",
        "  always @(posedge clk) fold0 <= out;",
    ]
    stage = 0
    while folded > 1:
        narrower = -(-folded // 4)
        lines.append(f"  reg [{narrower - 1}:0] fold{stage + 1};")
        lines += (
            f"  always @(posedge clk) fold{stage + 1}[{k}] <="
            f" ^fold{stage}[{min(folded, 4 * k + 4) - 1}:{4 * k}];"
            for k in range(narrower)
        )
        folded, stage = narrower, stage + 1
    return "\n".join([*lines, f"  assign so = fold{stage};", "endmodule", ""])


def _escaped(name: str) -> str:
    """Return a port's name as Verilog has it."""
    return f"\\{name} " if name in KEYWORDS else name


def _connections(
    inputs: list[tuple[str, int]], outputs: list[tuple[str, int]], clocked: bool
) -> list[str]:
    """Instantiate the block: inputs from ``feed`` above its first bit, outputs to ``out``."""
    pins = ["    .clk(clk)"] if clocked else []
    low = 1
    for name, bits in inputs:
        pins.append(f"    .{_escaped(name)}(feed[{low + bits - 1}:{low}])")
        low += bits
    low = 0
    for name, bits in outputs:
        pins.append(f"    .{_escaped(name)}(out[{low + bits - 1}:{low}])")
        low += bits
    return [f"  wire [{low - 1}:0] out;", f"  {INSTANCE} {INSTANCE}(", ",\n".join(pins), "  );"]


def _place_options(device: str, static: bool) -> list[str]:
    """Return nextpnr's options that decide a clock rate, but for the seed."""
    return [
        *DEVICES[device],
        "--json",
        WRAPPED,
        "--freq",
        str(TARGET_MHZ),
        "--lpf-allow-unconstrained",
        "--timing-allow-fail",
        *(STATIC if static else ()),
    ]


def report_file(folder: Path, seed: int, placer: Placer) -> Path:
    """Return where `place` leaves nextpnr's report."""
    return folder / f"placed{seed}.{placer.name}.json"


def delays_file(folder: Path, seed: int, placer: Placer) -> Path:
    """Return where `place` leaves the delays of the placed netlist, an SDF file."""
    return report_file(folder, seed, placer).with_suffix(".sdf.gz")


def place(
    seed: int,
    folder: Path,
    device: str,
    placer: Placer,
    *,
    static: bool = False,
    delays: bool = False,
) -> None:
    """Place and route the wrapped block with a seed: `report_file`.

    Parameters
    ----------
    seed : int
        The seed.
    folder : Path
        Has the wrapped netlist, takes report and log.
    device : str
        One of `DEVICES`.
    placer : Placer
        The nextpnr that does it.
    static : bool
        Whether it is placed with the options `STATIC`.
    delays : bool
        Whether all delays are written, too: `delays_file`.

    Raises
    ------
    ProgramError
        If the block does not fit the device or is not routed; with nextpnr's last lines.
    """
    report = report_file(folder, seed, placer)
    unfinished, sdf = (folder / f"{report.stem}.{os.getpid()}{end}" for end in ("", ".sdf"))
    options = [
        *_place_options(device, static),
        "--seed",
        str(seed),
        "--report",
        unfinished.name,
        "--log",
        f"{report.stem}.log",
        *(("--sdf", sdf.name) if delays else ()),
    ]
    run_tool("nextpnr", [placer.command, "--quiet", *options], folder)
    if delays:
        _compress(sdf, delays_file(folder, seed, placer))
    unfinished.replace(report)


def run_tool(name: str, command: Sequence[str], folder: Path) -> None:
    """Run a program of the flow in a folder.

    Raises
    ------
    ProgramError
        If it fails; with its last lines.
    """
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        why = done.stderr[-1500:] or f"exit code {done.returncode}, and it said nothing"
        raise ProgramError(f"{name} failed in {folder}:\n{why}")


def _compress(file: Path, to: Path) -> None:
    """Move a file of tens of megabytes into one of a few."""
    unfinished = file.with_suffix(".gz")
    with file.open("rb") as source, gzip.open(unfinished, "wb", 4) as target:
        shutil.copyfileobj(source, target)
    file.unlink()
    unfinished.replace(to)


def rate(report: dict[str, Any]) -> float:
    """Return the slowest clock's rate in MHz from nextpnr's report."""
    return round(min(float(clock["achieved"]) for clock in report["fmax"].values()), 1)


def cells_of(path: Path) -> Counter[str]:
    """Read the cells of ``stat -json``, which Yosys precedes with its own lines."""
    text = path.read_text()
    counted = json.loads(text[text.index("{") :])["design"]["num_cells_by_type"]
    # Where a flattened module was: no hardware.
    counted.pop("$scopeinfo", None)
    if unmapped := [name for name in counted if name.startswith("$")]:
        raise ProgramError(f"{path} has cells that no ECP5 cell stands for: {', '.join(unmapped)}")
    return Counter({name: int(number) for name, number in counted.items()})
