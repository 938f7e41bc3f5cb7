"""Small workloads for the RTL under urgent launches, and what the event model says of them."""

from fractions import Fraction

from warploom_golden.replay.event_model import joined
from warploom_golden.replay.event_tables import columns
from warploom_golden.replay.residents.ports import SleepingQueue
from warploom_sim.methods.preempt.measure import measuring_host
from warploom_sim.methods.preempt.model_events import ModelRun
from warploom_sim.methods.preempt.runs import Setting
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


def small_workload(mode, share=1):
    return workload(mode, LOW, URGENT, (0, 1), share)


def workload(mode, low, urgent=((1, 1, 10),), streams=(0,), share=1):
    """Return low launches in some streams, one after the other; and urgent ones.

    ``share``: of the low kernels that are idempotent.
    """
    names = tuple(f"kernel{n}" for n in range(len(low)))
    sides = _side(low, 0, streams, priority=0), _side(urgent, len(low), (3,), priority=3)
    return Workload(*sides, names).with_mode(MODES[mode], Fraction(share), 1)


def setting(count, seed, report_time=5, config=TINY, distance=300.0):
    return Setting(
        config=config, count=count, distance=distance, seed=seed, report_time=report_time, knee=None
    )


def model_events(workload, sets, queue=SleepingQueue):
    """Return what the model expects, as the bench would record it, with the rises of ``kill``."""
    run = ModelRun(measuring_host(workload, sets), sets, queue)
    tables = dict(joined([piece.events for piece in run.pieces()]).tables)
    rises, before = [], 0
    levels = (tables["levels"][name].tolist() for name in ("cycle", "stop"))
    for cycle, stop in zip(*levels, strict=True):
        came, before = stop & ~before, stop
        rises += [
            (cycle + timing(sets.config).resident_kill, stream)
            for stream in range(came.bit_length())
            if came >> stream & 1
        ]
    return tables | {"kills": columns(rises, ("cycle", "stream"))}
