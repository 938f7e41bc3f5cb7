"""Which head is prepared next: the highest priority, and of one priority each in turn."""

from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.bits import any_up_to, number_of
from warploom_spec import Config


class HeadChoice(wiring.Component):
    """Choose a head in two cycles, and offer it until it is taken or may not be asked any more.

    Rules 20 and 21 of ``docs/launch/kernel_queue.md``.

    Parameters
    ----------
    config : Config
        ``stream_bits``, ``priority_bits``.
    """

    asks: Signal
    empties: Signal
    serving: Signal
    served: Signal
    enters: Signal
    chosen: Signal
    stream: Signal
    offered: Signal

    def __init__(self, config: Config) -> None:
        streams = 1 << config.stream_bits
        super().__init__(
            {
                # Streams that may be asked, and their priorities.
                "asks": In(streams),
                "priorities": In(config.priority_bits).array(streams),
                # Preparation is empty at the end of this cycle.
                "empties": In(1),
                # The engine serves an event of a stream.
                "serving": In(1),
                "served": In(config.stream_bits),
                # The chosen head enters preparation; one-hot and number of its stream: registers.
                "enters": Out(1),
                "chosen": Out(streams),
                "stream": Out(config.stream_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        ports: Any = self
        streams = len(self.asks)
        best = Signal.like(ports.priorities[0], name="best")
        best_then = Signal.like(best, name="best_then")
        of_best = Cat(self.asks[s] & (ports.priorities[s] == best) for s in range(streams))
        with m.If(self.asks.any()):
            m.d.sync += best.eq(self._highest(m))

        above, low, high, some_high = (
            Signal(streams, name="behind_last"),
            Signal(streams, name="all_asked"),
            Signal(streams, name="behind_asked"),
            Signal(name="some_behind"),
        )
        chooses, offers, begins, good, given_up = (
            Signal(name=name) for name in ("chooses", "offers", "begins", "good", "given_up")
        )
        m.d.comb += [
            good.eq((self.chosen & self.asks).any() & (best_then == best)),
            given_up.eq(offers & ~good),
            begins.eq(~chooses & (~offers | given_up)),
            self.enters.eq(
                offers & good & self.empties & ~(self.serving & (self.served == self.stream))
            ),
        ]
        found = Signal(streams, name="found")
        m.d.comb += found.eq(of_best)
        with m.If(begins):
            m.d.sync += [
                low.eq(found),
                high.eq(found & above),
                some_high.eq((found & above).any()),
                best_then.eq(best),
            ]
        m.d.sync += [
            chooses.eq(begins & found.any()),
            offers.eq(chooses | (offers & ~self.enters & ~given_up)),
        ]
        asked = Mux(some_high, high, low)
        up_to = Signal(streams, name="up_to")
        first = Signal(streams, name="first")
        m.d.comb += [up_to.eq(any_up_to(asked)), first.eq(asked & ~Cat(C(0, 1), up_to[:-1]))]
        with m.If(chooses):
            m.d.sync += [
                self.chosen.eq(first),
                self.stream.eq(number_of(first)),
                above.eq(Cat(C(0, 1), up_to[:-1])),
            ]
        return m

    def _highest(self, m: Module) -> Signal:
        """Return the highest priority that is asked."""
        ports: Any = self
        highest: Signal = Signal.like(ports.priorities[0], name="highest")
        for priority in range(1, 1 << len(highest)):
            has = Cat(
                self.asks[s] & (ports.priorities[s] == priority) for s in range(len(self.asks))
            )
            with m.If(has.any()):
                m.d.comb += highest.eq(priority)
        return highest
