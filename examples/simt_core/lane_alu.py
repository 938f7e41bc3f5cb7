"""What one lane computes in a turn."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class LaneAlu(wiring.Component):
    """Arithmetic, comparison and multiplication of two words; combinational."""

    def __init__(self) -> None:
        super().__init__(
            {
                "a": In(32),
                "b": In(32),
                "funct3": In(3),
                "alternative": In(1),
                "multiply": In(1),
                "result": Out(32),
                # Of a branch that compares `a` and `b`.
                "taken": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        a, b, funct3 = self.a, self.b, self.funct3
        less = Signal()
        less_unsigned = Signal()
        m.d.comb += less.eq(a.as_signed() < b.as_signed())
        m.d.comb += less_unsigned.eq(a < b)
        arithmetic = Cat(a, self.alternative & a[31]).as_signed()
        by_funct3 = (
            Mux(self.alternative, a - b, a + b)[:32],
            (a << b[:5])[:32],
            less,
            less_unsigned,
            a ^ b,
            (arithmetic >> b[:5])[:32],
            a | b,
            a & b,
        )
        m.d.comb += self.result.eq(Array(by_funct3)[funct3])
        # MULH has two signed factors, MULHSU one, MULHU none; MUL's low half does not care.
        product = Signal(66)
        signed_a = Cat(a, a[31] & (funct3[:2] != 3)).as_signed()
        signed_b = Cat(b, b[31] & ~funct3[1]).as_signed()
        m.d.comb += product.eq(signed_a * signed_b)
        with m.If(self.multiply):
            m.d.comb += self.result.eq(Mux(funct3[:2] == 0, product[:32], product[32:64]))
        compared = Mux(funct3[2], Mux(funct3[1], less_unsigned, less), a == b)
        m.d.comb += self.taken.eq(compared ^ funct3[0])
        return m
