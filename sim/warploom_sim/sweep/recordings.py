"""The traces of a comparison, each read once."""

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

    def notes(self) -> list[str]:
        """Return what is to be said of the traces, a line each, and each once."""
        lines = [
            said for (keeps, *_), trace in self._read.items() for said in trace.notes(keeps=keeps)
        ]
        return list(dict.fromkeys(lines))
