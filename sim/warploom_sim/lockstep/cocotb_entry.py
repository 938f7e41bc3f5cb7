"""Run a session inside a simulator: the module that cocotb loads there."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import Timer

from warploom_sim.lockstep.case import Case
from warploom_sim.lockstep.checker import Session, Unresolved
from warploom_sim.lockstep.ports import CLOCK, RESET, Ports

#: Environment variable with the path of the plan.
PLAN = "WARPLOOM_LOCKSTEP_PLAN"

# GPI's action "put now, without waiting for a read-write phase": what cocotb's Immediate uses.
_NO_DELAY = 3


class Pins:
    """Ports of the top module by name, each with its fastest way in and out.

    cocotb's own value objects cost about ten times as much as the access itself, so this goes to
    the simulator handles below them.
    """

    def __init__(self, dut: Any, ports: Ports, two_state: bool):
        self._writers = {name: _writer(getattr(dut, name)._handle, len(value))
                         for name, value in ports.inputs.items() if len(value)}
        self._readers = [(name, _reader(getattr(dut, name)._handle, len(value), two_state))
                         for name, value in ports.outputs.items() if len(value)]
        self._empty = {name: 0 for name, value in ports.outputs.items() if not len(value)}
        self._written: dict[str, int] = {}

    def write(self, values: dict[str, int]) -> None:
        """Apply the inputs that changed."""
        written = self._written
        for name, write in self._writers.items():
            value = values[name]
            if written.get(name) != value:
                write(value)
        self._written = values

    def read(self) -> dict[str, int]:
        """Return all outputs."""
        values = dict(self._empty)
        for name, read in self._readers:
            values[name] = read()
        return values


def _writer(handle: Any, width: int) -> Callable[[int], None]:
    if width <= 31:
        put = handle.set_signal_val_int
        return lambda value: put(_NO_DELAY, value)
    put_bits = handle.set_signal_val_binstr
    return lambda value: put_bits(_NO_DELAY, f"{value:0{width}b}")


def _reader(handle: Any, width: int, two_state: bool) -> Callable[[], int]:
    if two_state and width <= 31:
        read_long: Callable[[], int] = handle.get_signal_val_long
        return read_long
    read_bits: Callable[[], str] = handle.get_signal_val_binstr

    def read() -> int:
        bits = read_bits()
        try:
            return int(bits, 2)
        except ValueError:
            return Unresolved(bits)
    return read


@cocotb.test()
async def lockstep(dut: Any) -> None:
    """Run the planned cases and write their outcomes beside the plan."""
    plan = json.loads(Path(os.environ[PLAN]).read_text())
    session = Session([Case.from_json(case) for case in plan["cases"]])
    pins = Pins(dut, session.ports, plan["two_state"])
    # A component without registers has neither clock nor reset.
    clock, reset = (
        _writer(getattr(dut, name)._handle, 1) if hasattr(dut, name) else _ignore
        for name in (CLOCK, RESET)
    )
    half = 1
    rst = None
    # Let time 0 pass: a value put before Icarus has run its first assignments leaves some of them
    # at X for ever.
    await Timer(half, "ns")
    while (checker := session.current) is not None:
        clock(0)
        pins.write(checker.inputs)
        if checker.rst != rst:
            rst = checker.rst
            reset(rst)
        await Timer(half, "ns")
        session.step(pins.read())
        clock(1)
        await Timer(half, "ns")
    outcomes = [outcome.to_json() for outcome in session.outcomes]
    Path(plan["outcomes"]).write_text(json.dumps(outcomes))


def _ignore(value: int) -> None:
    """Stand in for a port that the component does not have."""
