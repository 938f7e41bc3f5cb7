"""Cycle model of TaskUnits: the models of bus port, mailbox and units, wired together."""

from collections.abc import Mapping

from warploom_golden.host.bus_port import BusPort
from warploom_golden.host.execution_unit import ExecutionUnit
from warploom_golden.host.mailbox import Mailbox
from warploom_spec.config import Config

#: Ports of a unit that lead to its cores.
CORE_INPUTS = (
    "start__ready",
    "arrived",
    "failed",
    "failure",
    "result__payload",
    "result__valid",
)
CORE_OUTPUTS = (
    "start__valid",
    "start__payload",
    "code",
    "arguments",
    "result__ready",
    "release",
    "cancel",
)

Ports = dict[str, int | None]


class TaskUnits:
    """Cycle model of TaskUnits.

    Ports of each part: ``docs/host/bus_port.md``, ``mailbox.md`` and ``execution_unit.md``. Every
    wire between two parts carries a registered output but ``write_refused``, which follows from
    BusPort's ``write``.

    Parameters
    ----------
    config : Config
        Sections, units, cores and the time-out.
    """

    def __init__(self, config: Config):
        self._port = BusPort(config)
        self._mailbox = Mailbox(config, launches=False)
        self._units = [ExecutionUnit(config) for _ in range(config.units)]

    def reset(self) -> None:
        """Reset all parts."""
        self._port.reset()
        self._mailbox.reset()
        for unit in self._units:
            unit.reset()

    def outputs(self, inputs: Mapping[str, int]) -> Ports:
        """Return the outputs of this cycle."""
        port, units = self._port.outputs({}), self._unit_outputs()
        mailbox = self._mailbox.outputs(self._mailbox_inputs(inputs, port, units))
        values = {name: value for name, value in port.items() if name.startswith("axil__")}
        values |= {"refused": port["refused"], "disconnected": mailbox["disconnected"]}
        for name in ("busy", "missing"):
            values[name] = together(units, name)
        for number, unit in enumerate(units):
            values |= {f"cores__{number}__{name}": unit[name] for name in CORE_OUTPUTS}
        return values

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge; every part sees the outputs of this cycle."""
        port, units = self._port.outputs({}), self._unit_outputs()
        mailbox_inputs = self._mailbox_inputs(inputs, port, units)
        mailbox = self._mailbox.outputs(mailbox_inputs)
        # BusPort looks at `answer` in the cycle after a read alone.
        answers = {name: mailbox[name] or 0 for name in ("write_refused", "answer")}
        self._port.tick({**inputs, **answers})
        self._mailbox.tick(mailbox_inputs)
        for number, unit in enumerate(self._units):
            unit_inputs = {name: inputs[f"cores__{number}__{name}"] for name in CORE_INPUTS}
            unit_inputs["run"] = mailbox[f"run__{number}"] or 0
            unit_inputs["reset"] = inputs["unit_reset"] >> number & 1
            unit.tick(unit_inputs)

    def _unit_outputs(self) -> list[Ports]:
        return [unit.outputs({}) for unit in self._units]

    def _mailbox_inputs(
        self, inputs: Mapping[str, int], port: Ports, units: list[Ports]
    ) -> dict[str, int]:
        values = {name: port[name] or 0 for name in ("write", "read")}
        values |= {"missing": together(units, "missing"), "unit_reset": inputs["unit_reset"]}
        for number, unit in enumerate(units):
            values[f"done__{number}"] = unit["done"] or 0
            values[f"result__{number}"] = unit["word"] or 0
        return values


def together(units: list[Ports], name: str) -> int:
    """Return a bit of each unit as one word, unit 0 lowest."""
    return sum((unit[name] or 0) << number for number, unit in enumerate(units))
