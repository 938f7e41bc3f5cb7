"""What a replay prints: the table of its figures, and what the figures warn of."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from warploom_sim.replay import replay_gains
from warploom_sim.replay.analysis.limits import LABELS as LIMIT_LABELS
from warploom_sim.replay.recorded_times import times_in_words
from warploom_sim.traces.time_faults import LABELS as TIME_LABELS
from warploom_sim.traces.time_faults import LEFT_OUT

#: Figures whose names alone would not say their unit.
_LABELS: Final = {
    "time_scale": "time scale (of the recorded time)",
    "knee": "knee, warps of an SM at full speed",
    "left_out": "kernels without a launch call, left out",
    "without_grid": "kernels without a recorded grid, left out",
    **{name: f"{said}{', left out' * (name in LEFT_OUT)}" for name, said in TIME_LABELS.items()},
    "blocks_per_cycle": "blocks a cycle",
    "cycles_direct": "cycles with --host direct",
    "host_cycles": "cycles that the host costs",
    "head_blocked": "what blocked the head, part of the time",
    "resources_lacked": "resources lacking on most SMs meanwhile, ties for all",
    "rate_by_time_scale": "dispatch rate for the time scale's sake",
    "recorded": "time beside the recorded one",
    "demanded_events": "events demanded by the launches",
    "wall_s": "run and comparison, seconds",
    "build_s": "build, seconds",
}
#: Figures that stand above the table, a sentence each.
_ABOVE: Final = ("caution", "killed_nobody")
#: Figures that are no row of the table.
_UNSHOWN: Final = (*_ABOVE, "trace", "verdict", "per_launch", "gains")
#: Figures by limit, of which those that never held are left out.
_BLOCKED: Final = ("head_blocked", "resources_lacked")
#: Figures that are parts of a whole.
_SHARES: Final = ("occupancy", *_BLOCKED, "rate_by_time_scale")
#: From this part of the run on, what the time scale makes is warned of.
_WARN_FROM: Final = 0.1
#: Figures that are paths, too long for the table.
_PATHS: Final = {"waveform": "waveform", "view": "view for GTKWave", "event_files": "event files"}


def show(console: Console, figures: Mapping[str, Any], problems: Sequence[str]) -> None:
    """Print one trace's figures and, below, what went wrong."""
    for name in _ABOVE:
        if said := figures.get(name):
            console.print(said, style="yellow", markup=False, highlight=False, soft_wrap=True)
    table = Table("figure", "value", title=escape(f"{figures['trace']}: {figures['verdict']}"))
    for name, value in figures.items():
        if name not in (*_UNSHOWN, *_PATHS):
            table.add_row(_LABELS.get(name, name.replace("_", " ")), escape(_text(name, value)))
    console.print(table)
    if gains := figures.get("gains"):
        _show_gains(console, gains)
    for name, label in _PATHS.items():
        if name in figures:
            console.print(f"{label}: {figures[name]}", markup=False, soft_wrap=True)
    if figures.get("blocks") == 0:
        console.print("nothing was dispatched: every launch was refused", style="red")
    if warning := time_scale_warning(figures):
        console.print(warning, style="yellow", markup=False, highlight=False, soft_wrap=True)
    for problem in problems:
        console.print(problem, style="red", markup=False, highlight=False, soft_wrap=True)


def _show_gains(console: Console, gains: Sequence[dict[str, Any]]) -> None:
    """Print how many percent fewer cycles each relaxation takes, and what would help most."""
    table = Table(title="fewer cycles with one bound relaxed, at the recorded lengths, %")
    table.add_column("relaxed", overflow="fold")
    for head in ("without contention", "with contention"):
        table.add_column(head, justify="right")
    for name, percents in replay_gains.by_name(gains):
        table.add_row(replay_gains.label(name), *map(replay_gains.said, percents))
    console.print(table)
    words = " ".join(replay_gains.advice(gains))
    console.print(words, markup=False, highlight=False, soft_wrap=True)


def time_scale_warning(figures: Mapping[str, Any]) -> str:
    """Return a line that says that the time scale limits the run; empty if it does not."""
    share = figures.get("rate_by_time_scale", 0)
    if share < _WARN_FROM:
        return ""
    return (
        f"for {share:.1%} of the time the dispatch rate limits only because of the time scale of"
        f" {figures['time_scale']}: blocks end before one a cycle fills the SMs; --time-scale 1 has"
        " the recorded lengths"
    )


def _text(name: str, value: Any) -> str:
    if name in _BLOCKED and isinstance(value, dict):
        value = {LIMIT_LABELS[limit]: share for limit, share in value.items() if share}
    if name == "recorded":
        return "\n".join(times_in_words(value))
    if isinstance(value, dict):
        parts = (f"{key} {_text(name, part)}" for key, part in value.items())
        return "\n".join(parts) or ("0" if name == "refused" else "-")
    if isinstance(value, float) and name in _SHARES:
        return f"{value:.1%}"
    if isinstance(value, list):
        return "\n".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)
