"""Where commands print: tables whole into a file or a pipe, progress where somebody looks."""

import sys
from typing import Final

from rich.console import Console
from rich.progress import Progress

#: Columns of a table that goes into a file or a pipe: there is no screen to fit.
PIPE_WIDTH: Final = 160


def table_console() -> Console:
    """Return the console that tables are printed on."""
    return Console(width=None if sys.stdout.isatty() else PIPE_WIDTH)


def progress_bar() -> Progress:
    """Return a progress bar that vanishes at its end, and shows only where somebody looks."""
    console = Console(stderr=True)
    return Progress(console=console, transient=True, disable=not console.is_terminal)
