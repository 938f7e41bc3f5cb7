"""A comparison from request to rows: plans the runs, reads kept rows, runs the missing ones."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from warploom_sim.failure import MismatchError, ProgramError
from warploom_sim.replay.replay_job import prepare_launches
from warploom_sim.replay.request import ReplayOptions
from warploom_sim.sweep.cluster import connect, finished_runs
from warploom_sim.sweep.plan import Request, Run, plan, sources
from warploom_sim.sweep.result_folder import ResultFolder, Row
from warploom_sim.traces import trace_reader
from warploom_spec.config import POLICIES, RECLAIMS


@dataclass(frozen=True)
class Job:
    """A comparison, ready to run.

    Attributes
    ----------
    runs : list of Run
        Every run, in the order of table and plot.
    rows : dict of str to Row
        The rows that are known, by the run's id.
    results : ResultFolder
        The folder in which rows are kept.
    sources : str
        Hash of the sources.
    notes : list of str
        Notes on the traces for the user, one line each.
    """

    runs: list[Run]
    rows: dict[str, Row]
    results: ResultFolder
    sources: str
    notes: list[str]

    @property
    def missing(self) -> list[Run]:
        """Runs whose rows are not there."""
        return [run for run in self.runs if run.run_id not in self.rows]


def prepare_comparison(request: Request, folder: Path) -> Job:
    """Plan the runs, make every run's launches, and read what is kept.

    Raises
    ------
    WarploomError
        If a trace, a field or a kept row is refused: before anything runs or is written.
    """
    runs = plan(request)
    made_by = sources(request.simulator is not None)
    results = ResultFolder(folder, made_by)
    rows = {run.run_id: row for run in runs if (row := results.read(run))}
    read = {
        path: trace_reader.load(path, device=request.device, strict=request.strict)
        for path in dict.fromkeys(request.traces)
    }
    if request.strict:
        for trace in read.values():
            trace.refuse_ignored_waits()
    notes = [said for trace in read.values() for said in trace.notes()]
    job = Job(runs, rows, results, made_by, notes)
    # Policies change nothing about the launches.
    kinds = {
        (run.trace, run.time_scale, run.arrivals, _without_policies(run)): run
        for run in reversed(job.missing)
    }
    for run in reversed(kinds.values()):
        options = ReplayOptions(
            traces=(run.trace,),
            launches=run.first,
            time_scale=run.time_scale,
            arrivals=run.arrivals,
            seed=run.seed,
        )
        prepare_launches(read[run.trace], run.config, options)
    return job


def _without_policies(run: Run) -> object:
    return dataclasses.replace(run.config, policy=POLICIES[0], reclaim=RECLAIMS[0])


def run_missing(
    job: Job, scheduler: str | None, workers: int | None, done: Callable[[], None]
) -> None:
    """Run what is missing, and keep each row when it comes.

    Raises
    ------
    MismatchError
        If RTL and model differ in a run; the rows of the others are kept.
    ProgramError
        If a program fails, or the scheduler goes away; says how many rows are kept.
    WarploomError
        If the scheduler does not answer.
    """
    missing = job.missing
    problems = []
    if not missing:
        return
    with connect(scheduler, workers, len(missing)) as client:
        try:
            for run, finished in finished_runs(client, missing, job.sources):
                if finished.row is not None:
                    job.results.write(run, finished.row)
                    job.rows[run.run_id] = finished.row
                elif finished.kind is MismatchError:
                    problems.append(finished.error)
                else:
                    raise finished.kind(finished.error)
                done()
        except ProgramError as error:
            kept = f"{len(job.rows)} of {len(job.runs)} runs are kept in {job.results.folder}"
            raise ProgramError(f"{error}; {kept}: the same command goes on from there") from error
    if problems:
        raise MismatchError(*problems)
