"""The tables that ``warploom merge`` prints."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from warploom_sim.methods import WITHOUT_CONTENTION
from warploom_sim.methods.merge.h200 import CLOCK_MHZ, SEPARATE

#: Figures of the run that are not one row of the first table.
_APART: Final = (
    "file",
    "cycles_unmerged",
    "cycles",
    "speedup",
    "modes",
    "left_out",
    "mode",
    "charges",
    "best_charge",
)
_LABELS: Final = {
    "merged_launches": "launches inside merged ones",
    "tables": "merged launches",
    "time_scale": "time scale (of the recorded time)",
}


def show(console: Console, figures: Mapping[str, Any]) -> None:
    """Print what ran, and the cycles of each mode beside those of separate launches."""
    what = Table("figure", "value", title=escape(str(figures["file"])))
    for name, value in figures.items():
        if name not in _APART:
            text = f"{value:,}" if isinstance(value, int) else str(value)
            what.add_row(_LABELS.get(name, name.replace("_", " ")), text)
    for name, count in figures.get("left_out", {}).items():
        what.add_row(f"left out by {name}", f"{count:,}")
    console.print(what)
    table = Table("run", "charge", "cycles", "against unmerged", "wasted")
    for column in table.columns[2:]:
        column.justify = "right"
    table.add_row("unmerged", "", f"{figures['cycles_unmerged']:,}", "", "")
    for charge, modes in figures["charges"].items():
        for mode, run in modes.items():
            change = run["cycles"] / figures["cycles_unmerged"] - 1
            wasted = {
                "spin": f"{run['spin_slot_cycles']:,} slot-cycles",
                "gate": f"{run['gate_cycles']:,} cycles held",
            }[mode]
            cells = (f"{run['cycles']:,}", f"{change:+.2%}", wasted)
            table.add_row(f"merged, {mode}", charge, *cells)
    console.print(table)
    console.print(charge_verdict(figures), highlight=False, soft_wrap=True)
    console.print(WITHOUT_CONTENTION, highlight=False, soft_wrap=True)


def charge_verdict(figures: Mapping[str, Any]) -> str:
    """Return a line: which charging rule was used, and which one would take fewer cycles."""
    mode, used, best = figures["mode"], figures["charge"], figures["best_charge"]
    said = f"charging rule used: {used} (--charge); in mode {mode} "
    if best is None:
        return said + "both rules take as long"
    cycles = {charge: modes[mode]["cycles"] for charge, modes in figures["charges"].items()}
    other = next(charge for charge in cycles if charge != best)
    less = 1 - cycles[best] / cycles[other]
    word = "wins" if best == used else "would win"
    return said + f"{best} {word}: {less:.2%} fewer cycles than {other}"


def show_h200(console: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print the H200's recorded microseconds beside the model's cycles.

    The model with the walk reads tags one by one, as the recorded kernel does.
    """
    table = Table(
        "blocks a task",
        "cycles a block",
        "order",
        "H200, us",
        "model with walk, us",
        "gate, cycles",
        "spin, cycles",
        "separate, cycles",
        title="three tasks, the second needs the first: an NVIDIA H200, and the model of 132 SMs",
    )
    for column in table.columns:
        column.justify = "right"
    for row in rows:
        cycles = row["cycles"]
        walked = cycles.get("walk", cycles.get(SEPARATE))
        table.add_row(
            f"{row['blocks']:,}",
            f"{row['work_cycles']:,}",
            row["order"],
            f"{row['h200_us']:.1f}",
            f"{walked / CLOCK_MHZ:.1f}",
            *(f"{cycles[name]:,}" if name in cycles else "" for name in ("gate", "spin", SEPARATE)),
        )
    console.print(table)
