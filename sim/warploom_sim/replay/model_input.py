"""What the golden event model gets of a request: launches, arrivals, and how blocks run."""

from collections.abc import Iterator, Sequence

from warploom_golden.replay import event_model
from warploom_golden.replay.event_model import Piece
from warploom_golden.replay.gains import Workload
from warploom_sim.replay.request import RECORDED, ReplayRequest
from warploom_sim.traces.recorded_config import recorded_config
from warploom_sim.traces.trace_launches import arrival_cycles, make_launches
from warploom_sim.traces.trace_reader import Trace
from warploom_sim.variant import changed
from warploom_spec import Config, LaunchDescriptor, preset


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
    return make_launches(trace, config, request.time_scale, request.launches, request.allocator)


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


def workload_of(trace: Trace, config: Config, request: ReplayRequest) -> Workload:
    """Return what gains are found of.

    Raises
    ------
    WarploomError
        If a launch or an arrival is refused.
    """
    launches, arrivals = launches_of(trace, config, request), arrivals_of(trace, request)
    return Workload(launches, config, request.seed, request.kill_every, arrivals)


def event_pieces(
    launches: Sequence[LaunchDescriptor],
    config: Config,
    request: ReplayRequest,
    arrivals: Sequence[int] | None = None,
    transfers: Sequence[int] | None = None,
    *,
    lean: bool = False,
) -> Iterator[Piece]:
    """Yield what the golden event model makes of launches, in this process."""
    return event_model.pieces(
        launches,
        config,
        request.seed,
        request.kill_every,
        request.knee,
        arrivals,
        transfers,
        lean=lean,
    )
