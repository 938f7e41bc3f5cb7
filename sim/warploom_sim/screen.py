"""Where commands print: tables whole into a file or a pipe, progress where somebody looks."""

import sys
from typing import Final

import click
from rich.console import Console
from rich.progress import Progress, TimeElapsedColumn

#: Columns of a table that goes into a file or a pipe: there is no screen to fit.
PIPE_WIDTH: Final = 160


class PlainConsole(Console):
    """A console whose tables are drawn in ASCII: for files, pipes, and what reads them."""

    @property
    def encoding(self) -> str:
        """What rich asks for before it draws lines."""
        return "ascii"


def table_console() -> Console:
    """Return the console that tables are printed on; into a file or a pipe they are plain ASCII."""
    return Console() if sys.stdout.isatty() else PlainConsole(width=PIPE_WIDTH)


def progress_bar(announcement: str = "") -> Progress:
    """Return a progress bar that vanishes at its end, and shows only where somebody looks.

    Parameters
    ----------
    announcement : str
        What begins and takes long: one line in a file or a pipe, where no bar shows.
    """
    console = Console(stderr=True)
    if announcement and not console.is_terminal:
        click.echo(announcement, err=True)
    columns = (*Progress.get_default_columns(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
