"""The table of a comparison: a row for each run, traces one under the other."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from warploom_sim.sweep.labels import common, value, varying
from warploom_sim.sweep.run_figures import PERCENTILES


def show_comparison(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    """Print one table."""
    names = varying(rows)
    shared = ", ".join(f"{name.replace('_', ' ')} {text}" for name, text in common(rows).items())
    table = Table(title=escape(f"runs of {shared}"))
    several = len({row["trace"] for row in rows}) > 1
    for head in (*(["trace"] if several else []), *names):
        table.add_column(head.replace("_", " "), overflow="fold", min_width=8)
    for head in ("cycles", "to the\nfirst", "blocks\na cycle"):
        table.add_column(head, justify="right", no_wrap=True)
    for group in ("latency", "tail"):
        table.add_column(f"{group}\n{' / '.join(PERCENTILES)}", justify="right", no_wrap=True)
    table.add_column("occupancy, %", overflow="fold")
    table.add_column("stalled, %\nof cycles", overflow="fold")
    for trace, group_rows in itertools.groupby(rows, key=lambda row: row["trace"]):
        of_trace = list(group_rows)
        for row in of_trace:
            words = [trace] if several else []
            words += [value(row, name) for name in names]
            table.add_row(*(escape(word) for word in words), *_figures(row, of_trace[0]))
        table.add_section()
    if not several:
        table.title = escape(f"{rows[0]['trace']}: runs of {shared}")
    console.print(table)


def _figures(row: Mapping[str, Any], first: Mapping[str, Any]) -> list[str]:
    stalled = {name: cycles / row["cycles"] for name, cycles in row["stalls"].items()}
    return [
        f"{row['cycles']:,}",
        f"{row['cycles'] / first['cycles'] - 1:+.1%}",
        f"{row['blocks_per_cycle']:.3f}",
        *(_percentiles(row[group]) for group in ("latency", "tail")),
        _shares(row["occupancy"]),
        _shares(stalled),
    ]


def _percentiles(values: Mapping[str, int | None]) -> str:
    return " / ".join("-" if each is None else f"{each:,}" for each in values.values())


def _shares(shares: Mapping[str, float]) -> str:
    """Return shares as percentages, the largest first; what rounds to nothing is left out."""
    ordered = sorted(shares.items(), key=lambda item: -item[1])
    return " ".join(f"{name} {share:.0%}"[:-1] for name, share in ordered if share >= 0.005) or "-"
