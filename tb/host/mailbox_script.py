"""Inputs of a mailbox cycle by cycle, and what its reads gave."""

from tb.host.accesses import ByCycle, recorded
from tb.host.commands import a_read, a_write

#: Inputs that are 0 where a test does not name them.
SILENT = (
    "done__0",
    "error__0",
    "result__0",
    "launch_answer",
    "abort_answer",
    "command_answer",
    "missing",
    "unit_reset",
    "soft_reset_active",
    "clearing",
    # Of loops: without them no block has these.
    "step",
    "loop_result",
)
#: Inputs that are 1, or all ones, where a test does not name them.
OPEN = {
    "abort__ready": 1,
    "command__ready": 1,
    "launch__ready": 1,
    "records_left": 1,
    "room": 0b1111,
}


def play(box, cycles=24, **ports):
    """Run a mailbox; ``write`` and ``read`` are given by the cycle of commit and of sampling."""
    idle = dict.fromkeys(SILENT, 0)
    idle |= {name: value for name, value in OPEN.items() if name not in ports}
    return recorded(box, ByCycle(idle, ports), cycles)


def command(section, task, start=0):
    """Return writes by cycle: a word of the task register a cycle, then the doorbell."""
    words = [a_write(section, name, data) for name, data in task.items()]
    writes = [*words, a_write(section, "DOORBELL", 1)]
    return dict(enumerate(writes, start))


def reads(section, name, cycles):
    return dict.fromkeys(cycles, a_read(section, name))
