"""FrontEnd's area on other families of FPGAs: Yosys's own flows, cells counted by their types."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from warploom_dev.figure_rows import marked, read_rows, write_rows
from warploom_dev.pages import markdown_table, section_replaced
from warploom_dev.synth.source import Source, generate, top_module
from warploom_dev.synth.synth_report import PAGE
from warploom_dev.synth.targets import FRONT_END, Target, all_targets
from warploom_dev.yosys import run_yosys
from warploom_sim.build_cache import cached
from warploom_sim.failure import ProgramError
from warploom_sim.verilog.portable_verilog import hide_first_rows
from warploom_spec import WarploomError

#: Where the committed figures are, in the repository.
FILE: Final = Path("docs/figures/families.json")
_BEGIN: Final = "<!-- Written by `python -m warploom_dev families --update`. -->"
#: The package whose version decides the figures.
TOOL: Final = "pyosys"
#: Results that stay.
KEPT_BUILDS: Final = 16
_HEADINGS: Final = (
    "family",
    "flow",
    "LUTs",
    "carry cells",
    "flip-flops",
    "distributed memories",
    "block memories",
    "multipliers",
)
_TEXT: Final = ("family", "flow")
_SCRIPT: Final = """
read_verilog block.v
{flow} -top {top}
check -assert
tee -q -o block.json stat -json
"""


@dataclass(frozen=True)
class Family:
    """A family of FPGAs: Yosys's flow for it, and what its cells are by their types.

    Attributes
    ----------
    name : str
        The family's name.
    flow : str
        Yosys's command, but for the top module.
    counted : mapping of str to str
        By field of `FamilyRow` the types of cells, as a regular expression.
    """

    name: str
    flow: str
    counted: Mapping[str, str]


FAMILIES: Final = {
    "xilinx": Family(
        "AMD 7 series",
        "synth_xilinx -family xc7 -flatten",
        {
            "luts": r"LUT\d|INV",
            "carry": r"CARRY4",
            "ff": r"FD[CPRS]E(_1)?|LD[CP]E",
            "distributed": r"RAM\d+(M|M16|X\d+[DSQ])\w*|SRL\w+",
            "block": r"RAMB(18|36)E1",
            "multipliers": r"DSP48E1",
        },
    ),
    "gowin": Family(
        "Gowin GW1N",
        "synth_gowin",
        {
            "luts": r"LUT\d|INV",
            "carry": r"ALU",
            "ff": r"DFF\w*",
            "distributed": r"RAM16S\w+",
            "block": r"(SP|DP|SDP|pROM)X?9?B?",
            "multipliers": r"MULT\w+",
        },
    ),
    "ice40": Family(
        "Lattice iCE40 UP",
        "synth_ice40 -device u -dsp",
        {
            "luts": r"SB_LUT4",
            "carry": r"SB_CARRY",
            "ff": r"SB_DFF\w*",
            "distributed": r"(?!)",
            "block": r"SB_RAM40_4K\w*",
            "multipliers": r"SB_MAC16",
        },
    ),
    "intel": Family(
        "Intel Cyclone V",
        "synth_intel_alm -family cyclonev",
        {
            "luts": r"MISTRAL_ALUT\d|MISTRAL_NOT",
            "carry": r"MISTRAL_ALUT_ARITH",
            "ff": r"MISTRAL_FF",
            "distributed": r"MISTRAL_MLAB",
            "block": r"MISTRAL_M10K",
            "multipliers": r"MISTRAL_MUL\w+",
        },
    ),
}
#: Cells that are neither logic nor memory, and multiplexers beside the LUTs.
_OTHERS: Final = (
    r"\$scopeinfo|GND|VCC|I?BUFG?|OBUF|MUXF\d|MUX2_LUT\d|GSR|MISTRAL_(IB|OB|CLKENA|CLKBUF)"
)


@dataclass(frozen=True, kw_only=True)
class FamilyRow:
    """The figures of one family.

    Attributes
    ----------
    family : str
        A name of `FAMILIES`.
    first_values : bool
        Whether memories had first values; without ``warploom verilog --no-init`` they have.
    luts, carry, ff, distributed, block, multipliers : int
        Cells.
    netlist_hash : str
        SHA-256 of the Verilog, with first values and without comments.
    recipe_hash : str
        SHA-256 of tool and script.
    stale : bool
        Whether one of them had changed since when the marks were written.
    """

    family: str
    first_values: bool
    luts: int
    carry: int
    ff: int
    distributed: int
    block: int
    multipliers: int
    netlist_hash: str
    recipe_hash: str
    stale: bool = False

    @property
    def key(self) -> tuple[str, bool]:
        """What tells a row from the others."""
        return self.family, self.first_values

    @property
    def name(self) -> str:
        """Its name in messages."""
        return self.family + ("-first-values" if self.first_values else "")

    def to_json(self) -> dict[str, Any]:
        """Return the row as the committed file holds it."""
        return asdict(self)


#: The figures of a row.
COUNTS: Final = ("luts", "carry", "ff", "distributed", "block", "multipliers")
_HASHES: Final = ("netlist_hash", "recipe_hash")


def target() -> Target:
    """Return what is measured: the smallest core."""
    (found,) = (t for t in all_targets() if (t.block, t.config) == (FRONT_END, "tiny"))
    return found


def recipe_hash(family: str, version: str) -> str:
    """Return the SHA-256 of all that decides a family's figures beside the Verilog."""
    parts = [version, _SCRIPT, FAMILIES[family].flow]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def synthesise(family: str, top: str, verilog: str, folder: Path) -> Counter[str]:
    """Map Verilog onto a family's cells; return the cells by type.

    Parameters
    ----------
    family : str
        A name of `FAMILIES`.
    top : str
        The top module.
    verilog : str
        The text.
    folder : Path
        Takes the log.
    """
    (folder / "block.v").write_text(verilog)
    run_yosys("block", _SCRIPT.format(flow=FAMILIES[family].flow, top=top), folder)
    text = (folder / "block.json").read_text()
    cells = json.loads(text[text.index("{") :])["design"]["num_cells_by_type"]
    return Counter({name: int(number) for name, number in cells.items()})


def counts(family: str, cells: Mapping[str, int]) -> dict[str, Any]:
    """Return the figures of cells.

    Raises
    ------
    ProgramError
        If a cell is of a type that nothing counts.
    """
    counted = FAMILIES[family].counted
    found = dict.fromkeys(counted, 0)
    for kind, number in cells.items():
        fields_of = [name for name, types in counted.items() if re.fullmatch(types, kind)]
        if not fields_of and not re.fullmatch(_OTHERS, kind):
            raise ProgramError(f"{family}: {number} cells of type {kind}, which nothing counts")
        for name in fields_of:
            found[name] += number
    return found


def measure(family: str, first_values: bool, source: Source) -> FamilyRow:
    """Measure FrontEnd on a family, or find what was measured before.

    Raises
    ------
    WarploomError
        If Yosys is not installed.
    """
    try:
        recipe = recipe_hash(family, metadata.version(TOOL))
    except metadata.PackageNotFoundError as error:
        raise WarploomError(
            f"{TOOL} is not installed; run: make synth, or pip install 'warploom[fpga]'"
        ) from error
    text = source.text if first_values else hide_first_rows(source.text, "host")

    def make(folder: Path) -> None:
        cells = synthesise(family, top_module(target()), text, folder)
        (folder / "cells.json").write_text(json.dumps(cells))

    folder = cached("families", [family, text, recipe], make, KEPT_BUILDS)
    cells = json.loads((folder / "cells.json").read_text())
    return FamilyRow(
        family=family,
        first_values=first_values,
        netlist_hash=source.netlist_hash,
        recipe_hash=recipe,
        **counts(family, cells),
    )


def measure_all(
    chosen: Sequence[str], both: bool, step: Callable[[str], None] = lambda _: None
) -> Iterator[FamilyRow]:
    """Measure families one after the other; ``both``: also with first values."""
    source = generate(target())
    for family in chosen:
        for first_values in (False, True) if both else (False,):
            yield measure(family, first_values, source)
            step(family)


def read(path: Path = FILE) -> dict[tuple[str, bool], FamilyRow]:
    """Read figures; a file that is not there holds none."""
    rows = read_rows(path, lambda data: FamilyRow(**data))
    return {row.key: row for row in rows}


def write(rows: Mapping[tuple[str, bool], FamilyRow], path: Path = FILE) -> None:
    """Write rows, in the order of `FAMILIES`."""
    order = [(family, kept) for family in FAMILIES for kept in (False, True)]
    write_rows(path, [rows[key] for key in order if key in rows])


def stale(committed: Mapping[tuple[str, bool], FamilyRow], row: FamilyRow) -> list[str]:
    """Say in what a committed row differs from the measured one."""
    if row.key not in committed:
        return [f"{row.name}: not in the committed figures"]
    old = committed[row.key]
    return [
        f"{row.name}: {f.name} is {getattr(old, f.name)}, measured {getattr(row, f.name)}"
        for f in fields(row)
        if f.name in (*COUNTS, *_HASHES) and getattr(old, f.name) != getattr(row, f.name)
    ]


def cells_of(row: FamilyRow) -> list[str]:
    """Return a row's cells of the table."""
    family = FAMILIES[row.family]
    name = family.name + (", first values kept" if row.first_values else "")
    numbers = [f"{getattr(row, field):,}" for field in COUNTS]
    return [marked(name, row.stale), f"`{family.flow}`", *numbers]


def page_text(page: str, rows: Sequence[FamilyRow]) -> str:
    """Return the page with the table of families written anew."""
    table = markdown_table(_HEADINGS, [cells_of(row) for row in rows], _TEXT)
    return section_replaced(PAGE, page, _BEGIN, table)


def marked_rows(
    stale_rows: Mapping[str, bool], rows: Mapping[tuple[str, bool], FamilyRow]
) -> dict[tuple[str, bool], FamilyRow]:
    """Return rows with marks; those that are not named keep theirs."""
    return {
        key: replace(row, stale=stale_rows.get(row.name, row.stale)) for key, row in rows.items()
    }
