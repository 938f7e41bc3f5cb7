"""What a replay prints: the table of figures, and a mismatch in words."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from warploom_golden.replay.event_model import Events
from warploom_sim.analysis.limits import LABELS as LIMIT_LABELS
from warploom_sim.compare import Mismatch
from warploom_sim.options import ReplayOptions
from warploom_sim.trace_file import shown
from warploom_spec import ErrorCode, Fate

#: Figures whose names alone would not say their unit.
_LABELS: Final = {
    "time_scale": "time scale (of the recorded time)",
    "knee": "knee, warps of an SM at full speed",
    "left_out": "kernels without a launch call, left out",
    "blocks_per_cycle": "blocks a cycle",
    "cycles_direct": "cycles with --host direct",
    "host_cycles": "cycles that the host costs",
    "limits": "what limits, part of the time",
    "rate_by_time_scale": "dispatch rate for the time scale's sake",
    "demanded_events": "events demanded by the launches",
    "wall_s": "run and comparison, seconds",
    "build_s": "build, seconds",
}
#: Figures that stand in the title, or are too many for a table.
_UNSHOWN: Final = ("trace", "verdict", "per_launch")
#: Figures that are parts of a whole.
_SHARES: Final = ("occupancy", "limits", "rate_by_time_scale")
#: From this part of the run on, what the time scale makes is warned of.
_WARN_FROM: Final = 0.1
#: Figures that are paths, too long for the table.
_PATHS: Final = {"waveform": "waveform", "view": "view for GTKWave", "event_files": "event files"}


def refused_by_code(events: Events) -> dict[str, int]:
    """Return how many launches were refused, by the code's name, in order of the codes."""
    codes = events.tables["answers"]["code"]
    counts = Counter(int(code) for code in codes if code)
    return {_code_name(code): counts[code] for code in sorted(counts)}


def launches_by_fate(events: Events) -> dict[str, int]:
    """Return how many accepted launches had each fate, by its name, in order of the numbers."""
    counts = Counter(int(fate) for fate in events.tables["ended"]["fate"])
    return {_fate_name(fate): counts[fate] for fate in sorted(counts)}


def _fate_name(fate: int) -> str:
    # A faulty run may show a fate that does not exist.
    return Fate(fate).name.lower() if fate in list(Fate) else f"fate {fate}"


def _code_name(code: int) -> str:
    # A faulty run may show a code that does not exist.
    return ErrorCode(code).name if code in list(ErrorCode) else f"code {code}"


def show(console: Console, figures: Mapping[str, Any], problems: Sequence[str]) -> None:
    """Print one trace's figures and, below, what went wrong."""
    table = Table("figure", "value", title=f"{figures['trace']}: {figures['verdict']}")
    for name, value in figures.items():
        if name not in (*_UNSHOWN, *_PATHS):
            table.add_row(_LABELS.get(name, name.replace("_", " ")), escape(_text(name, value)))
    console.print(table)
    for name, label in _PATHS.items():
        if name in figures:
            console.print(f"{label}: {figures[name]}", markup=False, soft_wrap=True)
    if figures.get("blocks") == 0:
        console.print("nothing was dispatched: every launch was refused", style="red")
    if warning := time_scale_warning(figures):
        console.print(warning, style="yellow", markup=False, highlight=False, soft_wrap=True)
    for problem in problems:
        console.print(problem, style="red", markup=False, highlight=False, soft_wrap=True)


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
    if name == "limits" and isinstance(value, dict):
        value = {LIMIT_LABELS[limit]: share for limit, share in value.items() if share}
    if isinstance(value, dict):
        parts = (f"{key} {_text(name, part)}" for key, part in value.items())
        return "\n".join(parts) or ("0" if name == "refused" else "-")
    if isinstance(value, float) and name in _SHARES:
        return f"{value:.1%}"
    if isinstance(value, list):
        return "\n".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def describe(mismatch: Mismatch, names: Sequence[str], options: ReplayOptions) -> str:
    """Return a mismatch in words: where, both values, how to see it again."""
    launch, block = mismatch.launch, mismatch.block
    where = "no launch" if launch is None else f"launch {launch} ({shown(names[launch])})"
    lines = [
        f"first mismatch: {mismatch.kind} {mismatch.number}, {where},"
        f" block {block if block else 'none yet'}, cycle {mismatch.cycle}",
    ]
    for side, values in (("RTL", mismatch.rtl), ("model", mismatch.model)):
        lines.append(f"  {side + ':':6} {_values(values)}")
    if mismatch.differing():
        lines.append(f"  differs: {', '.join(mismatch.differing())}")
    return "\n".join([*lines, f"  again with: {command(options)}"])


def _values(values: Mapping[str, int] | None) -> str:
    if values is None:
        return "no such event"
    return ", ".join(f"{name} {_number(value)}" for name, value in values.items())


def _number(value: int) -> str:
    return str(value) if value < 1 << 32 else hex(value)


def command(options: ReplayOptions) -> str:
    """Return the command that does the same replay again."""
    words = ["warploom", "sim", *(str(path) for path in options.traces)]
    given = {
        "sim": options.simulator,
        "config": options.config,
        "device": options.device,
        "launches": options.launches,
        "policy": options.policy,
        "reclaim": options.reclaim,
        "seed": options.seed,
        "time-scale": options.time_scale,
        "kill-every": options.kill_every,
        "arrivals": options.arrivals if options.arrivals != "none" else None,
        "host": options.host if options.host != "direct" else None,
        "contention": options.contention if options.model_knee is not None else None,
        "knee": options.model_knee,
        "forced-fault": options.forced_fault,
    }
    for name, value in given.items():
        if value is not None:
            words += [f"--{name}", str(value)]
    for setting in options.settings:
        words += ["--set", setting]
    return shlex.join(words)
