"""One run of a comparison, in whichever process and on whichever machine it runs."""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warploom_sim import screen
from warploom_sim.failure import MismatchError, ProgramError
from warploom_sim.sweep.plan import Run, sources
from warploom_spec import WarploomError


@dataclass(frozen=True)
class Finished:
    """The result of a run.

    Attributes
    ----------
    row : dict or None
        The run's identity and figures; None if the run failed.
    sources : str
        Hash of the sources that made the result.
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
    """Replay a trace, whose bytes come along: a worker need not see the file."""
    # NumPy and Numba are the worker's to import, not the client's.
    from warploom_sim.replay import python_api
    from warploom_sim.sweep.run_figures import run_figures

    # A worker may have the client's screen: progress there is the client's alone.
    screen.be_quiet()
    made_by = sources(run.request.rtl)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / run.trace.name
        path.write_bytes(trace)
        try:
            result = python_api.run(run.request.of(path))
        except (MismatchError, ProgramError, WarploomError) as error:
            words = str(error).replace(str(path), str(run.trace))
            return Finished(None, made_by, words, type(error))
    row = run.identity() | run_figures(result)
    return Finished(row | {"wall_s": round(time.monotonic() - began, 3)}, made_by)
