"""Runs whose time is over: the streams are visited in turn."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.rows import Rows
from warploom_spec import Config

_LIMIT_BITS = 32


class RunTimes(wiring.Component):
    """Count the visits of each run, and name one that has had its limit.

    Rule 19 of ``docs/launch/kernel_queue.md``. The grain is a turn of all streams. An END wins
    over a LATE of its stream.

    Parameters
    ----------
    config : Config
        ``stream_bits``.
    """

    limit: Signal
    resident: Signal
    begun: Signal
    hold: Signal
    yields: Signal
    starts: Signal
    ends: Signal
    ended: Signal
    picked: Signal
    visited: Signal
    late: Signal
    late_stream: Signal

    def __init__(self, config: Config) -> None:
        streams = 1 << config.stream_bits
        super().__init__(
            {
                # Cycles that a run may take; 0 is no limit.
                "limit": In(_LIMIT_BITS),
                # Levels of each stream; one-hot: a launch that starts.
                "resident": In(streams),
                "begun": In(streams),
                "hold": In(streams),
                "yields": In(streams),
                "starts": In(streams),
                # An END in its last step, and its stream; the LATE is picked.
                "ends": In(1),
                "ended": In(config.stream_bits),
                "picked": In(1),
                # One-hot: whose turn it is. Registers, as all outputs.
                "visited": Out(streams, init=1),  # type: ignore[call-arg]  # no init in the stubs
                "late": Out(1),
                "late_stream": Out(config.stream_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        streams, bits = len(self.resident), len(self.late_stream)
        # One more bit: a rest below 0.
        rest_bits = _LIMIT_BITS - bits + 1
        rests = Rows(m, "rests", rest_bits, streams)
        turn, turn_then, fresh = (
            Signal(bits, name="turn"),
            Signal(bits, name="turn_then"),
            Signal(streams, name="fresh"),
        )
        runs, goes, limited, ended_then = (
            Signal(name=name) for name in ("runs", "goes", "limited", "ended_then")
        )
        rest, limit = Signal(rest_bits, name="rest"), Signal(rest_bits, name="limit_of_visits")
        m.d.sync += [
            turn.eq(turn + 1),
            turn_then.eq(turn),
            self.visited.eq(Cat(self.visited[-1], self.visited[:-1])),
            # Without a limit no run has a rest: the first limit counts from its visit on.
            fresh.eq((fresh & ~self.visited) | self.starts | (~limited).replicate(streams)),
            runs.eq((self.visited & self.begun & self.resident & ~fresh).any()),
            goes.eq((self.visited & ~self.hold & ~self.yields).any()),
            rest.eq(rests.now(turn)),
            limit.eq(self.limit[bits:]),
            limited.eq(self.limit.any()),
            ended_then.eq(self.ends),
        ]
        rests.write(1, turn_then, Mux(runs, rest - goes, limit)[:rest_bits])
        with m.If(self.picked | (self.ends & (self.ended == self.late_stream))):
            m.d.sync += self.late.eq(0)
        with m.If(runs & rest[-1] & limited & ~self.late & ~self.ends & ~ended_then):
            m.d.sync += [self.late.eq(1), self.late_stream.eq(turn_then)]
        return m
