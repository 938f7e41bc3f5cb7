"""Where a block's area is, by module and by line of source, and what its longest path is."""

import json
import linecache
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import amaranth.back.rtlil as rtlil

from warploom_dev.synth import flow
from warploom_dev.synth.measure import LUT4_WEIGHTS, Job
from warploom_dev.yosys import run_yosys

#: Lines of source that are listed.
LINES: Final = 30
#: Up to where cells still know the line that they come from: gates, before they become LUTs.
_SCRIPT: Final = """
read_rtlil source.il
synth_ecp5 -top top -run begin:map_luts
select top
write_json -selected gates.json
"""
_KINDS: Final = ("luts", "carry", "ff")
#: Of other gates one LUT4 holds about two.
_GATE_LUTS: Final = {"$_MUX_": 1.0}


def breakdown_text(job: Job) -> str:
    """Return the breakdown of what was measured as lines of text.

    Cells are said to be in the module that their name begins with; where modules meet, that is the
    one whose signal they make. Areas by line are an estimate from gates: LUTs do not know the lines
    that they hold.
    """
    folder = job.folder / "breakdown"
    folder.mkdir(exist_ok=True)
    source = rtlil.convert(job.target.component(), name="top")
    (folder / "source.il").write_text(source)
    run_yosys("breakdown", _SCRIPT, folder)
    parts = [
        job.target.name,
        _modules(flow.cells_by_name(job.folder), _hierarchy(source)),
        _lines(folder / "gates.json"),
    ]
    for report in sorted(job.folder.glob(f"placed*.{job.placer.name}.json")):
        parts.append(_path(json.loads(report.read_text())))
    return "\n".join(parts)


def _hierarchy(source: str) -> list[str]:
    """Return the paths of all modules below the top, the longest first."""
    names = re.findall(r"^module \\top\.([^$\s]+)", source, re.MULTILINE)
    return sorted(set(names), key=len, reverse=True)


def _path(report: dict[str, Any]) -> str:
    """Return the longest path: where it is after each step, in ns, and what the step took."""
    longest = max(report["critical_paths"], key=lambda path: sum(s["delay"] for s in path["path"]))
    lines, now = [f"longest path at {flow.rate(report)} MHz"], 0.0
    for step in longest["path"]:
        now += step["delay"]
        if not step["delay"]:
            continue
        where = step.get("net") or f"{step['to']['cell']}.{step['to']['port']}"
        lines.append(f"{now:7.2f} {step['delay']:5.2f} {step['type']:9} {where}")
    return "\n".join(lines)


def _modules(cells: Iterable[tuple[str, str]], hierarchy: Sequence[str]) -> str:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for kind, name in cells:
        inside = (path for path in hierarchy if name.startswith(f"{path}."))
        found[next(inside, "(top)")][kind] += 1
    rows = []
    for name, counts in found.items():
        area = sum(counts[kind] * weight for kind, weight in LUT4_WEIGHTS.items())
        figures = (area, *(counts[kind] for kind in LUT4_WEIGHTS), counts["TRELLIS_FF"])
        rows.append((" ".join(f"{figure:7,}" for figure in figures), area, name))
    rows.sort(key=lambda row: -row[1])
    heading = "LUT4-eq    LUT4   CCU2C DPR16X4      FF  module"
    return "\n".join([heading, *(f"{figures}  {name}" for figures, _, name in rows)])


def _lines(path: Path) -> str:
    cells = json.loads(path.read_text())["modules"]["top"]["cells"].values()
    found: dict[str, dict[str, float]] = defaultdict(lambda: dict.fromkeys(_KINDS, 0.0))
    for cell in cells:
        place = cell["attributes"].get("src", "?").partition("|")[0]
        found[place][_kind(cell["type"])] += _weight(cell)
    ranked = sorted(found.items(), key=lambda item: -item[1]["luts"] - item[1]["carry"])
    lines = [f"{'~LUT4':>7} {'2 CCU2C':>7} {'FF':>7}  source"]
    for place, counts in ranked[:LINES]:
        file, _, line = place.rpartition(":")
        code = linecache.getline(file, int(line)).strip() if line.isdecimal() else ""
        name = f"{Path(file).name}:{line}"
        figures = " ".join(f"{counts[kind]:7.0f}" for kind in _KINDS)
        lines.append(f"{figures}  {name:28} {code[:80]}")
    return "\n".join(lines)


def _kind(cell_type: str) -> str:
    if "FF" in cell_type or "DFF" in cell_type:
        return "ff"
    return "carry" if cell_type == "CCU2C" else "luts"


def _weight(cell: dict[str, Any]) -> float:
    kind = _kind(cell["type"])
    if kind != "luts":
        return 1 if kind == "ff" else LUT4_WEIGHTS["CCU2C"]
    if cell["type"] in LUT4_WEIGHTS:
        return LUT4_WEIGHTS[cell["type"]]
    if cell["type"] == "$_NOT_":
        return 0
    return _GATE_LUTS.get(cell["type"], 0.5)
