"""Names for the runs of a comparison, from the values in which they differ, for table and plot."""

from collections.abc import Sequence
from typing import Any, Final

#: Parts of a run's identity in the order in which they are shown.
_PARTS: Final = (
    "config",
    "policy",
    "reclaim",
    "time_scale",
    "contention",
    "knee",
    "arrivals",
    "allocator",
    "kill_every",
    "first",
    "seed",
    "device",
)
#: Parts whose value is clear without the part's name.
_PLAIN: Final = ("config", "policy", "reclaim")


def varying(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the names of what differs between rows of a trace; the policy if nothing does."""
    fields = list(dict.fromkeys(field for row in rows for field in row["set"]))
    found = [name for name in (*_PARTS, *fields) if len(_values(rows, name)) > 1]
    return found or ["policy"]


def common(rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return what all rows share, by name, as far as it is worth a word."""
    fields = list(dict.fromkeys(field for row in rows for field in row["set"]))
    shared = {name: _values(rows, name) for name in (*_PARTS, *fields, "engine")}
    worth = {name: values.pop() for name, values in shared.items() if len(values) == 1}
    return {name: text for name, text in worth.items() if text not in ("none", "model")}


def _values(rows: Sequence[dict[str, Any]], name: str) -> set[str]:
    """Return the values of those rows that have one: without contention there is no knee."""
    return {value(row, name) for row in rows} - {""}


def value(row: dict[str, Any], name: str) -> str:
    """Return a part of a run's identity, or one of its fields, as text."""
    if name in row:
        return "" if row[name] is None else str(row[name])
    return str(row["set"].get(name, "preset's"))


def short(trace: str) -> str:
    """Return a trace's name without the endings of its kind."""
    return trace.removesuffix(".gz").removesuffix(".json")


def baseline(row: dict[str, Any], rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the run that another run is compared with: the first run of the same work.

    Time scale, contention, arrivals and kills belong to the work: they change the blocks' lengths,
    or which launches run and when. All else belongs to the machine.
    """
    work = ("time_scale", "contention", "knee", "arrivals", "kill_every", "seed", "first", "device")
    return next(one for one in rows if all(one[name] == row[name] for name in work))


def label(row: dict[str, Any], names: Sequence[str]) -> str:
    """Return a run's name: its values of what differs."""
    return ", ".join(_word(row, name) for name in names if value(row, name))


def _word(row: dict[str, Any], name: str) -> str:
    text = value(row, name)
    return text if name in _PLAIN else f"{name.replace('_', ' ')} {text}"
