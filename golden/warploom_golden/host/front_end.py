"""Cycle model of FrontEnd: the models of its blocks, wired together as the page says."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_

from warploom_golden.host.bus_port import BusPort
from warploom_golden.host.execution_unit import ExecutionUnit
from warploom_golden.host.host_registers import HostRegisters
from warploom_golden.host.loop_expander import LoopExpander
from warploom_golden.host.mailbox import Mailbox
from warploom_golden.host.task_units import (
    inputs_from_cores,
    outputs_to_cores,
    together,
    words_of_units,
)
from warploom_golden.launch import LaunchPath
from warploom_golden.sm_side import IndexReadArbiter
from warploom_spec import host_packets
from warploom_spec.config import Config
from warploom_spec.resources import STALL_CAUSES

Ports = dict[str, int | None]
Inputs = dict[str, int]

#: What HostRegisters shows of LaunchPath, under the same names.
PATH_STATE = (
    "lost",
    "dispatch_error",
    "dispatch_error_count",
    "index_error",
    "index_error_count",
    *(f"stall_{cause}" for cause in STALL_CAUSES),
)
#: What all SMs see of LaunchPath.
TO_SMS = ("block", "words", "offer", "kill")
PARTS = ("payload", "valid")
#: What the mailbox sends to LaunchPath, as streams.
SENT = ("launch", "command", "abort")
#: A cycle in which no SM reads indices. Data that were read are always taken.
NOTHING_COMES = {"read__valid": 0, "read__payload": 0, "data__ready": 1}
#: What LoopExpander hears of the launch path, under the same names.
TO_LOOPS = "room", "records_left", "loop_end"
#: AXI4-Lite's channels, and what the host drives of them.
BUS_INPUTS = (
    *(f"axil__{name}__{part}" for name in ("aw", "w", "ar") for part in ("payload", "valid")),
    *(f"axil__{name}__ready" for name in ("b", "r")),
)


@dataclass(frozen=True)
class Cycle:
    """Inputs of each block, and outputs of the whole, in one cycle."""

    bus_port: Inputs
    units: list[Inputs]
    registers: Inputs
    mailbox: Inputs
    loops: Inputs
    read_arbiter: Inputs
    launch_path: Inputs
    outputs: Ports


class FrontEnd:
    """Cycle model of FrontEnd.

    Wires and their order: ``docs/host/front_end.md``. Outputs that a block takes from a later one
    are states of registers.

    Parameters
    ----------
    config : Config
        As for the blocks.
    first_ticket, first_clock : int, optional
        The first launch's ticket and the clock's first value, for tests of their wraps.
    """

    def __init__(
        self,
        config: Config,
        *,
        first_ticket: int = 1,
        first_clock: int = 0,
    ):
        self._config = config
        self._answer = host_packets.bus_answer(config)
        self._bus_port = BusPort(config)
        self._units = [ExecutionUnit(config) for _ in range(config.units)]
        self._registers = HostRegisters(config)
        self._mailbox = Mailbox(config)
        self._loops = LoopExpander(config) if config.has_loops else None
        self._read_arbiter = IndexReadArbiter(config) if config.makes_indices else None
        self._launch_path = LaunchPath(
            config,
            first_ticket=first_ticket,
            first_clock=first_clock,
        )
        # A new model is in its cycle 0: `rst` was 1 for two cycles or more.
        self._rst_before = True
        #: The cycle before this one was the last but one of a soft reset that is forced.
        self._forced_before = False
        #: Cycles, this one included, in which the sections refuse what they have forgotten.
        self._forgotten = 0
        #: Inputs of this cycle, and what follows from them, once it was asked for.
        self._known: tuple[Inputs, Cycle] | None = None

    def reset(self) -> None:
        """Reset BusPort; the other blocks are reset at the end of the next cycle."""
        self._bus_port.reset()
        self._known = None
        self._rst_before = True

    def _reset_core(self) -> None:
        """Reset all blocks but BusPort and HostRegisters."""
        for unit in self._units:
            unit.reset()
        self._mailbox.reset()
        if self._loops is not None:
            self._loops.reset()
        if self._read_arbiter is not None:
            self._read_arbiter.reset()
        self._launch_path.reset()

    def outputs(self, inputs: Mapping[str, int]) -> Ports:
        """Return the outputs of this cycle."""
        return self._cycle(inputs).outputs

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge; every block sees the outputs of this cycle."""
        cycle, self._known = self._cycle(inputs), None
        self._bus_port.tick(cycle.bus_port)
        for unit, unit_inputs in zip(self._units, cycle.units, strict=True):
            unit.tick(unit_inputs)
        forced = bool(self._registers.outputs({})["forced_next"])
        self._registers.tick(cycle.registers)
        self._mailbox.tick(cycle.mailbox)
        if self._loops is not None:
            self._loops.tick(cycle.loops)
        if self._read_arbiter is not None:
            self._read_arbiter.tick(cycle.read_arbiter)
        self._launch_path.tick(cycle.launch_path)
        if self._rst_before:
            self._registers.reset()
        if self._rst_before or self._forced_before:
            self._reset_core()
        self._forgotten = max(0, self._forgotten - 1)
        if self._forced_before:
            self._forgotten = 3
        if self._rst_before:
            self._forgotten = 0
        self._rst_before, self._forced_before = False, forced

    def _cycle(self, inputs: Mapping[str, int]) -> Cycle:
        """Return what follows from a cycle's inputs: it is followed once for the same ones."""
        if self._known is None or self._known[0] != inputs:
            self._known = dict(inputs), self._follow(inputs)
        return self._known[1]

    def _follow(self, inputs: Mapping[str, int]) -> Cycle:
        """Follow the cycle's values from block to block, in the order of the page."""
        port = self._bus_port.outputs({})
        units = [unit.outputs({}) for unit in self._units]
        accesses = {name: port[name] or 0 for name in ("write", "read")}
        registers = self._registers.outputs({})
        control = {
            "unit_reset": registers["unit_reset"] or 0,
            "soft_reset_active": registers["soft_reset_active"] or 0,
        }
        # What comes changes no output of the launch path in the same cycle.
        path = self._launch_path.outputs(NOTHING_COMES)
        mailbox_inputs = accesses | words_of_units(units) | control | self._path_says(path)
        mailbox_inputs["clearing"] = registers["clearing"] or 0
        loops = self._loops.outputs({}) if self._loops is not None else {}
        if loops:
            mailbox_inputs |= {"step": loops["step"] or 0, "loop_result": loops["result"] or 0}
        mailbox = self._mailbox.outputs(mailbox_inputs)
        arbiter_inputs, arbiter = self._reads(inputs, control["soft_reset_active"], path)
        path_inputs = self._path_inputs(inputs, registers, mailbox, arbiter)
        idle = path["idle"] and not mailbox["waiting"] and arbiter["idle"]
        return Cycle(
            bus_port={name: inputs[name] for name in BUS_INPUTS}
            | self._bus_answers(registers, mailbox, *([loops] if loops else ())),
            units=[
                inputs_from_cores(k, inputs)
                | {"run": mailbox[f"run__{k}"] or 0, "reset": control["unit_reset"] >> k & 1}
                for k in range(len(units))
            ],
            registers=accesses
            | {name: path[name] or 0 for name in PATH_STATE if name in path}
            | self._path_to_registers(path)
            | {"completed": mailbox["completed"] or 0}
            | {"refused": port["refused"] or 0, "disconnected": mailbox["disconnected"] or 0}
            | {name: together(units, name) for name in ("busy", "missing")}
            | {f"strays__{k}": unit["strays"] or 0 for k, unit in enumerate(units)}
            | {"idle": int(bool(idle))},
            mailbox=mailbox_inputs,
            loops=self._to_loops(accesses, registers, path, mailbox) if loops else {},
            read_arbiter=arbiter_inputs,
            launch_path=path_inputs,
            outputs=self._collect(port, registers, units, arbiter, path),
        )

    def _path_says(self, path: Ports) -> Inputs:
        """Return what the mailbox hears of the launch path."""
        answers = {f"{name}_answer" for name in ("command", "abort")}
        heard = (*answers, *(f"{name}__ready" for name in SENT), "room", "records_left")
        return {name: path[name] or 0 for name in heard} | {"launch_answer": path["answer"] or 0}

    def _to_loops(self, accesses: Inputs, registers: Ports, path: Ports, mailbox: Ports) -> Inputs:
        """Return LoopExpander's inputs."""
        values = {name: path[name] for name in TO_LOOPS}
        values |= {name: mailbox[name] for name in ("begin", "answers")}
        values |= {name: registers[name] for name in ("loop_stop", "soft_reset_active")}
        return accesses | {name: value or 0 for name, value in values.items()}

    def _path_to_registers(self, path: Ports) -> Inputs:
        """Return what HostRegisters hears of records, room, the clock, and of what it asks for."""
        names = ["oldest", "records", "clock", "clear_stream__ready"]
        names += ["order_swap__ready"] * self._config.has_order_table
        room = path["room"] if path["records_left"] else 0
        return {name: path[name] or 0 for name in names} | {"room": room or 0}

    def _reads(self, inputs: Mapping[str, int], closing: int, path: Ports) -> tuple[Inputs, Ports]:
        """Return inputs and outputs of the read arbiter.

        Without an index memory there is no arbiter, and no read that a soft reset waits for.
        """
        if self._read_arbiter is None:
            return {}, {"idle": 1}
        values = {
            f"request__{n}__{part}": inputs[f"read__{n}__{part}"]
            for n in range(self._config.sms)
            for part in PARTS
        }
        values |= {"soft_reset_active": closing, "answered": path["data__valid"] or 0}
        values["read__ready"] = path["read__ready"] or 0
        return values, self._read_arbiter.outputs(values)

    def _path_inputs(
        self,
        inputs: Mapping[str, int],
        registers: Ports,
        mailbox: Ports,
        arbiter: Ports,
    ) -> Inputs:
        """Return the launch path's inputs."""
        values: Ports = {
            "tables": 0,
            "enable": registers["enable"],
            "soft_reset_active": registers["soft_reset_active"],
            "restart": registers["restart"],
            "launch_timeout": registers["launch_timeout"],
            "pop": registers["pop"],
            **{f"{name}__{part}": mailbox[f"{name}__{part}"] for name in SENT for part in PARTS},
        }
        asks = ["clear_stream"] + ["order_swap"] * self._config.has_order_table
        for name in asks:
            values |= {f"{name}__{part}": registers[f"{name}__{part}"] for part in PARTS}
        if self._read_arbiter is not None:
            values |= {f"read__{part}": arbiter[f"read__{part}"] for part in PARTS}
            values["data__ready"] = 1
        from_sms = [f"report__{n}__{part}" for n in range(self._config.sms) for part in PARTS]
        return {name: value or 0 for name, value in values.items()} | {
            name: inputs[name] for name in from_sms
        }

    def _bus_answers(self, *blocks: Ports) -> Inputs:
        """Return what BusPort hears: an access is refused if all blocks refuse it.

        BusPort looks at ``write_refused`` and ``answer`` only when all blocks give one. The first
        one is HostRegisters: it alone forgets nothing.
        """
        # All others refuse what they have forgotten.
        knowing = blocks[:1] if self._forgotten else blocks
        read = [self._answer.unpack(block["answer"] or 0) for block in knowing]
        answer = {
            "refused": int(all(said["refused"] for said in read)),
            "data": reduce(or_, (said["data"] for said in read)),
        }
        refused = all(block["write_refused"] for block in knowing)
        return {"write_refused": int(refused), "answer": self._answer.pack(answer)}

    def _collect(
        self, port: Ports, registers: Ports, units: list[Ports], arbiter: Ports, path: Ports
    ) -> Ports:
        """Return the outputs of the whole."""
        values = {name: value for name, value in port.items() if name.startswith("axil__")}
        values |= {"irq": registers["irq"], **{name: path[name] for name in TO_SMS}}
        if self._read_arbiter is not None:
            values |= {"data": path["data__payload"], "data_valid": arbiter["data_valid"]}
            for n in range(self._config.sms):
                values[f"read__{n}__ready"] = arbiter[f"request__{n}__ready"]
        for n in range(self._config.sms):
            values[f"report__{n}__ready"] = path[f"report__{n}__ready"]
        for k, unit in enumerate(units):
            values |= outputs_to_cores(k, unit)
        return values
