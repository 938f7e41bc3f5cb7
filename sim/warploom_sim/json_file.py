"""A file that is written whole, or not at all."""

import json
import os
import uuid
from pathlib import Path


def is_replaced(path: Path) -> bool:
    """Return whether a new file takes the path's place: not that of a device or a pipe."""
    return path.is_file() or not path.exists()


def write_json(path: Path, figures: object) -> None:
    """Write figures as JSON with a line's end; what a link points to is written, not the link."""
    write_whole(path, json.dumps(figures, indent=2) + "\n")


def write_whole(path: Path, text: str) -> None:
    """Write a text; what a link points to is written, not the link."""
    if not is_replaced(path):
        path.write_text(text)
        return
    target = path.resolve()
    unfinished = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    try:
        unfinished.write_text(text)
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)
