"""A replay's figures launch by launch, as plain numbers: for JSON and for CSV."""

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from warploom_sim.json_file import write_whole
from warploom_sim.replay.analysis.running import RunFigures
from warploom_sim.replay.replay_result import Replay
from warploom_sim.replay.replay_rows import NEVER, Shares
from warploom_spec import ErrorCode, Fate

#: Columns of cycles: nothing stands for `NEVER`.
CYCLES: Final = (
    "arrival",
    "transfer",
    "first_offer",
    "last_offer",
    "last_report",
    "end",
    "cycles",
    "latency",
    "after_last_offer",
)
#: Every figure of a launch, in order; the CSV has `trace` before them.
FIGURES: Final = (
    "launch",
    "name",
    "stream",
    *CYCLES,
    "sm_time_lost",
    "blocks",
    "blocks_per_cycle",
    "history_hit",
    "fate",
    "refusal",
    "recorded_us",
    "replayed_us",
    "error_percent",
)


def launch_figures(run: Replay | RunFigures) -> list[dict[str, Any]]:
    """Return each launch's figures by name, in the order in which they were sent.

    A figure in cycles that never came is None, as are ``fate`` of a refused launch and ``refusal``
    of an accepted one.
    """
    launches = run.launches
    columns: dict[str, Sequence[Any]] = {
        "launch": range(len(launches)),
        "name": launches.name.tolist(),
        "stream": launches.stream.tolist(),
        **{name: _cycles(getattr(launches, name).tolist()) for name in CYCLES},
        "sm_time_lost": _rounded(launches.sm_time_lost, 4),
        "blocks": launches.blocks.tolist(),
        "history_hit": launches.hit.tolist(),
        "fate": [Fate(fate).name if fate >= 0 else None for fate in launches.fate.tolist()],
        "refusal": [ErrorCode(code).name if code else None for code in launches.code.tolist()],
        "recorded_us": _rounded(launches.recorded_us, 3),
        "replayed_us": _rounded(launches.replayed_us, 3),
        "error_percent": _rounded(100 * launches.error, 2),
    }
    columns["blocks_per_cycle"] = [
        round(blocks / cycles, 4) if cycles else None
        for blocks, cycles in zip(columns["blocks"], columns["cycles"], strict=True)
    ]
    rows = zip(*(columns[name] for name in FIGURES), strict=True)
    return [dict(zip(FIGURES, row, strict=True)) for row in rows]


def _rounded(column: Shares, digits: int) -> list[float | None]:
    """Return numbers; None for what is not known."""
    return [None if math.isnan(one) else round(one, digits) for one in column.tolist()]


def _cycles(column: Iterable[int]) -> list[int | None]:
    return [None if cycle == NEVER else cycle for cycle in column]


def write_launches_csv(
    path: Path, traces: Iterable[tuple[str, Iterable[Mapping[str, Any]]]]
) -> None:
    """Write the figures of every launch of every trace as CSV, whole or not at all.

    Parameters
    ----------
    path : Path
        The file.
    traces : iterable of (str, iterable of mapping)
        Each trace's name, and what `launch_figures` returned for it.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, ("trace", *FIGURES), lineterminator="\n")
    writer.writeheader()
    for name, rows in traces:
        writer.writerows({"trace": name, **row} for row in rows)
    write_whole(path, text.getvalue())
