"""Commands for a mask of streams, and the walk that goes over one."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from warploom_spec import Config, ErrorCode, queue_packets
from warploom_spec.host_errors import HostError
from warploom_spec.queue import QueueCode
from warploom_spec.queue_packets import QueueOpcode
from warploom_spec.resident_packets import resident_command


class StreamWalk(wiring.Component):
    """Judge PREEMPT and RESUME at once, and lead an ABORT_STREAMS or a purge from stream to stream.

    Rules 5, 9 and 15 of ``docs/launch/kernel_queue.md``. `clear_stream` comes before the walk.

    Parameters
    ----------
    config : Config
        ``stream_bits``.
    """

    closed: Signal
    no_sm: Signal
    records_left: Signal
    pending: Signal
    held: Signal
    picked: Signal
    last: Signal
    preempts: Signal
    preempted: Signal
    resumes: Signal
    wants: Signal
    stream: Signal
    clears: Signal
    aborts: Signal
    walking: Signal
    idle: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        streams = 1 << config.stream_bits
        super().__init__(
            {
                # A command to all streams of its mask; its ready is the block's.
                "command": In(stream.Signature(resident_command(config).layout())),
                # A register.
                "answer": Out(queue_packets.queue_code(config).layout()),
                "clear_stream": In(stream.Signature(config.stream_bits)),
                "closed": In(1),
                "no_sm": In(1),
                "records_left": In(1),
                # A PREEMPT has no record yet; streams held by command.
                "pending": In(1),
                "held": In(streams),
                # A COMMAND is picked; it has its last step.
                "picked": In(1),
                "last": In(1),
                # Streams of an accepted PREEMPT, of a RESUME: in the cycle of the command.
                "preempted": Out(1),
                "preempts": Out(streams),
                "resumes": Out(streams),
                # A COMMAND is wanted, of this stream; the one that is served mends a broken stream,
                # or aborts one.
                "wants": Out(1),
                "stream": Out(config.stream_bits),
                "clears": Out(1),
                "aborts": Out(1),
                # Nothing is accepted meanwhile.
                "walking": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        ports: Any = self
        command, answer = ports.command, ports.answer
        streams = len(self.held)
        purge = Signal(name="purge")
        m.d.comb += [
            command.ready.eq(~self.walking & ~purge),
            self.idle.eq(~self.walking & ~purge),
        ]
        comes, walks = Signal(name="comes"), Signal(name="walks")
        opcode, mask = command.payload.opcode, command.payload.mask
        is_preempt, is_resume = opcode == QueueOpcode.PREEMPT, opcode == QueueOpcode.RESUME
        resumes = Signal(name="may_resume")
        m.d.comb += [
            comes.eq(command.valid & command.ready),
            walks.eq(comes & opcode[1] & ~self.closed),
            self.preempted.eq(
                comes & is_preempt & ~self.closed & ~self.pending & self.records_left
            ),
            self.preempts.eq(mask & self.preempted.replicate(streams)),
            resumes.eq(comes & is_resume & ~self.closed),
            self.resumes.eq(mask & resumes.replicate(streams)),
        ]
        done = self._walk(m, walks, mask, purge)
        m.d.sync += [answer.valid.eq((comes & ~walks) | (done & self.aborts)), answer.code.eq(0)]
        with m.If(comes & self.closed):
            m.d.sync += answer.code.eq(HostError.RESET)
        with m.Elif(comes & is_preempt):
            with m.If(self.pending):
                m.d.sync += answer.code.eq(QueueCode.PREEMPT_PENDING)
            with m.Elif(~self.records_left):
                m.d.sync += answer.code.eq(ErrorCode.COMPLETION_FULL)
        with m.Elif(comes & is_resume & ~(self.held & mask).any()):
            m.d.sync += answer.code.eq(QueueCode.NOT_PREEMPTED)
        return m

    def _walk(self, m: Module, walks: Signal, mask: Any, purge: Signal) -> Signal:
        """Lead the walk; return whether it moves off the last stream."""
        ports: Any = self
        left, at, moves, done = (
            Signal.like(self.held, name="left"),
            Signal.like(self.stream, name="at"),
            Signal(name="moves"),
            Signal(name="done"),
        )
        closed_then, no_sm_then = Signal(name="closed_then"), Signal(name="no_sm_then")
        clear = ports.clear_stream
        m.d.sync += [closed_then.eq(self.closed), no_sm_then.eq(self.no_sm)]
        begins = purge & ~self.walking
        m.d.comb += [
            moves.eq(self.walking & (~left[0] | (self.last & ~self.clears))),
            done.eq(moves & at.all()),
            self.wants.eq(((self.walking & left[0]) | clear.valid) & ~self.last),
            self.stream.eq(Mux(clear.valid, clear.payload, at)),
            clear.ready.eq(self.last & self.clears),
        ]
        with m.If(self.picked):
            m.d.sync += self.clears.eq(clear.valid)
        with m.If(walks | begins):
            m.d.sync += [
                self.walking.eq(1),
                at.eq(0),
                self.aborts.eq(walks),
                left.eq(mask | begins.replicate(len(left))),
            ]
        with m.Elif(moves):
            m.d.sync += [self.walking.eq(~done), at.eq(at + 1), left.eq(left >> 1)]
        with m.If((self.closed & ~closed_then) | (self.no_sm & ~no_sm_then)):
            m.d.sync += purge.eq(1)
        with m.Elif(begins):
            m.d.sync += purge.eq(0)
        return done
