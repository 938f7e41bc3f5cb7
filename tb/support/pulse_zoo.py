"""A throw-away component with every kind of output that has a valid, and faults to order."""

import enum
from collections.abc import Mapping

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from warploom_sim.cosim.lockstep import Context, RandomStimulus
from warploom_spec.packet import Field, Packet

PULSE = Packet("pulse", (Field("valid", 1, "1 for one cycle"), Field("code", 6, "a number")))


class PulseFault(enum.IntEnum):
    """The output that the RTL has wrong, in its lowest bit, in a cycle in which it is valid."""

    NONE = 0
    PULSE = 1
    PAIR = 2
    PAYLOAD = 3
    #: The pulse's `valid` itself, in a cycle in which it is not.
    VALID = 4


class PulseZoo(wiring.Component):
    """A number in a cycle with ``send`` is on all outputs, and stays on them while not valid."""

    send: In(1)
    number: In(6)
    fault: In(range(len(PulseFault)))
    pulse: Out(PULSE.layout())
    pair: Out(6)
    pair_valid: Out(1)
    o: Out(stream.Signature(6, always_ready=True))

    def elaborate(self, platform: object) -> Module:
        """Build the outputs."""
        m = Module()
        last = Signal(6)
        with m.If(self.send):
            m.d.sync += last.eq(self.number)
        for fault, out, valid in (
            (PulseFault.PULSE, self.pulse.code, self.pulse.valid),
            (PulseFault.PAIR, self.pair, self.pair_valid),
            (PulseFault.PAYLOAD, self.o.payload, self.o.valid),
        ):
            m.d.comb += [out.eq(last), valid.eq(self.send)]
            with m.If(self.send):
                m.d.comb += out.eq(self.number ^ (self.fault == fault))
        with m.If(self.fault == PulseFault.VALID):
            m.d.comb += self.pulse.valid.eq(1)
        return m


class PulseZooModel:
    """Model of `PulseZoo` without faults; whatever is not valid is 0."""

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return all outputs."""
        send = inputs["send"]
        number = inputs["number"] if send else 0
        return {
            "pulse": PULSE.pack({"valid": send, "code": number}),
            "pair": number,
            "pair_valid": send,
            "o__payload": number,
            "o__valid": send,
        }

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Do nothing: there is no state that counts."""

    def reset(self) -> None:
        """Do nothing."""


def make_pulses() -> tuple[PulseZoo, PulseZooModel]:
    """Make the component and its model."""
    return PulseZoo(), PulseZooModel()


class Sending(RandomStimulus):
    """Random, with the fault that the case's options name."""

    def __init__(self, context: Context):
        super().__init__(context)
        self._fault = PulseFault[context.options.get("fault", "NONE")].value

    def next(self, outputs: Mapping[str, int] | None) -> dict[str, int]:
        """Return the next cycle's inputs."""
        return super().next(outputs) | {"fault": self._fault}
