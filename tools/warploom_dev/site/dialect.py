"""Pages as Python-Markdown reads them.

The pages are written in the forges' Markdown (CommonMark with tables). Python-Markdown, which
MkDocs renders with, asks for four columns inside a list's item, and for a blank line before a list,
a table, a block of code, and behind a list's item of several paragraphs.
"""

import re
from typing import Final

from markdown_it import MarkdownIt

_MARKER: Final = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
_BLOCKS: Final = ("bullet_list_open", "ordered_list_open", "table_open", "fence")

#: A span of code, with what it holds.
_CODE: Final = re.compile(r"(?<![\\`])(`+)(?!`)(.+?)(?<!`)\1(?!`)")


def reader() -> MarkdownIt:
    """Return the reader of the forges' Markdown."""
    return MarkdownIt("commonmark").enable("table")


def code_lines(text: str) -> set[int]:
    """Return the numbers of the lines that belong to a block of code."""
    return {
        line
        for token in reader().parse(text)
        if token.type in ("fence", "code_block") and token.map
        for line in range(*token.map)
    }


def for_python_markdown(text: str) -> str:
    """Return a page's text with lists, tables and code set as Python-Markdown wants them."""
    lines = text.split("\n")
    # How far each line moves to the right: what the innermost item that holds it says.
    shifts = [0] * len(lines)
    separated = set()
    depth = 0
    for token in reader().parse(text):
        if token.type in _BLOCKS and token.map and not depth:
            separated.add(token.map[0])
        if token.type == "list_item_open" and token.map:
            first, end = token.map
            # Behind an item of several paragraphs the next one would read as a part of the last.
            if not all(line.strip() for line in lines[first:end]):
                separated.add(end)
            marker = _MARKER.match(lines[first])
            # An item without text has no blank behind its marker.
            content = marker.end() if marker else len(lines[first])
            column = len(lines[first]) - len(lines[first].lstrip())
            shifts[first] = 4 * depth - column
            shifts[first + 1 : end] = [4 * (depth + 1) - content] * (end - first - 1)
            depth += 1
        elif token.type == "list_item_close":
            depth -= 1
        elif token.type == "table_open" and token.map:
            for number in range(*token.map):
                lines[number] = _CODE.sub(_with_bars, lines[number])
    made: list[str] = []
    for number, (line, shift) in enumerate(zip(lines, shifts, strict=True)):
        if number in separated and made and made[-1].strip():
            made.append("")
        indent = len(line) - len(line.lstrip())
        made.append(" " * max(0, indent + shift) + line.lstrip() if line.strip() else line)
    return "\n".join(made)


def _with_bars(code: re.Match[str]) -> str:
    """Return a table's span of code; one with a bar as HTML: the bar's backslash would show."""
    if "\\|" not in code[2]:
        return code[0]
    # As numbers, no character means more than itself.
    held = code[2].replace("\\|", "|")
    shown = (one if one.isalnum() or one == " " else f"&#{ord(one)};" for one in held)
    return f"<code>{''.join(shown)}</code>"
