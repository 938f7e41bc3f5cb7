"""Cycle model of FrontEnd with stream queues: version 2 of the host's map."""

from warploom_golden.host.front_end import FrontEnd, Inputs, Ports
from warploom_golden.host.host_registers import HostRegisters
from warploom_golden.host.queued_mailbox import QueuedMailbox
from warploom_golden.launch import QueuedLaunchPath
from warploom_spec import queue_packets
from warploom_spec.config import Config


class QueuedFrontEnd(FrontEnd):
    """Cycle model of FrontEnd with ``stream_queues``.

    Wires: ``docs/host/stream_queues.md``, beside those of ``docs/host/front_end.md``.

    Parameters
    ----------
    config : Config
        As for the blocks.
    """

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._registers = HostRegisters(config, stream_queues=True)
        self._mailbox = QueuedMailbox(config)
        self._launch_path = QueuedLaunchPath(config)
        self._completion_queue = None
        self._stream = queue_packets.queue_stream(config)

    def _path_answers(self, path: Ports) -> Inputs:
        """Return what the mailbox hears of QueuedLaunchPath."""
        return {
            "launch_answer": path["answer"] or 0,
            "command_answer": path["command_answer"] or 0,
            "abort_answer": path["abort_answer"] or 0,
            "abort__ready": path["abort__ready"] or 0,
        }

    def _record_inputs(self, path: Ports, queue: Ports, mailbox: Ports) -> Inputs:
        """Return what HostRegisters hears of final records, of the clock and of commands."""
        del queue
        values = {name: path[name] or 0 for name in ("oldest", "records", "clock")}
        return values | {"completed": mailbox["completed"] or 0}

    def _queue_inputs(self, path: Ports, registers: Ports) -> Inputs:
        """There is no CompletionQueue: QueuedLaunchPath keeps the records."""
        del path, registers
        return {}

    def _stop_inputs(self, registers: Ports, mailbox: Ports, queue: Ports) -> Ports:
        """Return QueuedLaunchPath's inputs of commands, streams and records."""
        del queue
        valid = registers["clear_stream_valid"] or 0
        stream = (registers["clear_stream"] or 0) if valid else 0
        return {
            "command": mailbox["command"],
            "abort__valid": mailbox["abort__valid"],
            "abort__payload": mailbox["abort__payload"],
            "clear_stream": self._stream.pack({"valid": valid, "stream": stream}),
            "launch_timeout": registers["launch_timeout"],
            "pop": registers["pop"],
        }
