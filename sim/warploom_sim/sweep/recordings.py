"""The traces of a comparison, each read once."""

from warploom_sim.replay.replay_job import read_trace
from warploom_sim.replay.request import ReplayRequest
from warploom_sim.traces.trace_reader import Trace


class Recordings:
    """Traces as they are asked for."""

    def __init__(self) -> None:
        self._read: dict[object, Trace] = {}

    def of(self, request: ReplayRequest) -> Trace:
        """Return the trace of a request for one.

        Raises
        ------
        WarploomError
            If the trace is refused.
        """
        key = request.trace, request.device, request.gpu
        if key not in self._read:
            self._read[key] = read_trace(request)
        return self._read[key]

    def notes(self) -> list[str]:
        """Return what is to be said of the traces, a line each, and each once."""
        lines = [said for trace in self._read.values() for said in trace.notes()]
        return list(dict.fromkeys(lines))
