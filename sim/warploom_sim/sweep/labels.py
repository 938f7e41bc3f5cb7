"""Names for the runs of a comparison, from the values in which they differ, for table and plot."""

from collections.abc import Sequence
from typing import Any

from warploom_sim.replay.request_fields import Role, is_off
from warploom_sim.sweep.plan import parts


def _names(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the names of all that tells a run from others, in the order in which it is shown."""
    fields = dict.fromkeys(field for row in rows for field in row["set"])
    keys = [one.key for one in parts().values() if one.key in rows[0] and one.key != "set"]
    return [*keys, *fields, "engine"]


def varying(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the names of what differs between rows of a trace; the policy if nothing does."""
    found = [name for name in _names(rows) if len(_values(rows, name)) > 1]
    return found or ["policy"]


def common(rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return what all rows share, by name, as far as it is worth a word."""
    shared = {name: _values(rows, name) for name in _names(rows)}
    worth = {name: values.pop() for name, values in shared.items() if len(values) == 1}
    off = {one.key for one in parts().values() if is_off(one, worth.get(one.key))}
    return {name: text for name, text in worth.items() if name not in off and text != "model"}


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


def same_work(row: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether two rows are of the same trace and the same work.

    Options of `Role.WORK` belong to the work: they change the blocks' lengths, or which launches
    run and when. All else belongs to the machine. Rows of several seeds have no seed.
    """
    work = [one.key for one in parts().values() if one.role is Role.WORK and one.key in row]
    return all(row[name] == other[name] for name in ("trace", *work))


def baseline(row: dict[str, Any], rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the row that another row is compared with: the first one of the same work."""
    return next(one for one in rows if same_work(one, row))


def label(row: dict[str, Any], names: Sequence[str]) -> str:
    """Return a run's name: its values of what differs."""
    return ", ".join(_word(row, name) for name in names if value(row, name))


def _word(row: dict[str, Any], name: str) -> str:
    text = value(row, name)
    plain = any(one.key == name and one.role is Role.CONFIG for one in parts().values())
    return text if plain else f"{name.replace('_', ' ')} {text}"
