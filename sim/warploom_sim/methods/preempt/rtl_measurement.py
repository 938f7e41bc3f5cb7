"""``warploom preempt --rtl``: the modes on the RTL, every event compared, the law checked."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from warploom_golden.replay.event_tables import Table
from warploom_sim.build_cache import where_built
from warploom_sim.methods.preempt import measure
from warploom_sim.methods.preempt.bench import preempt_bench_build
from warploom_sim.methods.preempt.law_check import LawCheck, Verdict
from warploom_sim.methods.preempt.port_figures import Blocks, port_run
from warploom_sim.methods.preempt.rtl_run import RtlRun, run_all, run_folder
from warploom_sim.methods.preempt.run_ledger import RunLedger
from warploom_sim.methods.preempt.runs import Run, Setting
from warploom_sim.methods.preempt.sent_demands import shortfalls
from warploom_sim.methods.preempt.stream_law import StreamLaw
from warploom_sim.methods.preempt.workload import Workload
from warploom_sim.replay.event_comparison import Mismatch
from warploom_sim.screen import progress_bar, working
from warploom_spec import LaunchDescriptor

#: Violations of the law, and launches that began too early, that are told in words.
_TOLD: Final = 5


def measure_rtl(
    workloads: Mapping[str, Workload],
    setting: Setting,
    check_starts: Callable[[Mapping[str, Table]], list[str]] = lambda events: [],
) -> tuple[dict[str, Any], dict[str, Run], list[str]]:
    """Run each mode's workload on the RTL; compare it with the model, and check the law.

    Parameters
    ----------
    workloads : mapping of str to Workload
        Of each mode, in order.
    setting : Setting
        The machine and the arrivals.
    check_starts : callable
        Returns in words which launches of a run's events began too early.

    Returns
    -------
    tuple
        The figures; of each mode the run; in words what is wrong.

    Raises
    ------
    WarploomError
        If the simulator is missing.
    ProgramError
        If the RTL cannot be built, or its simulation fails.
    """
    simulator = preempt_bench_build.SIMULATOR
    where = f"{simulator}{where_built()}"
    with working(f"building LaunchPath ({setting.config.sms} SMs) for {where}, once"):
        program = preempt_bench_build.build(setting.config)
    verdict, problems = Verdict(), list[str]()
    runs: dict[str, Run] = {}
    compared = mismatches = 0
    with run_folder() as folder, progress_bar() as progress:
        tasks = {
            name: progress.add_task(f"{name}: urgent launches on the RTL", total=setting.count)
            for name in workloads
        }

        def tell(name: str, done: int) -> None:
            progress.update(tasks[name], completed=done)

        for name, done in run_all(program, workloads, setting, folder, tell):
            compared += sum(done.comparison.compared.values())
            mismatches += done.comparison.mismatches
            wrong = _problems(name, done, folder)
            if not wrong:
                launches = launches_sent(done.events["sent"], workloads[name])
                compared_here = done.comparison.compared
                short = shortfalls(compared_here, done.events, launches, setting)
                wrong = [f"{name}: {each}" for each in short[:_TOLD]]
            problems += wrong
            if not wrong:
                runs[name], found = judge(done.events, workloads[name], setting)
                verdict.add(found, name)
                problems += [f"{name}: {each}" for each in check_starts(done.events)[:_TOLD]]
    problems += verdict.violations[:_TOLD]
    # With in-order reclaim no launch is under the law.
    if not (problems or verdict.checked or setting.config.reclaim == "in_order"):
        outside = ", ".join(f"{n:,} {name}" for name, n in sorted(verdict.outside.items()))
        problems.append(f"law: 0 urgent launches were checked; outside the law: {outside}")
    law = measure.bounds(setting.config) | {
        "violations": len(verdict.violations),
        "checked": verdict.checked,
        "reached": dict(sorted(verdict.reached.items())),
        "slack": verdict.slack,
        "outside": dict(sorted(verdict.outside.items())),
    }
    figures = {
        "simulator": simulator,
        "compared_events": compared,
        "mismatches": mismatches,
        "law": law,
    }
    return figures, runs, problems


def judge(
    events: Mapping[str, Table],
    workload: Workload,
    setting: Setting,
    law: StreamLaw | None = None,
) -> tuple[Run, Verdict]:
    """Return a run's results, and what the law says of it, from the events at the ports alone.

    Parameters
    ----------
    events : mapping of str to Table
        The RTL's events.
    workload : Workload
        What it was sent.
    setting : Setting
        The machine.
    law : StreamLaw or None
        The law's numbers; None: those of the configuration.
    """
    blocks = Blocks(events)
    launches = launches_sent(events["sent"], workload)
    verdict = LawCheck(events, blocks, launches, setting.config, law).run()
    verdict.violations += RunLedger(events, blocks, launches, setting.config).check(workload)
    return port_run(events, blocks), verdict


def launches_sent(sent: Table, workload: Workload) -> list[LaunchDescriptor]:
    """Return the launches that were sent, in order."""
    sides = {False: workload.low, True: workload.urgent}
    counts = {False: 0, True: 0}
    found = []
    for urgent in sent["urgent"].astype(bool).tolist():
        found.append(sides[urgent][counts[urgent] % len(sides[urgent])])
        counts[urgent] += 1
    return found


def _problems(name: str, done: RtlRun, folder: Path) -> list[str]:
    """Return in words where RTL and model differ."""
    found = [f"{name}: {done.stopped}"] if done.stopped else []
    if done.comparison.first is not None:
        found.append(_describe(name, done.comparison.first))
    if found:
        found.append(f"{name}: the events of the RTL are in {folder / name}")
    return found


def _describe(name: str, first: Mismatch) -> str:
    where = "no launch" if first.launch is None else f"launch {first.launch}"
    block = "no block yet" if first.block is None else f"block {first.block}"
    sides = (("RTL", first.rtl), ("model", first.model))
    lines = [
        f"{name}: first mismatch: {first.kind} {first.number}, {where}, {block}, cycle"
        f" {first.cycle}",
        *(f"  {side + ':':6} {_values(values)}" for side, values in sides),
    ]
    if first.differing():
        lines.append(f"  differs: {', '.join(first.differing())}")
    return "\n".join(lines)


def _values(values: Mapping[str, int] | None) -> str:
    if values is None:
        return "no such event"
    return ", ".join(f"{name} {value}" for name, value in values.items())
