"""The views of a command's replays: one timeline and one report of all its traces."""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Final

from warploom_sim.replay import replay_words
from warploom_sim.replay.replay_result import Replay
from warploom_sim.replay.request import ReplayRequest
from warploom_sim.views import replay_table
from warploom_spec import WarploomError

if TYPE_CHECKING:
    from warploom_sim.replay.rtl_replay import Outcome

#: Printed when neither is asked for.
_HINT: Final = (
    "a timeline and a report of this run: --timeline run.pftrace --report run.html"
    " (with make: TIMELINE=run.pftrace REPORT=run.html)"
)


def check(request: ReplayRequest) -> None:
    """Refuse views whose packages are not installed, before anything runs.

    Raises
    ------
    WarploomError
        Names the extra to install.
    """
    if request.timeline:
        from warploom_sim.views.timeline import check_timeline

        check_timeline()
    if request.report:
        from warploom_sim.views.html_report.page import check_report

        check_report()


def write(request: ReplayRequest, outcomes: Sequence["Outcome"]) -> list[str]:
    """Write the views that the request asks for; return what to print, a line each."""
    asked = {"timeline": request.timeline, "report": request.report}
    files = {what: path for what, path in asked.items() if path}
    if not files:
        return [_HINT]
    if any(outcome.result is None for outcome in outcomes):
        return [f"{path} not written: RTL and model differ" for path in files.values()]
    lines = []
    if request.timeline:
        _write_timeline(request.timeline, request.traces, outcomes)
        lines.append(f"timeline: {request.timeline} (opens in ui.perfetto.dev)")
    if request.report:
        _write_report(request.report, request, outcomes)
        lines.append(f"report: {request.report}")
    return lines


def recorded_lengths(request: ReplayRequest) -> Replay | None:
    """Return the replay of the first trace with blocks of the recorded lengths.

    The golden model runs alone. None if blocks of those lengths are refused.
    """
    from warploom_sim.replay import replay_job

    once = dataclasses.replace(request, time_scale=Fraction(1))
    try:
        job = replay_job.prepare(once)
    except WarploomError:
        return None
    return replay_job.model_alone(job)


def _runs(outcomes: Sequence["Outcome"]) -> list[Replay]:
    return [outcome.result for outcome in outcomes if outcome.result]


def _titles(traces: Sequence[Path]) -> list[str]:
    """Return what stands before the names of each trace's tracks: no two are equal."""
    if len(traces) == 1:
        return [""]
    names = [trace.name.split(".")[0] for trace in traces]
    counts = Counter(names)
    return [
        f"{name} {number}, " if counts[name] > 1 else f"{name}, "
        for number, name in enumerate(names, 1)
    ]


def _write_timeline(path: Path, traces: Sequence[Path], outcomes: Sequence["Outcome"]) -> None:
    from warploom_sim.screen import progress_bar
    from warploom_sim.views.replay_timeline import add_replay
    from warploom_sim.views.timeline import new_timeline

    runs = _runs(outcomes)
    with progress_bar() as bar, new_timeline(path) as timeline:
        total = sum(int(run.launches.blocks.sum()) for run in runs)
        task = bar.add_task("timeline", total=total)
        for title, run in zip(_titles(traces), runs, strict=True):
            add_replay(timeline, run, title, lambda blocks: bar.advance(task, blocks))


def _write_report(path: Path, request: ReplayRequest, outcomes: Sequence["Outcome"]) -> None:
    from warploom_sim.screen import progress_bar
    from warploom_sim.views.html_report.page import Run, write_report

    runs = []
    with progress_bar() as bar:
        task = bar.add_task("report", total=len(outcomes) + 1)
        for trace, outcome in zip(request.traces, outcomes, strict=True):
            assert outcome.result is not None
            limited = replay_table.time_scale_warning(outcome.figures)
            again = request.of(trace)
            run = Run(
                replay=outcome.result,
                figures=outcome.figures,
                command=replay_words.command(again),
                recorded=recorded_lengths(again) if limited else None,
            )
            runs.append(run)
            bar.advance(task)
        write_report(path, runs)
