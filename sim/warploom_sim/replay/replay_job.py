"""A trace made ready to be replayed, and what the event model makes of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from warploom_golden.replay import event_model
from warploom_golden.replay.event_model import Events, Piece
from warploom_sim.replay import expected, replay_figures
from warploom_sim.replay.analysis.running import RunFigures, RunningFigures
from warploom_sim.replay.bench import axi_bench
from warploom_sim.replay.bench.records import record_packets
from warploom_sim.replay.expected import Expected
from warploom_sim.replay.model_input import arrivals_of, config_of, event_pieces, launches_of
from warploom_sim.replay.recorded_times import Recording
from warploom_sim.replay.replay_columns import block_columns, block_figures, launch_columns
from warploom_sim.replay.replay_follow import Flip
from warploom_sim.replay.replay_result import Replay
from warploom_sim.replay.request import ReplayRequest
from warploom_sim.traces import trace_reader
from warploom_sim.traces.trace_reader import Trace
from warploom_spec import STALL_CAUSES, Config, LaunchDescriptor, WarploomError

#: Most blocks of a replay whose events are kept: they take some gigabytes of memory.
MOST_BLOCKS: Final = 2**24


@dataclass(frozen=True)
class Job:
    """One trace, ready to run; all its events are kept if it is to be whole."""

    trace: Trace
    launches: list[LaunchDescriptor]
    demanded: Expected
    config: Config
    request: ReplayRequest
    flip: Flip | None = None
    arrivals: list[int] | None = None
    whole: bool = False

    @property
    def recording(self) -> Recording:
        """When the launches ran on the recorded GPU."""
        return Recording.of(self.trace, self.request, len(self.launches))


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
        trace.refuse_ignored_waits()
    return trace


def prepare(request: ReplayRequest, *, whole: bool = True) -> Job:
    """Read the trace of a request for one, and make its launches.

    Raises
    ------
    WarploomError
        If the trace, its configuration or a planted fault is refused, or the trace is to be kept
        whole and has more than `MOST_BLOCKS` blocks.
    """
    trace = read_trace(request)
    config = config_of(request, trace)
    return prepare_launches(trace, config, request, flip_of(request, config), whole=whole)


def prepare_launches(
    trace: Trace,
    config: Config,
    request: ReplayRequest,
    flip: Flip | None = None,
    *,
    whole: bool = True,
) -> Job:
    """Make the launches of a trace that was read.

    Raises
    ------
    WarploomError
        If a launch is refused, or the job is to be kept whole and has more than `MOST_BLOCKS`
        blocks.
    """
    launches = launches_of(trace, config, request)
    demanded = expected.count(launches, config, request)
    if whole and demanded.blocks > MOST_BLOCKS:
        raise WarploomError(
            f"{trace.path}: {demanded.blocks:,} blocks whose events are to be kept; legal: up to"
            f" {MOST_BLOCKS:,} (choose fewer launches, or warploom sim without timeline and report)"
        )
    arrivals = arrivals_of(trace, request)
    return Job(trace, launches, demanded, config, request, flip, arrivals, whole)


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


def model_pieces(job: Job, transfers: Sequence[int] | None = None) -> Iterator[Piece]:
    """Yield what the golden event model makes of a job, in this process."""
    return event_pieces(job.launches, job.config, job.request, job.arrivals, transfers)


def figures_alone(job: Job) -> RunFigures:
    """Return the figures of what the golden event model makes of a job, whose blocks are not kept.

    What blocked the head is found only for a time scale below 1.
    """
    names = [launch.name for launch in job.trace.launches]
    limits = job.request.time_scale < 1
    figures = RunningFigures(
        job.launches, names, job.config, job.arrivals, job.recording, limits=limits
    )
    for piece in model_pieces(job):
        figures.add(piece)
    return figures.finish()


def model_alone(job: Job) -> Replay:
    """Return what the golden event model makes of a job, in this process."""
    events = event_model.joined([piece.events for piece in model_pieces(job)])
    return result_of(job, events)


def result_of(job: Job, events: Events) -> Replay:
    """Return a run's events as columns."""
    blocks = block_columns(events)
    names = [launch.name for launch in job.trace.launches]
    return Replay(
        launches=launch_columns(
            events,
            block_figures(blocks, len(job.launches)),
            job.launches,
            names,
            job.config,
            job.arrivals,
            job.recording,
        ),
        blocks=blocks,
        stalls={cause: events.stalls[f"stall_{cause}"] for cause in STALL_CAUSES},
        cycles=replay_figures.cycles(events),
        config=job.config,
        settings=job.request,
        events=events,
        event_waits_ignored=job.trace.waits.count,
    )
