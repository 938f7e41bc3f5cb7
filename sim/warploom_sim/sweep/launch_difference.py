"""Compares two runs of one trace launch by launch, from the files of ``warploom sim --json``."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from warploom_sim.traces.trace_file import shown
from warploom_spec import WarploomError

#: Figures of a launch that are subtracted.
FIGURES: Final = ("cycles", "latency", "after_last_offer")
#: What a launch must have to be compared with another run's.
_NEEDED: Final = ("launch", "name", "blocks", "end", *FIGURES)


@dataclass(frozen=True)
class Pair:
    """One trace of two runs.

    Attributes
    ----------
    trace : str
        Its name.
    cycles : tuple of int
        Of the first run, and of the second.
    launches : list of dict
        For each launch its number, name, blocks, and for each of `FIGURES` ``a``, ``b`` and
        ``change`` (second less first; None where a run has none).
    """

    trace: str
    cycles: tuple[int, int]
    launches: list[dict[str, Any]]


def read_pairs(first: Path, second: Path) -> list[Pair]:
    """Read two files and pair their traces and launches.

    Raises
    ------
    WarploomError
        If a file is none that ``warploom sim --json`` wrote, RTL and model differed in it, or the
        two are not of the same traces and launches.
    """
    sides = [_read(first), _read(second)]
    names = [[figures["trace"] for figures in side] for side in sides]
    if names[0] != names[1]:
        raise WarploomError(
            f"{first} is of {', '.join(names[0])}, {second} of {', '.join(names[1])};"
            " legal: two runs of the same traces"
        )
    return [_pair(a, b, (first, second)) for a, b in zip(*sides, strict=True)]


def _read(path: Path) -> list[dict[str, Any]]:
    """Return the figures of every trace in a file."""
    try:
        content = json.loads(path.read_text("utf-8-sig"))
        runs = [content, *content["more"]]
        for run in runs:
            good = isinstance(run["trace"], str) and isinstance(run["cycles"], int)
            launches = run["per_launch"]
            if not good or not all(name in one for one in launches for name in _NEEDED):
                raise KeyError
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise WarploomError(
            f"{path} has no figures of launches; legal: what warploom sim --json wrote"
        ) from error
    for run in runs:
        if run.get("verdict") == "different":
            raise WarploomError(f"{path}: RTL and model differ; legal: a run in which they agree")
    return runs


def _pair(a: dict[str, Any], b: dict[str, Any], paths: tuple[Path, Path]) -> Pair:
    of_a, of_b = a["per_launch"], b["per_launch"]
    where = f"{a['trace']}: {paths[0]} and {paths[1]}"
    if len(of_a) != len(of_b):
        raise WarploomError(
            f"{where} have {len(of_a):,} and {len(of_b):,} launches; legal: the same launches"
        )
    for one, other in zip(of_a, of_b, strict=True):
        if one["name"] != other["name"]:
            raise WarploomError(
                f"{where}: launch {one['launch']} is {shown(one['name'])} and"
                f" {shown(other['name'])}; legal: the same launches"
            )
    launches = [_difference(one, other) for one, other in zip(of_a, of_b, strict=True)]
    return Pair(a["trace"], (a["cycles"], b["cycles"]), launches)


def _difference(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    row = {name: one[name] for name in ("launch", "name", "blocks")}
    for figure in FIGURES:
        a, b = one[figure], other[figure]
        change = None if a is None or b is None else b - a
        row[figure] = {"a": a, "b": b, "change": change}
    return row


def as_json(pairs: Sequence[Pair], first: Path, second: Path) -> dict[str, Any]:
    """Return all differences as JSON holds them."""
    traces = [
        {"trace": pair.trace, "cycles": _with_difference(*pair.cycles), "launches": pair.launches}
        for pair in pairs
    ]
    return {"a": str(first), "b": str(second), "traces": traces}


def _with_difference(a: int, b: int) -> dict[str, int]:
    return {"a": a, "b": b, "change": b - a}


def show_difference(console: Console, pair: Pair, top: int) -> None:
    """Print the launches whose cycles changed most: the second run's figures, and the change."""
    a, b = pair.cycles
    known = [row for row in pair.launches if row["cycles"]["change"] is not None]
    known.sort(key=lambda row: -abs(row["cycles"]["change"]))
    title = f"{pair.trace}: {a:,} and {b:,} cycles, {b - a:+,} ({b / a - 1:+.2%})"
    table = Table(title=escape(title))
    for head in ("launch", "blocks", *FIGURES):
        table.add_column(head.replace("_", " "), justify="right", no_wrap=True)
    table.add_column("name", no_wrap=True, overflow="crop")
    for row in known[:top]:
        figures = [_changed(row[figure]) for figure in FIGURES]
        name = escape(shown(row["name"]))
        table.add_row(str(row["launch"]), f"{row['blocks']:,}", *figures, name)
    console.print(table)
    longer = sum(row["cycles"]["change"] > 0 for row in known)
    shorter = sum(row["cycles"]["change"] < 0 for row in known)
    same = len(known) - longer - shorter
    lacking = len(pair.launches) - len(known)
    parts = f"{longer:,} launches longer, {shorter:,} shorter, {same:,} as before"
    console.print(parts + (f", {lacking:,} that did not run in both" if lacking else ""))


def _changed(figure: dict[str, int | None]) -> str:
    return "-" if figure["change"] is None else f"{figure['b']:,} ({figure['change']:+,})"
