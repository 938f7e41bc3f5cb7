"""The plot of a comparison: a row of panels a trace, in each panel a line for each combination."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from warploom_sim.plots import new_figure, write_figure
from warploom_sim.sweep.combinations import Verdict
from warploom_sim.sweep.labels import common, label, short, varying
from warploom_sim.sweep.run_figures import GROUPS, PERCENTILES
from warploom_sim.sweep.table import change

#: Marks of the percentiles: told apart without colours, too.
_MARKS: Final = {"p50": ("o", "white"), "p95": ("o", "0.6"), "p99": ("o", "black")}
_PANELS: Final = ("cycles", "latency", "sm_time_lost", "occupancy", "stalls")
_TITLES: Final = {
    "cycles": "cycles (mean, sd), % to the first",
    "latency": "latency of a launch, cycles",
    "sm_time_lost": "SM time of a launch lost at its end",
    "occupancy": "occupancy, %",
    "stalls": "stalled, % of cycles",
}
#: Fill and hatching of the bars: told apart without colours, too.
_BARS: Final = {
    Verdict.QUICKEST: ("0.55", ""),
    Verdict.TIED: ("white", "///"),
    Verdict.SLOWER: ("0.85", ""),
    Verdict.UNKNOWN: ("white", "..."),
    Verdict.ALONE: ("0.85", ""),
}
_WIDTHS: Final = (3.4, 3, 3, 2.6, 3.6)
#: Inches of a line, of what stands around a row of panels, and of all panels side by side.
_LINE, _AROUND, _WIDTH = 0.32, 1.3, 18.0
#: Inches from the panel down to its legend: below the numbers of its axis.
_LEGEND: Final = 0.35


def plot_comparison(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write the plot of a comparison's combinations."""
    write_figure(path, draw_comparison(rows))


def draw_comparison(rows: Sequence[dict[str, Any]]) -> Any:
    """Return the figure of a comparison's combinations."""
    names = varying(rows)
    traces = [
        (trace, list(group)) for trace, group in itertools.groupby(rows, key=lambda r: r["trace"])
    ]
    heights = [_AROUND + _LINE * len(group) for _, group in traces]
    figure, axes = new_figure(
        nrows=len(traces),
        ncols=len(_PANELS),
        squeeze=False,
        gridspec_kw={"width_ratios": _WIDTHS, "height_ratios": heights},
    )
    figure.set_size_inches(_WIDTH, sum(heights) + 0.5)
    shared = ", ".join(f"{name.replace('_', ' ')} {text}" for name, text in common(rows).items())
    figure.suptitle(shared)
    for row_axes, (trace, group) in zip(axes, traces, strict=True):
        for panel, one in zip(_PANELS, row_axes, strict=True):
            _draw(one, panel, group)
            one.set_title(_TITLES[panel], fontsize=10)
            one.set_ylim(len(group) - 0.5, -0.5)
            one.set_yticks(range(len(group)), [])
        row_axes[0].set_yticks(range(len(group)), [label(row, names) for row in group])
        row_axes[0].set_ylabel(short(trace))
    return figure


def _draw(axes: Any, panel: str, rows: Sequence[dict[str, Any]]) -> None:
    if panel == "cycles":
        _draw_bars(axes, rows)
    elif panel in ("latency", "sm_time_lost"):
        _draw_percentiles(axes, panel, rows)
    else:
        _draw_shares(axes, panel, rows)


def _draw_bars(axes: Any, rows: Sequence[dict[str, Any]]) -> None:
    """Draw the mean cycles as bars, hatched by verdict, each with its spread and its numbers."""
    for number, row in enumerate(rows):
        fill, hatch = _BARS[Verdict(row["verdict"])]
        axes.barh(number, row["cycles_mean"], height=0.7, color=fill, edgecolor="0.6", hatch=hatch)
        if row["cycles_sd"] is not None:
            axes.errorbar(
                row["cycles_mean"], number, xerr=row["cycles_sd"], color="black", capsize=2
            )
        # From the left edge of the panel on: a short bar has no room for its numbers.
        axes.text(
            0.02,
            number,
            f"{row['cycles_mean']:,.0f}  {change(row).replace('+/-', '±')}",
            transform=axes.get_yaxis_transform(),
            va="center",
            fontsize=8,
            zorder=3,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1},
        )
    axes.set_xlim(left=0)
    _count_cycles(axes)
    shown = [one for one in Verdict if any(row["verdict"] == one for row in rows)]
    bars = [axes.barh(0, 0, color=_BARS[v][0], edgecolor="0.6", hatch=_BARS[v][1]) for v in shown]
    _legend(axes, len(rows), bars, [verdict.value for verdict in shown])


def _legend(axes: Any, lines: int, *entries: Any) -> None:
    """Put a legend below a panel of so many lines, at one distance whatever its height."""
    axes.legend(
        *entries,
        fontsize=8,
        loc="upper center",
        bbox_to_anchor=(0.5, -_LEGEND / (_LINE * lines)),
        ncols=3,
        frameon=False,
    )


def _draw_percentiles(axes: Any, panel: str, rows: Sequence[dict[str, Any]]) -> None:
    """Draw a mark for each percentile, on a line from the lowest to the highest."""
    for number, row in enumerate(rows):
        known = [each for each in row[panel].values() if each is not None]
        if known:
            axes.plot([min(known), max(known)], [number] * 2, color="0.6", zorder=1)
    for name in PERCENTILES:
        mark, fill = _MARKS[name]
        places = [(row[panel][name], number) for number, row in enumerate(rows)]
        known_places = [(value, number) for value, number in places if value is not None]
        axes.scatter(
            [value for value, _ in known_places],
            [number for _, number in known_places],
            marker=mark,
            facecolor=fill,
            edgecolor="black",
            label=name,
            zorder=2,
        )
    axes.set_xlim(left=0)
    if panel == "latency":
        _count_cycles(axes)
    else:
        axes.locator_params(axis="x", nbins=4)
        axes.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.grid(axis="x", color="0.9")
    axes.set_axisbelow(True)
    _legend(axes, len(rows))


def _count_cycles(axes: Any) -> None:
    """Write few numbers below the axis, in thousands where they are large."""
    axes.locator_params(axis="x", nbins=4)
    thousands = axes.get_xlim()[1] >= 10_000
    axes.xaxis.set_major_formatter(
        lambda cycles, _: f"{cycles / 1000:,.0f} k" if thousands else f"{cycles:,.0f}"
    )


def _draw_shares(axes: Any, panel: str, rows: Sequence[dict[str, Any]]) -> None:
    """Draw a field of percentages, dark where they are high, each with its number."""
    columns = GROUPS[panel]
    values = [[100 * _share(row, panel, name) for name in columns] for row in rows]
    axes.imshow(values, cmap="Greys", vmin=0, vmax=100, aspect="auto")
    for number, line in enumerate(values):
        for column, percent in enumerate(line):
            dark = percent > 55
            axes.text(
                column,
                number,
                f"{percent:.0f}",
                ha="center",
                va="center",
                fontsize=8,
                color="white" if dark else "black",
            )
    axes.set_xticks(range(len(columns)), columns, rotation=30, ha="right", fontsize=8)


def _share(row: dict[str, Any], panel: str, name: str) -> float:
    amount: float = row[panel][name]
    return amount / row["cycles_mean"] if panel == "stalls" else amount
