"""Tables of mutants killed and survived, for the terminal."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from rich.table import Table

from warploom_dev.figure_rows import marked
from warploom_dev.mutate.mutate_figures import Row
from warploom_dev.pages import markdown_table, section_replaced

#: The page, in the repository, and the line behind which its table stands.
PAGE: Final = Path("docs/tools/mutate.md")
_BEGIN: Final = "<!-- Written by `python -m warploom_dev mutate --update`. -->"
_HEADINGS: Final = (
    "block",
    "mutants",
    "killed",
    "rate",
    "equivalent beside",
    "bench cycles",
    "median kill, cycle",
)


def rates_table(rows: Iterable[Row]) -> Table:
    """Return one line for each block."""
    table = Table(title="Mutants that the blocks' benches notice")
    for heading in _HEADINGS:
        table.add_column(heading, justify="left" if heading == "block" else "right")
    for row in rows:
        table.add_row(*_cells(row))
    return table


def page_text(text: str, rows: Iterable[Row]) -> str:
    """Return the page's text with the committed rows written anew."""
    ordered = sorted(rows, key=lambda row: row.block)
    table = markdown_table(_HEADINGS, [_cells(row) for row in ordered], _HEADINGS[:1])
    return section_replaced(PAGE, text, _BEGIN, table)


def _cells(row: Row) -> list[str]:
    return [
        marked(row.block, row.stale),
        str(row.mutants),
        str(row.killed),
        f"{row.rate:.1%}",
        str(row.equivalent),
        f"{row.cycles:,}",
        "-" if row.median_cycle is None else f"{row.median_cycle:,}",
    ]


def survivors_table(rows: Iterable[Row]) -> Table:
    """Return one line for each survivor."""
    table = Table(title="Survivors")
    for heading in (
        "block",
        "mutation",
        "source",
        "shown in cycle",
        "reason",
        "what would kill it",
    ):
        table.add_column(heading, overflow="fold")
    for row in rows:
        for survivor in row.survivors:
            shown = "not proven" if not survivor.proven else str(survivor.shown_after)
            table.add_row(
                row.block,
                survivor.mutation,
                survivor.source.replace(" ", "\n"),
                shown,
                survivor.reason or "-",
                survivor.cure or "-",
            )
    return table
