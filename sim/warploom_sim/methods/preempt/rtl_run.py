"""Runs of the RTL, several at once, each compared with the event model event by event."""

import functools
import os
import shutil
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from warploom_golden.replay.event_constants import NEVER
from warploom_golden.replay.event_tables import Table
from warploom_golden.replay.residents.ports import SleepingQueue
from warploom_sim.build_cache import build_root
from warploom_sim.cosim import simulators
from warploom_sim.failure import ProgramError
from warploom_sim.kept_folders import hold, release_folder, remove_old
from warploom_sim.methods.preempt.bench.preempt_bench_build import SIMULATOR
from warploom_sim.methods.preempt.bench_files import BenchEvents, write_inputs
from warploom_sim.methods.preempt.measure import measuring_host
from warploom_sim.methods.preempt.model_events import ModelRun
from warploom_sim.methods.preempt.runs import Setting
from warploom_sim.methods.preempt.workload import Workload
from warploom_sim.replay.event_comparison import Comparing, Comparison
from warploom_sim.replay.simulation_run import LOG, failure

#: Seconds between two looks at what was written.
_POLL: Final = 0.05
#: Cycles that the RTL may go on after the model's last one before it is stopped.
_BEYOND: Final = 100_000
#: Folders of runs in which RTL and model differ.
_KEPT_RUNS: Final = 8
#: A file that says that a folder stays.
_KEEP: Final = "differs"
#: Kinds of events that the law needs, and that the model does not tell.
_RTL_ALONE: Final = ("kills",)


@dataclass(frozen=True)
class RtlRun:
    """What came of one run.

    Attributes
    ----------
    comparison : Comparison
        RTL against model.
    events : dict of str to Table
        The RTL's events, as far as they are kept.
    stopped : str
        Why the run was given up, or "".
    """

    comparison: Comparison
    events: dict[str, Table]
    stopped: str


class RtlRuns:
    """Runs the simulation of several workloads, as many at once as there are processors.

    Parameters
    ----------
    program : Path
        The compiled bench.
    workloads : mapping of str to Workload
        The workloads, in order, by name.
    setting : Setting
        The machine and the arrivals.
    folder : Path
        Where each run gets a folder.
    tell : callable
        Called with a run's name and the number of urgent launches that its RTL has sent.
    """

    def __init__(
        self,
        program: Path,
        workloads: Mapping[str, Workload],
        setting: Setting,
        folder: Path,
        tell: Callable[[str, int], None],
    ):
        self._program, self._setting, self._tell = program, setting, tell
        self._folder = folder
        self._waiting = dict(workloads)
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._counts: dict[str, _Arrivals] = {}

    def folder(self, name: str) -> Path:
        """Return a run's folder."""
        return self._folder / name

    def poll(self) -> None:
        """Start runs while processors are free; tell how far they are."""
        most = len(os.sched_getaffinity(0))
        while self._waiting and sum(self.goes_on(name) for name in self._running) < most:
            name = next(iter(self._waiting))
            self._start(name, self._waiting.pop(name))
        for name, count in self._counts.items():
            self._tell(name, count.look())

    def goes_on(self, name: str) -> bool:
        """Tell whether a run was started and has not ended."""
        return name in self._running and self._running[name].poll() is None

    def _start(self, name: str, workload: Workload) -> None:
        folder = self.folder(name)
        folder.mkdir(parents=True)
        values = write_inputs(folder, workload, self._setting)
        command = [str(self._program), *(f"+{key}={value}" for key, value in values.items())]
        environment = {**os.environ, **simulators.environment(SIMULATOR)}
        with (folder / LOG).open("w") as log:
            self._running[name] = subprocess.Popen(
                command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT
            )
        self._counts[name] = _Arrivals(folder / "sent.bin")

    def check(self, name: str) -> None:
        """Raise if a run has failed.

        Raises
        ------
        ProgramError
            With what it said.
        """
        code = self._running[name].wait()
        if code:
            raise ProgramError(failure("the simulation", code, self.folder(name)))

    def stop(self, name: str) -> None:
        """Stop a run."""
        process = self._running[name]
        if process.poll() is None:
            process.kill()
        process.wait()

    def stop_all(self) -> None:
        """Stop all runs."""
        for name in self._running:
            self.stop(name)


class _Arrivals:
    """Counts the urgent launches in a file of launches that were sent."""

    def __init__(self, path: Path):
        self._path, self._offset, self._count = path, 0, 0

    def look(self) -> int:
        """Return how many there are by now."""
        if self._path.exists():
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
            # Cycle, and whether it is urgent; the closing record has a count there.
            whole = len(data) - len(data) % 16
            self._count += sum(data[k] == 1 for k in range(8, whole, 16) if data[k - 1] == 0)
            self._offset += whole
        return self._count


@contextmanager
def run_folder() -> Iterator[Path]:
    """Give a folder away that is removed afterwards, unless a run in it differs from the model."""
    folder = build_root() / "preemptions" / uuid.uuid4().hex[:12]
    hold(folder)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        if (folder / _KEEP).exists():
            remove_old(folder.parent, _KEPT_RUNS)
        else:
            shutil.rmtree(folder, ignore_errors=True)
            release_folder(folder)


def run_all(
    program: Path,
    workloads: Mapping[str, Workload],
    setting: Setting,
    folder: Path,
    tell: Callable[[str, int], None],
    queue: type[SleepingQueue] = SleepingQueue,
) -> Iterator[tuple[str, RtlRun]]:
    """Run workloads on the RTL and in the model; yield what came of each, in their order.

    Parameters
    ----------
    program, workloads, setting, folder, tell
        As for `RtlRuns`.
    queue : type of SleepingQueue
        The model's queue: a test gives one that breaks a rule.

    Raises
    ------
    ProgramError
        If a simulation fails.
    """
    with ExitStack() as stack:
        runs = RtlRuns(program, workloads, setting, folder, tell)
        stack.callback(runs.stop_all)
        for name, workload in workloads.items():
            runs.poll()
            make = functools.partial(_model_run, workload, setting, queue)
            done = _follow(name, runs, make, BenchEvents(runs.folder(name), setting.config))
            if done.comparison.mismatches or done.stopped:
                (folder / _KEEP).touch()
            else:
                shutil.rmtree(runs.folder(name), ignore_errors=True)
            yield name, done


def _model_run(workload: Workload, setting: Setting, queue: type[SleepingQueue]) -> ModelRun:
    return ModelRun(measuring_host(workload, setting), setting, queue)


def _follow(
    name: str,
    runs: RtlRuns,
    make: Callable[[], ModelRun],
    events: BenchEvents,
) -> RtlRun:
    """Compare a run's events with the model's while both come."""
    comparing, model = Comparing(), make()
    stalls: dict[str, int] = {}
    stopped = ""
    for piece in model.pieces():
        comparing.add_model(_expected(piece.events.tables, events))
        stalls = piece.events.stalls
        limit = model.cycle + _BEYOND if piece.until == NEVER else NEVER
        stopped = _read_on(name, runs, comparing, events, piece.until, limit)
    rtl_stalls, why = dict.fromkeys(stalls, 0), stopped
    if not stopped:
        runs.check(name)
        _give(comparing, events, events.finish())
        rtl_stalls, why = events.end()
    comparison = comparing.finish(
        rtl_stalls, stalls, lambda: (piece.events for piece in make().pieces())
    )
    return RtlRun(comparison, events.tables(), why)


def _expected(tables: Mapping[str, Table], events: BenchEvents) -> dict[str, Table]:
    """Return the model's tables, without what no port says."""
    found = {kind: dict(tables[kind]) for kind in _compared(events)}
    for kind in ("decisions", "starts"):
        del found[kind]["ticket"]
    return found


def _compared(events: BenchEvents) -> list[str]:
    return [kind for kind in events.kinds if kind not in _RTL_ALONE]


def _give(comparing: Comparing, events: BenchEvents, tables: Mapping[str, Table]) -> bool:
    """Give events to the comparison; tell whether there were any."""
    compared = _compared(events)
    for kind in tables:
        if kind in compared:
            comparing.add_rtl(kind, tables[kind])
    return bool(tables)


def _read_on(
    name: str,
    runs: RtlRuns,
    comparing: Comparing,
    events: BenchEvents,
    until: int,
    limit: int,
) -> str:
    """Read the RTL's events until it is as far as the model, or has ended.

    Returns why it was stopped, or "".
    """
    while not comparing.lacks(until):
        runs.poll()
        goes_on = runs.goes_on(name)
        if _give(comparing, events, events.read()):
            if comparing.lacks(limit):
                runs.stop(name)
                return f"the RTL goes on {_BEYOND:,} cycles after the model's last one"
        elif goes_on:
            time.sleep(_POLL)
        else:
            break
    return ""
