"""What ``warploom sim`` does once its options are checked: replay, print, write files."""

from pathlib import Path
from typing import Any

from rich.console import Console

from warploom_sim.cosim import simulators
from warploom_sim.json_file import write_json
from warploom_sim.replay import replay_gains, rtl_replay
from warploom_sim.replay.launch_figures import write_launches_csv
from warploom_sim.replay.replay_job import Job, prepare
from warploom_sim.replay.request import ReplayRequest
from warploom_sim.replay.request_fields import new_files
from warploom_sim.screen import table_console, working
from warploom_sim.views import replay_table, replay_views
from warploom_spec import WarploomError


def run(request: ReplayRequest) -> int:
    """Replay traces one after the other, print what came of them, write ``--json``.

    Returns
    -------
    int
        0 if everything was equal and each trace had blocks dispatched, else 1.

    Raises
    ------
    WarploomError
        If a trace, an option or the simulator is refused; before anything runs or is written.
    ProgramError
        If the simulator or the model fails.
    """
    assert request.simulator
    replay_views.check(request)
    jobs = [prepare(request.of(path)) for path in request.traces]
    simulators.require(request.simulator)
    for job in jobs:
        for said in job.trace.notes(keeps=job.request.keeps_waits):
            Console(stderr=True).print(said, markup=False, highlight=False, soft_wrap=True)
    _remove_old_files(request)
    console = table_console()
    outcomes = []
    for job in jobs:
        outcome = rtl_replay.run_one(job)
        if outcome.figures["verdict"] == rtl_replay.EQUAL:
            outcome.figures["gains"] = _gains(job)
        replay_table.show(console, outcome.figures, outcome.problems)
        outcomes.append(outcome)
    verdict = _verdict_of_all(outcomes)
    if request.json:
        _write_json(request.json, outcomes, verdict)
    if request.launches_csv and verdict != rtl_replay.DIFFERENT:
        rows = [(one.figures["trace"], one.figures["per_launch"]) for one in outcomes]
        write_launches_csv(request.launches_csv, rows)
    elif request.launches_csv:
        console.print(f"{request.launches_csv} not written: RTL and model differ", style="red")
    for line in replay_views.write(request, outcomes):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    return int(verdict != rtl_replay.EQUAL)


def _gains(job: Job) -> list[dict[str, Any]]:
    """Return the gains of a job; none, and a line that says why, where they are refused."""
    err = Console(stderr=True)
    name = job.trace.path.name
    try:
        with working(f"{name}: gains, one bound relaxed after the other"):
            found = replay_gains.gains_of(job)
    except WarploomError as error:
        err.print(f"{name}: no gains: {error}", markup=False, highlight=False, soft_wrap=True)
        return []
    return replay_gains.as_json(found)


def _remove_old_files(request: ReplayRequest) -> None:
    """Remove what an earlier run wrote where this one will: a run that fails leaves none of it."""
    for path in new_files(request).values():
        # A device or a pipe stays.
        if path.is_file():
            path.unlink()


def _verdict_of_all(outcomes: list[rtl_replay.Outcome]) -> str:
    if any(outcome.problems for outcome in outcomes):
        return rtl_replay.DIFFERENT
    empty = any(outcome.figures["verdict"] == rtl_replay.EMPTY for outcome in outcomes)
    return rtl_replay.EMPTY if empty else rtl_replay.EQUAL


def _write_json(path: Path, outcomes: list[rtl_replay.Outcome], verdict: str) -> None:
    first, *more = (outcome.figures for outcome in outcomes)
    write_json(path, first | {"verdict": verdict, "more": more})
