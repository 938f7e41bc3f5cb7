"""Cocotb module: runs of LaunchPath between a script's host and SMs, one after the other."""

import json
import os
import pickle
import traceback
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import Timer

from tb.preemption.queued_cycles import QueuedHost
from warploom.launch.launch_path import LaunchPath
from warploom_sim.cosim.lockstep.cocotb_entry import PLAN
from warploom_sim.cosim.lockstep.pins import Pins, writer
from warploom_sim.cosim.lockstep.ports import CLOCK, RESET, Ports
from warploom_sim.cosim.lockstep.validity import Validity
from warploom_sim.json_file import write_json


class Bench:
    """The simulated LaunchPath, its clock and its reset."""

    def __init__(self, dut: Any, ports: Ports, two_state: bool):
        self._pins, self._validity = Pins(dut, ports, two_state), Validity(ports)
        self._clock, self._reset = (
            writer(getattr(dut, name)._handle, 1) for name in (CLOCK, RESET)
        )

    async def play(self, host: QueuedHost, cycles: int) -> None:
        """Reset, then run some cycles."""
        await self._cycle(host, None)
        for cycle in range(cycles):
            await self._cycle(host, cycle)

    async def _cycle(self, host: QueuedHost, cycle: int | None) -> None:
        """Run a cycle; None: one under reset."""
        inputs = host.inputs(-1 if cycle is None else cycle)
        self._clock(0)
        self._reset(int(cycle is None))
        # The pins keep what they were given, to write no value twice.
        self._pins.write(dict(inputs))
        await Timer(1, "ns")
        if cycle is not None:
            host.see(cycle, inputs, self._validity.quiet(self._pins.read()))
            self._pins.write(inputs)
            await Timer(1, "ns")
        self._clock(1)
        await Timer(1, "ns")


@cocotb.test()
async def queued(dut: Any) -> None:
    """Play all runs; write what each host saw, or what went wrong."""
    plan = json.loads(Path(os.environ[PLAN]).read_text())
    config, runs = pickle.loads(Path(plan["runs"]).read_bytes())
    bench = Bench(dut, Ports.of(LaunchPath(config)), plan["two_state"])
    # Let time 0 pass.
    await Timer(1, "ns")
    found: dict[str, Any] = {"rows": []}
    try:
        for host, cycles in runs:
            await bench.play(host, cycles)
            found["rows"].append(host.rows)
    except Exception:  # of any kind, a test's own too: it is told where the runs are looked at
        found["failure"] = traceback.format_exc()
    write_json(Path(plan["outcomes"]), found)
