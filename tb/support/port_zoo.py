"""Throw-away components with every kind of port, for the harness's own tests."""

from collections.abc import Mapping

from amaranth.hdl import Cat, Module, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out


class PortZoo(wiring.Component):
    """Combinational: wide, signed, empty and indexed ports, a packet, streams without handshake."""

    wide: In(100)
    wide_inverted: Out(100)
    number: In(signed(33))
    negated: Out(signed(34))
    word: In(32)
    word_again: Out(32)
    nothing: In(0)
    nothing_again: Out(0)
    pair: In(data.StructLayout({"low": 3, "high": signed(2)}))
    swapped: Out(5)
    lanes: In(4).array(2)
    lanes_again: Out(4).array(2)
    pulse: In(stream.Signature(7, always_ready=True))
    level: Out(stream.Signature(7, always_valid=True, always_ready=True))

    def elaborate(self, platform: object) -> Module:
        """Connect them."""
        m = Module()
        m.d.comb += [
            self.wide_inverted.eq(~self.wide),
            self.negated.eq(-self.number),
            self.word_again.eq(self.word),
            self.swapped.eq(Cat(self.pair.high, self.pair.low)),
            self.lanes_again[0].eq(self.lanes[1]),
            self.lanes_again[1].eq(self.lanes[0]),
            self.level.payload.eq(self.pulse.payload & self.pulse.valid.replicate(7)),
        ]
        return m


class PortZooModel:
    """Model of `PortZoo`, on raw values."""

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return all outputs."""
        number = inputs["number"] - ((inputs["number"] >> 32) << 33)
        return {
            "wide_inverted": inputs["wide"] ^ ((1 << 100) - 1),
            "negated": -number % (1 << 34),
            "word_again": inputs["word"],
            "nothing_again": 0,
            "swapped": (inputs["pair"] >> 3) | ((inputs["pair"] & 7) << 2),
            "lanes_again__0": inputs["lanes__1"],
            "lanes_again__1": inputs["lanes__0"],
            "level__payload": inputs["pulse__payload"] if inputs["pulse__valid"] else 0,
        }

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Do nothing: there is no state."""

    def reset(self) -> None:
        """Do nothing: there is no state."""


def make_zoo() -> tuple[PortZoo, PortZooModel]:
    """Make the zoo and its model."""
    return PortZoo(), PortZooModel()


class Sticky(wiring.Component):
    """A bit that stays set, also over a reset."""

    i: In(1)
    o: Out(1)

    def elaborate(self, platform: object) -> Module:
        """Build the bit."""
        m = Module()
        seen = Signal(reset_less=True)
        with m.If(self.i):
            m.d.sync += seen.eq(1)
        m.d.comb += self.o.eq(seen)
        return m


class ForgetfulModel:
    """A wrong model of `Sticky`: it forgets the bit in a reset."""

    def __init__(self) -> None:
        self.seen = 0

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the bit."""
        return {"o": self.seen}

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Set the bit."""
        self.seen |= inputs["i"]

    def reset(self) -> None:
        """Clear the bit, wrongly."""
        self.seen = 0


def make_sticky() -> tuple[Sticky, ForgetfulModel]:
    """Make the bit and its wrong model."""
    return Sticky(), ForgetfulModel()


class Mark(wiring.Component):
    """A register and a combinational default that nothing but the register can change."""

    i: In(1)
    mark: Out(4)

    def elaborate(self, platform: object) -> Module:
        """Build the mark."""
        m = Module()
        seen = Signal()
        with m.If(self.i):
            m.d.sync += seen.eq(1)
        with m.If(seen):
            m.d.comb += self.mark.eq(5)
        return m


class MarkModel:
    """Model of `Mark`."""

    def __init__(self) -> None:
        self.seen = 0

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the mark."""
        return {"mark": 5 if self.seen else 0}

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Set the register."""
        self.seen |= inputs["i"]

    def reset(self) -> None:
        """Clear the register."""
        self.seen = 0


def make_mark() -> tuple[Mark, MarkModel]:
    """Make the mark and its model."""
    return Mark(), MarkModel()
