"""A host that follows a script, and the books of what came of it."""

from collections.abc import Iterable
from typing import Any

from tb.preemption.ledger import Books, Machine, Ticket
from warploom_golden.oracles.index_reference import warps
from warploom_golden.preemption import KernelQueue, PreemptionModel
from warploom_golden.replay.event_constants import NEVER
from warploom_spec import Config, LaunchDescriptor, capacities, preset
from warploom_spec.resources import block_amounts

TINY = preset("tiny")
WAIT = 3
LOG = 4096


def kernel(number: int, blocks: int, cycles: int, **fields: Any) -> LaunchDescriptor:
    """Return a launch of small blocks; number and cycles decide how long they are."""
    small = {"block": (8, 1, 1), "warp_registers": 1, "shared": 1}
    return LaunchDescriptor(grid=(blocks, 1, 1), code=number, arguments=cycles, **(small | fields))


class Script:
    """Send commands in given cycles, or as soon as a port takes them.

    A command is (cycle, name of KernelQueue's method, argument).

    ``answers``: (cycle, name, argument, what was answered). The host takes records at once, or
    never.
    """

    def __init__(self, commands: Iterable[tuple[int, str, Any]], takes_records: bool = True):
        self._commands = sorted(commands, key=lambda command: command[0])
        self._takes = takes_records
        self.answers: list[tuple[int, str, Any, Any]] = []

    @property
    def wake(self) -> int:
        return self._commands[0][0] if self._commands else NEVER

    def step(self, cycle: int, queue: KernelQueue) -> None:
        due = [command for command in self._commands if command[0] <= cycle]
        # Two ports: a launch and another command in one cycle, at most.
        for port in (True, False):
            command = next((each for each in due if (each[1] == "launch") == port), None)
            if command is not None:
                self._commands.remove(command)
                _, name, argument = command
                answer = getattr(queue, name)(argument)
                self.answers.append((cycle, name, argument, answer))
        while self._takes and queue.take_record():
            pass

    def tickets(self, name: str) -> list[int]:
        return [answer[0] for _, called, _, answer in self.answers if called == name and answer[0]]


def run(
    commands: Iterable[tuple[int, str, Any]], config: Config = TINY, **settings: Any
) -> tuple[PreemptionModel, Script]:
    """Run a script to its end."""
    model, script = PreemptionModel(config, log=LOG, **settings), Script(commands)
    model.run(script)
    return model, script


def books(model: PreemptionModel, script: Script, config: Config = TINY) -> Books:
    """Return what the ledger must know of a run."""
    machine = Machine(
        config.sms,
        config.block_slots,
        tuple(capacities(config).values())[1:],
    )
    tickets = []
    closed = []
    for cycle, name, argument, answer in script.answers:
        if name == "launch" and answer[0]:
            tickets.append(_ticket(answer[0], cycle, argument, config))
        if name == "preempt" and answer[0]:
            later = (
                c
                for c, n, a, what in script.answers
                if (n, a, what) == ("resume", argument, (0, 0)) and c > cycle
            )
            recorded = next(r.cycle for r in model.queue.records if r.ticket == answer[0])
            closed.append((argument, cycle, max(min(later, default=NEVER), recorded)))
    return Books(
        machine,
        tickets,
        [tuple(row) for row in model.offers.T.tolist()],
        [tuple(row) for row in model.reports.T.tolist()],
        [(r.cycle, r.ticket, int(r.fate)) for r in model.queue.records],
        script.tickets("preempt"),
        closed,
        model.dispatcher.lost,
    )


def _ticket(ticket: int, cycle: int, launch: LaunchDescriptor, config: Config) -> Ticket:
    x, y, z = launch.grid
    return Ticket(
        ticket,
        x * y * z,
        launch.stream,
        launch.priority,
        bool(launch.idempotent),
        launch.mode == WAIT,
        block_amounts(vars(launch), warps(launch.block, config.warp_size))[1:],
        cycle,
        bool(launch.after_previous),
    )
