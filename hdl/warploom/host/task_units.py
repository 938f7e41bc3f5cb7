"""Bus port, mailbox and execution units as one core: a host drives units over AXI4-Lite."""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom.host.bus_port import BusPort, axil_signature
from warploom.host.execution_unit import ExecutionUnit, cores_signature
from warploom.host.mailbox import Mailbox
from warploom_spec import Config


class TaskUnits(wiring.Component):
    """A host's doorbells in front of execution units.

    Parameters
    ----------
    config : Config
        ``sections``, ``units``, ``cores_per_unit``, ``core_timeout``.
    """

    axil: Any
    cores: Any
    unit_reset: Signal
    busy: Signal
    missing: Signal
    disconnected: Signal
    refused: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        units = config.units
        super().__init__(
            {
                # The host.
                "axil": In(axil_signature(config)),
                # Each unit's port to its cores.
                "cores": Out(cores_signature(config)).array(units),
                # A unit is reset in this cycle.
                "unit_reset": In(units),
                # Each unit's state.
                "busy": Out(units),
                "missing": Out(units),
                "disconnected": Out(units),
                # Refused accesses; wraps.
                "refused": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        config = self._config
        m.submodules.bus_port = port = BusPort(config)
        m.submodules.mailbox = mailbox = Mailbox(config, launches=False)
        wiring.connect(m, wiring.flipped(self.axil), port.axil)
        m.d.comb += [
            mailbox.write.eq(port.write),
            port.write_refused.eq(mailbox.write_refused),
            mailbox.read.eq(port.read),
            port.answer.eq(mailbox.answer),
            mailbox.missing.eq(self.missing),
            mailbox.unit_reset.eq(self.unit_reset),
            self.disconnected.eq(mailbox.disconnected),
            self.refused.eq(port.refused),
        ]
        for k in range(config.units):
            unit = ExecutionUnit(config)
            m.submodules[f"unit_{k}"] = unit
            connect_unit(m, k, unit, mailbox, self.cores[k])
            m.d.comb += [
                unit.reset.eq(self.unit_reset[k]),
                self.busy[k].eq(unit.busy),
                self.missing[k].eq(unit.missing),
            ]
        return m


def connect_unit(m: Module, k: int, unit: ExecutionUnit, mailbox: Mailbox, port: Any) -> None:
    """Put a unit between the mailbox's ports of number ``k`` and its cores."""
    wiring.connect(m, unit.cores, wiring.flipped(port))
    m.d.comb += [
        unit.run.eq(mailbox.run[k]),
        mailbox.done[k].eq(unit.done),
        mailbox.error[k].eq(unit.error),
        mailbox.result[k].eq(unit.result),
    ]
