"""Run mutants inside a simulator: the module that cocotb loads there."""

import ctypes
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, Final

import cocotb

from warploom_dev.mutate.netlist import SELECT
from warploom_sim.cosim.lockstep.case import Case
from warploom_sim.cosim.lockstep.checker import Session
from warploom_sim.cosim.lockstep.cocotb_entry import PLAN
from warploom_sim.cosim.lockstep.pins import drive, writer

#: Linux: ask for a signal when the parent process ends.
_PR_SET_PDEATHSIG: Final = 1


@cocotb.test()
async def mutants(dut: Any) -> None:
    """Run the planned mutants, each in a fork of this process before its first cycle.

    So each begins at power-up with the same memories, stimulus and model, and none can spoil
    another. One that takes longer than the plan's limit is ended. So many as the plan's jobs run at
    a time.
    """
    plan = json.loads(Path(os.environ[PLAN]).read_text())
    session = Session([Case.from_json(case) for case in plan["cases"]])
    folder = Path(plan["outcomes"]).parent
    running: dict[int, int] = {}
    found: dict[int, dict[str, Any]] = {}
    for number in plan["mutants"]:
        if len(running) == plan["jobs"]:
            _collect(running, found, folder)
        child = os.fork()
        if not child:
            await _run(dut, session, number, plan, _report(folder, number))
        running[child] = number
    while running:
        _collect(running, found, folder)
    Path(plan["outcomes"]).write_text(json.dumps([found[number] for number in plan["mutants"]]))


def _report(folder: Path, number: int) -> Path:
    return folder / f"mutant{number}.json"


def _collect(running: dict[int, int], found: dict[int, dict[str, Any]], folder: Path) -> None:
    """Wait for the end of one mutant, and read what became of it."""
    child, status = os.wait()
    number = running.pop(child)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
        found[number] = {"hung": True}
    else:
        found[number] = json.loads(_report(folder, number).read_text())


async def _run(dut: Any, session: Session, number: int, plan: dict[str, Any], report: Path) -> None:
    """Run one mutant to the bench's end or its first complaint, and end the process."""
    try:
        end_with_parent()
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(plan["limit_s"])
        began = time.perf_counter()
        put = writer(getattr(dut, SELECT)._handle, plan["select_bits"])
        put(number)
        await drive(dut, session, plan["two_state"])
        last = session.outcomes[-1].to_json()
        seconds = time.perf_counter() - began
        report.write_text(json.dumps({"cases": len(session.outcomes), "last": last, "s": seconds}))
    finally:
        os._exit(0)


def end_with_parent() -> None:
    """Have this process killed when its parent ends; elsewhere than on Linux do nothing.

    Who interrupts a campaign ends the simulator, which knows nothing of its forks: they would run
    on up to the plan's limit.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
