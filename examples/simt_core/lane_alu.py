"""What one lane computes in a turn."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from simt_core.decoder import DECODED


class LaneAlu(wiring.Component):
    """Arithmetic and comparison of two words, combinational.

    One adder serves sums, differences, comparisons and addresses. Shifts and multiplications are
    made by `LaneWalk`; here their result is the first operand.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "a": In(32),
                "b": In(32),
                "decoded": In(DECODED),
                # What the instruction computes, or 0; the sum or the difference.
                "result": Out(32),
                "total": Out(32),
                # A branch is taken; without the immediate value.
                "taken": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        a, decoded = self.a, self.decoded
        funct3, minus = decoded.funct3, decoded.subtract
        b = Mux(decoded.with_immediate, decoded.immediate, self.b)
        # The bit below the lowest one carries the 1 of a complement.
        added = Signal(34)
        m.d.comb += added.eq(Cat(minus, a) + Cat(minus, b ^ minus.replicate(32)))
        m.d.comb += self.total.eq(added[1:33])
        less_unsigned = ~added[33]
        less = Mux(a[31] == b[31], less_unsigned, a[31])
        # Shifts have 1 there, XOR 0, OR 2, AND 3.
        logic = Signal(32)
        m.d.comb += logic.eq(Array((a ^ b, a, a | b, a & b))[funct3[:2]])
        found = Mux(decoded.adds, self.total, 0) | Mux(decoded.logic, logic, 0)
        m.d.comb += self.result.eq(found | decoded.compares & Mux(funct3[0], less_unsigned, less))
        compared = Mux(funct3[2], Mux(funct3[1], less_unsigned, less), a == self.b)
        m.d.comb += self.taken.eq(compared ^ funct3[0])
        return m
