"""A recorded trace's launches with the keys by which they are folded, as the core gets them."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from warploom_golden.deferral.templates import quiet_launch
from warploom_golden.deferral.trace_loops import TraceLaunch
from warploom_golden.replay.refusal import judge
from warploom_sim.traces.kept_waits import KeptWaits, check_streams, keep_waits
from warploom_sim.traces.trace_launches import make_launches
from warploom_sim.traces.trace_reader import Trace
from warploom_spec import Config, ErrorCode, LaunchDescriptor

#: Block lengths are the recorded ones times this.
TIME_SCALE: Final = Fraction(1, 32)

#: Fields that hold block length and load of an SM: those of the first launch with the key.
_OF_FIRST: Final = ("arguments", "address_space")


def trace_launches(trace: Trace, config: Config) -> list[TraceLaunch]:
    """Return a trace's launches as they are folded.

    ``code`` is a number for each kernel name, ``index_address`` one for each block shape. What a
    launch waits for is a relative pair and part of the key. A launch that waits for more streams
    than it has pairs is held by the host, and equals no other launch.

    Raises
    ------
    WarploomError
        If a launch is refused, or the trace has more streams than the core.
    """
    check_streams(trace.path, trace.launches, config)
    made = make_launches(trace, config, TIME_SCALE, allocator="own")
    _refuse(trace, made, config)
    waits = keep_waits(trace.waits, made, config.launch_waits)
    pairs = _relative(made, waits)
    codes: dict[str, int] = {}
    known: dict[tuple[object, ...], TraceLaunch] = {}
    result = []
    for number, (recorded, launch) in enumerate(zip(trace.launches, made, strict=True)):
        values = launch.values(config) | {"code": codes.setdefault(recorded.name, len(codes))}
        fixed = [value for name, value in values.items() if name not in _OF_FIRST]
        key = (*fixed, pairs[number], number if waits.held[number] else None)
        if key not in known:
            fields = values | quiet_launch(dict(pairs[number]))
            known[key] = TraceLaunch(key, fields, waits.held[number] != ())
        result.append(known[key])
    return result


def refuse_held(trace: Trace, launches: Sequence[TraceLaunch]) -> None:
    """Refuse a trace with a launch that the host holds: nobody sees the end of a quiet launch.

    Raises
    ------
    WarploomError
        If a launch waits for more streams than it has pairs.
    """
    for recorded, launch in zip(trace.launches, launches, strict=True):
        if launch.held:
            raise trace.place(recorded).refuse(
                "it waits for more streams than a launch has pairs, so the host holds it;"
                " --rtl sends quiet launches, whose ends no host sees (more pairs: --set"
                " launch_waits=4)"
            )


def _refuse(trace: Trace, launches: Sequence[LaunchDescriptor], config: Config) -> None:
    """Refuse a trace with a launch that LaunchCheck refuses: it would stop its LOOP."""
    for recorded, launch in zip(trace.launches, launches, strict=True):
        code, argument = judge(launch, config)
        if code:
            said = f"the core refuses it: {ErrorCode(code).name}, argument {argument}"
            raise trace.place(recorded).refuse(said)


def _relative(
    launches: Sequence[LaunchDescriptor], waits: KeptWaits
) -> list[tuple[tuple[int, int], ...]]:
    """Return each launch's pairs as (stream, launches before the latest accepted one)."""
    accepted: Counter[int] = Counter()
    result = []
    for launch, pairs in zip(launches, waits.pairs, strict=True):
        result.append(tuple((stream, accepted[stream] - count) for stream, count in pairs))
        accepted[launch.stream] += 1
    return result
