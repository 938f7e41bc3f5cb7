"""Hit rates of a comparison by allocator, history and memory: tables and a figure of a page."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from warploom_dev.pages import markdown_table
from warploom_sim.plots import new_figure, write_figure
from warploom_spec import WarploomError

ALLOCATORS: Final = ("shared", "frequent", "own")
ENTRIES: Final = (1, 2, 4, 8, 16, 32)
MEMORIES: Final = (64, 128, 512)
#: Of the table by history, and of the table by memory.
LARGEST: Final = MEMORIES[-1]
MOST_ENTRIES: Final = ENTRIES[-1]
#: Mark and line of each allocator: told apart without colours, too.
_STYLES: Final = {"shared": "o:", "frequent": "s--", "own": "^-"}

#: What a rate is of: trace, allocator, history entries, warps of the index memory.
Key = tuple[str, str, int, int]


def read_rates(path: Path) -> dict[Key, float]:
    """Return the hit rates in percent of ``warploom compare --json``.

    Raises
    ------
    WarploomError
        If the file is none of a comparison, or lacks a run that a table has.
    """
    try:
        rows: list[Mapping[str, Any]] = json.loads(path.read_text())
        rates = {_key(row): rate(row) for row in rows}
    except (ValueError, KeyError, TypeError) as error:
        raise WarploomError(
            f"{path} is no file of warploom compare --json with history_entries and"
            f" index_memory_warps set ({error!r})"
        ) from error
    for key in sorted({(trace, *rest) for trace in traces(rates) for rest in _wanted()}):
        if key not in rates:
            raise WarploomError(f"{path} has no run of {', '.join(map(str, key))}")
    return rates


def _key(row: Mapping[str, Any]) -> Key:
    fields = row["set"]
    entries, memory = (int(fields[name]) for name in ("history_entries", "index_memory_warps"))
    return str(row["trace"]).removesuffix(".json.gz"), row["allocator"], entries, memory


def rate(row: Mapping[str, Any]) -> float:
    """Return a run's history hits as a percentage of its accepted launches."""
    return float(100 * row["history_hits"] / (row["launches"] - row["refused"]))


def _wanted() -> list[tuple[str, int, int]]:
    return [
        (allocator, entries, memory)
        for allocator in ALLOCATORS
        for entries in ENTRIES
        for memory in MEMORIES
    ]


def traces(rates: Mapping[Key, float]) -> list[str]:
    """Return the names of the traces, in order."""
    return sorted({trace for trace, *_ in rates})


def by_history(rates: Mapping[Key, float]) -> str:
    """Return the table of hit rates by history entries, with the largest memory."""
    headings = ["trace", "allocator", *map(str, ENTRIES)]
    rows = [
        [trace, f"`{allocator}`", *(f"{rates[trace, allocator, n, LARGEST]:.1f}" for n in ENTRIES)]
        for trace in traces(rates)
        for allocator in ALLOCATORS
    ]
    return markdown_table(headings, rows, headings[:2])


def by_memory(rates: Mapping[Key, float]) -> str:
    """Return the table of hit rates by warps of the memory, with the longest history."""
    columns = [(allocator, memory) for allocator in ALLOCATORS[1:] for memory in MEMORIES]
    headings = ["trace", *(f"`{allocator}`, {memory}" for allocator, memory in columns)]
    rows = [
        [trace, *(f"{rates[trace, each, MOST_ENTRIES, memory]:.1f}" for each, memory in columns)]
        for trace in traces(rates)
    ]
    return markdown_table(headings, rows, headings[:1])


def draw(path: Path, rates: Mapping[Key, float]) -> None:
    """Draw each trace's hit rates by history entries, a line an allocator, with most memory."""
    names: Sequence[str] = traces(rates)
    figure, panels = new_figure(ncols=len(names), sharey=True, squeeze=False)
    figure.set_size_inches(2.6 * len(names), 3)
    for axes, trace in zip(panels[0], names, strict=True):
        for allocator in ALLOCATORS:
            values = [rates[trace, allocator, entries, LARGEST] for entries in ENTRIES]
            axes.plot(
                ENTRIES,
                values,
                _STYLES[allocator],
                color="black",
                label=allocator,
                gid=f"{trace}, {allocator}",
            )
        axes.set_title(trace, fontsize=9)
        axes.set_xscale("log", base=2)
        axes.set_xticks(ENTRIES, [str(entries) for entries in ENTRIES])
        axes.set_xlabel("history entries")
        axes.set_ylim(0, 105)
    panels[0][0].set_ylabel("history hits, %")
    panels[0][0].legend(fontsize=8)
    write_figure(path, figure)
