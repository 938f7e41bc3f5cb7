"""What the golden event model gets of a request: launches, arrivals, and how blocks run."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from warploom_golden.replay import event_model
from warploom_golden.replay.event_model import Piece
from warploom_golden.replay.host_source import HostCycles
from warploom_golden.replay.refusal import judge
from warploom_golden.replay.waits import Waits
from warploom_sim.replay.request import RECORDED, ReplayRequest
from warploom_sim.traces.event_waits import EventWaits
from warploom_sim.traces.kept_waits import KeptWaits, check_streams, keep_waits
from warploom_sim.traces.recorded_config import recorded_config
from warploom_sim.traces.trace_launches import arrival_cycles, make_launches
from warploom_sim.traces.trace_reader import Trace
from warploom_sim.variant import changed
from warploom_spec import Config, LaunchDescriptor, WarploomError, preset


def config_of(request: ReplayRequest, trace: Trace) -> Config:
    """Return what a request replays a trace on.

    It is the preset, or the recorded GPU, with the policies and fields that the request puts in
    their place.

    Raises
    ------
    WarploomError
        If the model does not cover the configuration, or the GPU is too large.
    """
    if request.config == RECORDED:
        base = recorded_config(trace, built=request.rtl)
    else:
        base = preset(request.config)
    chosen = {"policy": request.policy, "reclaim": request.reclaim}
    policies = [f"{field}={value}" for field, value in chosen.items() if value]
    config = changed(base, (*policies, *request.settings))
    event_model.check(config, request.kill_every)
    return config


def launches_of(trace: Trace, config: Config, request: ReplayRequest) -> list[LaunchDescriptor]:
    """Return a trace's launches as a request wants them.

    Raises
    ------
    WarploomError
        If a launch is refused.
    """
    made = make_launches(trace, config, request.time_scale, request.launches, request.allocator)
    if not request.priorities:
        return made
    check_streams(trace.path, trace.launches[: len(made)], config)
    given = priorities_of(request)
    streams = {launch.stream for launch in made}
    for stream, priority in given.items():
        if stream not in streams:
            raise WarploomError(
                f"priority is {stream}={priority}, but the launches that are replayed of"
                f" {trace.path} have the streams 0 to {max(streams)} only"
            )
        if priority >> config.priority_bits:
            highest = (1 << config.priority_bits) - 1
            raise WarploomError(f"priority is {stream}={priority}; legal: N from 0 to {highest}")
    return [replace(launch, priority=given.get(launch.stream, 0)) for launch in made]


def priorities_of(request: ReplayRequest) -> dict[int, int]:
    """Return the priorities that a request gives to streams, by their numbers in the replay."""
    pairs = (one.split("=") for one in request.priorities)
    return {int(stream): int(priority) for stream, priority in pairs}


def waits_of(
    trace: Trace, launches: Sequence[LaunchDescriptor], config: Config, request: ReplayRequest
) -> KeptWaits:
    """Return what launches wait for.

    Raises
    ------
    WarploomError
        If the trace has more streams than the configuration.
    """
    check_streams(trace.path, trace.launches[: len(launches)], config)
    waits = trace.waits if request.keeps_waits else EventWaits()
    refused = [number for number, one in enumerate(launches) if judge(one, config)[0]]
    return keep_waits(waits, launches, config.launch_waits, refused)


def arrivals_of(trace: Trace, request: ReplayRequest) -> list[int] | None:
    """Return in which cycle each launch arrives; None if each one is there from the start.

    Raises
    ------
    WarploomError
        If an arrival is refused.
    """
    if request.arrivals == "none":
        return None
    return arrival_cycles(trace, request.time_scale, request.launches)


def event_pieces(
    launches: Sequence[LaunchDescriptor],
    config: Config,
    request: ReplayRequest,
    waits: KeptWaits,
    arrivals: Sequence[int] | None = None,
    host: HostCycles | None = None,
    *,
    lean: bool = False,
) -> Iterator[Piece]:
    """Yield what the golden event model makes of launches, in this process.

    ``waits`` is what `waits_of` returned.
    """
    return event_model.pieces(
        launches,
        config,
        request.seed,
        request.kill_every,
        request.knee,
        arrivals,
        Waits(waits.pairs, waits.held),
        host,
        lean=lean,
    )
