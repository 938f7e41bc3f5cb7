"""Run a block's bench against mutants, all in one Verilator build."""

import functools
import shutil
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from warploom_dev.mutate.netlist import SELECT
from warploom_sim.build_cache import build_root, cached
from warploom_sim.cosim.lockstep import compilation
from warploom_sim.cosim.lockstep.case import Case
from warploom_sim.cosim.lockstep.checker import Failure, Outcome
from warploom_sim.cosim.lockstep.cocotb_runner import in_simulator
from warploom_sim.cosim.lockstep.ports import CLOCK, RESET, Ports
from warploom_sim.failure import ProgramError

SIMULATOR: Final = "verilator"
#: A mutant may make a bench run on without end: it gets this many times the original's time.
TIME_FACTOR: Final = 5
#: Seconds that the original, whose time is not yet known, may take; no other gets less than LEAST.
CONTROL_LIMIT_S: Final = 1200
LEAST_LIMIT_S: Final = 30


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a bench said of one mutant.

    Attributes
    ----------
    complaint : str or None
        What it noticed first; None if it noticed nothing.
    seed : int or None
        Of the case that noticed.
    cycles : int
        Cycles run, all cases together; 0 where the bench was ended for taking too long.
    seconds : float
        Wall time; 0 likewise.
    """

    complaint: str | None
    seed: int | None
    cycles: int
    seconds: float


def compile_mutants(name: str, verilog: str, ports: Ports) -> Path:
    """Return the folder of the packed module's simulation, built now or before."""
    names = (CLOCK, RESET, SELECT, *ports.inputs, *ports.outputs)
    # A netlist of gates is slow, and runs long; of two levels the last counts. With Verilator's
    # rewriting of bit operations a packed queue was wrong without a mutation.
    flags = (*compilation.FLAGS[SIMULATOR], "-fno-const-bit-op-tree", "-CFLAGS", "-O2")
    parts = [
        verilog,
        names,
        flags,
        compilation.tools_of(SIMULATOR),
        compilation.own_source(),
    ]
    make = functools.partial(
        compilation.compile_verilog, f"{name}'s mutants", verilog, names, SIMULATOR, flags
    )
    return cached("mutants", parts, make)


def run_mutants(
    simulation: Path,
    cases: Sequence[Case],
    numbers: Sequence[int],
    select_bits: int,
    limit_s: int,
    jobs: int = 1,
) -> list[Run]:
    """Run a bench against mutants by their numbers; 0 is the original.

    Parameters
    ----------
    simulation : Path
        From `compile_mutants`.
    cases : sequence of Case
        The bench: cases with equal ``make`` and ``params``, run up to the first complaint.
    numbers : sequence of int
        Mutants.
    select_bits : int
        Width of `SELECT`.
    limit_s : int
        Seconds for each.
    jobs : int
        How many run at a time.
    """
    folder = build_root() / "mutants" / f"run-{uuid.uuid4().hex[:8]}"
    folder.mkdir(parents=True)
    plan = {
        "cases": [case.to_json() for case in cases],
        "mutants": list(numbers),
        "limit_s": limit_s,
        "jobs": jobs,
        "select_bits": select_bits,
    }
    name = f"{cases[0].block}'s mutants"
    try:
        found = in_simulator(name, "warploom_dev.mutate.entry", simulation, SIMULATOR, folder, plan)
    except KeyboardInterrupt:  # a failure's log stays: its message names it
        shutil.rmtree(folder)
        raise
    shutil.rmtree(folder)
    return [_read(cases, entry) for entry in found]


def _read(cases: Sequence[Case], entry: dict[str, Any]) -> Run:
    if "hung" in entry:
        return Run(complaint="the bench does not end", seed=None, cycles=0, seconds=0.0)
    last, before = Outcome.from_json(entry["last"]), cases[: entry["cases"] - 1]
    cycles = last.cycles + sum(case.cycles for case in before)
    if last.failure is None:
        if entry["cases"] != len(cases):
            raise ProgramError(f"{cases[0].block}: the bench ended before its last case")
        return Run(complaint=None, seed=None, cycles=cycles, seconds=entry["s"])
    return Run(
        complaint=_complaint(last.failure),
        seed=cases[len(before)].seed,
        cycles=cycles,
        seconds=entry["s"],
    )


def _complaint(failure: Failure) -> str:
    """Return one line: the first port that differs, or the last line of what else is wrong."""
    if failure.differences:
        port, got, want = failure.differences[0]
        return f"{port}: got {got}, want {want}"
    return failure.problems[0].strip().splitlines()[-1]


def limit(control: Run) -> int:
    """Return the seconds that a mutant may take, from what the original took."""
    return max(LEAST_LIMIT_S, round(TIME_FACTOR * control.seconds))
