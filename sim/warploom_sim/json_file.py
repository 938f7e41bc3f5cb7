"""Files that are written whole, or not at all."""

import json
import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO


def is_replaced(path: Path) -> bool:
    """Return whether a new file takes the path's place: not that of a device or a pipe."""
    return path.is_file() or not path.exists()


def write_json(path: Path, figures: object) -> None:
    """Write figures as JSON with a line's end; what a link points to is written, not the link."""
    write_whole(path, json.dumps(figures, indent=2) + "\n")


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a text or bytes; what a link points to is written, not the link."""
    with whole_file(path) as file:
        file.write(utf_8(content) if isinstance(content, str) else content)


def utf_8(text: str) -> bytes:
    """Return a text in UTF-8. Half a character, as a kernel's name may hold, becomes its escape."""
    return text.encode("utf-8", "backslashreplace")


def write_together(texts: Mapping[Path, str]) -> None:
    """Write several texts: none takes its path's place before all are written."""
    with ExitStack() as stack:
        for path, text in texts.items():
            stack.enter_context(whole_file(path)).write(text.encode())


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a file to be written, which takes the path's place when all is written."""
    if not is_replaced(path):
        with path.open("wb") as file:
            yield file
        return
    target = path.resolve()
    unfinished = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    try:
        with unfinished.open("wb") as file:
            yield file
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)
