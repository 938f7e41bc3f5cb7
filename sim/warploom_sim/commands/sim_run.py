"""What ``warploom sim`` does once its options are checked: replay, print, write files."""

from pathlib import Path

from rich.console import Console

from warploom_sim.cosim import simulators
from warploom_sim.json_file import write_json
from warploom_sim.replay import rtl_replay
from warploom_sim.replay.launch_figures import write_launches_csv
from warploom_sim.replay.replay_job import config_of, flip_of, prepare
from warploom_sim.replay.request import ReplayOptions
from warploom_sim.screen import table_console
from warploom_sim.views import replay_table, replay_views


def run(options: ReplayOptions) -> int:
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
    config = config_of(options)
    simulators.require(options.simulator)
    replay_views.check(options)
    flip = flip_of(options, config)
    whole = bool(options.timeline or options.report)
    jobs = [prepare(path, config, options, flip, whole=whole) for path in options.traces]
    for job in jobs:
        for said in job.trace.notes():
            Console(stderr=True).print(said, markup=False, highlight=False, soft_wrap=True)
    _remove_old_files(options)
    console = table_console()
    outcomes = []
    for job in jobs:
        outcome = rtl_replay.run_one(job)
        replay_table.show(console, outcome.figures, outcome.problems)
        outcomes.append(outcome)
    verdict = _verdict_of_all(outcomes)
    if options.json:
        _write_json(options.json, outcomes, verdict)
    if options.launches_csv and verdict != rtl_replay.DIFFERENT:
        rows = [(one.figures["trace"], one.figures["per_launch"]) for one in outcomes]
        write_launches_csv(options.launches_csv, rows)
    elif options.launches_csv:
        console.print(f"{options.launches_csv} not written: RTL and model differ", style="red")
    for line in replay_views.write(options, outcomes):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    return int(verdict != rtl_replay.EQUAL)


def _remove_old_files(options: ReplayOptions) -> None:
    """Remove what an earlier run wrote where this one will: a run that fails leaves none of it."""
    for path in (options.json, options.launches_csv, options.timeline, options.report):
        # A device or a pipe stays.
        if path and path.is_file():
            path.unlink()


def _verdict_of_all(outcomes: list[rtl_replay.Outcome]) -> str:
    if any(outcome.problems for outcome in outcomes):
        return rtl_replay.DIFFERENT
    empty = any(outcome.figures["verdict"] == rtl_replay.EMPTY for outcome in outcomes)
    return rtl_replay.EMPTY if empty else rtl_replay.EQUAL


def _write_json(path: Path, outcomes: list[rtl_replay.Outcome], verdict: str) -> None:
    first, *more = (outcome.figures for outcome in outcomes)
    write_json(path, first | {"verdict": verdict, "more": more})
