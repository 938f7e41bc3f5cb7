"""``python -m warploom_dev map``: the tables of the register map's page."""

from pathlib import Path
from typing import Final

import click

from warploom_dev.pages import require, section_replaced
from warploom_sim.json_file import write_whole
from warploom_sim.verilog.register_map import map_table
from warploom_spec import WarploomError, preset

PAGE: Final = Path("docs/host/register_map.md")
_BEGIN: Final = "<!-- Written by `python -m warploom_dev map --update`. -->"
#: The configuration whose addresses the page has.
_SHOWN: Final = "default"


@click.command("map")
@click.option("--update", is_flag=True, help="Write the page's tables anew.")
def register_map(update: bool) -> None:
    """Compare the register map's page with the map, or write its tables anew.

    The exit code is 0, 2 if the page differs, 3 if it could not be written.

    \b
    Examples:
      python -m warploom_dev map
      python -m warploom_dev map --update
    """
    require(PAGE)
    there = PAGE.read_text()
    made = page_text(PAGE, there)
    if update:
        write_whole(PAGE, made)
    elif made != there:
        raise WarploomError(f"{PAGE} differs from the map; run it with --update")


def page_text(page: Path, text: str) -> str:
    """Return the page's text with its tables written anew."""
    return section_replaced(page, text, _BEGIN, map_table(preset(_SHOWN)))
