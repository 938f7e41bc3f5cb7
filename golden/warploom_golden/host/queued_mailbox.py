"""Cycle model of Mailbox with stream queues: version 2 of the host's map."""

from collections.abc import Mapping

from warploom_golden.host.mailbox import Mailbox, Verdict
from warploom_spec import queue_packets
from warploom_spec.config import Config
from warploom_spec.host_errors import HostError
from warploom_spec.queue_host import (
    WAIT_WORDS,
    QueueHostOpcode,
    mask_words,
    queued_launch_words,
)
from warploom_spec.queue_packets import FIRST_WAIT_WORD, QueueOpcode

#: What a command asks of KernelQueue, by the host's opcode.
_ASKS = {
    QueueHostOpcode.PREEMPT: QueueOpcode.PREEMPT,
    QueueHostOpcode.RESUME: QueueOpcode.RESUME,
    QueueHostOpcode.ABORT_STREAMS: QueueOpcode.ABORT_STREAMS,
}
#: The word with the mask: the argument of its ``FIELD_RANGE``.
_MASK_WORD = 1
_COUNT_LOW = 16


class QueuedMailbox(Mailbox):
    """Cycle model of Mailbox with ``stream_queues``.

    Ports and rules: ``docs/host/stream_queues.md``, beside those of ``docs/host/mailbox.md``.

    Parameters
    ----------
    config : Config
        Sections, units and cores of a unit; widths of a launch.
    """

    _stop_ready = "abort__ready"

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._waits = config.launch_waits
        self._descriptor = queue_packets.queued_launch(config)
        self._launch_answer = queue_packets.queue_answer(config)
        self._launch_words = queued_launch_words(config)
        self._mask_words = mask_words(config)
        self._command = queue_packets.queue_command(config)
        self._stop = queue_packets.launch_abort(config)
        self._stop_answer = queue_packets.queue_code(config)

    def reset(self) -> None:
        """Clear everything but the task registers."""
        super().reset()
        #: The section whose command is at ``command`` in this cycle, and in the one before.
        self._commanding: int | None = None
        self._commanded: int | None = None
        self._completed = False

    def _launch_outputs(self, number: int | None) -> dict[str, int | None]:
        """Rules 8, 9, 9a, 15a and 16; ``number``: the section whose command is handed on."""
        values = super()._launch_outputs(number)
        values["abort__valid"] = values.pop("stop__valid")
        values["abort__payload"] = values.pop("stop__payload")
        return values | {"command": self._pack_command(), "completed": int(self._completed)}

    def _pack_command(self) -> int:
        """Rule 9a: what is at ``command`` in this cycle."""
        if self._commanding is None:
            return 0
        opcode = self._asks(self._commanding)
        assert opcode is not None
        mask = self._mask(self._commanding)
        return self._command.pack({"valid": 1, "opcode": int(_ASKS[opcode]), "mask": mask})

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge; everything is judged by the state before it."""
        before = [section.doorbell for section in self._sections]
        commanding, self._commanding = self._commanding, None
        super().tick(inputs)
        self._commanded = commanding
        after = (section.doorbell for section in self._sections)
        self._completed = any(
            rung and not rings for rung, rings in zip(before, after, strict=True)
        )  # 15a

    # Serving

    def _asks(self, number: int) -> QueueHostOpcode | None:
        """Return a section's command if it is one that version 2 adds."""
        opcode = self._head.unpack(self._tasks[number])["opcode"]
        return QueueHostOpcode(opcode) if opcode in list(QueueHostOpcode) else None

    def _mask(self, number: int) -> int:
        return self._mask_words.unpack(self._tasks[number])["mask"]

    def _verdict(self, number: int, missing: int) -> Verdict | None:
        """Rule 5, with (f) for a mask of streams."""
        if self._asks(number) is None:
            return super()._verdict(number, missing)
        if number < self._config.units and self._disconnected[number]:
            return Verdict(HostError.DISCONNECTED)
        mask = self._mask(number)
        if not mask or mask >> (1 << self._config.stream_bits):
            return Verdict(HostError.FIELD_RANGE, _MASK_WORD)
        return None

    def _serve(self, number: int, missing: int) -> None:
        """Rules 5 to 9a: complete a section's command, or note what it waits for."""
        if self._asks(number) is None or self._verdict(number, missing) is not None:
            super()._serve(number, missing)
            return
        self._sections[number].awaits = True
        self._commanding = number

    def _too_large(self, number: int) -> int | None:
        """Rule 5 (f): return the first word with a value that this configuration does not have."""
        values = self._launch_words.unpack(self._tasks[number])
        words = [
            self._launch_words.by_name[field.name].word
            for field in self._descriptor.fields
            if not field.name.startswith("wait") and values[field.name] >> field.bits
        ]
        for pair in range(WAIT_WORDS):
            beyond = values[f"wait{pair}_stream"] >> self._config.stream_bits
            if values["flags"] >> pair & 1 and (pair >= self._waits or beyond):
                words.append(FIRST_WAIT_WORD + pair)
        return min(words, default=None)

    # The launch path

    def _launch(self, number: int) -> int:
        """Rule 8: return the packed ``queued_launch``; of a pair's stream the low bits."""
        values = dict(self._launch_words.unpack(self._tasks[number]))
        streams = (1 << self._config.stream_bits) - 1
        for pair in range(self._waits):
            values[f"wait{pair}_valid"] = values["flags"] >> pair & 1
            values[f"wait{pair}_stream"] &= streams
        names = [field.name for field in self._descriptor.fields]
        return self._descriptor.pack({name: values[name] for name in names})

    def _pack_stop(self, ticket: int) -> int:
        return self._stop.pack({"ticket": ticket})

    def _take_launch_path_answers(self, inputs: Mapping[str, int]) -> None:
        """Rules 10 to 11a: a launch, an abort, and the command of the cycle before."""
        launch = self._launch_answer.unpack(inputs["launch_answer"])
        if launch["valid"]:
            outcome = {
                "ERROR": launch["code"] | launch["argument"] << 16,
                "RESULT0": launch["ticket"],
                "RESULT1": launch["count"] << _COUNT_LOW,
            }
            self._answered.append((self._launched.popleft(), outcome))
        abort = self._stop_answer.unpack(inputs["abort_answer"])
        if abort["valid"]:
            self._answered.append((self._aborting.popleft(), {"ERROR": abort["code"]}))
        command = self._stop_answer.unpack(inputs["command_answer"])
        if command["valid"]:
            assert self._commanded is not None, "an answer without a command in the cycle before"
            self._answered.append((self._commanded, {"ERROR": command["code"]}))
