"""The table of a comparison: a row for each run, traces one under the other."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from warploom_sim.sweep.labels import baseline, common, short, value, varying
from warploom_sim.sweep.run_figures import PERCENTILES

#: Parts of a run's identity that change history hits: the table shows hits where these differ.
_INDEX: Final = ("allocator", "history_entries", "index_memory_warps")
#: More columns than any table has.
_ANY: Final = 10_000


#: From this part of a run on, what the time scale makes is warned of.
_WARN_FROM: Final = 0.1


@dataclass(frozen=True)
class _Layout:
    """How a cell's parts stand: side by side, or one below the other.

    Attributes
    ----------
    between : str
        What stands between percentiles.
    between_shares : str
        What stands between shares.
    shares : int
        Shares that a cell has, the largest ones; files have all.
    """

    between: str
    between_shares: str
    shares: int


_WIDE_LAYOUT: Final = _Layout(" / ", ", ", 2)
_NARROW_LAYOUT: Final = _Layout("\n", "\n", 3)


def show_comparison(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    """Print one table: one line a run where that fits, else three; a pipe takes any width."""
    table = _table(rows, _WIDE_LAYOUT)
    width = Measurement.get(console, console.options.update(max_width=_ANY), table).maximum
    if not console.is_terminal:
        console.width = max(console.width, width)
    console.print(table if width <= console.width else _table(rows, _NARROW_LAYOUT))


def time_scale_warning(rows: Sequence[dict[str, Any]]) -> str:
    """Return a line on the run that a time scale below 1 limits most; empty if none limits."""
    worst = max(rows, key=lambda row: row["rate_by_time_scale"])
    share = worst["rate_by_time_scale"]
    if share < _WARN_FROM:
        return ""
    return (
        f"time scale {worst['time_scale']}: for up to {share:.1%} of a run the dispatch rate limits"
        " only because blocks are shortened: throughput does not grow in proportion, and more SMs"
        " help less than at the recorded lengths (--time-scale 1)"
    )


def _table(rows: Sequence[dict[str, Any]], layout: _Layout) -> Table:
    names = varying(rows)
    shared = ", ".join(f"{name.replace('_', ' ')} {text}" for name, text in common(rows).items())
    several = len({row["trace"] for row in rows}) > 1
    of = "" if several else f"{short(rows[0]['trace'])}: "
    table = Table(title=escape(f"{of}runs of {shared}"), show_lines=layout is _NARROW_LAYOUT)
    for head in (*(["trace"] if several else []), *names):
        table.add_column(head.replace("_", " "), overflow="fold", min_width=6)
    for head in ("cycles", "to the\nfirst", "blocks\na cycle"):
        table.add_column(head, justify="right", no_wrap=True)
    hits = any(name in names for name in _INDEX)
    if hits:
        table.add_column("history\nhits, %", justify="right", no_wrap=True)
    for group in ("latency", "SM time lost, %"):
        head = f"{group}\n{layout.between.join(PERCENTILES)}"
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("occupancy, %\n(the highest)", overflow="fold", min_width=12)
    table.add_column("stalled, %\n(main causes)", overflow="fold", min_width=12)
    for trace, group_rows in itertools.groupby(rows, key=lambda row: row["trace"]):
        of_trace = list(group_rows)
        for row in of_trace:
            words = [short(trace)] if several else []
            words += [value(row, name) for name in names]
            figures = _figures(row, baseline(row, of_trace), layout, hits)
            table.add_row(*(escape(word) for word in words), *figures)
        table.add_section()
    return table


def _figures(
    row: Mapping[str, Any], first: Mapping[str, Any], layout: _Layout, hits: bool
) -> list[str]:
    stalled = {name: cycles / row["cycles"] for name, cycles in row["stalls"].items()}
    return [
        f"{row['cycles']:,}",
        f"{row['cycles'] / first['cycles'] - 1:+.1%}",
        f"{row['blocks_per_cycle']:.3f}",
        *([_hit_rate(row)] if hits else []),
        _percentiles(row["latency"], layout, "{:,}"),
        _percentiles(row["sm_time_lost"], layout, "{:.1%}"),
        _shares(row["occupancy"], layout),
        _shares(stalled, layout),
    ]


def _hit_rate(row: Mapping[str, Any]) -> str:
    """Return history hits as a percentage of the launches that were not refused."""
    accepted = row["launches"] - row["refused"]
    return f"{100 * row['history_hits'] / accepted:.1f}" if accepted else "-"


def _percentiles(values: Mapping[str, float | None], layout: _Layout, form: str) -> str:
    words = (
        "-" if each is None else form.format(each).removesuffix("%") for each in values.values()
    )
    return layout.between.join(words)


def _shares(shares: Mapping[str, float], layout: _Layout) -> str:
    """Return the largest shares as percentages; what rounds to nothing is left out."""
    largest = sorted(shares.items(), key=lambda item: -item[1])[: layout.shares]
    words = (f"{name} {100 * share:.0f}" for name, share in largest if share >= 0.005)
    return layout.between_shares.join(words) or "-"
