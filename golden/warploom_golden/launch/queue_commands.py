"""PREEMPT, RESUME and ABORT_STREAMS in KernelQueue's cycle model."""

from collections.abc import Mapping

from warploom_golden.launch.queue_cycle import Cycle
from warploom_golden.launch.queue_launch import Launch, Preempt
from warploom_golden.launch.queue_packing import Packets
from warploom_golden.launch.queue_state import State
from warploom_spec.errors import ErrorCode
from warploom_spec.host_errors import HostError
from warploom_spec.queue import QueueCode
from warploom_spec.queue_packets import QueueOpcode


class Command:
    """The command of one cycle, judged on its state (55).

    Parameters
    ----------
    packets : Packets
        Packs outputs.
    state : State
        The registers.
    cycle : Cycle
        The cycle.
    inputs : mapping
        Its inputs.
    full : bool
        No record can be promised to a PREEMPT (56).

    Attributes
    ----------
    code : int
        What it is answered with, if there is one.
    """

    def __init__(
        self,
        packets: Packets,
        state: State,
        cycle: Cycle,
        inputs: Mapping[str, int],
        *,
        full: bool,
    ):
        fields = packets.command.unpack(inputs["command"])
        self._packets = packets
        self._state = state
        self._clock = inputs["clock"]
        self._valid = bool(fields["valid"])
        self._opcode = fields["opcode"]
        self._mask = fields["mask"]
        self._streams = [number for number in range(len(state.streams)) if self._names(number)]
        self.code = self._judge(full)
        self._resuming = [n for n in range(len(state.streams)) if cycle.resumes(n)]
        self._wakes = [number for number in self._streams if state.streams[number].held]
        self._meets = self._met(cycle)
        #: Of each stream the launches that ABORT_STREAMS meets: started ones, and the tail.
        self._marks = [launch for n in self._streams for launch in state.streams[n].started]
        self._tails = {
            number: state.streams[number].waiting[-1]
            for number in self._streams
            if state.streams[number].waiting
        }

    def _names(self, number: int) -> bool:
        return bool(self._mask >> number & 1)

    def _met(self, cycle: Cycle) -> list[Launch]:
        """Return the launches that a PREEMPT of this cycle meets (56)."""
        found = self._state.on_the_way()
        if cycle.chosen is not None:
            found.append(cycle.chosen[0])
        return [
            launch
            for launch in found
            if self._names(launch.stream) and launch is not cycle.taken_back
        ]

    def _judge(self, full: bool) -> int:
        if self._state.closed:
            return HostError.RESET
        if self._opcode == QueueOpcode.PREEMPT:
            if self._state.preempt is not None:
                return QueueCode.PREEMPT_PENDING
            return ErrorCode.COMPLETION_FULL if full else ErrorCode.OK
        if self._opcode == QueueOpcode.RESUME:
            held = any(self._state.streams[number].held for number in self._streams)
            return ErrorCode.OK if held else QueueCode.NOT_PREEMPTED
        return ErrorCode.OK

    def _is_done(self, opcode: QueueOpcode) -> bool:
        code = max(QueueOpcode) if self._opcode > max(QueueOpcode) else QueueOpcode(self._opcode)
        return self._valid and self.code == ErrorCode.OK and code is opcode

    @property
    def preempts(self) -> bool:
        """Whether a PREEMPT is accepted."""
        return self._is_done(QueueOpcode.PREEMPT)

    def make(self) -> None:
        """Change the state, behind all that moves in the cycle."""
        streams = self._state.streams
        if self._is_done(QueueOpcode.RESUME):
            for number in self._wakes:
                streams[number].resuming = True
        for number in self._resuming:
            streams[number].held = streams[number].resuming = False
        if self._state.closed:
            for stream in streams:
                stream.resuming = False
        if self.preempts:
            self._preempt()
        if self._is_done(QueueOpcode.ABORT_STREAMS):
            self._abort_streams()
        self._state.command_answer = self._packets.code(self.code) if self._valid else 0

    def _preempt(self) -> None:
        """Rule 56."""
        self._state.preempt = Preempt(self._mask, self._clock)
        for number in self._streams:
            self._state.streams[number].held = True
        for launch in self._meets:
            launch.met = True

    def _abort_streams(self) -> None:
        """Rule 60."""
        for launch in self._marks:
            launch.marked = True
        for number, tail in self._tails.items():
            stream = self._state.streams[number]
            if tail in stream.waiting:
                stream.boundary = tail
        in_places = [launch for launch in self._state.places if launch is not None]
        ended = [self._state.ended.launch] if self._state.ended is not None else []
        for launch in in_places + ended:
            if self._names(launch.stream):
                launch.aborted = True
