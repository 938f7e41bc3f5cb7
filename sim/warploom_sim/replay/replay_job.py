"""A trace made ready to be replayed, and what the event model makes of it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Final

from warploom_golden.replay.event_model import Piece
from warploom_golden.replay.host_source import HostCycles
from warploom_sim.replay import expected
from warploom_sim.replay.analysis.running import RunFigures, RunningFigures
from warploom_sim.replay.bench import axi_bench
from warploom_sim.replay.bench.records import record_packets
from warploom_sim.replay.expected import Expected
from warploom_sim.replay.model_input import (
    arrivals_of,
    config_of,
    event_pieces,
    launches_of,
    waits_of,
)
from warploom_sim.replay.recorded_times import Recording
from warploom_sim.replay.replay_events import ReplayEvents
from warploom_sim.replay.replay_follow import Flip
from warploom_sim.replay.replay_result import Replay
from warploom_sim.replay.request import ReplayRequest
from warploom_sim.traces import trace_reader
from warploom_sim.traces.kept_waits import KeptWaits
from warploom_sim.traces.trace_file import refuse_pipe
from warploom_sim.traces.trace_reader import Trace
from warploom_spec import Config, LaunchDescriptor, WarploomError

#: Blocks of a replay whose events are kept, at most: they take some hundred megabytes. The events
#: of a larger one are made again each time that they are asked for.
KEPT_BLOCKS: Final = 2**20


@dataclass(frozen=True)
class Job:
    """One trace, ready to run."""

    trace: Trace
    launches: list[LaunchDescriptor]
    config: Config
    request: ReplayRequest
    waits: KeptWaits
    flip: Flip | None = None
    arrivals: list[int] | None = None

    @cached_property
    def demanded(self) -> Expected:
        """What the launches demand of the configuration."""
        streams = len({launch.stream for launch in self.launches})
        # What follows a launch that is aborted may have been handed on already, and is taken back.
        in_order = streams == 1 and self.request.kill_every is None
        return expected.count(self.launches, self.config, self.request, in_order=in_order)

    @property
    def event_waits_kept(self) -> int:
        """Waits of the trace that the replay keeps."""
        return self.waits.kept

    @property
    def event_waits_ignored(self) -> int:
        """Waits of the trace that the replay does not keep."""
        return self.trace.waits.count - self.event_waits_kept

    @property
    def awaited(self) -> list[tuple[int, ...]]:
        """By launch: the launches that it waits for, by pairs or held by its source."""
        return list(self.waits.awaited)

    @property
    def recording(self) -> Recording:
        """When the launches ran on the recorded GPU."""
        return Recording.of(self.trace, self.request, len(self.launches))


def recorded_lengths(request: ReplayRequest) -> ReplayRequest:
    """Return a request at the recorded block lengths."""
    return replace(request, time_scale=Fraction(1))


def at_recorded_lengths(job: Job) -> Job:
    """Return a job at the recorded block lengths: itself, if it has them.

    Raises
    ------
    WarploomError
        If a launch or an arrival is refused at its recorded length.
    """
    request = recorded_lengths(job.request)
    if job.request == request:
        return job
    return prepare_launches(job.trace, job.config, request)


def read_trace(request: ReplayRequest) -> Trace:
    """Read the trace of a request for one.

    Raises
    ------
    WarploomError
        If the trace is refused.
    """
    trace = trace_reader.load(
        request.trace, device=request.device, strict=request.strict, gpu=request.recorded_gpu
    )
    if request.strict:
        trace.times.refuse(trace.path)
        trace.refuse_ignored_waits(keeps=request.keeps_waits)
    return trace


def prepare(request: ReplayRequest) -> Job:
    """Read the trace of a request for one, and make its launches.

    Raises
    ------
    WarploomError
        If the trace, its configuration or a planted fault is refused.
    """
    if request.rtl:
        refuse_pipe(request.trace)
    trace = read_trace(request)
    config = config_of(request, trace)
    return prepare_launches(trace, config, request, flip_of(request, config))


def prepare_launches(
    trace: Trace,
    config: Config,
    request: ReplayRequest,
    flip: Flip | None = None,
) -> Job:
    """Make the launches of a trace that was read.

    Raises
    ------
    WarploomError
        If a launch is refused.
    """
    launches = launches_of(trace, config, request)
    arrivals = arrivals_of(trace, request)
    waits = waits_of(trace, launches, config, request)
    return Job(trace, launches, config, request, waits, flip, arrivals)


def flip_of(request: ReplayRequest, config: Config) -> Flip | None:
    """Return the event bit to flip, if the planted fault is ``event.<kind>.<number>.<bit>``.

    Raises
    ------
    WarploomError
        If it names no bit of an event and no fault of the host.
    """
    fault = request.forced_fault
    of_host = tuple(axi_bench.FAULTS) if request.host == "axi" else ()
    if fault is None or fault in of_host:
        return None
    kinds = record_packets(config)
    what, *rest = fault.split(".")
    if what == "event" and len(rest) == 3 and rest[0] in kinds:
        kind, *numbers = rest
        if all(number.isdecimal() for number in numbers):
            return Flip(kind, *map(int, numbers))
    legal = ", ".join((*of_host, "event.<kind>.<number>.<bit>"))
    raise WarploomError(
        f"forced fault is {fault!r}; legal: {legal}, kind one of {', '.join(kinds)}"
    )


def model_pieces(
    job: Job, host: HostCycles | None = None, *, lean: bool = False
) -> Iterator[Piece]:
    """Yield what the golden event model makes of a job, in this process."""
    return event_pieces(
        job.launches,
        job.config,
        job.request,
        job.waits,
        job.arrivals,
        host,
        lean=lean,
    )


def figures_alone(job: Job, *, limits: bool) -> RunFigures:
    """Return the figures of what the golden event model makes of a job, whose blocks are not kept.

    What blocked the head is found on request.
    """
    return _figures(job, model_pieces(job, lean=True), limits=limits)


def model_alone(job: Job) -> Replay:
    """Return what the golden event model makes of a job, in this process."""
    if job.demanded.blocks > KEPT_BLOCKS:
        found = _figures(job, model_pieces(job, lean=True), limits=False)
        return result_of(job, found, lambda: model_pieces(job))
    kept = list(model_pieces(job))
    return result_of(job, _figures(job, kept, limits=False), lambda: kept)


def _figures(job: Job, pieces: Iterable[Piece], *, limits: bool) -> RunFigures:
    names = [launch.name for launch in job.trace.launches]
    figures = RunningFigures(
        job.launches,
        names,
        job.config,
        job.arrivals,
        job.recording,
        awaited=job.awaited,
        limits=limits,
    )
    for piece in pieces:
        figures.add(piece)
    return figures.finish()


def result_of(job: Job, found: RunFigures, pieces: Callable[[], Iterable[Piece]]) -> Replay:
    """Return a run with its figures, whose events come in pieces whenever they are asked for."""
    return Replay(
        launches=found.launches,
        stalls=found.stalls,
        cycles=found.cycles,
        config=job.config,
        settings=job.request,
        source=ReplayEvents(pieces),
        event_waits_kept=job.event_waits_kept,
        event_waits_ignored=job.event_waits_ignored,
    )
