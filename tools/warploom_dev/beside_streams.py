"""A merged kernel beside streams: the page's tables and the figure, from what was measured.

The rows of `FIGURES` are runs of SimtCores behind FrontEnd; those of the H200 were recorded.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from warploom_dev.pages import markdown_table, section_replaced
from warploom_sim.json_file import write_whole
from warploom_sim.methods.merge.h200 import SEPARATE, recorded
from warploom_sim.plots import new_figure, write_figure

FIGURES: Final = Path("docs/figures/merged.json")
PAGE: Final = Path("docs/merging/beside_streams.md")
FIGURE: Final = Path("docs/merging/beside_streams.svg")
_WRITTEN: Final = "<!-- Written by `make beside-streams`: {}. -->"
ON_RTL: Final = _WRITTEN.format("on SimtCores")
ON_H200: Final = _WRITTEN.format("on an H200")
ON_MODEL: Final = _WRITTEN.format("beside the model")
#: The ways to run the three tasks, by the names of a row's cycles.
ONE, TWO, MERGED = "one_stream", "two_streams", "merged"
#: How a length's marks are filled.
_FILLS: Final = ("black", "0.6", "white", "tab:orange")
_TICKS: Final = (1, 2, 4, 8, 16)
#: The H200's table that has a place in the figure.
_ORDER: Final = "0 1 2"

#: Blocks of a task, a block's length, cycles (or time) of each way.
Row = dict[str, Any]
Figures = dict[str, Any]


def read_figures(root: Path) -> Figures:
    """Return what was measured on the RTL: ``beside`` streams, and beside the model (``spin``)."""
    figures: Figures = json.loads((root / FIGURES).read_text())
    return figures


def h200_rows() -> list[Row]:
    """Return what was recorded on the H200: microseconds, in one stream and merged."""
    runs = {(run.blocks, run.work, run.order): run.microseconds for run in recorded()}
    return [
        {
            "blocks": blocks,
            "length": f"{work:,} cycles",
            ONE: microseconds,
            MERGED: runs[blocks, work, _ORDER],
        }
        for (blocks, work, order), microseconds in runs.items()
        if order == SEPARATE
    ]


def change(row: Row, way: str, beside: str) -> str:
    """Return how much more a way takes than another one, in per cent."""
    return f"{100 * (row[way] / row[beside] - 1):+.0f} %"


def rtl_table(rows: Sequence[Row]) -> str:
    """Return the table of SimtCores' cycles."""
    headings = (
        "SMs",
        "blocks of a task",
        "blocks are",
        "one stream",
        "two streams",
        "merged",
        "merged against one stream",
        "against two",
    )
    cells = [
        (
            str(row["sms"]),
            str(row["blocks"]),
            row["length"],
            *(f"{row[way]:,}" for way in (ONE, TWO, MERGED)),
            change(row, MERGED, ONE),
            change(row, MERGED, TWO),
        )
        for row in rows
    ]
    return markdown_table(headings, cells, ("blocks are",))


def h200_table() -> str:
    """Return the table of the H200's microseconds."""
    headings = ("blocks of a task", "of a block", "one stream", "merged", "merged against it")
    cells = [
        (
            f"{row['blocks']:,}",
            row["length"],
            str(row[ONE]),
            str(row[MERGED]),
            change(row, MERGED, ONE),
        )
        for row in h200_rows()
    ]
    return markdown_table(headings, cells, ())


def spin_table(rows: Sequence[Row]) -> str:
    """Return the table of the RTL's cycles beside the golden model's."""
    headings = (
        "SMs",
        "blocks of a task",
        "blocks are",
        "RTL",
        "model, lengths alone",
        "against RTL",
        "model, lengths beside others",
        "against RTL",
    )
    cells = [
        (
            str(row["sms"]),
            str(row["blocks"]),
            row["length"],
            f"{row['rtl']:,}",
            f"{row['alone']:,}",
            f"{100 * (row['alone'] / row['rtl'] - 1):+.1f} %",
            f"{row['model']:,}",
            f"{100 * (row['model'] / row['rtl'] - 1):+.1f} %",
        )
        for row in rows
    ]
    return markdown_table(headings, cells, ("blocks are",))


def page_text(text: str, figures: Figures) -> str:
    """Return the page's text with all tables written anew."""
    text = section_replaced(PAGE, text, ON_RTL, rtl_table(figures["beside"]))
    text = section_replaced(PAGE, text, ON_MODEL, spin_table(figures["spin"]))
    return section_replaced(PAGE, text, ON_H200, h200_table())


def panels(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows of each panel of the figure, by its title."""
    made: dict[str, list[Row]] = {}
    for row in rows:
        made.setdefault(f"SimtCore, {row['sms']} SM{'s' * (row['sms'] > 1)}", []).append(row)
    return made | {"H200, 132 SMs": h200_rows()}


def draw(path: Path, rows: Sequence[Row]) -> None:
    """Draw each way's time, one stream's being 1, by the blocks of a task: a panel a machine."""
    figure, axes = new_figure(nrows=2, ncols=2, sharey=True)
    for panel, (title, those) in zip(axes.flat, panels(rows).items(), strict=True):
        _draw_panel(panel, title, those)
    figure.supxlabel("blocks of each of the three tasks", fontsize=9)
    figure.supylabel("time, 1 in one stream", fontsize=9)
    write_figure(path, figure)


def _draw_panel(panel: Any, title: str, rows: Sequence[Row]) -> None:
    counts = sorted({row["blocks"] for row in rows})
    fills = dict(zip(dict.fromkeys(row["length"] for row in rows), _FILLS, strict=False))
    panel.axhline(1, color="0.35", linewidth=1.2)
    for way, marker in ((MERGED, "o"), (TWO, "^")):
        for length, fill in fills.items():
            those = [row for row in rows if row["length"] == length and way in row]
            if not those:
                continue
            (line,) = panel.plot(
                [counts.index(row["blocks"]) for row in those],
                [row[way] / row[ONE] for row in those],
                color="0.6",
                linewidth=0.8,
                marker=marker,
                markersize=5,
                markerfacecolor=fill,
                markeredgecolor="black",
                label=f"{way.replace('_', ' ')}, {length}",
            )
            # The figure's marks are read back by these names.
            line.set_gid(f"{title}, {way}, {length}")
    panel.set_xticks(range(len(counts)), [f"{count:,}" for count in counts])
    panel.set_yscale("log", base=2)
    panel.set_yticks(_TICKS, [str(tick) for tick in _TICKS])
    panel.set_title(title, fontsize=9)
    panel.grid(alpha=0.3)
    panel.legend(fontsize=5, ncols=2, loc="upper left")


def write_page(root: Path, figures: Figures) -> None:
    """Write the page's tables and the plot anew."""
    page = root / PAGE
    write_whole(page, page_text(page.read_text(), figures))
    draw(root / FIGURE, figures["beside"])
