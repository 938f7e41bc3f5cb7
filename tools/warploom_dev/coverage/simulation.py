"""Run lockstep cases on Verilator in a build that counts branches and toggles."""

import functools
import hashlib
import shutil
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import amaranth.back.rtlil as rtlil
from amaranth.back import verilog
from amaranth.lib import wiring

from warploom_dev.coverage.counted_lines import blocks_below, with_counts_off
from warploom_sim.build_cache import build_root, cached
from warploom_sim.cosim.lockstep import compilation
from warploom_sim.cosim.lockstep.case import Case
from warploom_sim.cosim.lockstep.checker import Outcome
from warploom_sim.cosim.lockstep.cocotb_runner import in_simulator
from warploom_sim.cosim.lockstep.ports import CLOCK, RESET, Ports

SIMULATOR: Final = "verilator"
#: What Verilator counts: each side of each branch, and both edges of each bit of a signal, however
#: wide the signal is.
COUNTS: Final = ("--coverage-line", "--coverage-toggle", "--coverage-max-width", "1000000")
#: The file that a simulation leaves where it ran.
DATA: Final = "coverage.dat"


@dataclass(frozen=True)
class CountedRun:
    """Outcomes of a run, and the counts that it left, as Verilator writes them."""

    outcomes: list[Outcome]
    data: str


def hash_of(component: wiring.Component) -> str:
    """Return the SHA-256 of a component's RTLIL without source positions."""
    ports = Ports.of(component).to_convert()
    text = rtlil.convert(component, name=compilation.TOP, ports=ports, emit_src=False)
    return hashlib.sha256(text.encode()).hexdigest()


def counting_build(component: wiring.Component) -> Path:
    """Return the folder of a simulation of a component that counts, built now or before."""
    ports = Ports.of(component)
    converted = verilog.convert(component, name=compilation.TOP, ports=ports.to_convert())
    text = with_counts_off(converted, blocks_below(component))
    names = (CLOCK, RESET, *ports.inputs, *ports.outputs)
    flags = (*compilation.FLAGS[SIMULATOR], *COUNTS)
    tools = compilation.tools_of(SIMULATOR)
    name = f"{type(component).__name__} with counts"
    make = functools.partial(compilation.compile_verilog, name, text, names, SIMULATOR, flags)
    return cached("counting", [text, flags, tools, compilation.own_source()], make)


def run_counted(cases: Sequence[Case], simulation: Path) -> CountedRun:
    """Run cases of one component in one process of its counting compilation.

    Parameters
    ----------
    cases : sequence of Case
        With equal ``make`` and ``params``.
    simulation : Path
        From `counting_build`.
    """
    folder = build_root() / "counting" / f"run-{uuid.uuid4().hex[:8]}"
    folder.mkdir(parents=True)
    plan = {"cases": [case.to_json() for case in cases]}
    entry = "warploom_sim.cosim.lockstep.cocotb_entry"
    found = in_simulator(cases[0].block, entry, simulation, SIMULATOR, folder, plan)
    run = CountedRun([Outcome.from_json(one) for one in found], (folder / DATA).read_text())
    shutil.rmtree(folder)
    return run
