"""Run a session inside a simulator: the module that cocotb loads there."""

from __future__ import annotations

import gc
import json
import os
from pathlib import Path
from typing import Any

import cocotb

from warploom_sim.cosim.lockstep.case import Case
from warploom_sim.cosim.lockstep.checker import Session
from warploom_sim.cosim.lockstep.pins import drive
from warploom_sim.json_file import write_json

#: Environment variable with the path of the plan.
PLAN = "WARPLOOM_LOCKSTEP_PLAN"


@cocotb.test()
async def lockstep(dut: Any) -> None:
    """Run the planned cases and write their outcomes beside the plan."""
    # A session makes many short-lived objects, and hardly a cycle of references.
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
    plan = json.loads(Path(os.environ[PLAN]).read_text())
    session = Session([Case.from_json(case) for case in plan["cases"]])
    await drive(dut, session, plan["two_state"])
    outcomes = [outcome.to_json() for outcome in session.outcomes]
    write_json(Path(plan["outcomes"]), outcomes)
