"""A host of the event model with streams as queues, which follows a script."""

from dataclasses import replace
from typing import Any

from tb.preemption.script import TINY, kernel
from warploom_golden.preemption.streams import EventQueue, QueuedModel, SentLaunch
from warploom_golden.preemption.streams.stopped_dispatcher import StoppedDispatcher
from warploom_golden.replay.event_constants import NEVER
from warploom_golden.replay.event_dispatcher import SmBehaviour
from warploom_spec import Config
from warploom_spec.queue_packets import QueueOpcode

LOG = 1 << 14
OPCODES = {
    "preempt": QueueOpcode.PREEMPT,
    "resume": QueueOpcode.RESUME,
    "abort_streams": QueueOpcode.ABORT_STREAMS,
}


class QueuedScript:
    """Send launches and commands in given cycles.

    ``pops``: as long as it is True, a record is popped in the first cycle in which it is shown;
    otherwise the script pops. What is refused for lack of room is not sent again.
    """

    def __init__(self, pops: bool = True):
        self._given: dict[int, list[tuple[str, Any]]] = {}
        self._pops = pops
        self.sent: list[tuple[int, SentLaunch]] = []
        self.commands: list[tuple[int, str, Any]] = []
        self.rooms: dict[int, list[bool]] = {}
        self.popped: list[int] = []

    def at(self, cycle: int, name: str, argument: Any = None) -> "QueuedScript":
        self._given.setdefault(cycle, []).append((name, argument))
        return self

    def planned(self, cycle: int) -> list[tuple[str, Any]]:
        """Return what is to be sent in a cycle."""
        return self._given.get(cycle, [])

    def launch(self, cycle: int, stream: int, *waits: Any, **fields: Any) -> "QueuedScript":
        """Let a launch transfer; without more said it has one block, of ``length`` cycles."""
        blocks, code = fields.pop("blocks", 1), fields.pop("code", 0)
        length = fields.pop("length", 11)
        grid = fields.pop("grid", (blocks, 1, 1))
        descriptor = replace(kernel(code, 1, length, stream=stream, **fields), grid=grid)
        return self.at(cycle, "launch", SentLaunch(descriptor, waits))

    @property
    def wake(self) -> int:
        return min(self._given, default=NEVER)

    def step(self, cycle: int, queue: EventQueue) -> None:
        for name, argument in self._given.pop(cycle, ()):
            self.commands.append((cycle, name, argument))
            if name == "launch":
                queue.send(argument)
                self.sent.append((cycle, argument))
            elif name in OPCODES:
                queue.command(OPCODES[name], argument)
            elif name == "look":
                self.rooms[cycle] = [queue.room(n) for n in range(4)]
            elif name == "timeout":
                queue.launch_timeout = argument
            elif name == "pop":
                self._pop(cycle, queue)
            elif name == "abort" and not queue.takes_abort:
                self.commands.pop()
                self.at(cycle + 1, name, argument)
            else:
                getattr(queue, name)(argument)
        assert not self._given or min(self._given) > cycle
        if self._pops and queue.has_record:
            self._pop(cycle, queue)

    def _pop(self, cycle: int, queue: EventQueue) -> None:
        self.popped.append(cycle)
        queue.pop()


class EvenDispatcher(StoppedDispatcher):
    """Blocks take as many cycles as their launch's ``arguments`` say."""

    def _make_ready(self, number: int) -> None:
        super()._make_ready(number)
        self._lengths[:] = self._launches[number].arguments


def run(
    script: QueuedScript,
    config: Config = TINY,
    *,
    until: int = NEVER,
    even: bool = False,
    **settings: Any,
) -> QueuedModel:
    """Run a script to its end."""
    model = QueuedModel(config, log=LOG, **settings)
    if even:
        model.dispatcher.__class__ = EvenDispatcher
    model.run(script, until)
    return model


def slow(time: int, **more: Any) -> SmBehaviour:
    """Return SMs that take some cycles to report a killed block."""
    return SmBehaviour(report_time=time, **more)
