"""Prints the tables of ``warploom preempt``."""

from collections.abc import Mapping
from typing import Any, Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from warploom_sim.methods import WITHOUT_CONTENTION
from warploom_sim.methods.preempt.published import PUBLISHED, SOURCES
from warploom_sim.methods.preempt.stream_law import StreamLaw

#: Figures of a run, with the headings of their columns.
_LATENCY: Final = {"median": "median", "p99": "p99", "max": "max"}
_COSTS: Final = {
    "low_finished_in_the_same_cycles": "low launches finished",
    "urgent_started": "urgent launches started",
    "kills": "kills",
    "went_on": "went on after urgent blocks",
    "blocks_run_again": "blocks run again",
    "cycles_thrown_away": "slot cycles thrown away",
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
    _normal(console, figures)
    _levels(console, figures)
    _published(console)


def show_rtl(console: Console, figures: Mapping[str, Any]) -> None:
    """Print the tables of a measurement on the RTL.

    Parameters
    ----------
    console : Console
        The console that prints.
    figures : mapping
        All figures of the measurement, as ``--json`` writes them.
    """
    if figures["modes"]:
        _latencies(console, figures)
        _costs(console, figures)
    law = figures["law"]
    table = _table("the law's term", "cycles", "urgent launches bound by it", "slack", title="law")
    for name in StreamLaw.TERMS:
        bound, slack = law["reached"].get(name, 0), law["slack"].get(name, "")
        table.add_row(name, str(law[name]), f"{bound:,}", str(slack))
    console.print(table)
    outside = ", ".join(f"{count:,} {name}" for name, count in law["outside"].items())
    lines = [
        f"law: {law['checked']:,} urgent launches checked, {law['violations']:,} violations;"
        f" outside the law: {outside or 'none'}",
        f"RTL in {figures['simulator']} against the event model:"
        f" {figures['compared_events']:,} events compared, {figures['mismatches']:,} mismatches",
    ]
    for line in lines:
        console.print(line, highlight=False, soft_wrap=True)


def _latencies(console: Console, figures: Mapping[str, Any]) -> None:
    title = f"{figures['trace']}: cycles from an urgent launch to its first block, and microseconds"
    times = (f"{each}, us" for each in _LATENCY)
    table = _table("", *_LATENCY.values(), *times, title=title, caption=_assumption(figures))
    for name, run in _runs(figures).items():
        # A median of two lies between them.
        cycles = (f"{run[each]:,.1f}".removesuffix(".0") for each in _LATENCY)
        table.add_row(name, *cycles, *(f"{run[f'{each}_us']:,.3f}" for each in _LATENCY))
    console.print(table)


def _costs(console: Console, figures: Mapping[str, Any]) -> None:
    console.print(_contention(figures), highlight=False, soft_wrap=True)
    until = figures["compared_cycles"]
    title = f"what it cost: each run's first {until:,} cycles, the length of the shortest run"
    table = _table("", *_COSTS.values(), title=title)
    for name, run in _runs(figures).items():
        table.add_row(name, *(f"{run[each]:,}" for each in _COSTS))
    console.print(table)


def _normal(console: Console, figures: Mapping[str, Any]) -> None:
    normal = figures["normal"]
    console.print(
        f"low launches alone, once: {normal['cycles']:,} cycles; one in flight"
        f" {normal['cycles_synchronous']:,}"
        f" ({normal['synchronous_slowdown']:.2%} more)",
        highlight=False,
        soft_wrap=True,
    )


def _runs(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Return the runs of the modes, and those beside them if there are any."""
    return {**figures["modes"], **figures.get("beside", {})}


def _levels(console: Console, figures: Mapping[str, Any]) -> None:
    table = _table(
        "",
        *(f"{each}, us" for each in _LATENCY),
        *(f"{each}, commands" for each in _LATENCY),
        title="eight equal commands of 0.5 ms and 2,000 blocks in flight (XSched's levels)",
        caption=_assumption(figures),
    )
    for name, run in figures["xsched"].items():
        times = (f"{run[f'{each}_us']:,.3f}" for each in _LATENCY)
        table.add_row(name, *times, *(f"{run[f'{each}_commands']:.3f}" for each in _LATENCY))
    console.print(table)


def _published(console: Console) -> None:
    table = _table("published", "figure", "source", title="beside")
    for row in PUBLISHED:
        table.add_row(*row)
    console.print(table)
    console.print(SOURCES, style="dim", soft_wrap=True)


def _contention(figures: Mapping[str, Any]) -> str:
    """Return in one line whether the blocks of an SM slow each other down."""
    if figures["contention"] == "none":
        return WITHOUT_CONTENTION
    return (
        f"with contention: an SM runs {figures['knee']:,} warps at full speed (--knee), more of"
        " them share that speed"
    )


def _assumption(figures: Mapping[str, Any]) -> str:
    return (
        f"assumed: an SM reports a killed block {figures['report_time']:,} cycles after the kill"
        " (--report-time)"
    )


def _table(first: str, *headings: str, title: str, caption: str | None = None) -> Table:
    table = Table(first, title=escape(title), caption=caption)
    for heading in headings:
        table.add_column(heading, justify="right")
    return table
