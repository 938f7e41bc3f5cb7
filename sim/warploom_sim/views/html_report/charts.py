"""Draws the report's charts as SVG without scripts.

The charts print as they look on the screen. Hatching keeps them readable in black and white.
"""

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from warploom_sim.replay.analysis.kernels import Blocker
from warploom_sim.replay.analysis.limits import LABELS, LIMITS
from warploom_sim.replay.analysis.over_time import Floats, OverTime
from warploom_sim.replay.replay_rows import Integers
from warploom_spec import RESOURCES, WarploomError
from warploom_spec.extras import need

#: Colour and hatching of each limit. Brightness and hatching tell limits apart in black and white.
STYLES: Final[dict[str, tuple[str, str]]] = {
    "rate": ("#1b3a5c", ""),
    "slots": ("#7a1f3d", "////"),
    "warps": ("#b5442e", ""),
    "registers": ("#d98032", "\\\\\\\\"),
    "shared": ("#e0a63c", ""),
    "barriers": ("#f2d9a0", "xxxx"),
    "reclaim": ("#4f8a8b", "...."),
    "order": ("#c4dcf2", ""),
    "path": ("#8a8f98", ""),
    "arrivals": ("#c9ced6", "||||"),
    "waits": ("#6d9f5b", "++++"),
    "nothing_left": ("#f1f3f6", ""),
}


def check_styles() -> None:
    """Demand a colour and a hatching for every limit.

    Raises
    ------
    WarploomError
        Names the limit and the file.
    """
    for name in LIMITS:
        if name not in STYLES:
            raise WarploomError(
                f"limit {name!r} has no colour and hatching in STYLES"
                " (sim/warploom_sim/views/html_report/charts.py)"
            )


check_styles()
#: Inches. The page shows a chart between 0.75 and 1.25 times as wide: letters stay readable.
WIDTH: Final = 7.5
_FILL: Final = "#1b3a5c"
#: Most streams that are drawn apart; all other streams are drawn as one.
_MOST_STREAMS: Final = 6
_STREAM_GREYS: Final = ("#1b3a5c", "#b5442e", "#e9b44c", "#4f8a8b", "#8fb8de", "#b9a7d6", "#c9ced6")
_SETTINGS: Final = {
    "svg.hashsalt": "warploom",
    # Keep text as text: it uses the page's font, and a reader can search it.
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#555b66",
    "axes.linewidth": 0.7,
    "hatch.linewidth": 0.5,
    "hatch.color": "#ffffff",
    "xtick.color": "#333944",
    "ytick.color": "#333944",
}


def _figure(height: float, **settings: Any) -> tuple[Any, Any]:
    figure = need("matplotlib.figure", "report", "a report").Figure(
        figsize=(WIDTH, height), layout="constrained"
    )
    return figure, figure.subplots(**settings)


def _styled() -> Any:
    return need("matplotlib", "report", "a report").rc_context(_SETTINGS)


def _svg(figure: Any, label: str) -> str:
    """Return a figure as an SVG element; screen readers read out ``label``."""
    drawn = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(drawn, format="svg", metadata=nothing)
    text = drawn.getvalue()
    text = text[text.index("<svg") :]
    # Remove width and height: the page sets the size.
    text = re.sub(r'^<svg ([^>]*?)\bwidth="[^"]*"', r"<svg \1", text, count=1)
    text = re.sub(r'^<svg ([^>]*?)\bheight="[^"]*"', r"<svg \1", text, count=1)
    return text.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)


def _time_axis(axes: Any, edges: Integers) -> None:
    axes.set_xlim(0, int(edges[-1]))
    axes.set_xlabel("cycle")
    axes.xaxis.set_major_formatter(lambda cycle, _: f"{int(cycle):,}")


def _steps(values: Floats) -> Floats:
    """Return the values with the last one repeated, so that the last step ends with the run."""
    return np.append(values, values[-1:])


def _percent(axes: Any) -> None:
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")


def limits_over_time(found: OverTime) -> str:
    """Draw the part of the time for which each limit held, stacked."""
    with _styled():
        figure, axes = _figure(3.0)
        names = [name for name in LIMITS if found.limits[name].any()]
        below = np.zeros(len(found.edges))
        for name in names:
            above = below + _steps(found.limits[name])
            colour, hatch = STYLES[name]
            axes.fill_between(
                found.edges,
                below,
                above,
                step="post",
                facecolor=colour,
                hatch=hatch or None,
                edgecolor="#ffffff",
                linewidth=0,
                label=LABELS[name],
            )
            below = above
        _percent(axes)
        axes.set_ylabel("part of the time")
        _time_axis(axes, found.edges)
        figure.legend(loc="outside upper center", ncols=5, frameon=False)
        return _svg(figure, "What blocked the head, over time")


def limits_of_runs(names: Sequence[str], runs: Sequence[Mapping[str, int]]) -> str:
    """Draw a bar for each run: its cycles by what blocked the head, one behind the other."""
    with _styled():
        figure, axes = _figure(0.9 + 0.34 * len(runs))
        left = np.zeros(len(runs))
        for limit in LIMITS:
            cycles = np.array([run[limit] for run in runs])
            if not cycles.any():
                continue
            colour, hatch = STYLES[limit]
            bar = {"facecolor": colour, "hatch": hatch or None, "edgecolor": "#ffffff"}
            axes.barh(names, cycles, left=left, height=0.7, linewidth=0, label=LABELS[limit], **bar)
            left += cycles
        axes.invert_yaxis()
        axes.tick_params(axis="y", length=0)
        _time_axis(axes, np.array([int(left.max()) * 21 // 20]))
        axes.set_xlabel("cycles")
        axes.locator_params(axis="x", nbins=5)
        figure.legend(loc="outside upper center", ncols=5, frameon=False)
        return _svg(figure, "Cycles of each run, by what blocked the head")


def occupancy_over_time(found: OverTime) -> str:
    """Draw the occupancy of each resource: one strip for each, all on the same time axis."""
    with _styled():
        figure, strips = _figure(4.2, nrows=len(RESOURCES), sharex=True)
        for name, axes in zip(RESOURCES, strips, strict=True):
            values = _steps(found.occupancy[name])
            axes.fill_between(found.edges, 0, values, step="post", facecolor=_FILL, linewidth=0)
            axes.set_ylim(0, 1)
            axes.set_yticks([0, 0.5, 1], ["0%", "", "100%"])
            axes.grid(axis="y", color="#c9ced6", linewidth=0.5)
            axes.set_ylabel(LABELS[name].replace(" ", "\n"), rotation=0, ha="right", va="center")
        _time_axis(strips[-1], found.edges)
        return _svg(figure, "Occupancy by resource, over time")


def blocks_over_time(found: OverTime) -> str:
    """Draw the blocks offered in a cycle, on average."""
    with _styled():
        figure, axes = _figure(1.9)
        values = _steps(found.blocks_per_cycle)
        axes.fill_between(found.edges, 0, values, step="post", facecolor=_FILL, linewidth=0)
        axes.set_ylim(0, 1.05)
        axes.axhline(1, color="#555b66", linewidth=0.7, linestyle=(0, (4, 2)))
        axes.set_ylabel("blocks a cycle")
        _time_axis(axes, found.edges)
        return _svg(figure, "Blocks a cycle, over time")


def waiting_over_time(found: OverTime) -> str:
    """Draw the number of launches that wait, by stream."""
    with _styled():
        figure, axes = _figure(2.1)
        below = np.zeros(len(found.edges))
        for k, (label, values) in enumerate(_by_stream(found.waiting).items()):
            above = below + _steps(values)
            axes.fill_between(
                found.edges,
                below,
                above,
                step="post",
                facecolor=_STREAM_GREYS[k],
                hatch=("", "////", "....", "\\\\\\\\", "xxxx", "||||", "----")[k] or None,
                edgecolor="#ffffff",
                linewidth=0,
                label=label,
            )
            below = above
        axes.set_ylim(0, max(1.0, float(below.max(initial=0)) * 1.05))
        axes.set_ylabel("launches")
        _time_axis(axes, found.edges)
        figure.legend(loc="outside upper center", ncols=5, frameon=False)
        return _svg(figure, "Launches that wait, by stream, over time")


def _by_stream(waiting: Mapping[int, Floats]) -> dict[str, Floats]:
    """Return the curves to draw: the streams with the most waiting, and the sum of all others."""
    ranked = sorted(waiting, key=lambda stream: -float(waiting[stream].sum()))
    drawn = {f"stream {stream}": waiting[stream] for stream in sorted(ranked[:_MOST_STREAMS])}
    rest = [waiting[stream] for stream in ranked[_MOST_STREAMS:]]
    if rest:
        drawn[f"{len(rest)} other streams"] = np.sum(rest, axis=0)
    return drawn


def blockers_over_time(worst: Sequence[Blocker], edges: Integers) -> str:
    """Draw when each of the worst kernels held up the next launch.

    Each kernel has one row. A bin is the darker, the longer the kernel held up the next launch.
    """
    with _styled():
        figure, axes = _figure(0.75 + 0.28 * len(worst))
        rows = [one.over_time for one in worst]
        axes.pcolormesh(
            edges,
            np.arange(len(worst) + 1) - 0.5,
            np.array(rows),
            cmap="Greys",
            vmin=0,
            vmax=1,
            # Write one bitmap instead of thousands of rectangles: the file stays small.
            rasterized=True,
        )
        axes.set_yticks(range(len(worst)), [f"K{one.kernel.number}" for one in worst])
        axes.set_ylim(len(worst) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        _time_axis(axes, edges)
        return _svg(figure, "Kernels that held up the next launch, over time")


def short_kernels(cycles: Integers) -> str:
    """Draw the number of launches by length, in powers of two, and their part of the time."""
    with _styled():
        figure, axes = _figure(2.3)
        bins = np.floor(np.log2(np.maximum(cycles, 1))).astype(int)
        low, high = int(bins.min()), int(bins.max())
        numbers = np.bincount(bins - low, minlength=high - low + 1)
        time = np.bincount(bins - low, cycles, high - low + 1) / max(1, int(cycles.sum()))
        places = np.arange(low, high + 1)
        drawn = axes.bar(places, numbers, width=0.86, color="#4f8a8b")
        axes.bar_label(
            drawn,
            [f"{share:.0%}" if n else "" for n, share in zip(numbers, time, strict=True)],
            fontsize=8,
        )
        axes.set_xticks(places, [f"{1 << int(k):,}" for k in places])
        axes.set_xlabel("cycles from first offer to last report, from this many to twice as many")
        axes.set_ylabel("launches")
        axes.margins(y=0.15)
        return _svg(figure, "Launches by length")
