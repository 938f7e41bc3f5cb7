"""Work stealing in co-simulation: workers and cores in Python, mailbox and units in RTL."""

import dataclasses
import tempfile
from pathlib import Path
from typing import Any, Final

from warploom.host import TaskUnits
from warploom.lib.axil_pins import AxilPins
from warploom_golden.stealing import StealModel, StealOptions, make_algorithm
from warploom_sim.cosim.lockstep.build import built
from warploom_sim.cosim.lockstep.cocotb_runner import in_simulator
from warploom_sim.cosim.lockstep.recipe import Recipe
from warploom_sim.failure import ProgramError
from warploom_spec import Config, WarploomError

MODULE = "warploom_sim.methods.steal.steal_bench"
#: What a table calls each figure.
FIGURES: Final = {
    "makespan": "clock cycles from the host's call to the answer",
    "makespan_model": "the same in the discrete-event model, whose units have one core",
    "leaves": "tasks that units ran",
    "parts": "parts of leaves that cores ran",
    "rounds": "rounds through the mailbox",
    "polls": "reads of a doorbell that was still 1",
    "steals": "tasks stolen",
    "attempts": "attempts to steal",
}
#: Units that a mailbox can have.
MOST_UNITS = 8


def rtl_config(options: StealOptions) -> Config:
    """Return the configuration with a section for each unit.

    Raises
    ------
    WarploomError
        If the hardware cannot have so many units.
    """
    if options.units > MOST_UNITS:
        raise WarploomError(f"units is {options.units} with --rtl; legal: 1 to {MOST_UNITS}")
    return Config(sections=options.units, units=options.units, loop_templates=0)


def run_rtl(name: str, size: int | None, options: StealOptions, simulator: str) -> dict[str, Any]:
    """Run an algorithm against the RTL and return its figures, beside the model's makespan.

    Parameters
    ----------
    name : str
        Of the algorithm.
    size : int or None
        Its size; None: its default.
    options : StealOptions
        Settings; workers spend their costs as clock cycles.
    simulator : str
        ``verilator`` or ``icarus``.

    Raises
    ------
    ProgramError
        If the simulator fails, or a worker saw what must not be.
    """
    config = rtl_config(options)
    algorithm = make_algorithm(name, options.seed, size)
    model = StealModel(algorithm, options).run()
    simulation = built(Recipe.of(AxilPins, Recipe.of(TaskUnits, config)), simulator)
    plan = {
        "algorithm": name,
        "size": size,
        "config": dataclasses.asdict(config),
        "options": dataclasses.asdict(options),
    }
    with tempfile.TemporaryDirectory() as folder:
        found = in_simulator(f"steal {name}", MODULE, simulation, simulator, Path(folder), plan)
    if "failure" in found:
        raise ProgramError(f"steal {name} on {simulator}: {found['failure']}")
    return {
        "algorithm": name,
        "simulator": simulator,
        "workers": options.workers,
        "units": options.units,
        "seed": options.seed,
        **found,
        "makespan_model": model.makespan,
        "leaves_model": model.leaves,
    }
