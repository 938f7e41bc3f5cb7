"""What KernelQueue knows of each stream in each cycle, a bit a stream."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom_spec import Config

#: Cycles behind a release in which `tried` is cleared, too: longer than a cancel that did not know
#: of the release can be late.
_AGAIN = 6


class QueueStates(wiring.Component):
    """Keep a bit a stream of what choice and preemption ask in each cycle.

    Rules 16, 17, 22, 23 and 26 of ``docs/launch/kernel_queue.md``. A set wins over a clear, but
    an event's clear of `ready` over a cancel's set.

    Parameters
    ----------
    config : Config
        ``stream_bits``, ``priority_bits``.
    """

    chosen: Signal
    sets_ready: Signal
    clears_ready: Signal
    sets_live: Signal
    clears_live: Signal
    passes: Signal
    ends: Signal
    accepts: Signal
    priority: Signal
    enters: Signal
    returns: Signal
    starts: Signal
    frees: Signal
    ready: Signal
    live: Signal
    resident: Signal
    stuck: Signal
    tried: Signal

    def __init__(self, config: Config) -> None:
        streams = 1 << config.stream_bits
        super().__init__(
            {
                # One-hot: the event's stream, and what it does.
                "chosen": In(streams),
                "sets_ready": In(1),
                "clears_ready": In(1),
                "sets_live": In(1),
                "clears_live": In(1),
                "passes": In(1),
                "ends": In(1),
                "accepts": In(1),
                "priority": In(config.priority_bits),
                # One-hot: the head that enters preparation, is cancelled there, starts.
                "enters": In(streams),
                "returns": In(streams),
                "starts": In(streams),
                # Something is released, or made.
                "frees": In(1),
                # Registers.
                "ready": Out(streams),
                "live": Out(streams),
                "resident": Out(streams),
                "stuck": Out(streams),
                "tried": Out(streams),
                "priorities": Out(config.priority_bits).array(streams),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        streams = len(self.chosen)

        def at(event: Signal) -> Signal:
            found = Signal(streams, name=f"{event.name}_of")
            m.d.comb += found.eq(self.chosen & event.replicate(streams))
            return found

        passes = at(self.passes)
        frees = Signal(_AGAIN)
        m.d.sync += frees.eq(frees << 1 | self.frees)
        again = Signal(name="again")
        m.d.comb += again.eq(self.frees | frees.any())
        m.d.sync += [
            self.ready.eq(
                ((self.ready | self.returns) & ~at(self.clears_ready) & ~self.enters)
                | at(self.sets_ready)
            ),
            self.live.eq((self.live & ~at(self.clears_live)) | at(self.sets_live)),
            self.resident.eq((self.resident & ~at(self.ends)) | self.starts),
            self.stuck.eq((self.stuck & ~passes & ~self.starts) | self.returns),
            self.tried.eq((self.tried & ~passes & ~again.replicate(streams)) | self.returns),
        ]
        for s in range(streams):
            with m.If(self.accepts & self.chosen[s]):
                m.d.sync += self.priorities[s].eq(self.priority)
        return m
