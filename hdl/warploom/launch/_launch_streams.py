"""What LaunchPath knows of streams and final records: who may be accepted."""

from typing import Any

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom_spec import Config, ErrorCode, timing
from warploom_spec.errors import ERROR_CODE_BITS


class StreamState(wiring.Signature):
    """A stream is broken, or mended, at the end of this cycle; of the same stream the break wins.

    Members: ``breaks`` and ``broken``, the stream; ``mends`` and ``mended``, the stream.
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
    kept : str, optional
        Clock domain of the number of reserved records.

    Attributes
    ----------
    stream, priority : In
        The launch that asks.
    lost : In(sms)
        SMs that are lost.
    queue_full : In(1)
        The waiting queue is full.
    refused : Out(1)
        It is refused (combinational, on the state).
    refusal : Out
        The first code that refuses it, or 0. Later than ``refused``.
    accept : In(1)
        It is accepted in this cycle.
    record, record_stream : In
        A launch of that stream ends in this cycle.
    taken : In(1)
        A final record is taken in this cycle.
    state : In(StreamState)
        Streams that are broken or mended.
    no_sm : Out(1)
        Every SM was lost in the last cycle.
    """

    stream: Signal
    priority: Signal
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

    def __init__(self, config: Config, *, kept: str = "sync") -> None:
        bits = config.stream_bits
        self._config = config
        self._kept = kept
        super().__init__(
            {
                "stream": In(bits),
                "priority": In(config.priority_bits),
                "lost": In(config.sms),
                "queue_full": In(1),
                "refused": Out(1),
                "refusal": Out(ERROR_CODE_BITS),
                "accept": In(1),
                "record": In(1),
                "record_stream": In(bits),
                "taken": In(1),
                "state": In(StreamState(config)),
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
        with m.If(self.accept):
            m.d.sync += priority[self.stream].eq(self.priority)
        for n in streams:
            rises = self.accept & (self.stream == n)
            ends = self.record & (self.record_stream == n)
            m.d.sync += busy[n].eq(rises | (busy[n] & ~(ends & (unfinished[n] == 1))))
            _count(m, unfinished[n], rises, ends)
            with m.If(state.breaks & (state.broken == n)):
                m.d.sync += broken[n].eq(1)
            with m.Elif(state.mends & (state.mended == n)):
                m.d.sync += broken[n].eq(0)
        _count(m, reserved, self.accept, self.taken, domain=self._kept)

        # Judged for each stream first: the launch's stream number is late and only selects.
        others = Array(busy[n] & (priority[n] != self.priority) for n in streams)
        stops = Array(others[n] | broken[n] for n in streams)
        no_place = self.queue_full | (reserved == places)
        m.d.comb += self.refused.eq(stops[self.stream] | self.no_sm | no_place)
        other = others[self.stream]
        waits = Mux(self.queue_full, ErrorCode.QUEUE_FULL, ErrorCode.OK)
        full = Mux(reserved == places, ErrorCode.COMPLETION_FULL, waits)
        lost = Mux(self.no_sm, ErrorCode.NO_SM, full)
        refused = Mux(broken[self.stream], ErrorCode.STREAM_BROKEN, lost)
        m.d.sync += self.no_sm.eq(self.lost.all())
        m.d.comb += self.refusal.eq(Mux(other, ErrorCode.STREAM_PRIORITY, refused))
        return m


def _count(m: Module, counter: Signal, up: Value, down: Value, *, domain: str = "sync") -> None:
    """Let a counter go one up and one down; ``up`` comes late and only enables it."""
    with m.If(up ^ down):
        m.d[domain] += counter.eq(counter + Cat(C(1, 1), down.replicate(len(counter) - 1)))
