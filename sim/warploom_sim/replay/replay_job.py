"""A trace made ready to be replayed, and what the event model makes of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from warploom_golden.replay import event_model
from warploom_golden.replay.event_model import Events, Piece
from warploom_sim.replay import expected, replay_figures
from warploom_sim.replay.bench import axi_bench
from warploom_sim.replay.bench.records import record_packets
from warploom_sim.replay.expected import Expected
from warploom_sim.replay.replay_columns import block_columns, block_figures, launch_columns
from warploom_sim.replay.replay_follow import Flip
from warploom_sim.replay.replay_result import Replay, Settings
from warploom_sim.replay.request import ReplayOptions
from warploom_sim.traces import trace_reader
from warploom_sim.traces.trace_launches import arrival_cycles, make_launches
from warploom_sim.traces.trace_reader import Trace
from warploom_sim.variant import variant
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
    options: ReplayOptions
    flip: Flip | None = None
    arrivals: list[int] | None = None
    whole: bool = False


def prepare(
    path: Path,
    config: Config,
    options: ReplayOptions,
    flip: Flip | None = None,
    *,
    whole: bool = True,
) -> Job:
    """Read a trace and make its launches.

    Raises
    ------
    WarploomError
        If the trace is refused, or is to be kept whole and has more than `MOST_BLOCKS` blocks.
    """
    trace = trace_reader.load(path, device=options.device, strict=options.strict)
    if options.strict:
        trace.refuse_ignored_waits()
    return prepare_launches(trace, config, options, flip, whole=whole)


def prepare_launches(
    trace: Trace,
    config: Config,
    options: ReplayOptions,
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
    launches = make_launches(trace, config, options.time_scale, options.launches, options.allocator)
    demanded = expected.count(launches, config, options.seed, options.kill_every)
    if whole and demanded.blocks > MOST_BLOCKS:
        raise WarploomError(
            f"{trace.path}: {demanded.blocks:,} blocks whose events are to be kept; legal: up to"
            f" {MOST_BLOCKS:,} (choose fewer launches, or warploom sim without timeline and report)"
        )
    arrivals = None
    if options.arrivals == "trace":
        arrivals = arrival_cycles(trace, options.time_scale, options.launches)
    return Job(trace, launches, demanded, config, options, flip, arrivals, whole)


def config_of(options: ReplayOptions) -> Config:
    """Return the preset with the policies and fields that the options put in their place.

    Raises
    ------
    WarploomError
        If the model does not cover the configuration.
    """
    chosen = {"policy": options.policy, "reclaim": options.reclaim}
    policies = [f"{field}={value}" for field, value in chosen.items() if value]
    config = variant(options.config, (*policies, *options.settings)).config
    event_model.check(config, options.kill_every)
    return config


def flip_of(options: ReplayOptions, config: Config) -> Flip | None:
    """Return the event bit to flip, if the planted fault is ``event.<kind>.<number>.<bit>``.

    Raises
    ------
    WarploomError
        If it names no bit of an event and no fault of the host.
    """
    fault = options.forced_fault
    of_host = tuple(axi_bench.FAULTS) if options.host == "axi" else ()
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
    options = job.options
    return event_model.pieces(
        job.launches,
        job.config,
        options.seed,
        options.kill_every,
        options.model_knee,
        job.arrivals,
        transfers,
    )


def model_alone(job: Job) -> Replay:
    """Return what the golden event model makes of a job, in this process."""
    events = event_model.joined([piece.events for piece in model_pieces(job)])
    return result_of(job, events, None)


def result_of(job: Job, events: Events, simulator: str | None) -> Replay:
    """Return a run's events as columns."""
    blocks = block_columns(events)
    names = [launch.name for launch in job.trace.launches]
    options = job.options
    return Replay(
        launches=launch_columns(
            events,
            block_figures(blocks, len(job.launches)),
            job.launches,
            names,
            job.config,
            job.arrivals,
        ),
        blocks=blocks,
        stalls={cause: events.stalls[f"stall_{cause}"] for cause in STALL_CAUSES},
        cycles=replay_figures.cycles(events),
        config=job.config,
        settings=Settings(
            trace=job.trace.path,
            launches=options.launches,
            time_scale=options.time_scale,
            seed=options.seed,
            kill_every=options.kill_every,
            arrivals=options.arrivals,
            host=options.host,
            knee=options.model_knee,
            simulator=simulator,
        ),
        events=events,
        event_waits_ignored=job.trace.waits.count,
    )
