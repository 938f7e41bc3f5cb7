"""Work stealing: one run's figures, its timeline, and speed-up over the number of workers."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from warploom_golden.stealing import (
    StealModel,
    StealOptions,
    StealRun,
    bounds,
    make_algorithm,
    static_makespan,
)
from warploom_golden.stealing.algorithm import Algorithm
from warploom_golden.stealing.costs import SYNCS
from warploom_golden.stealing.start_up import assignments
from warploom_sim.plots import new_figure, write_figure
from warploom_sim.views.timeline import TrackSlice, write_timeline

#: Steps of the plot of speed-up: powers of two up to the number of workers, and that number.
Point = tuple[int, float, float, float]

#: What a table calls each figure.
FIGURES: Final = {
    "makespan": "cycles from the host's call to the answer",
    "bound": "max(work / workers, span): no schedule is quicker",
    "limit": "work / workers + 4 span: what stealing must keep to",
    "makespan_one_worker": "cycles of one worker with one unit",
    "makespan_static": "cycles of a static partition",
    "speedup": "one worker's cycles / makespan",
    "speedup_static": "one worker's cycles / static partition's",
    "work": "cycles of all steps one after the other",
    "span": "cycles of the longest chain of steps",
    "leaves": "tasks that units ran",
    "splits": "tasks that workers split",
    "rounds": "rounds through the mailbox",
    "steals": "tasks stolen",
    "attempts": "attempts to steal",
    "deepest": "tasks nested on one worker, at most",
    "idle": "cycles without a task, of all workers",
    "unit_busy": "cycles that units worked",
    "makespan_fence": "makespan with memory fences",
    "makespan_atomic": "makespan with atomic accesses",
}


def run_once(name: str, size: int | None, options: StealOptions) -> tuple[StealRun, dict[str, Any]]:
    """Run an algorithm and return the run with its figures.

    Parameters
    ----------
    name : str
        Of the algorithm.
    size : int or None
        Its size; None: its default.
    options : StealOptions
        Settings.
    """
    algorithm = make_algorithm(name, options.seed, size)
    run = StealModel(algorithm, options).run()
    most_units = len(assignments(options.workers, options.units, options.mapping)[0].units)
    least = bounds(algorithm, options.costs, units=most_units)
    one = _makespan(algorithm, options, workers=1, units=1)
    static = static_makespan(algorithm, options.costs, options.workers, most_units)
    syncs = {
        f"makespan_{sync}": _makespan(
            algorithm, options, costs=dataclasses.replace(options.costs, sync=sync)
        )
        for sync in SYNCS
    }
    figures = {
        "algorithm": name,
        "workers": options.workers,
        "units": options.units,
        "seed": options.seed,
        "correct": run.code == 0 and algorithm.correct(run.result),
        "makespan": run.makespan,
        "bound": least.makespan(options.workers),
        "limit": least.work // options.workers + 4 * least.span,
        "makespan_one_worker": one,
        "makespan_static": static,
        "speedup": round(one / run.makespan, 3),
        "speedup_static": round(one / static, 3),
        "work": least.work,
        "span": least.span,
        "leaves": run.leaves,
        "splits": run.splits,
        "rounds": run.rounds,
        "steals": run.steals,
        "attempts": run.attempts,
        "deepest": run.deepest,
        "idle": run.idle,
        "unit_busy": run.busy,
        **syncs,
    }
    return run, figures


def _makespan(algorithm: Algorithm, options: StealOptions, **changes: Any) -> int:
    return StealModel(algorithm, dataclasses.replace(options, **changes)).run().makespan


def write_steal_timeline(path: Path, title: str, run: StealRun) -> None:
    """Write one track for each worker: its steps, its waiting for units, its idle time."""
    workers = sorted({one.worker for one in run.slices})
    ordered = sorted(run.slices, key=lambda one: (one.start, one.worker))
    slices = (TrackSlice(one.worker, one.start, one.end, one.on) for one in ordered)
    write_timeline(path, title, {worker: f"worker {worker}" for worker in workers}, slices)


def speedups(name: str, size: int | None, options: StealOptions) -> Iterator[Point]:
    """Yield workers, speed-up, that of a static partition, and the bound's, for each point."""
    algorithm = make_algorithm(name, options.seed, size)
    one = _makespan(algorithm, options, workers=1, units=1)
    least = bounds(algorithm, options.costs)
    for workers in points(options.workers):
        makespan = _makespan(algorithm, options, workers=workers, units=workers)
        static = static_makespan(algorithm, options.costs, workers)
        yield workers, one / makespan, one / static, one / least.makespan(workers)


def points(workers: int) -> list[int]:
    """Return the powers of two up to a number, and the number itself."""
    powers = [1 << bit for bit in range(workers.bit_length())]
    return powers if powers[-1] == workers else [*powers, workers]


def write_speedup_plot(path: Path, name: str, found: list[Point]) -> None:
    """Draw speed-up over the number of workers: stealing, a static partition, and the bound."""
    workers = [point[0] for point in found]
    figure, axes = new_figure()
    for column, label, style in (
        (3, "bound: max(work / workers, span)", "k:"),
        (1, "work stealing", "o-"),
        (2, "static partition", "s--"),
    ):
        axes.plot(workers, [point[column] for point in found], style, label=label)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
    axes.set_xticks(workers, labels=[str(one) for one in workers])
    axes.set_xlabel("workers, each with one execution unit")
    axes.set_ylabel("speed-up against one worker")
    axes.set_title(name.replace("_", " "))
    axes.grid(alpha=0.3)
    axes.legend()
    write_figure(path, figure)
