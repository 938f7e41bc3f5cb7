"""Committed figures: files that hold a list of rows."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from warploom_sim.json_file import write_json
from warploom_spec import WarploomError

R = TypeVar("R")
#: What a page says beside a row that is not of the present sources.
STALE: Final = "measured before the last change"


def marked(text: str, stale: bool) -> str:
    """Return what a page shows of a row, with the mark of one that is stale."""
    return f"{text} ({STALE})" if stale else text


class ToJson(Protocol):
    """What gives itself as plain data."""

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""


def read_rows(path: Path, from_json: Callable[[dict[str, Any]], R]) -> list[R]:
    """Read rows; a file that is not there holds none.

    Raises
    ------
    WarploomError
        If the file is no list of rows.
    """
    if not path.exists():
        return []
    try:
        data = json.loads(path.read_text())
        if not isinstance(data, list):
            raise TypeError(f"it is a {type(data).__name__}")
        return [from_json(row) for row in data]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise WarploomError(f"{path} is no list of figures: {error}") from error


def write_rows(path: Path, rows: Iterable[ToJson]) -> None:
    """Write rows in the order given."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, [row.to_json() for row in rows])
