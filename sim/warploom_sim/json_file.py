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


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a text or bytes; what a link points to is written, not the link."""
    data = content.encode() if isinstance(content, str) else content
    if not is_replaced(path):
        path.write_bytes(data)
        return
    target = path.resolve()
    unfinished = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    try:
        unfinished.write_bytes(data)
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)
