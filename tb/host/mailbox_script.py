"""Inputs of a mailbox cycle by cycle, and what its reads gave."""

from tb.host.commands import ANSWER, a_read, a_write
from tb.support.record import record


class Script:
    """Inputs by cycle: everything that is not named is 0."""

    def __init__(self, **ports):
        silent = ("write", "read", "done__0", "result__0", "launch_answer", "stop_answer")
        self._ports = dict.fromkeys(silent, {}) | ports
        self._cycle = 0

    def next(self, outputs):
        del outputs
        values = {name: by_cycle.get(self._cycle, 0) for name, by_cycle in self._ports.items()}
        self._cycle += 1
        return {"missing": 0, "unit_reset": 0, "closed": 0, "stop__ready": 1} | values


def play(box, cycles=24, **ports):
    return record(box, Script(**ports), cycles)


def command(section, task, start=0):
    """Return writes by cycle: a word of the task register a cycle, then the doorbell."""
    words = [a_write(section, name, data) for name, data in task.items()]
    writes = [*words, a_write(section, "DOORBELL", 1)]
    return dict(enumerate(writes, start))


def reads(section, name, cycles):
    return dict.fromkeys(cycles, a_read(section, name))


def answers(seen):
    """Return what each read gave, by the cycle of the read: data, or None if it was refused."""
    found = {}
    for cycle in seen.cycles("read"):
        answer = ANSWER.unpack(seen.port("answer")[cycle + 1])
        found[cycle] = None if answer["refused"] else answer["data"]
        assert not (answer["refused"] and answer["data"])
    return found
