"""Links of the pages, as the site needs them.

On a forge a page links any file of the repository. The site has pages alone: a link to anything
else leads to the project's public address, or is plain text while there is none.
"""

import os.path
import posixpath
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from warploom_dev.address import file_address
from warploom_dev.site.dialect import code_lines

#: Files of the site that stand outside ``docs/``, by their path in the repository.
OUTSIDE: Final = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "silicon/README.md": "project/silicon.md",
    "traces/README.md": "project/traces.md",
}
#: What the site has in another file's place: its first page stands for README.
_STANDS_FOR: Final = {"README.md": "docs/index.md"}
_LINK: Final = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")

_TABLE: Final = re.compile(r"^\|.*\|[ ]*\n\|[ :|-]+\|[ ]*\n(?:\|.*\|[ ]*(?:\n|\Z))+", re.MULTILINE)
_CELL_END: Final = re.compile(r"(?<!\\)\|")


def in_site(path: str) -> str | None:
    """Return where the site has a file of the repository, or None if it has not."""
    path = _STANDS_FOR.get(path, path)
    if path in OUTSIDE:
        return OUTSIDE[path]
    return path.removeprefix("docs/") if path.startswith("docs/") else None


def in_repository(uri: str) -> str:
    """Return the path in the repository of a file of the site."""
    return {there: path for path, there in OUTSIDE.items()}.get(uri, f"docs/{uri}")


def site_links(text: str, uri: str, root: Path, address: str) -> str:
    """Return a page's text with every link leading to the site, to the address, or nowhere.

    Parameters
    ----------
    text : str
        The page as it stands in the repository.
    uri : str
        Its place in the site.
    root : Path
        The checkout.
    address : str
        The project's public address; if empty, links to files outside the site become plain text,
        and a table's column that has nothing else is left out.
    """
    folder = posixpath.dirname(in_repository(uri))

    def redirected(link: re.Match[str]) -> str:
        picture, words, target = link.groups()
        path, mark, heading = target.partition("#")
        if not path or re.match(r"[a-z]+:", target):
            return link[0]
        path = posixpath.normpath(posixpath.join(folder, path))
        if (root / path / "README.md").exists():
            path = f"{path}/README.md"
        there = in_site(path)
        # MkDocs finds out whether a page of its own is there.
        if there and not (root / path).is_dir():
            return f"{picture}[{words}]({_relative(there, uri)}{mark}{heading})"
        if address:
            return f"[{words}]({file_address(address, root, path)}{mark}{heading})"
        return words

    def leads_nowhere(link: re.Match[str]) -> bool:
        return "](" not in redirected(link)

    def fitted(part: str) -> str:
        tables = _TABLE.sub(lambda table: _without_dead_columns(table[0], leads_nowhere), part)
        return _LINK.sub(redirected, tables)

    return "".join(part if code else fitted(part) for code, part in _parts(text, code_lines(text)))


def _without_dead_columns(table: str, leads_nowhere: Callable[[re.Match[str]], bool]) -> str:
    """Return a table without the columns that hold nothing but links that lead nowhere."""
    rows = [_CELL_END.split(line.strip().strip("|")) for line in table.splitlines()]
    dead = set()
    for number in range(len(rows[0])):
        cells = [row[number] for row in rows[2:] if number < len(row)]
        links = [link for cell in cells for link in _LINK.finditer(cell)]
        rest = "".join(_LINK.sub("", cell) for cell in cells)
        if links and all(map(leads_nowhere, links)) and not rest.strip(" ,"):
            dead.add(number)
    if not dead:
        return table
    kept = ([cell for n, cell in enumerate(row) if n not in dead] for row in rows)
    return "".join(f"|{'|'.join(row)}|\n" for row in kept)


def _relative(there: str, uri: str) -> str:
    return posixpath.relpath(there, posixpath.dirname(uri) or os.path.curdir)


def _parts(text: str, code: set[int]) -> list[tuple[bool, str]]:
    """Return the text in parts, each with whether it is code: a link may span lines."""
    parts: list[tuple[bool, str]] = []
    for number, line in enumerate(text.splitlines(keepends=True)):
        is_code = number in code
        if parts and parts[-1][0] == is_code:
            parts[-1] = (is_code, parts[-1][1] + line)
        else:
            parts.append((is_code, line))
    return parts
