"""One run of a workload through the event model with streams as queues, and its figures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from warploom_golden.preemption.streams import QueuedModel
from warploom_golden.preemption.streams.event_log import PutBack
from warploom_golden.preemption.streams.stream_law import StreamLaw
from warploom_golden.replay.event_dispatcher import SmBehaviour
from warploom_sim.methods.preempt.host import MeasuringHost
from warploom_sim.methods.preempt.workload import Workload
from warploom_sim.traces.trace_launches import CLOCK_MHZ
from warploom_spec import Config, Fate, timing


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The settings that all runs of a measurement share.

    Attributes
    ----------
    config : Config
        The machine.
    count : int
        Number of urgent launches in a run.
    distance : float
        Mean distance from an urgent launch's end to the next one's arrival, in cycles.
    seed : int
        Seed of distances and block lengths.
    report_time : int
        Cycles that an SM takes to report a killed block.
    knee : int or None
        With contention: warps that an SM runs at full speed. None: without contention.
    """

    config: Config
    count: int
    distance: float
    seed: int
    report_time: int
    knee: int | None = None


@dataclass(frozen=True, kw_only=True)
class Run:
    """The results of one run.

    Attributes
    ----------
    latencies : tuple of int
        Cycles from each urgent launch's acceptance to its first offer, in order of acceptance. A
        launch is accepted ``launch_check`` cycles after it was sent.
    cycles : int
        Cycle in which the last final record was made.
    urgent_starts : tuple of int
        Cycle of each urgent launch's first offer.
    low_ends : tuple of int
        Cycle in which each low launch's final record was made.
    put_back : tuple of PutBack
        Each time that a low launch left the dispatcher unfinished.
    lookups : tuple of tuple of int and bool
        Of each index lookup its cycle, and whether it was a hit.
    went_on : tuple of int
        Cycles in which a low launch went on that had started, and then yielded to an urgent one.
    """

    latencies: tuple[int, ...]
    cycles: int
    urgent_starts: tuple[int, ...]
    low_ends: tuple[int, ...]
    put_back: tuple[PutBack, ...]
    lookups: tuple[tuple[int, bool], ...]
    went_on: tuple[int, ...] = ()


def run(
    workload: Workload,
    setting: Setting,
    *,
    ahead: int | None = None,
    tell: Callable[[int], None] = lambda done: None,
) -> Run:
    """Run a workload until ``setting.count`` urgent launches and all others have ended.

    Parameters
    ----------
    workload : Workload
        The low and the urgent launches.
    setting : Setting
        The machine and the arrivals.
    ahead : int or None
        Most low launches that may be sent and unfinished. None: as many as there is room for.
    tell : callable
        Called with the number of urgent launches that are done.
    """
    host = MeasuringHost(
        workload.low,
        workload.urgent,
        count=setting.count,
        distance=setting.distance,
        seed=setting.seed,
        ahead=ahead,
        tell=tell,
        waits=workload.low_waits,
    )
    model = _model(setting)
    model.run(host)
    check, log, arrivals = timing(setting.config).launch_check, model.log, host.arrivals
    starts = {each.ticket: each.cycle for each in log.begins}
    return Run(
        latencies=tuple(starts[ticket] - sent - check for ticket, sent in arrivals.items()),
        cycles=log.records[-1].made,
        urgent_starts=tuple(starts[ticket] for ticket in arrivals),
        low_ends=tuple(each.made for each in log.records if each.ticket not in arrivals),
        put_back=tuple(log.put_back),
        lookups=tuple((each.cycle, each.hit) for each in log.decisions),
        went_on=tuple(log.went_on),
    )


def low_launches_alone(low: Workload, setting: Setting, ahead: int | None = None) -> int:
    """Return the cycles that all low launches take once, without urgent launches.

    ``ahead`` has the same meaning as in `run`.
    """
    host = MeasuringHost(
        low.low,
        (),
        count=0,
        distance=1,
        seed=setting.seed,
        ahead=ahead,
        passes=1,
        # One in flight: the order of all launches keeps the waits.
        waits=low.low_waits if ahead != 1 else None,
    )
    model = _model(setting)
    model.run(host)
    return model.log.records[-1].made


def _model(setting: Setting) -> QueuedModel:
    behaviour = SmBehaviour(report_time=setting.report_time)
    return QueuedModel(setting.config, sm=behaviour, seed=setting.seed, knee=setting.knee)


def summary(latencies: Sequence[int]) -> dict[str, Any]:
    """Return median, 99th percentile and maximum, in cycles and microseconds.

    The 99th percentile is the lowest latency that 99 % of the launches do not exceed.
    """
    figures: dict[str, Any] = {"arrivals": len(latencies)}
    for name, value in (
        ("median", np.median(latencies)),
        ("p99", np.percentile(latencies, 99, method="inverted_cdf")),
        ("max", max(latencies)),
    ):
        figures[name] = float(value) if name == "median" else int(value)
        figures[f"{name}_us"] = round(float(value) / CLOCK_MHZ, 3)
    return figures


def costs(done: Run, until: int) -> dict[str, int]:
    """Return what happened to low and urgent launches in the first cycles of a run.

    Runs are of different lengths: their costs compare only over the same cycles.

    Parameters
    ----------
    done : Run
        The run.
    until : int
        The last cycle that counts.
    """
    put_back = [each for each in done.put_back if each.cycle <= until]
    counted = {fate: [each for each in put_back if each.fate is fate] for fate in Fate}
    killed = counted[Fate.KILLED]
    hits = [hit for cycle, hit in done.lookups if cycle <= until]
    return {
        "urgent_started": sum(cycle <= until for cycle in done.urgent_starts),
        "low_finished_in_the_same_cycles": sum(cycle <= until for cycle in done.low_ends),
        "kills": len(killed),
        "drains": len(counted[Fate.DRAINED]),
        "skips": len(counted[Fate.SKIPPED]),
        "yields": sum(cycle <= until for cycle in done.went_on),
        "blocks_run_again": sum(each.offered for each in killed),
        "cycles_thrown_away": sum(each.held for each in killed),
        "index_hits": sum(hits),
        "index_misses": len(hits) - sum(hits),
    }


def bounds(config: Config) -> dict[str, int]:
    """Return the constants, in cycles, of the latency's upper bound.

    ``docs/preemption/preemption.md`` derives the bound in *How long it takes*.
    """
    law = StreamLaw(config)
    return {
        "kill": law.kill,
        "idle_launch": law.idle_launch,
        "in_flight": law.in_flight,
        "report_to_offer": law.report_to_offer,
        "next_launch": law.next_launch,
        "idle_place": law.idle_place,
        "indices_made": law.indices_made,
    }
