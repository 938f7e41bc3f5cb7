"""One run of a comparison, in whichever process and on whichever machine it runs."""

import dataclasses
import functools
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from warploom_sim.failure import MismatchError, ProgramError
from warploom_sim.sweep.plan import Run, made_by
from warploom_spec import WarploomError

if TYPE_CHECKING:
    from warploom_sim.replay.analysis.running import RunFigures
    from warploom_sim.replay.replay_job import Job
    from warploom_sim.traces.trace_reader import Trace

#: Traces that this process has read, by what decides about what is read.
_read: dict[object, "Trace"] = {}
#: Traces that a process keeps.
_MOST_READ: Final = 16
#: What a process has loaded does not change while it runs.
_made_by = functools.cache(made_by)


@dataclass(frozen=True)
class Finished:
    """The result of a run.

    Attributes
    ----------
    row : dict or None
        The run's identity and figures; None if the run failed.
    sources : str
        Hash of the sources that made the result, and of the versions of what ran them.
    error : str
        Why the run failed, in words; empty if it did not.
    kind : type
        Class of the exception to raise.
    """

    row: dict[str, Any] | None
    sources: str
    error: str = ""
    kind: type[Exception] = ProgramError


def execute(run: Run, trace: bytes) -> Finished:
    """Replay a trace, whose bytes come along: a worker need not see the file.

    Its blocks are not kept: a run of any size takes as much memory. A process reads each trace
    once.
    """
    # NumPy and Numba are the worker's to import, not the client's.
    from warploom_sim.sweep.run_figures import EVENT_WAITS, run_figures

    makers = _made_by(run.request.rtl)
    began = time.monotonic()
    try:
        job, found = (_with_rtl if run.request.rtl else _model_alone)(run, trace)
    except (MismatchError, ProgramError, WarploomError) as error:
        return Finished(None, makers, str(error), type(error))
    row = run.identity() | run_figures(found, run.request.time_scale)
    row |= {name: getattr(job, name) for name in EVENT_WAITS}
    return Finished(row | {"wall_s": round(time.monotonic() - began, 3)}, makers)


def _model_alone(run: Run, content: bytes) -> tuple["Job", "RunFigures"]:
    from warploom_sim.replay.replay_job import figures_alone, prepare_launches, read_trace

    request = run.request
    key = run.content, request.device, request.gpu, request.strict, request.keeps_waits
    if key not in _read:
        while len(_read) >= _MOST_READ:
            del _read[next(iter(_read))]
        with _file(run, content) as path:
            _read[key] = read_trace(request.of(path))
    trace = dataclasses.replace(_read[key], path=run.trace)
    # Only a time scale below 1 can make the dispatch rate limit.
    limits = request.time_scale < 1
    job = prepare_launches(trace, run.config, request)
    return job, figures_alone(job, limits=limits)


def _with_rtl(run: Run, content: bytes) -> tuple["Job", "RunFigures"]:
    from warploom_sim.cosim import simulators
    from warploom_sim.replay import rtl_replay
    from warploom_sim.replay.replay_job import prepare

    assert run.request.simulator
    simulators.require(run.request.simulator)
    with _file(run, content) as path:
        job = prepare(run.request.of(path))
        outcome = rtl_replay.run_one(job)
        if outcome.found is None:
            raise MismatchError(*outcome.problems)
        return job, outcome.found


@contextmanager
def _file(run: Run, content: bytes) -> Iterator[Path]:
    """Yield a file with a trace's bytes; what is refused names the file that the user named."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / run.trace.name
        path.write_bytes(content)
        try:
            yield path
        except (MismatchError, ProgramError, WarploomError) as error:
            raise type(error)(str(error).replace(str(path), str(run.trace))) from error
