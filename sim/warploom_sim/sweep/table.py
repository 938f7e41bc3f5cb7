"""The table of a comparison: a row for each run, traces one under the other."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from warploom_sim.sweep.labels import baseline, common, short, value, varying
from warploom_sim.sweep.run_figures import PERCENTILES

#: Shares that a cell of the table has; files have all.
SHOWN: Final = 2


def show_comparison(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    """Print one table."""
    names = varying(rows)
    shared = ", ".join(f"{name.replace('_', ' ')} {text}" for name, text in common(rows).items())
    table = Table(title=escape(f"runs of {shared}"))
    several = len({row["trace"] for row in rows}) > 1
    for head in (*(["trace"] if several else []), *names):
        table.add_column(head.replace("_", " "), overflow="fold")
    for head in ("cycles", "to the\nfirst", "blocks\na cycle"):
        table.add_column(head, justify="right", no_wrap=True)
    for group in ("latency", "tail"):
        table.add_column(f"{group}\n{' / '.join(PERCENTILES)}", justify="right", no_wrap=True)
    table.add_column("occupancy, %\n(two highest)", overflow="fold")
    table.add_column("stalled, % of cycles\n(two main causes)", overflow="fold")
    for trace, group_rows in itertools.groupby(rows, key=lambda row: row["trace"]):
        of_trace = list(group_rows)
        for row in of_trace:
            words = [short(trace)] if several else []
            words += [value(row, name) for name in names]
            table.add_row(
                *(escape(word) for word in words), *_figures(row, baseline(row, of_trace))
            )
        table.add_section()
    if not several:
        table.title = escape(f"{short(rows[0]['trace'])}: runs of {shared}")
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
    """Return the `SHOWN` largest shares as percentages; what rounds to nothing is left out."""
    ordered = sorted(shares.items(), key=lambda item: -item[1])[:SHOWN]
    return (
        ", ".join(f"{name} {100 * share:.0f}" for name, share in ordered if share >= 0.005) or "-"
    )
