"""``python -m warploom_dev contention``: the rule of contention beside the measured curve."""

from pathlib import Path
from typing import Final

import click

from warploom_dev.contention_curve import draw, read_curves, table
from warploom_dev.pages import markdown_table, require, section_replaced
from warploom_sim.json_file import write_whole
from warploom_sim.plots import check_plot

RECORDING: Final = Path("silicon/contention.txt")
PAGE: Final = Path("docs/replay/contention.md")
FIGURE: Final = Path("docs/replay/contention.svg")
#: The line before the table in the page.
BEGIN: Final = "<!-- Written by `python -m warploom_dev contention`. -->"


@click.command()
def contention() -> None:
    """Draw the measured curve beside the rule, and write the table of knees that fit.

    Reads silicon/contention.txt, writes docs/replay/contention.svg and the table in
    docs/replay/contention.md.

    The exit code is 0, 2 if something was refused, 3 if a file could not be written.

    \b
    Examples:
      python -m warploom_dev contention
    """
    require(RECORDING, PAGE)
    check_plot(FIGURE)
    curves = read_curves(RECORDING)
    page = section_replaced(PAGE, PAGE.read_text(), BEGIN, knees(RECORDING))
    draw(FIGURE, curves)
    write_whole(PAGE, page)


def knees(recording: Path) -> str:
    """Return the page's table: the knee that fits each kind of kernel, and where it fits worst."""
    headings = ("kind of kernel", "knee", "largest distance of the rate", "at so many warps")
    return markdown_table(headings, table(read_curves(recording)), headings[:1])
