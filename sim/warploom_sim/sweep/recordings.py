"""The traces of a comparison, each read once."""

from pathlib import Path

from warploom_sim.replay.replay_job import read_trace
from warploom_sim.replay.request import ReplayRequest
from warploom_sim.traces.trace_reader import Trace


class Recordings:
    """Traces as they are asked for."""

    def __init__(self) -> None:
        self._read: dict[tuple[bool, object, object, object], Trace] = {}

    def of(self, request: ReplayRequest) -> Trace:
        """Return the trace of a request for one.

        Raises
        ------
        WarploomError
            If the trace is refused.
        """
        key = request.keeps_waits, request.trace, request.device, request.gpu
        if key not in self._read:
            self._read[key] = read_trace(request)
        return self._read[key]

    def time_faults(self) -> dict[Path, dict[str, int]]:
        """Return how many kernels of each trace have times that cannot be, by fault.

        Each trace has a figure for each fault that one of them has.
        """
        counts: dict[Path, dict[str, int]] = {}
        for trace in self._read.values():
            counts[trace.path] = dict(trace.times.counts())
        names = dict.fromkeys(name for each in counts.values() for name in each)
        return {path: dict.fromkeys(names, 0) | each for path, each in counts.items()}

    def notes(self) -> list[str]:
        """Return what is to be said of the traces, a line each, and each once."""
        lines = [
            said for (keeps, *_), trace in self._read.items() for said in trace.notes(keeps=keeps)
        ]
        return list(dict.fromkeys(lines))
