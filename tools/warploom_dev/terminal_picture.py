"""What a program prints on a terminal, as an SVG that needs nothing from elsewhere."""

import io
import re
from typing import Final

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

#: rich's frame without its fonts: they lie on a server.
_FRAME: Final = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)


def picture(printed: str, title: str, columns: int) -> str:
    """Return the SVG of a terminal.

    Parameters
    ----------
    printed : str
        What stands in it, with ANSI's colours.
    title : str
        What stands above it, and as the command in its first line.
    columns : int
        The terminal's width in characters.

    Returns
    -------
    str
        The same for the same text.
    """
    console = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True)
    console.print(Text(f"$ {title}", style="bold"))
    console.print(Text.from_ansi(printed.rstrip("\n")))
    return console.export_svg(title=title, code_format=_FRAME)
