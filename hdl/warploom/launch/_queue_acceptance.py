"""KernelQueue's verdict on a launch that leaves LaunchCheck."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal

from warploom.launch._queue_commands import PERSISTENT
from warploom.launch._queue_shapes import QueueShape, any_of, hit
from warploom.launch._queue_streams import QueueStreams
from warploom.lib.bits import lowest_number
from warploom_spec import ErrorCode, timing
from warploom_spec.errors import ERROR_CODE_BITS
from warploom_spec.host_errors import HostError
from warploom_spec.layouts import ARGUMENT_BITS
from warploom_spec.queue_packets import FIRST_WAIT_WORD, WAIT_AHEAD


class QueueAcceptance:
    """Judge a launch; its stream and priority are known from ``sent`` on.

    Attributes
    ----------
    sent, checked : view
        The ports.
    next_sent : view
        The ``sent`` of the launch that is at ``checked`` in the next cycle.
    number, stream, priority : Signal
        Of the launch at ``checked``; stream and priority have one bit each. Registers.
    ahead, full, records_full : Signal
        What refuses it, from other parts.
    accepts, refuses : Signal
        The verdict.
    code, argument : Signal
        Why it is refused.
    """

    def __init__(self, shape: QueueShape, sent: Any, checked: Any) -> None:
        self._shape = shape
        self.sent, self.checked = sent, checked
        self.next_sent: Any = Signal(sent.shape(), name="next_sent")
        self.number = Signal(shape.config.stream_bits, name="checked_number", reset_less=True)
        self.stream = Signal(shape.streams, name="checked_stream", reset_less=True)
        self.priority = Signal(shape.priorities, name="checked_priority", reset_less=True)
        self.priority_number = Signal(
            shape.config.priority_bits, name="checked_priority_number", reset_less=True
        )
        self.ahead = Signal(shape.waits)
        self.full = Signal(name="full")
        self.records_full = Signal()
        self.accepts, self.refuses = Signal(name="accepts"), Signal(name="refuses")
        self.code, self.argument = (
            Signal(ERROR_CODE_BITS, name="code"),
            Signal(ARGUMENT_BITS, name="argument"),
        )

    def build(self, m: Module, streams: QueueStreams) -> None:
        """Add the verdict."""
        self._announce(m)
        its = self.stream
        other = Signal(name="has_other_priority")
        differs = any_of(
            of ^ self.priority_number[k].replicate(self._shape.streams)
            for k, of in enumerate(streams.priority_bits)
        )
        m.d.comb += other.eq(hit(its, streams.unfinished & differs))
        reasons = [
            (streams.closed, HostError.RESET, 0),
            (self.checked.error != 0, self.checked.error, self.checked.argument),
            (self.ahead.any(), WAIT_AHEAD, FIRST_WAIT_WORD + lowest_number(self.ahead))
            if self._shape.waits
            else (0, 0, 0),
            (other, ErrorCode.STREAM_PRIORITY, 0),
            (hit(its, streams.broken), ErrorCode.STREAM_BROKEN, 0),
            (streams.no_sm, ErrorCode.NO_SM, 0),
            (self.records_full, ErrorCode.COMPLETION_FULL, 0),
            (self.full, ErrorCode.QUEUE_FULL, 0),
        ]
        code: Any = 0
        argument: Any = 0
        any_reason = Signal(name="any_reason")
        for reason, its_code, its_argument in reversed(reasons):
            code = Mux(reason, its_code, code)
            argument = Mux(reason, its_argument, argument)
        m.d.comb += [
            any_reason.eq(Cat(reason for reason, _, _ in reasons).any()),
            self.accepts.eq(self.checked.valid & ~any_reason),
            self.refuses.eq(self.checked.valid & any_reason),
            self.code.eq(code),
            self.argument.eq(argument),
        ]

    def _announce(self, m: Module) -> None:
        """Let what was sent follow the launch through LaunchCheck."""
        sent: Any = self.sent
        steps = timing(self._shape.config).launch_check
        for k in range(steps - 1):
            later: Any = Signal(self.sent.shape(), name=f"sent_{k}", reset_less=True)
            m.d[PERSISTENT] += later.eq(sent)
            sent = later
        m.d.comb += self.next_sent.eq(sent)
        m.d[PERSISTENT] += [
            self.number.eq(sent.stream),
            self.priority_number.eq(sent.priority),
            self.stream.eq(Cat(sent.stream == s for s in range(self._shape.streams))),
            self.priority.eq(Cat(sent.priority == p for p in range(self._shape.priorities))),
        ]
