"""The rows of a comparison: one for each combination of options, with the runs of all its seeds."""

import csv
import io
import json
import statistics
from collections.abc import Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Any

from warploom_sim.json_file import write_whole
from warploom_sim.replay.expected import nobody_killed
from warploom_sim.sweep.labels import baseline, same_work
from warploom_sim.sweep.noise import difference
from warploom_sim.sweep.plan import Run
from warploom_sim.sweep.result_folder import Row, flat


class Verdict(StrEnum):
    """How a combination stands beside the others of the same work."""

    #: Told apart from every other one, and takes the fewest cycles.
    QUICKEST = "quickest"
    #: Its difference to the lowest mean may be the seeds' alone.
    TIED = "cannot be told apart"
    #: Told apart from the lowest mean.
    SLOWER = "slower"
    #: One seed says nothing of the spread.
    UNKNOWN = "one seed: unknown"
    #: No other combination has the same work.
    ALONE = "nothing to compare"


def combine(runs: Sequence[Run], rows: Mapping[str, Row]) -> list[Row]:
    """Return a row for each combination, in the order of the runs.

    Parameters
    ----------
    runs : sequence of Run
        All runs.
    rows : mapping of str to Row
        Each run's row, by its id.
    """
    combined = [_combined([rows[run.run_id] for run in group]) for group in by_combination(runs)]
    for row in combined:
        row |= _beside_others(row, [one for one in combined if same_work(one, row)])
    return combined


def by_combination(runs: Sequence[Run]) -> list[list[Run]]:
    """Return the runs of each combination, its first seed first, in the order of the runs."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(_without_seed(run), []).append(run)
    return [*groups.values()]


def _without_seed(run: Run) -> str:
    return json.dumps({name: one for name, one in run.identity().items() if name != "seed"})


def _combined(rows: Sequence[Row]) -> Row:
    """Return the rows of one combination as one: its figures are means over the seeds."""
    cycles = [row["cycles"] for row in rows]
    own = {
        "seeds": [row["seed"] for row in rows],
        "cycles": cycles,
        "cycles_mean": round(statistics.mean(cycles), 1),
        "cycles_sd": round(statistics.stdev(cycles), 1) if len(cycles) > 1 else None,
        "killed": round(statistics.mean(row["killed"] for row in rows), 4),
        "wall_s": round(sum(row["wall_s"] for row in rows), 3),
    }
    spared = nobody_killed(rows[0]["kill_every"], rows[0]["launches"], own["killed"])
    combined = {
        name: own[name] if name in own else _mean([row[name] for row in rows])
        for name in dict.fromkeys([*rows[0], *own])
        if name != "seed"
    }
    return combined | {"killed_nobody": spared or None}


def _mean(values: Sequence[Any]) -> Any:
    """Return what all values are, or the mean of numbers: of whole ones the nearest whole one."""
    first = values[0]
    if all(value == first for value in values):
        return first
    if isinstance(first, dict):
        return {name: _mean([value[name] for value in values]) for name in first}
    known = [value for value in values if value is not None]
    mean = statistics.mean(known)
    return round(mean) if all(isinstance(value, int) for value in known) else round(mean, 4)


def _beside_others(row: Row, others: Sequence[Row]) -> Row:
    """Return how a row stands beside all rows of the same work, of which it is one."""
    first = difference(row["cycles"], baseline(row, others)["cycles"])
    return {
        "change_percent": round(first.percent, 4),
        "change_plus_minus": None if first.plus_minus is None else round(first.plus_minus, 4),
        "told_apart_from_first": first.told_apart,
        "verdict": _verdict(row, others).value,
    }


def _verdict(row: Row, others: Sequence[Row]) -> Verdict:
    if len(others) == 1:
        return Verdict.ALONE
    if len(row["seeds"]) == 1:
        return Verdict.UNKNOWN
    lowest = min(others, key=lambda one: one["cycles_mean"])
    apart = [told_apart(one, lowest) for one in others]
    if row is not lowest:
        return Verdict.SLOWER if apart[others.index(row)] else Verdict.TIED
    return Verdict.QUICKEST if sum(apart) == len(others) - 1 else Verdict.TIED


def told_apart(one: Row, other: Row) -> bool:
    """Tell whether two combinations of the same work are told apart, in whatever order."""
    quicker, slower = sorted((one, other), key=lambda row: float(row["cycles_mean"]))
    return difference(slower["cycles"], quicker["cycles"]).told_apart


def as_json(row: Row, runs_per_minute: float | None) -> Row:
    """Return a row as JSON has it: the time scale is a number, and it says how quick the runs were.

    Parameters
    ----------
    row : Row
        What `combine` returned for a combination.
    runs_per_minute : float or None
        Runs of the whole comparison a minute; None: all were kept.
    """
    scale = Fraction(row["time_scale"])
    number = int(scale) if scale.denominator == 1 else float(scale)
    return row | {"time_scale": number, "runs_per_minute": runs_per_minute}


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """Write rows that `as_json` returned, a column a figure, whole or not at all."""
    text = io.StringIO()
    lines = [_spaced(flat(row)) for row in rows]
    writer = csv.DictWriter(text, [*lines[0]], lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    write_whole(path, text.getvalue())


def _spaced(row: Row) -> Row:
    """Return a row whose lists are one text each, with spaces between their parts."""
    return {
        name: " ".join(map(str, value)) if isinstance(value, list) else value
        for name, value in row.items()
    }
