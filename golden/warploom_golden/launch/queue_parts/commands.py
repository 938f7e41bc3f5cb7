"""PREEMPT, RESUME and ABORT_STREAMS (5)."""

from typing import NamedTuple

from warploom_golden.launch.queue_parts.parts import Parts
from warploom_spec.errors import ErrorCode
from warploom_spec.host_errors import HostError
from warploom_spec.queue import QueueCode
from warploom_spec.queue_packets import QueueOpcode


class Command(NamedTuple):
    """A command that transfers, as it is judged.

    Attributes
    ----------
    opcode, mask : int
        The command.
    code : int
        Its answer.
    """

    opcode: QueueOpcode
    mask: int
    code: int

    @property
    def resumed(self) -> int:
        """Streams that it resumes."""
        return self.mask if self.opcode is QueueOpcode.RESUME and not self.code else 0


def judge(parts: Parts, payload: int) -> Command:
    """Judge a command by the state of the cycle in which it transfers."""
    fields = parts.packets.command.unpack(payload)
    opcode = QueueOpcode(min(fields["opcode"], QueueOpcode.ABORT_STREAMS))
    return Command(opcode, fields["mask"], _code(parts, opcode, fields["mask"]))


def _code(parts: Parts, opcode: QueueOpcode, mask: int) -> int:
    if parts.walk.closed:
        return HostError.RESET
    if opcode is QueueOpcode.PREEMPT:
        if parts.preempts.pending:
            return QueueCode.PREEMPT_PENDING
        return ErrorCode.OK if parts.kept.records_left else ErrorCode.COMPLETION_FULL
    if opcode is QueueOpcode.RESUME and not parts.flags.held & mask:
        return QueueCode.NOT_PREEMPTED
    return ErrorCode.OK


def act(parts: Parts, command: Command, clock: int) -> None:
    """Let a command act; the cycle's walk and PREEMPT were stepped."""
    if command.code:
        parts.pulses.command_answer = parts.packets.code(command.code)
        return
    if command.opcode is QueueOpcode.ABORT_STREAMS:
        parts.walk.begin(command.mask, aborts=True)
        return
    if command.opcode is QueueOpcode.PREEMPT:
        parts.flags.held |= command.mask
        parts.kept.places -= 1
        parts.preempts.accept(parts.cycle, command.mask, clock)
    else:
        parts.flags.held &= ~command.mask
    parts.pulses.command_answer = parts.packets.code(ErrorCode.OK)
