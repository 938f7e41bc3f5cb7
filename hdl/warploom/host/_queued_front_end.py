"""The whole core of version 2 of the host's map: a queue for each stream."""

from typing import Any

from amaranth.hdl import Module, Value
from amaranth.lib import wiring

from warploom.host._queued_mailbox import QueuedMailbox
from warploom.host.front_end import FrontEnd
from warploom.host.host_registers import HostRegisters
from warploom.host.mailbox import Mailbox
from warploom.launch.queued_launch_path import QueuedLaunchPath
from warploom_spec import Config


class QueuedFrontEnd(FrontEnd):
    """FrontEnd with QueuedLaunchPath, and a host that knows it (``docs/host/stream_queues.md``).

    Parameters
    ----------
    config : Config
        As for the parts.
    first_ticket : int, optional
        The first launch's ticket, for tests of the tickets' wrap.
    first_clock : int, optional
        The clock's first value, for tests of its wrap.
    """

    def __init__(self, config: Config, *, first_ticket: int = 1, first_clock: int = 0) -> None:
        self._make(
            config,
            QueuedLaunchPath(config, first_ticket=first_ticket, first_clock=first_clock),
            HostRegisters(config, stream_queues=True),
            QueuedMailbox(config),
        )

    def _add_launch_path(self, m: Module) -> Any:
        self._add(m, "launch_path", self._path)
        return self._path

    def _path_reset(self, registers: HostRegisters) -> dict[str, Value]:
        """Return nothing: QueuedLaunchPath follows ``restart`` itself."""
        del registers
        return {}

    def _launches(self, m: Module, registers: HostRegisters, mailbox: Mailbox) -> None:
        path: Any = self._path
        wiring.connect(m, mailbox.abort, path.abort)
        self._launch(m, mailbox)
        m.d.comb += [
            path.command.eq(mailbox.command),
            mailbox.command_answer.eq(path.command_answer),
            mailbox.abort_answer.eq(path.abort_answer),
            path.clear_stream.stream.eq(registers.clear_stream),
            path.clear_stream.valid.eq(registers.clear_stream_valid),
            registers.completed.eq(mailbox.completed),
            path.launch_timeout.eq(registers.launch_timeout),
            registers.clock.eq(path.clock),
        ]
