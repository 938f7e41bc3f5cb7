"""Runs of ``warploom merge``: a trace or a task file, merged in both modes, beside unmerged."""

import dataclasses
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any, Final

import click

from warploom_golden.merging.merge_planner import MergePlanner
from warploom_golden.merging.merge_streams import merge_streams
from warploom_golden.merging.merged_dispatcher import MODES
from warploom_golden.merging.merged_replay import Item, MergeRules, run_merged
from warploom_golden.merging.merged_work import CHARGES
from warploom_golden.merging.task import MergeLimits
from warploom_golden.replay import event_model
from warploom_golden.replay.gains import Workload, run_queue
from warploom_golden.replay.machine import Machine
from warploom_sim.methods.merge.task_file import load_tasks
from warploom_sim.replay.simulation_run import MOST_BLOCKS
from warploom_sim.traces import trace_reader
from warploom_sim.traces.gpus import Gpu
from warploom_sim.traces.trace_file import event_place
from warploom_sim.traces.trace_launches import make_launches
from warploom_spec import Config, WarploomError, preset

#: Ending of a task file; any other file is a trace.
TASK_FILE_ENDING: Final = ".toml"
#: Charging rule and mode of each run of the merged form.
RUNS: Final = tuple(itertools.product(CHARGES, MODES))


@dataclass(frozen=True, kw_only=True)
class MergeOptions:
    """One call of ``warploom merge``.

    Attributes
    ----------
    file : Path
        A trace or a task file.
    mode : str
        The mode whose cycles are the run's ``cycles``.
    order : str
        The planner's order.
    charge : str
        What each block takes of its SM: ``maximum`` or ``task``.
    config : str
        A preset's name.
    policy, reclaim : str or None
        Replace the preset's policy and reclaim rule; None: keep them.
    launches : int or None
        Only the first launches of a trace.
    seed : int
        Seeds the jitter of a trace's block lengths.
    time_scale : Fraction
        A trace's block lengths are multiplied by it.
    max_tasks : int
        The most tasks of one table.
    gpu : Gpu or None
        The recorded GPU of a trace that does not describe it.
    """

    file: Path
    mode: str = "gate"
    order: str = "topological"
    charge: str = "maximum"
    config: str = "default"
    policy: str | None = None
    reclaim: str | None = None
    launches: int | None = None
    seed: int = 1
    time_scale: Fraction = Fraction(1, 32)
    max_tasks: int = MergeLimits.max_tasks
    gpu: Gpu | None = None


@dataclass(frozen=True)
class MergeJob:
    """The work of one call of ``warploom merge``.

    Attributes
    ----------
    items : list of LaunchDescriptor or MappingTable
        The merged form.
    blocks : int
        Blocks of one run.
    unmerged : callable
        Returns the cycles of the separate launches.
    jitter : bool
        Whether block lengths vary around their base.
    figures : dict
        The figures that are known before anything runs.
    """

    items: list[Item]
    blocks: int
    unmerged: Callable[[], int]
    jitter: bool
    figures: dict[str, Any]


def config_of(options: MergeOptions) -> Config:
    """Return the preset with the policies that the options put in their place.

    Raises
    ------
    WarploomError
        If the placement policy is not predicted.
    """
    base = preset(options.config)
    config = dataclasses.replace(
        base, policy=options.policy or base.policy, reclaim=options.reclaim or base.reclaim
    )
    event_model.check_policy(config)
    return config


def prepare(options: MergeOptions) -> MergeJob:
    """Read the file and make the tables.

    Raises
    ------
    WarploomError
        If the file, or what it asks for, is refused.
    """
    config = config_of(options)
    planner = MergePlanner(config, MergeLimits(max_tasks=options.max_tasks))
    if options.file.suffix == TASK_FILE_ENDING:
        if options.gpu:
            raise WarploomError(
                f"{options.file}: --gpu is {options.gpu.given}; legal with a task file, of which"
                " nothing is recorded: none"
            )
        job = _task_job(options, planner)
    else:
        job = _trace_job(options, planner)
    if job.blocks > MOST_BLOCKS:
        raise WarploomError(f"{options.file}: {job.blocks:,} blocks; legal: up to {MOST_BLOCKS:,}")
    head = {
        "file": options.file.name,
        "config": options.config,
        "policy": config.policy,
        "reclaim": config.reclaim,
        "order": options.order,
        "charge": options.charge,
        "mode": options.mode,
    }
    return dataclasses.replace(job, figures=head | job.figures | {"blocks": job.blocks})


def _trace_job(options: MergeOptions, planner: MergePlanner) -> MergeJob:
    trace = trace_reader.load(options.file, gpu=options.gpu.device if options.gpu else None)
    if trace.event_waits:
        raise event_place(trace.path, trace.event_waits[0]).refuse(
            "a stream waits for an event: launches of different streams depend on each other,"
            " which merging does not know; legal: traces without event waits"
        )
    for said in trace.reading_notes():
        click.echo(said, err=True)
    config = planner.config
    launches = make_launches(trace, config, options.time_scale, options.launches)
    merged = merge_streams(launches, planner, options.order)
    return MergeJob(
        items=merged.items,
        blocks=sum(prod(launch.grid) for launch in launches),
        unmerged=lambda: round(
            run_queue(Workload(launches, config, options.seed), Machine.of(config))
        ),
        jitter=True,
        figures={
            "seed": options.seed,
            "time_scale": str(options.time_scale),
            **({"gpu": options.gpu.text} if options.gpu else {}),
            **trace.times.counts(),
            "launches": len(launches),
            "merged_launches": merged.merged_launches,
            "tables": merged.tables,
            "left_out": merged.reasons,
        },
    )


def _task_job(options: MergeOptions, planner: MergePlanner) -> MergeJob:
    file = load_tasks(options.file, planner.config)
    try:
        table = file.table or planner.plan(file.tasks, options.order)
        planner.check(table)
        separate = planner.plan(file.tasks)
    except WarploomError as error:
        raise WarploomError(f"{file.path}: {error}") from error
    launches = [file.tasks[entry.task].launch for entry in separate.entries]
    return MergeJob(
        items=[table],
        blocks=sum(task.blocks for task in table.tasks),
        unmerged=lambda: (
            run_merged(
                launches, planner.config, options.seed, MergeRules(jitter=False), keep=False
            ).cycles
        ),
        jitter=False,
        figures={
            "launches": len(launches),
            "merged_launches": len(launches),
            "tables": 1,
            "entries": len(table.entries),
        },
    )


def run(
    options: MergeOptions, job: MergeJob, progress: Callable[[int], object] = lambda blocks: None
) -> dict[str, Any]:
    """Run both modes with both charging rules, and the separate launches; return the figures.

    Parameters
    ----------
    options : MergeOptions
        The options of the call.
    job : MergeJob
        The work, from `prepare`.
    progress : callable
        Called with the number of blocks that ran since the last call, all `RUNS` together.
    """
    unmerged = job.unmerged()
    charges: dict[str, dict[str, dict[str, Any]]] = {charge: {} for charge in CHARGES}
    for charge, mode in RUNS:
        rules = MergeRules(mode=mode, charge=charge, jitter=job.jitter)
        done = run_merged(job.items, config_of(options), options.seed, rules, progress, keep=False)
        charges[charge][mode] = {
            "cycles": done.cycles,
            "speedup": round(unmerged / done.cycles, 4),
            "spin_slot_cycles": done.spin_slot_cycles,
            "gate_cycles": done.gate_cycles,
        }
        # LaunchCheck refuses the same launches in every run.
        refused = done.refused
    modes = charges[options.charge]
    chosen = modes[options.mode]
    return job.figures | {
        "refused": refused,
        "cycles_unmerged": unmerged,
        "cycles": chosen["cycles"],
        "speedup": chosen["speedup"],
        "modes": modes,
        "charges": charges,
        "best_charge": best_charge(charges, options.mode),
    }


def best_charge(charges: Mapping[str, Mapping[str, Mapping[str, Any]]], mode: str) -> str | None:
    """Return the charging rule that takes the fewest cycles in a mode; None if they are equal."""
    cycles = {charge: modes[mode]["cycles"] for charge, modes in charges.items()}
    return min(cycles, key=lambda charge: cycles[charge]) if len(set(cycles.values())) > 1 else None
