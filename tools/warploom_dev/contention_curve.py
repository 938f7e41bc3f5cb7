"""The measured curve of contention beside the rule: knees that fit, a table and a figure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from warploom_golden.replay.contention import ONE, rate
from warploom_sim.plots import new_figure, write_figure
from warploom_spec import WarploomError

#: Up to here one block stands on each SM: beyond, the older one of two is served first.
MOST_FITTED: Final = 32
#: What the line of a measurement begins with; its rate follows.
_LINE: Final = re.compile(
    r"(?P<kind>\S.*?)\s+(?P<warps>\d+) warps an SM: .* rate (?P<rate>[\d.]+);"
)

#: Rate by warps of an SM.
Curve = Mapping[int, float]


@dataclass(frozen=True)
class Fit:
    """The knee whose rule is nearest to a curve.

    Attributes
    ----------
    knee : int
        Warps at full speed.
    worst : float
        Largest distance of a mark from the rule, as a part of full speed.
    worst_at : int
        Warps of that mark.
    """

    knee: int
    worst: float
    worst_at: int


def read_curves(path: Path) -> dict[str, dict[int, float]]:
    """Return the measured rates of each kind of kernel by the number of warps.

    Raises
    ------
    WarploomError
        If a line that is no comment and not the first is no measurement.
    """
    curves: dict[str, dict[int, float]] = {}
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    for number, line in enumerate(lines[1:], 2):
        found = _LINE.match(line)
        if not found:
            raise WarploomError(
                f"{path}: measurement {number} is {line!r}; legal: KIND N warps ..."
            )
        curves.setdefault(found["kind"], {})[int(found["warps"])] = float(found["rate"])
    return curves


def rule(warps: int, knee: int) -> float:
    """Return the rule's rate as a part of full speed."""
    return rate(warps, knee) / ONE


def fit(curve: Curve) -> Fit:
    """Return the knee with the least squares over the marks of one block an SM."""
    marks = {warps: measured for warps, measured in curve.items() if warps <= MOST_FITTED}

    def distances(knee: int) -> dict[int, float]:
        return {warps: abs(seen - rule(warps, knee)) for warps, seen in marks.items()}

    knee = min(range(1, 65), key=lambda k: sum(d * d for d in distances(k).values()))
    far = distances(knee)
    worst_at = max(far, key=lambda warps: far[warps])
    return Fit(knee, far[worst_at], worst_at)


def table(curves: Mapping[str, Curve]) -> list[list[str]]:
    """Return a row for each kind: its knee, and how far the rule is from the marks at worst."""
    rows = []
    for kind, curve in curves.items():
        found = fit(curve)
        rows.append([kind, str(found.knee), f"{found.worst:.2f}", str(found.worst_at)])
    return rows


def draw(path: Path, curves: Mapping[str, Curve]) -> None:
    """Draw each kind's marks with the line of the rule that fits, one panel a kind."""
    figure, panels = new_figure(nrows=2, ncols=3, sharex=True, sharey=True)
    for axes, (kind, curve) in zip(panels.flat, curves.items(), strict=True):
        knee = fit(curve).knee
        warps = range(1, max(curve) + 1)
        axes.plot(warps, [rule(n, knee) for n in warps], color="0.35", linewidth=1.2)
        alone = [n for n in curve if n <= MOST_FITTED]
        paired = [n for n in curve if n > MOST_FITTED]
        for name, marks, fill in (("one", alone, "black"), ("two", paired, "none")):
            (line,) = axes.plot(
                marks,
                [curve[n] for n in marks],
                linestyle="none",
                marker="o",
                markersize=4,
                markerfacecolor=fill,
                markeredgecolor="black",
            )
            # The figure's text is read back by these names.
            line.set_gid(f"{kind}, {name}")
        axes.set_title(f"{kind}: knee {knee}", fontsize=9)
        axes.grid(alpha=0.3)
        axes.set_ylim(0, 1.08)
        axes.set_xticks(range(0, 65, 16))
    figure.supxlabel("warps on the SM (open marks: in two blocks)", fontsize=9)
    figure.supylabel("rate of a block, 1 with one warp", fontsize=9)
    write_figure(path, figure)
