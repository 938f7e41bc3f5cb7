"""What tells the runs of a comparison apart, in words: for the table's columns and the plot."""

from collections.abc import Sequence
from typing import Any, Final

#: Parts of a run's identity in the order in which they are shown.
_PARTS: Final = ("config", "policy", "reclaim", "time_scale", "contention", "first", "seed")


def varying(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the names of what differs between rows of a trace; the policy if nothing does."""
    fields = list(dict.fromkeys(field for row in rows for field in row["set"]))
    found = [name for name in (*_PARTS, *fields) if len({value(row, name) for row in rows}) > 1]
    return found or ["policy"]


def common(rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return what all rows share, by name, as far as it is worth a word."""
    fields = list(dict.fromkeys(field for row in rows for field in row["set"]))
    shared = {name: {value(row, name) for row in rows} for name in (*_PARTS, *fields, "engine")}
    worth = {name: values.pop() for name, values in shared.items() if len(values) == 1}
    return {name: text for name, text in worth.items() if text not in ("", "none", "model")}


def value(row: dict[str, Any], name: str) -> str:
    """Return a part of a run's identity, or one of its fields, as text."""
    if name in row:
        return "" if row[name] is None else str(row[name])
    return str(row["set"].get(name, "preset's"))


def short(trace: str) -> str:
    """Return a trace's name without the endings of its kind."""
    return trace.removesuffix(".gz").removesuffix(".json")


def baseline(row: dict[str, Any], rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the run that another one is held against: its trace's first of the same time scale."""
    return next(one for one in rows if one["time_scale"] == row["time_scale"])


def label(row: dict[str, Any], names: Sequence[str]) -> str:
    """Return a run's name: its values of what differs."""
    return ", ".join(_word(row, name) for name in names)


def _word(row: dict[str, Any], name: str) -> str:
    text = value(row, name)
    return text if name in ("config", "policy", "reclaim") else f"{name.replace('_', ' ')} {text}"
