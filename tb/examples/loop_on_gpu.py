"""Cocotb module: a LOOP of the C driver on a SimtGpu.

The plan has the driver's library, the memory's file before and after, the launch's fields, the step
of its arguments, how many iterations there are, and how many words are read afterwards.
"""

import ctypes
import json
import os
import traceback
from pathlib import Path

import cocotb
import numpy as np
from cocotb.task import bridge

from simt_host.gpu_bench import Gpu
from tb.host.loop_hosts import CLoops
from tb.support.dispatch_configs import config_of
from warploom_sim.cosim.lockstep.cocotb_entry import PLAN
from warploom_sim.json_file import write_json


def run(driver, plan):
    """Loop over one template; return the codes of all calls, and the outcome."""
    codes = [driver.identify(), driver.begin()]
    code, slot = driver.take_slots(1)
    codes += [code, driver.write_template(slot, {"arguments": plan["step"]}, **plan["launch"])]
    codes += [driver.submit_loop(0, slot, 1, plan["iterations"]), driver.loop_done(0)]
    code, outcome = driver.loop_outcome(0)
    return {"codes": [*codes, code], "outcome": outcome}


@cocotb.test()
async def bench(dut):
    """Run the loop, and write the memory that it left."""
    plan = json.loads(Path(os.environ[PLAN]).read_text())
    try:
        gpu = Gpu(dut)
        await gpu.reset()
        config = config_of(plan["config"])
        driver = CLoops(ctypes.CDLL(plan["library"]), *gpu.accesses(), config=config)
        driver.patience = 1_000_000
        before = np.load(plan["image"]).view("<u4")
        await gpu.fill(before)
        found = await bridge(run)(driver, plan)
        memory = await gpu.read_back(0, plan["words"])
        np.save(plan["memory"], memory.astype("<u4").view(np.uint8))
    except Exception as error:
        traceback.print_exc()
        found = {"failure": f"{type(error).__name__}: {error}"}
    write_json(Path(plan["outcomes"]), found)
