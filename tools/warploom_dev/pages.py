"""Tables that a command writes into a page of the documentation."""

from collections.abc import Collection, Sequence
from pathlib import Path

from warploom_spec import WarploomError

#: The line behind what is written.
END = "<!-- The end of what is written. -->"


def require(*files: Path) -> None:
    """Refuse to go on where a file of the repository is missing.

    Raises
    ------
    WarploomError
        Names the first one that is not there.
    """
    for file in files:
        if not file.exists():
            raise WarploomError(f"{file} is not here: run it in the repository")


def section_replaced(page: Path, text: str, begin: str, content: str) -> str:
    """Return a page's text with other content between two lines of it.

    Parameters
    ----------
    page : Path
        The page, for the error.
    text : str
        Its text.
    begin : str
        The line before the content; the one behind it is `END`.
    content : str
        What stands there from now on; it may be empty.

    Raises
    ------
    WarploomError
        If the page lacks one of the two lines.
    """
    before, found, rest = text.partition(begin)
    _, end, after = rest.partition(END)
    if not found or not end:
        raise WarploomError(f"{page} lacks a line: {END if found else begin}")
    written = f"\n\n{content}\n\n" if content else "\n"
    return f"{before}{begin}{written}{END}{after}"


def markdown_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], text_columns: Collection[str]
) -> str:
    """Return a table; columns that are no text are set to the right."""
    rule = ["---" if heading in text_columns else "---:" for heading in headings]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, rule, *rows))
