"""Small workloads for the RTL under urgent launches, and what the event model says of them."""

from fractions import Fraction

from warploom_golden.preemption.streams.event_launch import StopCode
from warploom_golden.replay.event_model import joined
from warploom_golden.replay.event_tables import columns
from warploom_sim.methods.preempt.measure import Setting
from warploom_sim.methods.preempt.model_events import ModelRun
from warploom_sim.methods.preempt.workload import MODES, Workload
from warploom_spec import LaunchDescriptor, preset, timing

TINY = preset("tiny")
#: Blocks, warps of a block, and length of the launches of each side.
LOW = ((5, 2, 60), (9, 1, 40), (3, 2, 200), (12, 2, 30))
URGENT = ((2, 2, 20), (1, 1, 10), (4, 2, 30))


def _side(shapes, first, streams, **fields):
    return tuple(
        LaunchDescriptor(
            grid=(blocks, 1, 1),
            block=(8 * warps, 1, 1),
            warp_registers=1,
            code=first + n,
            # Equal shapes share their indices: after the first ones all is a hit.
            index_address=8 * (warps.bit_length() - 1),
            arguments=length,
            stream=streams[n % len(streams)],
            **fields,
        )
        for n, (blocks, warps, length) in enumerate(shapes)
    )


def small_workload(mode):
    return workload(mode, LOW, URGENT, (0, 1))


def workload(mode, low, urgent=((1, 1, 10),), streams=(0,), **fields):
    """Return low launches in some streams, one after the other, with fields; and urgent ones."""
    names = tuple(f"kernel{n}" for n in range(len(low)))
    sides = (
        _side(low, 0, streams, priority=0, **fields),
        _side(urgent, len(low), (3,), priority=3),
    )
    return Workload(*sides, names).with_mode(MODES[mode], Fraction(1), 1)


def setting(count, seed, report_time=5, config=TINY, distance=300.0):
    return Setting(
        config=config, count=count, distance=distance, seed=seed, report_time=report_time, knee=None
    )


def model_events(workload, sets):
    """Return what the model expects, as the bench would record it, with the rises of ``kill``."""
    run = ModelRun(workload, sets)
    tables = dict(joined([piece.events for piece in run.pieces()]).tables)
    stops = tables["stops"]
    rises = [
        (cycle + timing(sets.config).stop, place)
        for cycle, place, stop in zip(
            *(stops[name].tolist() for name in ("cycle", "place", "stop")), strict=True
        )
        if stop == StopCode.KILL
    ]
    return tables | {"kills": columns(rises, ("cycle", "place"))}
