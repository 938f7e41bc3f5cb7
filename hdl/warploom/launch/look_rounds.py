"""Which stream's head is looked at next: all that ask are served before one comes again."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.bits import first_of, number_of
from warploom_spec import Config


class LookRounds(wiring.Component):
    """Choose a stream whose head is to be looked at.

    Rule 7 of ``docs/launch/kernel_queue.md``. A bit that is set in the cycle in which a round
    begins stays set.

    Parameters
    ----------
    config : Config
        ``stream_bits``.
    """

    sets: Signal
    picked: Signal
    valid: Signal
    stream: Signal

    def __init__(self, config: Config) -> None:
        streams = 1 << config.stream_bits
        super().__init__(
            {
                # Streams that are to be looked at.
                "sets": In(streams),
                # The LOOK of the chosen stream is picked.
                "picked": In(1),
                # The chosen stream. Registers.
                "valid": Out(1),
                "stream": Out(config.stream_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        streams = len(self.sets)
        asks, turns, asked = (Signal(streams, name=name) for name in ("asks", "turns", "asked"))
        chooses = Signal()
        begins = Signal()
        m.d.comb += [
            asked.eq(Mux(turns.any(), turns, asks)),
            chooses.eq(~self.valid | self.picked),
            begins.eq(chooses & ~turns.any()),
        ]
        first = first_of(m, "first", asked)
        m.d.sync += asks.eq((asks & ~begins.replicate(streams)) | self.sets)
        with m.If(chooses):
            m.d.sync += [
                self.valid.eq(asked.any()),
                self.stream.eq(number_of(first)),
                turns.eq(asked & ~first),
            ]
        return m
