"""Cycle models of the host's side: bus port, mailbox, execution units."""

from warploom_golden.host.bus_port import BusPort
from warploom_golden.host.execution_unit import ExecutionUnit
from warploom_golden.host.front_end import FrontEnd
from warploom_golden.host.host_registers import HostRegisters
from warploom_golden.host.loop_expander import LoopExpander
from warploom_golden.host.mailbox import Mailbox
from warploom_golden.host.task_units import TaskUnits

__all__ = [
    "BusPort",
    "ExecutionUnit",
    "FrontEnd",
    "HostRegisters",
    "LoopExpander",
    "Mailbox",
    "TaskUnits",
]
