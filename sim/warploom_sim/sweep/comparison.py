"""A comparison from request to rows: plans the runs, reads kept rows, runs the missing ones."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warploom_sim.failure import MismatchError, ProgramError
from warploom_sim.replay.replay_job import prepare_launches
from warploom_sim.sweep.cluster import connect, finished_runs
from warploom_sim.sweep.plan import Run, made_by, plan
from warploom_sim.sweep.recordings import Recordings
from warploom_sim.sweep.result_folder import ResultFolder, Row
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
        Hash of the sources, and of the versions of what runs them.
    notes : list of str
        Notes on the traces for the user, one line each.
    time_faults : dict of Path to dict of str to int
        Of each trace the kernels with times that cannot be, by fault.
    """

    runs: list[Run]
    rows: dict[str, Row]
    results: ResultFolder
    sources: str
    notes: list[str]
    time_faults: dict[Path, dict[str, int]]

    @property
    def missing(self) -> list[Run]:
        """Runs whose rows are not there."""
        return [run for run in self.runs if run.run_id not in self.rows]

    @property
    def kept(self) -> str:
        """How many runs are kept, in words."""
        kept = f"{len(self.rows)} of {len(self.runs)} runs are kept in {self.results.folder}"
        return f"{kept}: the same command goes on from there"


def prepare_comparison(
    traces: Sequence[Path], given: Mapping[str, Sequence[Any]], folder: Path
) -> Job:
    """Plan the runs, make every run's launches, and read what is kept.

    Parameters
    ----------
    traces : sequence of Path
        Recordings.
    given : mapping of str to sequence
        As for `plan`.
    folder : Path
        Where rows are kept.

    Raises
    ------
    WarploomError
        If a trace, a field or a kept row is refused: before anything runs or is written.
    """
    recordings = Recordings()
    runs = plan(traces, given, recordings)
    makers = made_by(any(run.request.rtl for run in runs))
    results = ResultFolder(folder, makers)
    rows = {run.run_id: row for run in runs if (row := results.read(run))}
    notes, faults = recordings.notes(), recordings.time_faults()
    job = Job(runs, rows, results, makers, notes, faults)
    for run in _firsts(job.missing, _launched).values():
        prepare_launches(recordings.of(run.request), run.config, run.request)
    return job


def _firsts(runs: Sequence[Run], key: Callable[[Run], object]) -> dict[object, Run]:
    """Return of the runs with one key the first, by the key, in order."""
    found: dict[object, Run] = {}
    for run in runs:
        found.setdefault(key(run), run)
    return found


def _launched(run: Run) -> object:
    """Return what decides about a run's launches: policies, contention and seeds do not."""
    config = dataclasses.replace(run.config, policy=POLICIES[0], reclaim=RECLAIMS[0])
    same: dict[str, Any] = {"policy": None, "reclaim": None, "contention": "none", "seed": 1}
    return config, dataclasses.replace(run.request, **same)


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
    KeyboardInterrupt
        If the user breaks it off; says how many rows are kept.
    WarploomError
        If the scheduler does not answer.
    """
    missing = job.missing
    problems = []
    if not missing:
        return
    try:
        with connect(scheduler, workers, len(missing)) as client:
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
        raise ProgramError(f"{error}; {job.kept}") from error
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt(job.kept) from error
    if problems:
        raise MismatchError(*problems)
