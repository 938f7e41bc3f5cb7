"""The main job: recorded traces through LaunchPath's RTL, every event compared with the model's."""

import importlib
import shutil
import threading
import time
import uuid
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from warploom_golden.replay import event_model
from warploom_golden.replay.event_model import Events
from warploom_sim import (
    expected,
    recount,
    replay_bench_build,
    replay_figures,
    replay_report,
    replay_views,
    simulators,
    traces,
)
from warploom_sim.analysis.limits import find_limits, rate_by_time_scale
from warploom_sim.build_cache import build_root
from warploom_sim.commands.screen import table_console
from warploom_sim.compare import Comparison, compare
from warploom_sim.expected import Expected
from warploom_sim.json_file import write_json
from warploom_sim.kept_folders import hold, let_go, remove_old
from warploom_sim.launch_figures import launch_figures, write_launches_csv
from warploom_sim.model_run import ModelJob
from warploom_sim.options import ReplayOptions
from warploom_sim.records import ERROR_COUNTS, record_packets
from warploom_sim.recount import KernelCount
from warploom_sim.replay_bench_build import Simulation
from warploom_sim.replay_columns import block_columns, launch_columns
from warploom_sim.replay_result import Replay, Settings
from warploom_sim.replay_waves import check_reached, save_view
from warploom_sim.simulation_run import (
    Flip,
    Recorded,
    model_process,
    read_model,
    read_recorded,
    simulation_process,
    wait,
)
from warploom_sim.trace_launches import arrival_cycles, make_launches
from warploom_sim.traces import Trace
from warploom_sim.variant import variant
from warploom_spec import STALL_CAUSES, Config, LaunchDescriptor, WarploomError, timing

EQUAL: Final = "equal"
DIFFERENT: Final = "different"
#: RTL and model agree, and every launch was refused.
EMPTY: Final = "nothing was dispatched"
#: Most blocks of one replay. All their events are held in memory: some gigabytes.
MOST_BLOCKS: Final = 2**24
#: Folders of runs that failed or wrote a waveform, which may be large.
KEPT_RUNS: Final = 8


@dataclass(frozen=True)
class Outcome:
    """What came of one trace.

    Attributes
    ----------
    figures : dict
        What ``--json`` gets.
    problems : list of str
        Why the verdict is not `EQUAL`, in words; empty if it is.
    result : Replay or None
        The RTL's run; None if there are problems: its events may not belong together.
    """

    figures: dict[str, Any]
    problems: list[str]
    result: Replay | None = None


@dataclass(frozen=True)
class Job:
    """One trace, ready to run."""

    trace: Trace
    launches: list[LaunchDescriptor]
    demanded: Expected
    config: Config
    options: ReplayOptions
    flip: Flip | None = None
    arrivals: list[int] | None = None


def run(options: ReplayOptions) -> int:
    """Replay traces one after the other, print what came of them, write ``--json``.

    Returns
    -------
    int
        0 if everything was equal and each trace had blocks dispatched, else 1.

    Raises
    ------
    WarploomError
        If a trace, an option or the simulator is refused; before anything runs or is written.
    ProgramError
        If the simulator or the model fails.
    """
    config = config_of(options)
    simulators.require(options.simulator)
    replay_views.check(options)
    flip = _flip_of(options, config)
    jobs = [prepare(path, config, options, flip) for path in options.traces]
    for job in jobs:
        if said := job.trace.said_left_out():
            Console(stderr=True).print(said, markup=False, highlight=False, soft_wrap=True)
    console = table_console()
    outcomes = []
    for job in jobs:
        outcome = run_one(job)
        replay_report.show(console, outcome.figures, outcome.problems)
        outcomes.append(outcome)
    verdict = _verdict_of_all(outcomes)
    if options.json:
        _write_json(options.json, outcomes, verdict)
    if options.launches_csv and verdict != DIFFERENT:
        rows = [(one.figures["trace"], one.figures["per_launch"]) for one in outcomes]
        write_launches_csv(options.launches_csv, rows)
    elif options.launches_csv:
        console.print(f"{options.launches_csv} not written: RTL and model differ", style="red")
    for line in replay_views.write(options, outcomes):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    return int(verdict != EQUAL)


def _verdict_of_all(outcomes: list[Outcome]) -> str:
    if any(outcome.problems for outcome in outcomes):
        return DIFFERENT
    empty = any(outcome.figures["verdict"] == EMPTY for outcome in outcomes)
    return EMPTY if empty else EQUAL


def prepare(path: Path, config: Config, options: ReplayOptions, flip: Flip | None = None) -> Job:
    """Read a trace and make its launches.

    Raises
    ------
    WarploomError
        If the trace is refused, or has more than `MOST_BLOCKS` blocks.
    """
    trace = traces.load(path, device=options.device, strict=options.strict)
    return prepare_launches(trace, config, options, flip)


def prepare_launches(
    trace: Trace, config: Config, options: ReplayOptions, flip: Flip | None = None
) -> Job:
    """Make the launches of a trace that was read.

    Raises
    ------
    WarploomError
        If a launch is refused, or there are more than `MOST_BLOCKS` blocks.
    """
    launches = make_launches(trace, config, options.time_scale, options.launches, options.allocator)
    demanded = expected.count(launches, config, options.seed, options.kill_every)
    if demanded.blocks > MOST_BLOCKS:
        raise WarploomError(
            f"{trace.path}: {demanded.blocks:,} blocks to replay; legal: up to {MOST_BLOCKS:,}"
            " (choose fewer launches)"
        )
    arrivals = None
    if options.arrivals == "trace":
        arrivals = arrival_cycles(trace, options.time_scale, options.launches)
    return Job(trace, launches, demanded, config, options, flip, arrivals)


def config_of(options: ReplayOptions) -> Config:
    """Return the preset with the policies and fields that the options put in their place."""
    chosen = {"policy": options.policy, "reclaim": options.reclaim}
    policies = [f"{field}={value}" for field, value in chosen.items() if value]
    return variant(options.config, (*policies, *options.settings)).config


def _write_json(path: Path, outcomes: list[Outcome], verdict: str) -> None:
    first, *more = (outcome.figures for outcome in outcomes)
    write_json(path, first | {"verdict": verdict, "more": more})


def _flip_of(options: ReplayOptions, config: Config) -> Flip | None:
    """Return the event bit to flip, if the planted fault is ``event.<kind>.<number>.<bit>``."""
    kind, *rest = (options.forced_fault or "").removeprefix("event.").split(".")
    if not (options.forced_fault or "").startswith("event."):
        return None
    kinds = record_packets(config)
    if kind not in kinds or len(rest) != 2 or not all(part.isdecimal() for part in rest):
        raise WarploomError(
            f"forced fault is {options.forced_fault!r}; legal: event.<kind>.<number>.<bit>,"
            f" kind one of {', '.join(kinds)}"
        )
    return Flip(kind, int(rest[0]), int(rest[1]))


def run_one(replay: Job) -> Outcome:
    """Build, run both sides, compare; the run's folder stays if it is wanted afterwards."""
    began = time.monotonic()
    simulation = _build(replay)
    build_s = round(time.monotonic() - began, 2)
    name = f"{replay.trace.path.name.split('.')[0]}-{uuid.uuid4().hex[:8]}"
    folder = build_root() / "replays" / name
    wanted = False
    hold(folder)
    try:
        outcome = _run_in(folder, replay, simulation)
        outcome.figures["build_s"] = build_s
        wanted = replay.options.waves
        if outcome.problems:
            outcome.figures["event_files"] = str(folder)
            wanted = True
    finally:  # after Ctrl-C as well: the run is no more
        if not wanted:
            _remove(folder)
            let_go(folder)
    if wanted:
        remove_old(folder.parent, KEPT_RUNS)
    return outcome


def _remove(folder: Path) -> None:
    """Remove a folder, whole even if Ctrl-C comes now; the command ignores a second one."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except KeyboardInterrupt:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _run_in(folder: Path, replay: Job, simulation: Simulation) -> Outcome:
    """Run and compare, with all files in a new folder."""
    began = time.monotonic()
    rtl_folder, model_folder = folder / "rtl", folder / "model"
    for each in (rtl_folder, model_folder):
        each.mkdir(parents=True)
    _run_both(replay, simulation, rtl_folder, model_folder)
    options = replay.options
    if options.wave_cycles:
        check_reached(rtl_folder, options.wave_cycles)
    recorded = read_recorded(rtl_folder, replay.config, replay.flip)
    model = read_model(model_folder)
    outcome = _judge(replay, recorded, model)
    outcome.figures["wall_s"] = round(time.monotonic() - began, 2)
    if simulation.waves:
        waveform = rtl_folder / simulation.waves
        outcome.figures["waveform"] = str(waveform)
        outcome.figures["view"] = str(save_view(waveform, replay.config, options))
    return outcome


def _build(replay: Job) -> Simulation:
    options = replay.options
    fault = None if replay.flip else options.forced_fault
    what = f"building LaunchPath ({options.config}) for {options.simulator}, once"
    with Console(stderr=True).status(what):
        return replay_bench_build.build(replay.config, options.simulator, fault, options.waves)


def _run_both(replay: Job, simulation: Simulation, rtl_folder: Path, model_folder: Path) -> None:
    """Run RTL and model side by side, with a progress bar over the blocks."""
    options, config = replay.options, replay.config
    job = ModelJob(
        trace=replay.trace.path.absolute(),
        config=config,
        launches=options.launches,
        time_scale=options.time_scale,
        seed=options.seed,
        kill_every=options.kill_every,
        knee=options.model_knee,
        device=options.device,
        allocator=options.allocator,
        arrivals=replay.arrivals is not None,
    )
    # The import of what the figures need takes a while, and the simulator longer: both at once.
    threading.Thread(
        target=importlib.import_module, args=("warploom_sim.analysis.limit_walk",), daemon=True
    ).start()
    with ExitStack() as stack:
        progress = stack.enter_context(_progress())
        name = f"{replay.trace.path.name}: blocks"
        task = progress.add_task(name, total=replay.demanded.blocks)
        model = stack.enter_context(model_process(job, model_folder))
        running = stack.enter_context(
            simulation_process(
                simulation,
                replay.launches,
                config,
                options.simulator,
                options.seed,
                rtl_folder,
                options.kill_every,
                options.model_knee,
                replay.arrivals,
                options.wave_cycles,
            )
        )
        wait(
            running,
            model,
            rtl_folder,
            model_folder,
            config,
            lambda offered: progress.update(task, completed=offered),
        )


def _progress() -> Progress:
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def _judge(replay: Job, recorded: Recorded, model: Events) -> Outcome:
    """Compare, and demand that enough was compared."""
    rtl = recorded.events
    compared = compare(rtl, model)
    problems = []
    if compared.first:
        names = [launch.name for launch in replay.trace.launches]
        problems.append(replay_report.describe(compared.first, names, replay.options))
    if recorded.stopped:
        problems.append(recorded.stopped)
    problems += shortfalls(compared, replay.demanded, rtl)
    problems += lost_errors(recorded, replay.config)
    problems += unread(
        replay.trace,
        replay.demanded.launches,
        replay.options.launches,
        replay.options.device,
    )
    # A run that went wrong has no offers and reports that belong together.
    result = None if problems else result_of(replay, rtl, replay.options.simulator)
    return Outcome(_figures(replay, rtl, compared, result), problems, result)


def model_alone(job: Job) -> Replay:
    """Return what the golden event model makes of a job, in this process."""
    options = job.options
    events = event_model.run(
        job.launches,
        job.config,
        options.seed,
        options.kill_every,
        options.model_knee,
        job.arrivals,
    )
    return result_of(job, events, None)


def result_of(job: Job, events: Events, simulator: str | None) -> Replay:
    """Return a run's events as columns."""
    blocks = block_columns(events)
    names = [launch.name for launch in job.trace.launches]
    options = job.options
    return Replay(
        launches=launch_columns(events, blocks, job.launches, names, job.config, job.arrivals),
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
            knee=options.model_knee,
            simulator=simulator,
        ),
        events=events,
    )


def shortfalls(compared: Comparison, demanded: Expected, rtl: Events) -> list[str]:
    """Return in words where less was compared than the launches demand, or refused otherwise."""
    problems = []
    for kind, least in demanded.events().items():
        got = compared.compared[kind]
        most = demanded.most(kind)
        if got < least or got > most:
            problems.append(
                f"{kind}: {got:,} compared, but the launches alone demand"
                f" {'' if least == most else 'at least '}{least:,}"
            )
    problems = problems or short_launches(rtl, demanded)
    refused = replay_report.refused_by_code(rtl)
    if refused != demanded.refused:
        problems.append(f"refused: {refused}, but the launches alone demand {demanded.refused}")
    return problems


def short_launches(rtl: Events, demanded: Expected) -> list[str]:
    """Return in words the first accepted launch of which too few blocks were offered."""
    # Tickets count from 1, in the order in which launches are accepted.
    offered = np.bincount(rtl.tables["offers"]["ticket"].astype(int), minlength=1)
    for ticket, least in enumerate(demanded.least_blocks, 1):
        got = int(offered[ticket]) if ticket < len(offered) else 0
        if got < least:
            return [f"ticket {ticket}: {got:,} blocks offered; its launch alone demands {least:,}"]
    return []


def unread(trace: Trace, launches: int, most: int | None, device: int | None = None) -> list[str]:
    """Return in words where the trace's file holds other kernels than were read and launched.

    Parameters
    ----------
    trace : Trace
        As it was read.
    launches : int
        Launches made of it.
    most : int or None
        Launches asked for; None is all.
    device : int or None
        The GPU whose kernels were asked for; None is all.
    """
    there = recount.count(trace.path, device)
    read = KernelCount(len(trace.launches), sum(launch.blocks for launch in trace.launches))
    problems = []
    if read != there:
        problems.append(f"{trace.path.name} holds {there}, but {read} were read")
    wanted = there.kernels if most is None else min(most, there.kernels)
    if launches != wanted:
        problems.append(f"{launches:,} launches made of {there}, instead of {wanted:,}")
    return problems


def lost_errors(recorded: Recorded, config: Config) -> list[str]:
    """Return in words where the RTL's own counters know of more or fewer error records."""
    problems = []
    highest = (1 << timing(config).error_counter_bits) - 1
    sources = recorded.events.tables["errors"]["source"]
    for source, (name, count) in enumerate(zip(ERROR_COUNTS, recorded.error_counts, strict=True)):
        got = int((sources == np.uint64(source)).sum())
        # A counter stays at its highest value.
        if min(got, highest) != count:
            problems.append(f"errors: {got:,} recorded, but `{name}` is {count:,}")
    return problems


def _figures(
    replay: Job, rtl: Events, compared: Comparison, result: Replay | None
) -> dict[str, Any]:
    options, config = replay.options, replay.config
    blocks, cycles = len(rtl.tables["offers"]["cycle"]), replay_figures.cycles(rtl)
    verdict = DIFFERENT if result is None else EQUAL if blocks else EMPTY
    # Of a run that went wrong, or dispatched nothing, these would mean nothing.
    rates: dict[str, Any] = {}
    if result and blocks:
        rates = {
            "blocks_per_cycle": round(blocks / cycles, 4),
            "occupancy": _rounded(result.occupancy),
            **_limit_figures(result),
        }
    return {
        "trace": replay.trace.path.name,
        "simulator": options.simulator,
        "config": options.config,
        **({"set": list(options.settings)} if options.settings else {}),
        "policy": config.policy,
        "reclaim": config.reclaim,
        "seed": options.seed,
        "time_scale": str(options.time_scale),
        **({"kill_every": options.kill_every} if options.kill_every else {}),
        "arrivals": options.arrivals,
        "contention": options.contention,
        **({} if options.model_knee is None else {"knee": options.knee}),
        **({} if options.device is None else {"device": options.device}),
        **({"left_out": replay.trace.left_out} if replay.trace.left_out else {}),
        "launches": len(rtl.tables["answers"]["cycle"]),
        "refused": replay_report.refused_by_code(rtl),
        "fates": replay_report.launches_by_fate(rtl),
        "blocks": blocks,
        "cycles": cycles,
        **rates,
        "stalls": {name.removeprefix("stall_"): n for name, n in rtl.stalls.items()},
        "history_hits": int(rtl.tables["decisions"]["hit"].sum()),
        "warps_written": len(rtl.tables["warps"]["cycle"]),
        "compared_events": sum(compared.compared.values()),
        "demanded_events": sum(replay.demanded.events().values()),
        "mismatches": compared.mismatches,
        "verdict": verdict,
        "per_launch": launch_figures(result) if result else [],
    }


def _limit_figures(result: Replay) -> dict[str, Any]:
    """Return for which part of the run each limit holds."""
    limits = find_limits(result)
    by_scale = round(rate_by_time_scale(result, limits), 4)
    return {"limits": _rounded(limits.shares()), "rate_by_time_scale": by_scale}


def _rounded(shares: Mapping[str, float]) -> dict[str, float]:
    return {name: round(share, 4) for name, share in shares.items()}
