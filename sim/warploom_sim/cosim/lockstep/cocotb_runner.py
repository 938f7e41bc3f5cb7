"""Run cases on Icarus or Verilator: a process of the simulator with cocotb in it."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cocotb_tools.runner import get_runner

from warploom_sim.cosim import simulators
from warploom_sim.cosim.lockstep.build import built
from warploom_sim.cosim.lockstep.case import Case
from warploom_sim.cosim.lockstep.checker import Outcome
from warploom_sim.cosim.lockstep.cocotb_entry import PLAN
from warploom_sim.cosim.lockstep.compilation import TOP, simulator_environment
from warploom_sim.cosim.lockstep.recipe import Recipe
from warploom_sim.failure import ProgramError


class UncleanEnd(ProgramError):
    """The simulator failed after it had written its outcomes, which are kept."""

    def __init__(self, text: str, outcomes: Any):
        self.outcomes = outcomes
        super().__init__(text)


def waves_name(simulator: str) -> str:
    """Return the name of the waveform in a run's folder."""
    # Of Verilator cocotb's main program chooses the name.
    stem = "dut" if simulator == "icarus" else "dump"
    return f"{stem}.{simulators.waveform(simulator).suffix}"


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
    ProgramError
        If the simulator ended without outcomes, with the end of its log; or failed after them, and
        all cases had passed.
    """
    waveform = simulators.waveform(simulator) if waves else None
    simulation = _simulation(str(cases[0].make), json.dumps(cases[0].params), simulator, waveform)
    name = f"{cases[0].block}, seeds {', '.join(str(case.seed) for case in cases)}"
    plan = {"cases": [case.to_json() for case in cases]}
    module = "warploom_sim.cosim.lockstep.cocotb_entry"
    try:
        found = in_simulator(name, module, simulation, simulator, folder, plan, waves)
        return [Outcome.from_json(outcome) for outcome in found]
    except UncleanEnd as end:
        # A difference that was found is not lost because the simulator then failed.
        outcomes = [Outcome.from_json(outcome) for outcome in end.outcomes]
        if outcomes[-1].failure is None:
            raise
        return outcomes


def in_simulator(
    name: str,
    module: str,
    simulation: Path,
    simulator: str,
    folder: Path,
    plan: Mapping[str, Any],
    waves: bool = False,
) -> Any:
    """Run a cocotb module on a built simulation, and return what it writes.

    Parameters
    ----------
    name : str
        What messages call the run.
    module : str
        Reads the JSON file that the environment's `PLAN` names: ``plan``, and ``two_state`` and
        ``outcomes``, the file that it writes.
    simulation : Path
        Folder of the build.
    simulator : str
        ``icarus`` or ``verilator``.
    folder : Path
        An existing folder for this run alone.
    plan : mapping
        Plain JSON data.
    waves : bool
        Whether to write a waveform.

    Raises
    ------
    ProgramError
        If the simulator ended without outcomes, with the end of its log; `UncleanEnd` if it failed
        after them.
    WarploomError
        If what cocotb needs is not installed.
    """
    simulators.require_libpython()
    path, outcomes, log = folder / "plan.json", folder / "outcomes.json", folder / "simulator.log"
    path.write_text(
        json.dumps({**plan, "outcomes": str(outcomes), "two_state": simulator == "verilator"})
    )
    plusargs = [f"+dumpfile_path={folder / waves_name(simulator)}"] if waves else []
    try:
        with simulator_environment(simulator):
            get_runner(simulator).test(
                test_module=module,
                hdl_toplevel=TOP,
                hdl_toplevel_lang="verilog",
                build_dir=simulation,
                test_dir=folder,
                results_xml=str(folder / "results.xml"),
                plusargs=plusargs,
                waves=waves,
                extra_env={PLAN: str(path)},
                log_file=log,
            )
    except (Exception, SystemExit) as error:
        if not outcomes.exists():
            raise ProgramError(_no_outcomes(name, simulator, log)) from error
        text = f"{name}: {simulator} failed after its last case ({error}); its log: {log}"
        raise UncleanEnd(text, json.loads(outcomes.read_text())) from error
    if not outcomes.exists():
        raise ProgramError(_no_outcomes(name, simulator, log))
    return json.loads(outcomes.read_text())


@functools.cache
def _simulation(
    make: str, params: str, simulator: str, waveform: simulators.Waveform | None
) -> Path:
    """Build once in a process: only to elaborate a large block again takes seconds."""
    return built(Recipe.of_case(make, json.loads(params)), simulator, waveform)


def _no_outcomes(name: str, simulator: str, log: Path) -> str:
    tail = log.read_text().splitlines()[-40:] if log.exists() else ["no log"]
    return "\n".join([f"{name}: {simulator} ended without outcomes; the end of {log}:", *tail])
