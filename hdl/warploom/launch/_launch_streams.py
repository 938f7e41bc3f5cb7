"""What LaunchPath knows of streams and final records: who may be accepted."""

from typing import Any

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom_spec import Config, ErrorCode, timing
from warploom_spec.errors import ERROR_CODE_BITS


class StreamState(wiring.Signature):
    """A stream is broken, or mended, at the end of this cycle; of the same stream the break wins.

    Members, all registers: ``breaks`` and ``broken``, the stream; ``mends`` and ``mended``, the
    stream.
    """

    def __init__(self, config: Config) -> None:
        super().__init__(
            {
                "breaks": Out(1),
                "broken": Out(config.stream_bits),
                "mends": Out(1),
                "mended": Out(config.stream_bits),
            }
        )


class LaunchStreams(wiring.Component):
    """Count each stream's unfinished launches, remember broken streams, judge a newcomer.

    Parameters
    ----------
    config : Config
        Number of streams and SMs.
    persistent_domain : str, optional
        Clock domain of the number of reserved records.
    """

    next_stream: Signal
    next_priority: Signal
    lost: Signal
    queue_full: Signal
    refused: Signal
    refusal: Signal
    accept: Signal
    record: Signal
    record_stream: Signal
    taken: Signal
    state: Any
    no_sm: Signal

    def __init__(self, config: Config, *, persistent_domain: str = "sync") -> None:
        bits = config.stream_bits
        self._config = config
        self._persistent_domain = persistent_domain
        super().__init__(
            {
                # The launch that asks in the next cycle.
                "next_stream": In(bits),
                "next_priority": In(config.priority_bits),
                # SMs that are lost.
                "lost": In(config.sms),
                # The waiting queue is full.
                "queue_full": In(1),
                # The launch that asks in this cycle is refused (on the state).
                "refused": Out(1),
                # The first code that refuses it, or 0. Later than `refused`.
                "refusal": Out(ERROR_CODE_BITS),
                # It is accepted in this cycle.
                "accept": In(1),
                # A launch of that stream ended in the cycle before.
                "record": In(1),
                "record_stream": In(bits),
                # A final record was taken in the cycle before.
                "taken": In(1),
                # Streams that are broken or cleared.
                "state": In(StreamState(config)),
                # Every SM was lost in the last cycle.
                "no_sm": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the block."""
        del platform
        m = Module()
        places = timing(self._config).end_records
        streams = range(1 << self._config.stream_bits)
        unfinished = Array(Signal(range(places + 1), name=f"unfinished_{n}") for n in streams)
        priority = Array(Signal(self._config.priority_bits, name=f"priority_{n}") for n in streams)
        broken = Array(Signal(name=f"broken_{n}") for n in streams)
        busy = Array(Signal(name=f"busy_{n}") for n in streams)
        reserved = Signal(range(places + 1))

        state = self.state
        # The launch that asks in this cycle.
        stream = Signal.like(self.next_stream, name="stream")
        own_priority = Signal.like(self.next_priority, name="own_priority")
        m.d.sync += [stream.eq(self.next_stream), own_priority.eq(self.next_priority)]
        breaks = Array(Signal(name=f"broken_next_{n}") for n in streams)
        for n in streams:
            own = Signal(name=f"own_{n}")
            m.d.sync += own.eq(self.next_stream == n)
            rises = self.accept & own
            ends = self.record & (self.record_stream == n)
            with m.If(rises):
                m.d.sync += priority[n].eq(own_priority)
            m.d.sync += busy[n].eq(rises | (busy[n] & ~(ends & (unfinished[n] == 1))))
            _count(m, unfinished[n], rises, ends)
            m.d.comb += breaks[n].eq(broken[n])
            with m.If(state.breaks & (state.broken == n)):
                m.d.comb += breaks[n].eq(1)
            with m.Elif(state.mends & (state.mended == n)):
                m.d.comb += breaks[n].eq(0)
            m.d.sync += broken[n].eq(breaks[n])
        _count(m, reserved, self.accept, self.taken, domain=self._persistent_domain)
        no_place = Signal()
        with m.If(self.accept ^ self.taken):
            m.d[self._persistent_domain] += no_place.eq(self.accept & (reserved == places - 1))

        # Judged one cycle ahead, on the next state: `accept` is late and only selects.
        others = Array(busy[n] & (priority[n] != self.next_priority) for n in streams)
        lasts = Array(unfinished[n] == 1 for n in streams)
        idle = self.record & (self.record_stream == self.next_stream) & lasts[self.next_stream]
        follows = self.accept & (stream == self.next_stream)
        differs = own_priority != self.next_priority
        other = Signal()
        is_broken = Signal()
        stopped = Signal()
        other_next = Mux(follows, differs, others[self.next_stream] & ~idle)
        m.d.sync += [
            other.eq(other_next),
            is_broken.eq(breaks[self.next_stream]),
            stopped.eq(other_next | breaks[self.next_stream] | self.lost.all()),
            self.no_sm.eq(self.lost.all()),
        ]
        m.d.comb += self.refused.eq(stopped | self.queue_full | no_place)
        waits = Mux(self.queue_full, ErrorCode.QUEUE_FULL, ErrorCode.OK)
        full = Mux(no_place, ErrorCode.COMPLETION_FULL, waits)
        lost = Mux(self.no_sm, ErrorCode.NO_SM, full)
        refused = Mux(is_broken, ErrorCode.STREAM_BROKEN, lost)
        m.d.comb += self.refusal.eq(Mux(other, ErrorCode.STREAM_PRIORITY, refused))
        return m


def _count(m: Module, counter: Signal, up: Value, down: Value, *, domain: str = "sync") -> None:
    """Let a counter go one up and one down; ``up`` comes late and only enables it."""
    with m.If(up ^ down):
        m.d[domain] += counter.eq(counter + Cat(C(1, 1), down.replicate(len(counter) - 1)))
