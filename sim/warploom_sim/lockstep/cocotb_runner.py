"""Run cases on Icarus or Verilator: a process of the simulator with cocotb in it."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from pathlib import Path

from cocotb_tools.runner import get_runner

from warploom_sim.lockstep.build import TOP, built, simulator_environment
from warploom_sim.lockstep.case import Case
from warploom_sim.lockstep.checker import Outcome
from warploom_sim.lockstep.cocotb_entry import PLAN

WAVES = {"icarus": "dut.fst", "verilator": "dump.fst"}


def run_cases(cases: Sequence[Case], simulator: str, folder: Path, waves: bool) -> list[Outcome]:
    """Run cases of one component in one process.

    Parameters
    ----------
    cases : sequence of Case
        With equal ``make`` and ``params``.
    simulator : str
        ``icarus`` or ``verilator``.
    folder : Path
        An existing folder for this run alone; logs and waveform come there.
    waves : bool
        Whether to write a waveform.

    Raises
    ------
    RuntimeError
        If the simulator ended without outcomes; with the end of its log.
    """
    simulation = _simulation(str(cases[0].make), json.dumps(cases[0].params), simulator, waves)
    plan, outcomes, log = folder / "plan.json", folder / "outcomes.json", folder / "simulator.log"
    plan.write_text(json.dumps({
        "cases": [case.to_json() for case in cases], "outcomes": str(outcomes),
        "two_state": simulator == "verilator",
    }))
    plusargs = [f"+dumpfile_path={folder / WAVES[simulator]}"] if waves else []
    try:
        with simulator_environment(simulator):
            get_runner(simulator).test(
                test_module="warploom_sim.lockstep.cocotb_entry", hdl_toplevel=TOP,
                hdl_toplevel_lang="verilog", build_dir=simulation, test_dir=folder,
                results_xml=str(folder / "results.xml"), plusargs=plusargs, waves=waves,
                extra_env={PLAN: str(plan)}, log_file=log)
    except (Exception, SystemExit) as error:
        if not outcomes.exists():
            raise RuntimeError(_no_outcomes(cases, simulator, log)) from error
        raise
    if not outcomes.exists():
        raise RuntimeError(_no_outcomes(cases, simulator, log))
    return [Outcome.from_json(outcome) for outcome in json.loads(outcomes.read_text())]


@functools.cache
def _simulation(make: str, params: str, simulator: str, waves: bool) -> Path:
    """Build once in a process: only to elaborate a large block again takes seconds."""
    component, _ = Case(make=make, params=json.loads(params), seed=0).build()
    return built(component, simulator, waves)


def _no_outcomes(cases: Sequence[Case], simulator: str, log: Path) -> str:
    seeds = ", ".join(str(case.seed) for case in cases)
    tail = log.read_text().splitlines()[-40:] if log.exists() else ["no log"]
    return "\n".join([f"{cases[0].block}, seeds {seeds}: {simulator} ended without outcomes;"
                      f" the end of {log}:", *tail])
