"""The way to a running simulator's ports, and the cycle loop over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cocotb.triggers import Timer

from warploom_sim.cosim.lockstep.checker import Session
from warploom_sim.cosim.lockstep.ports import CLOCK, RESET, Ports
from warploom_sim.cosim.lockstep.validity import Unresolved

# GPI's action "put now, without waiting for a read-write phase": what cocotb's Immediate uses.
_NO_DELAY = 3


class Pins:
    """Ports of the top module by name, each with its fastest way in and out.

    cocotb's own value objects cost about ten times as much as the access itself, so this goes to
    the simulator handles below them.

    Parameters
    ----------
    dut : Any
        The top module as cocotb has it.
    ports : Ports
        Which to reach.
    two_state : bool
        Whether the simulator knows 0 and 1 alone.
    """

    def __init__(self, dut: Any, ports: Ports, two_state: bool):
        self._writers = {
            name: writer(getattr(dut, name)._handle, len(value))
            for name, value in ports.inputs.items()
            if len(value)
        }
        self._readers = [
            (name, _reader(getattr(dut, name)._handle, len(value), two_state))
            for name, value in ports.outputs.items()
            if len(value)
        ]
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


def writer(handle: Any, width: int) -> Callable[[int], None]:
    """Return a function that puts a value on a port, by its simulator handle."""
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


async def drive(dut: Any, session: Session, two_state: bool) -> None:
    """Run all cases of a session on the simulator's top module.

    Parameters
    ----------
    dut : cocotb's handle
        The top module.
    session : Session
        What runs there.
    two_state : bool
        Whether the simulator knows 0 and 1 alone.
    """
    pins = Pins(dut, session.ports, two_state)
    # A component without registers has neither clock nor reset.
    clock, reset = (
        writer(getattr(dut, name)._handle, 1) if hasattr(dut, name) else _ignore
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


def _ignore(value: int) -> None:
    """Stand in for a port that the component does not have."""
