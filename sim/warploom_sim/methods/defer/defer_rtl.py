"""A folded trace through the core's RTL by the C driver, compared with its launches one by one."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from warploom_golden.deferral.trace_loops import TraceLaunch, fold_trace
from warploom_sim.build_cache import where_built
from warploom_sim.methods.defer.folded_launches import refuse_held, trace_launches
from warploom_sim.methods.defer.rtl_commands import folded_lines, single_lines
from warploom_sim.methods.defer.rtl_order import early_starts
from warploom_sim.methods.defer.rtl_runs import Done, Given, run_all
from warploom_sim.methods.defer.rtl_tables import Difference, Seen, difference, expected, recorded
from warploom_sim.replay.bench import driver_build
from warploom_sim.replay.bench.driver_build import SIMULATOR
from warploom_sim.replay.bench.replay_bench_build import Simulation
from warploom_sim.screen import working
from warploom_sim.traces.trace_reader import Trace
from warploom_spec import Config, WarploomError

FOLDED: Final = "folded"
SINGLE: Final = "one by one"


@dataclass(frozen=True)
class RtlOutcome:
    """What came of a trace on the RTL.

    Attributes
    ----------
    figures : dict
        What ``--json`` gets.
    problems : list of str
        What differs, in words; empty if nothing does.
    """

    figures: dict[str, Any]
    problems: list[str]


def check_core(config: Config) -> None:
    """Refuse a core that has no templates.

    Raises
    ------
    WarploomError
        If it has none.
    """
    if not config.has_loops:
        raise WarploomError("loop_templates is 0; legal with --rtl: powers of two from 4 to 64")


def run_trace(trace: Trace, config: Config) -> RtlOutcome:
    """Run a trace's launches on the RTL twice, folded and one by one, and compare.

    Raises
    ------
    WarploomError
        If the core takes no such trace, or the simulator is missing.
    ProgramError
        If a program that is needed fails.
    """
    launches = trace_launches(trace, config)
    refuse_held(trace, launches)
    what = f"building FrontEnd with {config.loop_templates} templates for {SIMULATOR}"
    with working(f"{what}{where_built()}, once"):
        simulation = driver_build.build(config)
    return compare_runs(launches, config, simulation, Path(trace.path).name)


def compare_runs(
    launches: Sequence[TraceLaunch],
    config: Config,
    simulation: Simulation,
    name: str,
) -> RtlOutcome:
    """Run launches folded and one by one; ``name`` stands beside the progress bar."""
    folded = fold_trace(launches, config.loop_templates, config)
    wanted = expected(folded.launches, config)
    blocks = len(wanted.blocks["name"])
    longest = max(launch.fields["arguments"] for launch in launches)
    given = {
        FOLDED: Given(folded_lines(folded, config), blocks, longest),
        SINGLE: Given(single_lines(folded, config), blocks, longest),
    }
    done = run_all(simulation, given, config, f"{name}: blocks, twice")
    seen = {key: recorded(run.tables, config) for key, run in done.items()}
    between, mismatches, problems = _compare(done, seen, wanted)
    for key, run in done.items():
        early = early_starts(run.tables, config)
        mismatches += len(early)
        problems += [f"{key}: {said}" for said in early[:1]]
    single = done[SINGLE].host
    figures = {
        "simulator": SIMULATOR,
        "launches": len(launches),
        "blocks": blocks,
        "compared_events": between.compared,
        "mismatches": mismatches,
        "loops": folded.loops,
        "templates": folded.templates,
        "transactions": done[FOLDED].host["transactions"],
        "polls": done[FOLDED].host["polls"],
        "transactions_one_by_one": single["transactions"],
        "polls_one_by_one": single["polls"],
        "cycles_doorbell_to_last_launch": _cycles(done[FOLDED]),
        "cycles_doorbell_to_last_launch_one_by_one": _cycles(done[SINGLE]),
    }
    return RtlOutcome(figures, problems)


def _compare(
    done: dict[str, Done], seen: dict[str, Seen], wanted: Seen
) -> tuple[Difference, int, list[str]]:
    """Return how the runs differ, all mismatches, and what is wrong in words."""
    between = difference(seen[FOLDED], seen[SINGLE])
    differences = {f"{FOLDED}, and {SINGLE}": between}
    for key, one in seen.items():
        differences[f"{key}, and as the launches' words say"] = difference(one, wanted)
    problems = [f"{what}: {one.first}" for what, one in differences.items() if one.first]
    mismatches = sum(one.mismatches for one in differences.values())
    for key, run in done.items():
        mismatches += seen[key].changed + bool(run.problem)
        if seen[key].changed:
            problems.append(f"{key}: launch words change at {seen[key].changed} offers")
        if run.problem:
            problems.append(f"{key}: {run.problem}")
    return between, mismatches, problems


def _cycles(run: Done) -> int | None:
    """Return the cycles from the first doorbell to the last launch; None without a launch."""
    sent = run.tables["launched"]["cycle"]
    return int(sent[-1]) - run.host["first_doorbell"] if len(sent) else None
