"""The host's side: bus port, doorbell mailbox, execution units."""

from warploom.host.bus_port import BusPort
from warploom.host.execution_unit import ExecutionUnit
from warploom.host.front_end import FrontEnd
from warploom.host.host_registers import HostRegisters
from warploom.host.loop_expander import LoopExpander
from warploom.host.mailbox import Mailbox
from warploom.host.task_units import TaskUnits

__all__ = [
    "BusPort",
    "ExecutionUnit",
    "FrontEnd",
    "HostRegisters",
    "LoopExpander",
    "Mailbox",
    "TaskUnits",
]
