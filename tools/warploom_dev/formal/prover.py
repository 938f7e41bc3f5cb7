"""ABC: proves that a bit is never 1, or finds a run in which it is."""

import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from amaranth.sim import Simulator

from warploom_dev.abc import abc_program, run_abc
from warploom_dev.formal.aiger import NEVER, Graph, Run, convert, output_literal, read_run
from warploom_dev.formal.formal_bench import FormalBench
from warploom_sim.failure import ProgramError

#: Where benches, logs and waveforms go.
FOLDER: Final = Path("build/formal")
#: ABC: registers that are always equal become one, and the logic between them small.
_REDUCE: Final = "scorr; dc2; scorr"
#: ABC's PDR with the settings that closed most properties soonest, and what it says when a
#: solver of its own has found the invariant inductive.
_PDR: Final = "pdr -v -s -f"
_CHECKED: Final = "was successful"
#: Cycles in which a seeded bug or a cover is looked for.
SEARCHED: Final = 64


@dataclass(frozen=True)
class Answer:
    """What a prover said of one bit.

    Attributes
    ----------
    verdict : str
        ``never``: in no run. ``bounded``: in no run of ``cycles``. ``found``: in the cycle
        ``cycles`` (from 1) of ``run``, as a simulation confirmed. ``open``: time was up.
    cycles : int
        See there; 0 with ``never`` and ``open``.
    seconds : float
        What the prover took.
    run : list of dict
        With ``found`` the inputs of each cycle.
    """

    verdict: str
    cycles: int
    seconds: float
    run: Run


class Prover:
    """Answers for one bench, all of whose files stand in one folder.

    Parameters
    ----------
    bench : FormalBench
        `FormalBench.close` done.
    folder : Path
        Created if it does not exist.
    limit : int
        Seconds that one answer may take.
    """

    def __init__(self, bench: FormalBench, folder: Path, limit: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._bench, self._folder, self._limit = bench, folder, limit
        # What is missing is said before anything is made.
        abc_program()
        self._graph: Graph = convert(bench, folder)

    def violation(self, check: str, bound: int | None) -> Answer:
        """Look for a violation: in all runs, or in the first ``bound`` cycles."""
        number = list(self._bench.checks).index(check)
        return self._ask(number, f"violation_{check}", bound)

    def cover(self, check: str) -> Answer:
        """Look for the check's interesting case, no further than the property is searched."""
        number = len(self._bench.checks) + list(self._bench.checks).index(check)
        bound = self._bench.checks[check].bound
        return self._ask(number, f"cover_{check}", SEARCHED if bound is None else bound)

    def _ask(self, output: int, name: str, bound: int | None) -> Answer:
        (self._folder / f"{name}.aig").write_bytes(self._graph.single(output))
        small = self._folder / f"{name}.small.aig"
        engine = (
            f"{_PDR} -T {self._limit}" if bound is None else f"bmc3 -F {bound} -T {self._limit}"
        )
        script = f"read_aiger {name}.aig; {_REDUCE}; write_aiger {small.name}; {engine}; "
        script += f"write_cex -a {name}.cex"
        began = time.monotonic()
        log = run_abc(script, self._folder)
        seconds = time.monotonic() - began
        (self._folder / f"{name}.log").write_text(log)
        if found := re.search(r"was asserted in frame (\d+)", log):
            run = read_run(self._folder / f"{name}.cex", self._graph.inputs)
            return Answer("found", int(found[1]) + 1, seconds, run)
        solved = bound is None and "Property proved" in log and _CHECKED in log
        # The reduction alone may show that a bit is always 0; no engine runs then.
        if solved or output_literal(small) == NEVER:
            return Answer("never", 0, seconds, [])
        if bound is not None and f"No output asserted in {bound} frames" in log:
            return Answer("bounded", bound, seconds, [])
        if "limit" in log or "imeout" in log:
            return Answer("open", 0, seconds, [])
        raise ProgramError(f"ABC gave no answer in {self._folder}/{name}.log")


def replay(bench: FormalBench, run: Run, waveform: Path) -> list[tuple[int, int]]:
    """Run a bench, freshly made, in Amaranth's simulator.

    Returns
    -------
    list of (int, int)
        For each cycle, which checks are violated and which covers reached, one bit each.
    """
    seen: list[tuple[int, int]] = []

    async def steps(context: object) -> None:
        ctx: Any = context
        for values in run:
            for name, value in values.items():
                ctx.set(bench.reset if name == "rst" else bench.inputs[name], value)
            seen.append((ctx.get(bench.violations), ctx.get(bench.reached)))
            await ctx.tick()

    simulator = Simulator(bench.m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(steps)
    with simulator.write_vcd(str(waveform)):
        simulator.run()
    return seen
