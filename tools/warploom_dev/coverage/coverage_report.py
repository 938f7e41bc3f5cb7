"""Coverage in words: the table in the terminal, and those of the page."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from rich.table import Table

from warploom_dev.coverage.coverage_figures import Row, Share
from warploom_dev.coverage.waivers import WAIVERS
from warploom_dev.figure_rows import marked
from warploom_dev.pages import markdown_table, section_replaced

#: The page that has the tables.
PAGE: Final = Path("docs/tools/coverage.md")
BEGIN: Final = "<!-- Written by `python -m warploom_dev coverage --update`. -->"


def table(rows: Sequence[Row]) -> Table:
    """Return the figures for the terminal."""
    made = Table("block", "builds", *_NUMBERS)
    for row in rows:
        made.add_row(row.block, str(len(row.builds)), *_numbers(row))
    return made


def page_with(rows: Iterable[Row]) -> str:
    """Return the page's text with the figures in it."""
    ordered = sorted(rows, key=lambda row: row.block)
    figures = markdown_table(
        ("block", "configurations", *_NUMBERS),
        [
            (
                marked(row.block, row.stale),
                "; ".join(f"`{text}`" for text in row.builds),
                *_numbers(row),
            )
            for row in ordered
        ],
        ("block", "configurations"),
    )
    cases = markdown_table(
        ("block", "case", "times"),
        [(row.block, name, f"{count:,}") for row in ordered for name, count in row.cases.items()],
        ("block", "case"),
    )
    waivers = markdown_table(
        ("block", "kind", "points", "reason"),
        [(w.block, w.kind, _in_a_cell(w.pattern), w.reason) for w in WAIVERS],
        ("block", "kind", "points", "reason"),
    )
    content = "\n\n".join(
        [figures, "## Waivers", waivers if WAIVERS else "There are none.", "## Cases", cases]
    )
    return section_replaced(PAGE, PAGE.read_text(), BEGIN, content)


_NUMBERS: Final = ("branches", "reached", "toggles", "reached", "waived", "cases")


def _numbers(row: Row) -> tuple[str, ...]:
    return (
        *_share(row.branch),
        *_share(row.toggle),
        str(row.branch.waived + row.toggle.waived),
        f"{sum(count > 0 for count in row.cases.values())} of {len(row.cases)}",
    )


def _share(share: Share) -> tuple[str, str]:
    # Rounded down: no figure below the goal reads as the goal.
    return f"{share.total:,}", f"{int(share.rate * 1000) / 10:.1f} %"


def _in_a_cell(pattern: str) -> str:
    """Return a pattern as code: a bar would end the table's cell."""
    return f"`{pattern}`".replace("|", r"\|")
