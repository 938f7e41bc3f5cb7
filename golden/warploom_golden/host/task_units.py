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
    "barrier_open",
    "cancel",
)

Ports = dict[str, int | None]


class TaskUnits:
    """Cycle model of TaskUnits.

    Ports of each part: ``docs/host/bus_port.md``, ``mailbox.md`` and ``execution_unit.md``. Of the
    outputs only the mailbox's ``run`` depends on another part in the same cycle, on ``missing``.

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
            values |= outputs_to_cores(number, unit)
        return values

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge; every part sees the outputs of this cycle."""
        port, units = self._port.outputs({}), self._unit_outputs()
        mailbox_inputs = self._mailbox_inputs(inputs, port, units)
        mailbox = self._mailbox.outputs(mailbox_inputs)
        # BusPort looks at each only when the mailbox gives it.
        answers = {name: mailbox[name] or 0 for name in ("write_refused", "answer")}
        self._port.tick({**inputs, **answers})
        self._mailbox.tick(mailbox_inputs)
        for number, unit in enumerate(self._units):
            unit_inputs = inputs_from_cores(number, inputs)
            unit_inputs["run"] = mailbox[f"run__{number}"] or 0
            unit_inputs["reset"] = inputs["unit_reset"] >> number & 1
            unit.tick(unit_inputs)

    def _unit_outputs(self) -> list[Ports]:
        return [unit.outputs({}) for unit in self._units]

    def _mailbox_inputs(
        self, inputs: Mapping[str, int], port: Ports, units: list[Ports]
    ) -> dict[str, int]:
        values = {name: port[name] or 0 for name in ("write", "read")}
        return values | {"unit_reset": inputs["unit_reset"]} | words_of_units(units)


def inputs_from_cores(number: int, inputs: Mapping[str, int]) -> dict[str, int]:
    """Return what a unit hears of its cores; ``inputs``: those of the whole."""
    return {f"cores__{name}": inputs[f"cores__{number}__{name}"] for name in CORE_INPUTS}


def outputs_to_cores(number: int, unit: Ports) -> Ports:
    """Return the outputs of the whole that lead to a unit's cores."""
    return {f"cores__{number}__{name}": unit[f"cores__{name}"] for name in CORE_OUTPUTS}


def words_of_units(units: list[Ports]) -> dict[str, int]:
    """Return what the mailbox hears of the units."""
    values = {"missing": together(units, "missing")}
    for number, unit in enumerate(units):
        values |= {f"{name}__{number}": unit[name] or 0 for name in ("done", "error", "result")}
    return values


def together(units: list[Ports], name: str) -> int:
    """Return a bit of each unit as one word, unit 0 lowest."""
    return sum((unit[name] or 0) << number for number, unit in enumerate(units))
