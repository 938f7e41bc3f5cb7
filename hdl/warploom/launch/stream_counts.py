"""Accepted launches, timelines and waiters of each stream."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.rows import Rows
from warploom_spec import Config, queue_packets


class StreamCounts(wiring.Component):
    """Keep for each stream two counts, and which streams' heads wait for it.

    Rules 10, 11, 16 and 17 of ``docs/launch/kernel_queue.md``. A write shows in the next cycle.

    Parameters
    ----------
    config : Config
        ``stream_bits``.
    first_count : int
        The counts after a reset, for tests of their wrap.
    """

    boot: Signal
    stream: Signal
    chosen: Signal
    reads: Signal
    asked: Signal
    accepted_now: Signal
    timeline_now: Signal
    waiters_now: Signal
    accepted: Signal
    timeline: Signal
    waiters: Signal
    accepts: Signal
    passes: Signal
    waits: Signal
    awaited: Signal
    awaited_row: Signal

    def __init__(self, config: Config, first_count: int) -> None:
        self._first_count = first_count
        stream, streams = config.stream_bits, 1 << config.stream_bits
        accepted, timeline = queue_packets.WAIT_BITS, queue_packets.COUNT_BITS
        super().__init__(
            {
                # The boot writes the row of `stream`.
                "boot": In(1),
                # The event's stream, one-hot, too; its step 0.
                "stream": In(stream),
                "chosen": In(streams),
                "reads": In(1),
                # Whose counts are read in this cycle: in step 0 the event's stream.
                "asked": In(stream),
                "accepted_now": Out(accepted),
                "timeline_now": Out(timeline),
                "waiters_now": Out(streams),
                # Those of the event's stream, and one more: from step 1 on.
                "accepted": Out(accepted),
                "timeline": Out(timeline),
                "waiters": Out(streams),
                # A launch is accepted; the head passes; the head waits for a stream.
                "accepts": In(1),
                "passes": In(1),
                "waits": In(1),
                "awaited": In(stream),
                "awaited_row": In(streams),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        depth, boot = len(self.waiters), self.boot
        accepted = Rows(m, "accepted_rows", len(self.accepted), depth)
        timelines = Rows(m, "timeline_rows", len(self.timeline), depth)
        waiters = Rows(m, "waiter_rows", depth, depth)
        m.d.comb += [
            self.accepted_now.eq(accepted.now(self.asked)),
            self.timeline_now.eq(timelines.now(self.asked)),
            self.waiters_now.eq(waiters.now(self.asked)),
        ]
        own_accepted, own_timeline = (
            Signal.like(count, name=f"own_{name}", init=(self._first_count - 1) % (1 << len(count)))
            for name, count in (("accepted", self.accepted), ("timeline", self.timeline))
        )
        with m.If(self.reads):
            m.d.sync += [
                own_accepted.eq(self.accepted_now),
                own_timeline.eq(self.timeline_now),
                self.waiters.eq(self.waiters_now),
            ]
        m.d.comb += [
            self.accepted.eq(own_accepted + 1),
            self.timeline.eq(own_timeline + 1),
        ]
        accepted.write(boot | self.accepts, self.stream, self.accepted)
        timelines.write(boot | self.passes, self.stream, self.timeline)
        waiters.write(
            boot | self.passes | self.waits,
            Mux(self.waits, self.awaited, self.stream),
            (self.awaited_row | self.chosen) & self.waits.replicate(depth),
        )
        return m
