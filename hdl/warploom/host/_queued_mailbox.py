"""Mailbox of version 2 of the host's map: commands for streams, launches that wait."""

from typing import Any

from amaranth.hdl import C, Cat, Module, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from warploom.host._launch_answers import LaunchAnswers
from warploom.host._verdict import Verdict
from warploom.host.mailbox import Mailbox
from warploom.lib.bits import before
from warploom_spec import queue_packets
from warploom_spec.host_commands import Opcode
from warploom_spec.host_map import OFFSETS
from warploom_spec.queue_host import QueueHostOpcode, mask_words, queued_launch_words
from warploom_spec.queue_packets import WAIT_BITS
from warploom_spec.word_layout import WordLayout


class QueuedMailbox(Mailbox):
    """Mailbox before QueuedLaunchPath (``docs/host/stream_queues.md``).

    Parameters
    ----------
    config : Config
        ``sections``, ``units``, ``cores_per_unit``, widths of a launch.
    """

    command: "data.View[data.StructLayout]"
    command_answer: "data.View[data.StructLayout]"
    abort: stream.Interface
    abort_answer: "data.View[data.StructLayout]"
    completed: Signal

    _KEPT_BITS = 32 + WAIT_BITS
    _queues = True

    def _launch_path_ports(self) -> dict[str, Any]:
        config = self._config
        code = queue_packets.queue_code(config).layout()
        return {
            # A launch, one cycle after its doorbell's write commits.
            "launch": Out(queue_packets.queued_launch(config).layout()),
            "launch_valid": Out(1),
            # Pulses: the doorbell of the oldest section that waits for this answer is 0 two cycles
            # later.
            "launch_answer": In(queue_packets.queue_answer(config).layout()),
            # A command for streams, two cycles after its doorbell's write commits. A register.
            "command": Out(queue_packets.queue_command(config).layout()),
            # A cycle after the command.
            "command_answer": In(code),
            # An abort, three cycles after its doorbell's write commits, at the earliest.
            "abort": Out(stream.Signature(queue_packets.launch_abort(config).layout())),
            "abort_answer": In(code),
            # A section completed in the cycle before. A register.
            "completed": Out(1),
        }

    @property
    def _aborts(self) -> tuple[Any, Any]:
        return self.abort, self.abort_answer

    @property
    def _kept_answer(self) -> Any:
        return Cat(self.launch_answer.ticket, self.launch_answer["count"])

    def _answered(self, waits: LaunchAnswers) -> tuple[Signal, ...]:
        return *super()._answered(waits), waits.commanded

    def _tell(self, m: Module, completes: Value) -> None:
        m.d.sync += self.completed.eq(completes.any())

    def _layouts(self) -> dict[int, WordLayout]:
        masks = dict.fromkeys(QueueHostOpcode, mask_words(self._config))
        return super()._layouts() | {Opcode.LAUNCH: queued_launch_words(self._config)} | masks

    def _launched_fields(self, launch: Any) -> dict[str, Value]:
        names = [field.name for field in queue_packets.queued_launch(self._config).present]
        flags = {f"wait{k}_valid": launch.flags[k] for k in range(self._config.launch_waits)}
        return {name: flags[name] if name in flags else launch[name] for name in names}

    def _send(
        self, m: Module, ringing: Value, number: Signal, judged: Signal, verdict: Verdict
    ) -> LaunchAnswers:
        waits = super()._send(m, ringing, number, judged, verdict)
        words: Any = data.View(mask_words(self._config).layout(), judged)
        command: Any = self.command
        m.d.comb += [
            waits.commands.eq(ringing & verdict.commands),
            waits.command_answer.eq(self.command_answer),
        ]
        m.d.sync += [
            command.valid.eq(waits.commands),
            command.opcode.eq(verdict.opcode),
            command.mask.eq(words.mask),
        ]
        return waits

    def _explain_answers(self, m: Module, waits: LaunchAnswers) -> list[tuple[Value, Value, Value]]:
        code = before(m, "new_command_code", self.command_answer.code)
        return [
            *super()._explain_answers(m, waits),
            (self._explained(m, waits.commanded), before(m, "command_code", code), C(0, 1)),
        ]

    def _kept_words(self, m: Module, kept: Value, is_ticket: Value, offset: Value) -> list[Value]:
        inside, _, _ = self._address(self.read.address)
        is_count = before(m, "is_count", inside & (offset == OFFSETS["RESULT1"] // 4))
        count = kept[32:] & is_count.replicate(WAIT_BITS)
        return [
            *super()._kept_words(m, kept[:32], is_ticket, offset),
            before(m, "shown_count", Cat(C(0, 32 - WAIT_BITS), count)),
        ]
