"""``python -m warploom_dev allocator``: hit rates of the index memory, from runs to the page."""

from pathlib import Path
from typing import Final

import click

from warploom_dev.allocator_study import by_history, by_memory, draw, read_rates
from warploom_dev.pages import require, section_replaced
from warploom_sim.json_file import write_whole
from warploom_sim.plots import check_plot

PAGE: Final = Path("docs/index/index_memory_allocator_study.md")
FIGURE: Final = Path("docs/index/allocator_hit_rates.svg")
#: The lines before the tables in the page.
BY_HISTORY: Final = "<!-- Written by `python -m warploom_dev allocator`: by history. -->"
BY_MEMORY: Final = "<!-- Written by `python -m warploom_dev allocator`: by memory. -->"


@click.command()
@click.argument("runs", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def allocator(runs: Path) -> None:
    """Write the tables and the figure of index_memory_allocator_study.md.

    RUNS is what `warploom compare --json` wrote; the page has its command.

    The exit code is 0, 2 if something was refused, 3 if a file could not be written.

    \b
    Examples:
      python -m warploom_dev allocator build/allocator.json
    """
    require(PAGE)
    check_plot(FIGURE)
    rates = read_rates(runs)
    text = section_replaced(PAGE, PAGE.read_text(), BY_HISTORY, by_history(rates))
    text = section_replaced(PAGE, text, BY_MEMORY, by_memory(rates))
    draw(FIGURE, rates)
    write_whole(PAGE, text)
