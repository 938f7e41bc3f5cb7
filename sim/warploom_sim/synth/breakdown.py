"""Where a block's area is, by module and by line of source, and what its longest path is."""

import json
import linecache
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, Final

from amaranth.back import rtlil  # type: ignore[attr-defined]

from warploom_sim.synth import flow
from warploom_sim.synth.measure import LUT4_WEIGHTS, Job

#: Lines of source that are listed.
LINES: Final = 30
#: Up to where cells still know the line that they come from: gates, before they become LUTs.
_SCRIPT: Final = """
read_rtlil block.il
hierarchy -top top
design -save source
synth_ecp5 -noflatten -top top
tee -q -o modules.json stat -json
design -load source
synth_ecp5 -top top -run begin:map_luts
select top
write_json -selected gates.json
"""
_KINDS: Final = ("luts", "carry", "ff")
#: Of other gates one LUT4 holds about two.
_GATE_LUTS: Final = {"$_MUX_": 1.0}


def breakdown_text(job: Job) -> str:
    """Return the breakdown of what was measured as lines of text.

    Areas by module are those of the block synthesised with its hierarchy kept; those by line are an
    estimate, from gates: LUTs do not know the lines that they hold.
    """
    folder = job.folder / "breakdown"
    folder.mkdir(exist_ok=True)
    (folder / "block.il").write_text(rtlil.convert(job.target.component(), name="top"))
    flow.run_yosys("breakdown", _SCRIPT, folder)
    parts = [job.target.name, _modules(folder / "modules.json"), _lines(folder / "gates.json")]
    for report in sorted(job.folder.glob("placed*.json")):
        parts.append(_path(json.loads(report.read_text())))
    return "\n".join(parts)


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


def _modules(path: Path) -> str:
    text = path.read_text()
    modules = json.loads(text[text.index("{") :])["modules"]
    lines = [f"{'LUT4-eq':>8} {'LUT4':>6} {'CCU2C':>6} {'DPR16':>6} {'FF':>6}  module (own cells)"]
    own = []
    for name, module in modules.items():
        cells = Counter(module.get("num_cells_by_type", {}))
        area = sum(cells[kind] * weight for kind, weight in LUT4_WEIGHTS.items())
        if area or cells["TRELLIS_FF"]:
            figures = (area, cells["LUT4"], cells["CCU2C"], cells["TRELLIS_DPR16X4"])
            own.append((*figures, cells["TRELLIS_FF"], name.removeprefix("\\")))
    for area, lut4, ccu2c, dpr, ff, name in sorted(own, reverse=True):
        lines.append(f"{area:8} {lut4:6} {ccu2c:6} {dpr:6} {ff:6}  {name}")
    return "\n".join(lines)


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
