"""The whole measurement of ``warploom preempt``: all runs, their figures, tables and plot."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import click

from warploom_golden.replay import event_model
from warploom_golden.replay.event_tables import Table
from warploom_sim.cosim import simulators
from warploom_sim.json_file import write_json
from warploom_sim.methods.preempt import measure, preempt_report, xsched
from warploom_sim.methods.preempt.bench.preempt_bench_build import SIMULATOR
from warploom_sim.methods.preempt.early_starts import early_starts
from warploom_sim.methods.preempt.plot import draw_latencies
from warploom_sim.methods.preempt.rtl_measurement import measure_rtl
from warploom_sim.methods.preempt.runs import Run, Setting
from warploom_sim.methods.preempt.workload import (
    MODES,
    Workload,
    dropped_waits,
    make_workload,
    select,
)
from warploom_sim.plots import check_plot
from warploom_sim.replay import recount
from warploom_sim.replay.replay_checks import unread
from warploom_sim.screen import progress_bar, table_console, working
from warploom_sim.traces import trace_reader
from warploom_sim.traces.gpus import Gpu
from warploom_sim.traces.trace_file import refuse_pipe
from warploom_sim.traces.trace_reader import Trace
from warploom_spec import Config, WarploomError

#: Runs with one queue and no priorities, by name: the most low launches that are unfinished. An
#: urgent launch waits behind them.
ONE_QUEUE: Final = {"window of 8": 8, "synchronous": 1}
#: The mode ``reset`` where an SM's blocks return in the order of their dispatch.
IN_ORDER: Final = "reset, in_order"
#: Runs that the modes are compared with.
BESIDE: Final = (*ONE_QUEUE, IN_ORDER)
#: Most urgent launches of each of XSched's levels. A small number is enough: all low launches are
#: equal.
_LEVEL_COUNT: Final = 100
#: Mean distance of these urgent launches, in commands. One command rarely meets four of them: a
#: launch that was killed four times is drained from then on.
_LEVEL_DISTANCE: Final = Fraction(4)


@dataclass(frozen=True, kw_only=True)
class PreemptOptions:
    """The options of one call of ``warploom preempt``.

    Attributes
    ----------
    traces : tuple[Path, ...]
        Files of the low and of the urgent trace, or of one trace that holds both.
    urgent : int or None
        Number of the urgent stream in a single trace; None with two traces.
    modes : tuple of str
        Names in `MODES`; each mode is one run.
    idempotent : Fraction
        Share of the low trace's kernels that are idempotent.
    config : Config
        The machine.
    settings : tuple of str
        Fields of its preset that ``--set`` changed, each ``FIELD=VALUE``.
    knee : int or None
        With contention: warps that an SM runs at full speed. None: without contention.
    gpu : Gpu or None
        The recorded GPU of traces that do not describe it.
    time_scale : Fraction
        Factor of the recorded block lengths.
    arrivals : int
        Number of urgent launches in each run.
    distance : Fraction
        Mean distance between urgent launches, in mean durations of a low launch.
    report_time : int
        Cycles that an SM takes to report a killed block.
    seed : int
        Seed of distances, block lengths and the draw of idempotent kernels.
    keeps_waits : bool
        Launches wait for the events that they waited for in the recording.
    rtl : bool
        Run the modes on the RTL, and compare it with the model.
    json, plot : Path or None
        Files that the figures and the plot are written to; None: not written.
    """

    traces: tuple[Path, ...]
    urgent: int | None
    modes: tuple[str, ...]
    idempotent: Fraction
    config: Config
    settings: tuple[str, ...]
    knee: int | None
    gpu: Gpu | None
    time_scale: Fraction
    arrivals: int
    distance: Fraction
    report_time: int
    seed: int
    keeps_waits: bool
    rtl: bool
    json: Path | None
    plot: Path | None


def run(options: PreemptOptions) -> list[str]:
    """Run the whole measurement, print its tables, and write the figures and the plot.

    Returns
    -------
    list of str
        In words where RTL and model differ, and where the RTL breaks the law.

    Raises
    ------
    WarploomError
        If a trace, an option or the simulator is refused. Nothing was run or written then.
    """
    event_model.check_policy(options.config)
    _check_sides(options)
    if options.plot:
        check_plot(options.plot)
    if options.rtl:
        simulators.require(SIMULATOR)
        for path in options.traces:
            refuse_pipe(path)
    traces = read_traces(options)
    workload = load(options, traces)
    problems: list[str] = []
    if options.rtl:
        figures, runs, problems = _run_rtl(options, workload, traces)
        preempt_report.show_rtl(table_console(), figures)
    else:
        figures, runs = _run_model(options, workload, traces)
        preempt_report.show(table_console(), figures)
    if options.plot and not problems:
        latencies = {name: each.latencies for name, each in runs.items()}
        draw_latencies(options.plot, f"{figures['trace']}, {options.config.sms} SMs", latencies)
    if options.json:
        write_json(options.json, figures)
    return problems


def _run_rtl(
    options: PreemptOptions, workload: Workload, traces: Sequence[Trace]
) -> tuple[dict[str, Any], dict[str, Run], list[str]]:
    """Run the modes on the RTL; return the figures, the runs, and what is wrong."""
    with working("low launches alone"):
        alone = measure.low_launches_alone(workload, _setting(options, Fraction(1)))
    setting = _setting(options, options.distance * alone / len(workload.low))
    workloads = {
        name: workload.with_mode(MODES[name], options.idempotent, options.seed)
        for name in options.modes
    }

    def check_starts(events: Mapping[str, Table]) -> list[str]:
        waits = options.keeps_waits and any(each.waits.count for each in traces)
        return early_starts(traces[0].path, options.urgent, events) if waits else []

    found, runs, problems = measure_rtl(workloads, setting, check_starts)
    problems = _unread(traces, workload) + problems
    figures = _figures(options) | _waits(options, traces) | found
    # Without all runs there is nothing to compare.
    figures["modes"] = {}
    if len(runs) == len(workloads):
        figures["compared_cycles"] = until = min(each.cycles for each in runs.values())
        figures["modes"] = {name: _run_figures(each, until) for name, each in runs.items()}
    return figures, runs, problems


def _unread(traces: Sequence[Trace], workload: Workload) -> list[str]:
    """Return in words where the files hold other kernels than were read and launched."""
    sides = [len(workload.low), len(workload.urgent)]
    made = [sum(sides)] if len(traces) == 1 else sides
    return [
        text
        for trace, launches in zip(traces, made, strict=True)
        for text in unread(trace, launches, None, recount.read(trace.path))
    ]


def _run_model(
    options: PreemptOptions, workload: Workload, traces: Sequence[Trace]
) -> tuple[dict[str, Any], dict[str, Run]]:
    """Run the modes, and what they are compared with, in the model; return figures and runs."""
    runs: dict[str, Run] = {}
    with progress_bar() as progress:
        names = (*options.modes, *BESIDE)
        count = options.arrivals
        level_count = min(count, _LEVEL_COUNT)
        total = len(names) * count + len(xsched.LEVELS) * level_count
        task = progress.add_task("low launches alone", total=total)
        figures = _figures(options) | _waits(options, traces)
        figures["normal"] = normal = _without_urgent(workload, _setting(options, Fraction(1)))
        setting = _setting(options, options.distance * normal["cycles"] / len(workload.low))
        for number, name in enumerate(names):
            progress.update(task, description=name)
            done = number * count

            def tell(finished: int, before: int = done) -> None:
                progress.update(task, completed=before + finished)

            runs[name] = _run_one(name, workload, setting, options, tell)
        progress.update(task, description="eight equal commands")
        levels = _setting(options, _LEVEL_DISTANCE * xsched.COMMAND_CYCLES, level_count)
        figures["xsched"] = xsched.levels(levels, lambda done: progress.advance(task))
    # A mode that answers sooner ends sooner: what it costs is counted as far as the shortest run.
    figures["compared_cycles"] = until = min(each.cycles for each in runs.values())
    for group, members in (("modes", options.modes), ("beside", BESIDE)):
        figures[group] = {name: _run_figures(runs[name], until) for name in members}
    return figures, runs


def _run_figures(done: Run, until: int) -> dict[str, Any]:
    """Return a run's latencies, all of them, and its costs up to a cycle."""
    whole = {"cycles": done.cycles}
    return measure.summary(done.latencies) | whole | measure.costs(done, until)


def _run_one(
    name: str,
    workload: Workload,
    setting: Setting,
    options: PreemptOptions,
    tell: Callable[[int], None],
) -> Run:
    """Return one run: ``name`` is a mode, or one of `BESIDE`."""
    if name in ONE_QUEUE:
        return measure.run(workload.in_one_queue(), setting, ahead=ONE_QUEUE[name], tell=tell)
    mode = MODES["reset" if name == IN_ORDER else name]
    if name == IN_ORDER:
        machine = dataclasses.replace(setting.config, reclaim="in_order")
        setting = dataclasses.replace(setting, config=machine)
    chosen = workload.with_mode(mode, options.idempotent, options.seed)
    return measure.run(chosen, setting, tell=tell)


def read_traces(options: PreemptOptions) -> list[Trace]:
    """Read the traces, and say what is left out.

    Raises
    ------
    WarploomError
        If a trace is refused.
    """
    gpu = options.gpu.device if options.gpu else None
    found = [trace_reader.load(path, gpu=gpu) for path in options.traces]
    for trace in found:
        dropped = _dropped(options, trace)
        for said in trace.notes(keeps=options.keeps_waits, dropped=dropped):
            click.echo(said, err=True)
    return found


def load(options: PreemptOptions, traces: Sequence[Trace]) -> Workload:
    """Make the launches of traces.

    Raises
    ------
    WarploomError
        If a launch or ``--urgent`` is refused.
    """
    if options.urgent is None:
        low, urgent = traces
    else:
        low, urgent = (select(traces[0], options.urgent, wanted) for wanted in (False, True))
    return make_workload(
        low, urgent, options.config, options.time_scale, keeps_waits=options.keeps_waits
    )


def _check_sides(options: PreemptOptions) -> None:
    """Demand a low and an urgent side."""
    if len(options.traces) != (2 if options.urgent is None else 1):
        given = "no --urgent" if options.urgent is None else f"--urgent {options.urgent}"
        raise WarploomError(
            f"traces are {len(options.traces)}, with {given}; legal: two, LOW and HIGH, or one with"
            " --urgent STREAM"
        )


def _dropped(options: PreemptOptions, trace: Trace) -> int:
    """Return how many event waits are dropped, as they are between the two sides of a trace."""
    return dropped_waits(trace, options.urgent) if options.urgent is not None else 0


def _waits(options: PreemptOptions, traces: Sequence[Trace]) -> dict[str, int]:
    """Return what becomes of the event waits, as far as there are any."""
    every = sum(trace.waits.count for trace in traces)
    unknown = sum(trace.waits.unknown for trace in traces)
    dropped = sum(_dropped(options, trace) for trace in traces)
    counts = {"event_waits_ignored": every}
    if options.keeps_waits:
        counts = {
            "event_waits_kept": every - unknown - dropped,
            "event_waits_dropped": dropped,
            "event_waits_ignored": unknown,
        }
    faults = sum((Counter(trace.times.counts()) for trace in traces), Counter[str]())
    return {name: count for name, count in counts.items() if count} | dict(faults)


def _setting(options: PreemptOptions, distance: Fraction, count: int | None = None) -> Setting:
    return Setting(
        config=options.config,
        count=options.arrivals if count is None else count,
        distance=float(distance),
        seed=options.seed,
        report_time=options.report_time,
        knee=options.knee,
    )


def _figures(options: PreemptOptions) -> dict[str, Any]:
    sharing = options.knee is not None
    return {
        "trace": " + ".join(path.name for path in options.traces),
        "urgent_stream": options.urgent,
        **({"set": list(options.settings)} if options.settings else {}),
        "sms": options.config.sms,
        "policy": options.config.policy,
        "reclaim": options.config.reclaim,
        **({"gpu": options.gpu.text} if options.gpu else {}),
        "time_scale": str(options.time_scale),
        "contention": "sharing" if sharing else "none",
        **({"knee": options.knee} if sharing else {}),
        "idempotent": str(options.idempotent),
        "distance": str(options.distance),
        "seed": options.seed,
        "events": "keep" if options.keeps_waits else "ignore",
        "report_time": options.report_time,
        "law": measure.bounds(options.config),
    }


def _without_urgent(workload: Workload, setting: Setting) -> dict[str, Any]:
    """Return the cycles of the low launches alone, and with one of them at a time."""
    cycles = measure.low_launches_alone(workload, setting)
    synchronous = measure.low_launches_alone(workload, setting, ahead=1)
    return {
        "cycles": cycles,
        "cycles_synchronous": synchronous,
        "synchronous_slowdown": round(synchronous / cycles - 1, 6),
    }
