"""The main job: recorded traces through the RTL, every event compared with the model's."""

import dataclasses
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

from warploom_golden.replay.event_model import Events
from warploom_golden.replay.host_source import HostCycles
from warploom_sim.build_cache import build_root, where_built
from warploom_sim.kept_folders import hold, release_folder, remove_old
from warploom_sim.replay import (
    axi_run,
    expected,
    host_reads,
    recount,
    replay_figures,
    replay_words,
    sent_launches,
    wait_check,
)
from warploom_sim.replay.analysis.running import RunFigures, RunningFigures
from warploom_sim.replay.bench import replay_bench_build
from warploom_sim.replay.bench.replay_bench_build import Simulation
from warploom_sim.replay.event_comparison import Comparison
from warploom_sim.replay.index_reads import IndexReads
from warploom_sim.replay.launch_figures import launch_figures
from warploom_sim.replay.model_input import priorities_of
from warploom_sim.replay.model_run import ModelJob
from warploom_sim.replay.recorded_times import recorded_times
from warploom_sim.replay.replay_checks import lost_errors, shortfalls, unread
from warploom_sim.replay.replay_follow import Followed, Recorded, follow
from warploom_sim.replay.replay_job import Job, model_pieces, result_of
from warploom_sim.replay.replay_result import Replay
from warploom_sim.replay.replay_waves import check_reached, save_view
from warploom_sim.replay.request_fields import plain
from warploom_sim.replay.simulation_run import model_process, simulation_process
from warploom_sim.screen import progress_bar, working

EQUAL: Final = "equal"
DIFFERENT: Final = "different"
#: RTL and model agree, and every launch was refused.
EMPTY: Final = "nothing was dispatched"
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
        The run; None if there are problems: its events may not belong together. The RTL's events
        are not kept: it gives the model's, which they equal.
    found : RunFigures or None
        Its figures with what blocked the head; None if there are problems.
    """

    figures: dict[str, Any]
    problems: list[str]
    result: Replay | None = None
    found: RunFigures | None = None


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
        wanted = replay.request.waves
        if outcome.problems:
            outcome.figures["event_files"] = str(folder)
            wanted = True
    finally:  # after Ctrl-C as well: the run is no more
        if not wanted:
            _remove(folder)
            release_folder(folder)
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
    request = replay.request
    names = [launch.name for launch in replay.trace.launches]
    figures = RunningFigures(
        replay.launches,
        names,
        replay.config,
        replay.arrivals,
        replay.recording,
        awaited=replay.awaited,
    )
    reads = IndexReads(replay.launches, replay.config) if replay.config.makes_indices else None
    followed, host = _run_both(replay, simulation, rtl_folder, model_folder, figures, reads)
    if request.wave_cycles:
        check_reached(rtl_folder, request.wave_cycles)
    outcome = _judge(replay, followed, figures, reads, rtl_folder, host)
    if reads:
        outcome.figures["index_reads_compared"] = reads.compared
        outcome.figures["mismatches"] += reads.wrong
    if request.host == "axi":
        outcome.figures.update(_host_figures(outcome.figures, replay))
    outcome.figures["wall_s"] = round(time.monotonic() - began, 2)
    if simulation.waves:
        waveform = rtl_folder / simulation.waves
        outcome.figures["waveform"] = str(waveform)
        outcome.figures["view"] = str(save_view(waveform, replay.config, request))
    return outcome


def _build(replay: Job) -> Simulation:
    request = replay.request
    assert request.simulator
    block = {"direct": "LaunchPath", "axi": "FrontEnd"}[request.host]
    what = f"building {block} ({request.config}) for {request.simulator}{where_built()}, once"
    with working(what):
        return replay_bench_build.build(
            replay.config, request.simulator, request.waves, request.host
        )


def _run_both(
    replay: Job,
    simulation: Simulation,
    rtl_folder: Path,
    model_folder: Path,
    figures: RunningFigures,
    reads: IndexReads | None,
) -> tuple[Followed, HostCycles | None]:
    """Run RTL and model side by side and compare, with a progress bar over the blocks.

    Also returns when a host sent launches and popped records; None without a host.
    """
    request, config = replay.request, replay.config
    sent = request.of(request.trace.absolute())
    job = ModelJob(request=sent, config=config)
    # The import of what the figures need takes a while, and the simulator longer: both at once.
    threading.Thread(
        target=importlib.import_module,
        args=("warploom_sim.replay.analysis.limit_walk",),
        daemon=True,
    ).start()
    with ExitStack() as stack:
        progress = stack.enter_context(progress_bar())
        name = f"{replay.trace.path.name}: blocks"
        task = progress.add_task(name, total=replay.demanded.blocks)
        axi = request.host == "axi"
        if not axi:
            model = stack.enter_context(model_process(job, model_folder))
        running = stack.enter_context(
            simulation_process(
                simulation,
                replay.launches,
                config,
                request,
                rtl_folder,
                replay.waits,
                replay.arrivals,
            )
        )
        host: HostCycles | None = None
        if axi:
            host = axi_run.host_cycles(running, rtl_folder)
            job = dataclasses.replace(
                job, host_cycles=(rtl_folder / axi_run.HOST_CYCLES).absolute()
            )
            model = stack.enter_context(model_process(job, model_folder))
        followed = follow(
            running,
            model,
            rtl_folder,
            model_folder,
            config,
            figures,
            lambda: (piece.events for piece in model_pieces(replay, host)),
            lambda offered: progress.update(task, completed=offered),
            reads=reads,
            flip=replay.flip,
        )
    return followed, host


def _misread(replay: Job, rtl_folder: Path) -> list[str]:
    """Return in words where the bench ran something else than the trace's file holds."""
    request = replay.request
    there = recount.read(replay.trace.path, request.device)
    problems = unread(replay.trace, replay.demanded.launches, request.launches, there)
    return problems or sent_launches.differences(
        rtl_folder / sent_launches.LAUNCH_FILE,
        there[: request.launches],
        replay.config,
        replay.trace.devices,
        request.host,
        priorities_of(request),
    )


def _early_starts(replay: Job, rtl: Events, recorded: Recorded) -> list[str]:
    """Return in words which launches of the RTL did not wait, by the trace's file alone."""
    path, device = replay.trace.path, replay.request.device
    queues = [kernel.queue for kernel in recount.read(path, device)[: len(replay.launches)]]
    tables = rtl.tables
    if len(tables["answers"]["cycle"]) < len(queues):
        return []  # a run that was given up
    return wait_check.early_starts(
        wait_check.awaited(path, device),
        queues,
        tables["answers"],
        tables["ended"],
        recorded.first_offers,
    )


def _judge(
    replay: Job,
    followed: Followed,
    figures: RunningFigures,
    reads: IndexReads | None,
    rtl_folder: Path,
    host: HostCycles | None,
) -> Outcome:
    """Demand that all was equal, and that enough was compared."""
    compared, recorded, end = followed.comparison, followed.recorded, followed.end
    rtl = recorded.events(end.stalls)
    heard = None
    if replay.request.host == "axi":
        heard = host_reads.read(
            rtl_folder,
            rtl.tables["answers"],
            rtl.tables["ended"],
            replay.config,
            [launch.priority for launch in replay.launches],
        )
    problems = []
    if compared.first:
        names = [launch.name for launch in replay.trace.launches]
        problems.append(replay_words.describe(compared.first, names, replay.request))
    if end.stopped:
        problems.append(end.stopped)
    problems += shortfalls(compared, replay.demanded, rtl, recorded.offered)
    problems += lost_errors(rtl, end.error_counts, replay.config)
    problems += _misread(replay, rtl_folder)
    problems += _early_starts(replay, rtl, recorded) if replay.event_waits_kept else []
    problems += reads.problems(replay.demanded.blocks) if reads else []
    problems += heard.problems if heard else []
    # A run that went wrong has no offers and reports that belong together.
    found = None if problems else figures.finish()
    result = None
    if found:
        result = result_of(replay, found, lambda: model_pieces(replay, host))
    given = _figures(replay, rtl, recorded.counts, compared, found)
    if heard:
        given |= {"doorbells": heard.doorbells}
        given |= {"records_compared": heard.records, "results_compared": heard.results}
        given["mismatches"] += heard.wrong
    return Outcome(given, problems, result, found)


def _figures(
    replay: Job,
    rtl: Events,
    counts: Mapping[str, int],
    compared: Comparison,
    found: RunFigures | None,
) -> dict[str, Any]:
    request = replay.request
    how = plain(request) | {"policy": replay.config.policy, "reclaim": replay.config.reclaim}
    blocks, cycles = counts["offers"], replay_figures.cycles(rtl)
    verdict = DIFFERENT if found is None else EQUAL if blocks else EMPTY
    decided = rtl.tables["decisions"]
    # Of a run that went wrong, or dispatched nothing, these would mean nothing.
    rates: dict[str, Any] = {}
    if found and found.waits and blocks:
        rates = {
            "blocks_per_cycle": round(blocks / cycles, 4),
            "occupancy": _rounded(found.occupancy),
            "head_blocked": _rounded(found.waits.shares()),
            "resources_lacked": _rounded(found.waits.shares_lacked()),
            "rate_by_time_scale": round(
                found.waits.rate_by_time_scale(found.launches, replay.config, request.time_scale), 4
            ),
            "recorded": recorded_times(found.launches),
        }
    caution = replay_words.scale_caution(request.time_scale)
    fates = replay_words.launches_by_fate(rtl)
    launches = len(rtl.tables["answers"]["cycle"])
    spared = expected.nobody_killed(request.kill_every, launches, fates.get("aborted", 0))
    return {
        **({"caution": caution} if caution else {}),
        **({"killed_nobody": spared} if spared else {}),
        "trace": replay.trace.path.name,
        **{name: value for name, value in how.items() if value not in (None, [], "")},
        **({"left_out": replay.trace.left_out} if replay.trace.left_out else {}),
        **({"without_grid": missing} if (missing := replay.trace.without_grid) else {}),
        **replay.trace.times.counts(),
        **({"event_waits_kept": kept} if (kept := replay.event_waits_kept) else {}),
        **({"event_waits_ignored": ignored} if (ignored := replay.event_waits_ignored) else {}),
        "launches": launches,
        "refused": replay_words.refused_by_code(rtl),
        "fates": fates,
        "blocks": blocks,
        "cycles": cycles,
        **rates,
        "stalls": {name.removeprefix("stall_"): n for name, n in rtl.stalls.items()},
        "history_hits": int((found.launches.hit if found else decided["hit"]).sum()),
        "warps_written": counts["warps"],
        "compared_events": sum(compared.compared.values()),
        "demanded_events": sum(replay.demanded.events().values()),
        "mismatches": compared.mismatches,
        "verdict": verdict,
        "per_launch": launch_figures(found) if found else [],
    }


def _host_figures(figures: Mapping[str, Any], replay: Job) -> dict[str, Any]:
    """Return what the host costs: the cycles that a source would have needed."""
    direct = max(replay_figures.cycles(piece.events) for piece in model_pieces(replay))
    return {
        "cycles_direct": direct,
        "host_cycles": figures["cycles"] - direct,
    }


def _rounded(shares: Mapping[str, float]) -> dict[str, float]:
    return {name: round(share, 4) for name, share in shares.items()}
