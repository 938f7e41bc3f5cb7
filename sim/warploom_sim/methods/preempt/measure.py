"""One run of a workload through the event model, and its figures."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from warploom_golden.replay.event_model import joined
from warploom_sim.methods.preempt.host import MeasuringHost
from warploom_sim.methods.preempt.model_events import ModelRun
from warploom_sim.methods.preempt.port_figures import Blocks, port_run
from warploom_sim.methods.preempt.runs import Run, Setting
from warploom_sim.methods.preempt.stream_law import StreamLaw
from warploom_sim.methods.preempt.workload import Workload
from warploom_sim.traces.trace_launches import CLOCK_MHZ
from warploom_spec import Config


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
    host = measuring_host(workload, setting, ahead=ahead, tell=tell)
    parts = [piece.events for piece in ModelRun(host, setting, lean=True).pieces()]
    tables = joined(parts).tables
    return port_run(tables, Blocks(tables))


def measuring_host(
    workload: Workload,
    setting: Setting,
    *,
    ahead: int | None = None,
    tell: Callable[[int], None] = lambda done: None,
) -> MeasuringHost:
    """Return the host of a run; parameters are those of `run`."""
    return MeasuringHost(
        workload.low,
        workload.urgent,
        count=setting.count,
        distance=setting.distance,
        seed=setting.seed,
        ahead=ahead,
        tell=tell,
        waits=workload.low_waits,
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
    *_, last = ModelRun(host, setting, lean=True).pieces()
    return int(last.events.tables["ended"]["cycle"][-1])


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
    killed = [each for each in done.killed if each.cycle <= until]
    hits = [hit for cycle, hit in done.lookups if cycle <= until]
    return {
        "urgent_started": sum(cycle <= until for cycle in done.urgent_starts),
        "low_finished_in_the_same_cycles": sum(cycle <= until for cycle in done.low_ends),
        "kills": len(killed),
        "went_on": sum(cycle <= until for cycle in done.went_on),
        "blocks_run_again": sum(each.blocks for each in killed),
        "cycles_thrown_away": sum(each.held for each in killed),
        "index_hits": sum(hits),
        "index_misses": len(hits) - sum(hits),
    }


def bounds(config: Config) -> dict[str, int]:
    """Return the constants, in cycles, of the latency's upper bound.

    ``docs/preemption/preemption.md`` derives the bound in *How long it takes*.
    """
    law = StreamLaw(config)
    return {name: getattr(law, name) for name in StreamLaw.TERMS}
