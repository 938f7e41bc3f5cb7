"""Prints the tables of ``warploom preempt``."""

from collections.abc import Mapping
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from warploom_sim.methods.preempt.published import PUBLISHED, SOURCES

#: Figures of a run, with the headings of their columns.
_LATENCY: Final = {"median": "median", "p99": "p99", "max": "max"}
_COSTS: Final = {
    "kills": "kills",
    "drains": "drains",
    "skips": "skips",
    "blocks_run_again": "blocks run again",
    "cycles_thrown_away": "slot cycles thrown away",
    "low_launches": "low launches finished",
    "index_misses": "index misses",
}


def show(console: Console, figures: Mapping[str, Any]) -> None:
    """Print the tables of a measurement.

    Parameters
    ----------
    console : Console
        The console that prints.
    figures : mapping
        All figures of the measurement, as ``--json`` writes them.
    """
    _latencies(console, figures)
    _costs(console, figures)
    _levels(console, figures["xsched"])
    _published(console)


def _latencies(console: Console, figures: Mapping[str, Any]) -> None:
    title = f"{figures['trace']}: cycles from an urgent launch to its first block, and microseconds"
    table = _table("", *_LATENCY.values(), *(f"{each}, us" for each in _LATENCY), title=title)
    for name, run in (figures["modes"] | figures["beside"]).items():
        cycles = (f"{run[each]:,.0f}" for each in _LATENCY)
        table.add_row(name, *cycles, *(f"{run[f'{each}_us']:,.3f}" for each in _LATENCY))
    console.print(table)


def _costs(console: Console, figures: Mapping[str, Any]) -> None:
    table = _table("", *_COSTS.values(), title="what it cost")
    for name, run in (figures["modes"] | figures["beside"]).items():
        table.add_row(name, *(f"{run[each]:,}" for each in _COSTS))
    console.print(table)
    normal = figures["normal"]
    console.print(
        f"low launches alone, once: {normal['cycles']:,} cycles; without the kernel queue"
        f" {normal['cycles_without_queue']:,}; one in flight {normal['cycles_synchronous']:,}"
        f" ({normal['synchronous_slowdown']:.2%} more)",
        highlight=False,
        soft_wrap=True,
    )


def _levels(console: Console, levels: Mapping[str, Any]) -> None:
    table = _table(
        "",
        *(f"{each}, us" for each in _LATENCY),
        *(f"{each}, commands" for each in _LATENCY),
        title="eight equal commands of 0.5 ms and 2,000 blocks in flight (XSched's levels)",
    )
    for name, run in levels.items():
        times = (f"{run[f'{each}_us']:,.3f}" for each in _LATENCY)
        table.add_row(name, *times, *(f"{run[f'{each}_commands']:.3f}" for each in _LATENCY))
    console.print(table)


def _published(console: Console) -> None:
    table = _table("published", "figure", "source", title="beside")
    for row in PUBLISHED:
        table.add_row(*row)
    console.print(table)
    console.print(SOURCES, style="dim", soft_wrap=True)


def _table(first: str, *headings: str, title: str) -> Table:
    table = Table(first, title=title)
    for heading in headings:
        table.add_column(heading, justify="right")
    return table
