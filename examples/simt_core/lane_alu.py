"""What one lane computes in a turn, in two steps."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class LaneAlu(wiring.Component):
    """Arithmetic, comparison and multiplication of two words.

    All is combinational but `product`, which belongs to the operands of the cycle before. One adder
    serves sums, differences, comparisons and addresses. A shift is a multiplication by a power of
    two: its low half is the left shift, its high half the right one.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "a": In(32),
                "b": In(32),
                "funct3": In(3),
                # `total` is a difference; the right shift keeps the sign; `product` is a shift.
                "subtract": In(1),
                "alternative": In(1),
                "shift": In(1),
                # What ADD, SLT, XOR and their like compute, by funct3; the sum or the difference;
                # the half of the product that funct3 says.
                "result": Out(32),
                "total": Out(32),
                "product": Out(32),
                # Of a branch that compares `a` and `b`; `subtract` is 1.
                "taken": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        a, b, funct3 = self.a, self.b, self.funct3
        # The bit below the lowest one carries the 1 of a complement.
        added = Signal(34)
        minus = self.subtract
        m.d.comb += added.eq(Cat(minus, a) + Cat(minus, b ^ minus.replicate(32)))
        m.d.comb += self.total.eq(added[1:33])
        less_unsigned = ~added[33]
        less = Mux(a[31] == b[31], less_unsigned, a[31])
        # Places 1 and 5 are shifts.
        by_funct3 = (self.total, 0, less, less_unsigned, a ^ b, a ^ b, a | b, a & b)
        m.d.comb += self.result.eq(Array(by_funct3)[funct3])
        self._multiply(m)
        compared = Mux(funct3[2], Mux(funct3[1], less_unsigned, less), a == b)
        m.d.comb += self.taken.eq(compared ^ funct3[0])
        return m

    def _multiply(self, m: Module) -> None:
        """Multiply halves in the first cycle, and add the four products in the second."""
        a, b, funct3, shift = self.a, self.b, self.funct3, self.shift
        left = ~funct3[2]
        # A right shift by n is the high half of the product with 2 ** (32 - n).
        places = Signal(32)
        m.d.comb += places.eq(1 << (b[:5] ^ (~left).replicate(5)))
        power = Mux(left, places, Cat(0, places))
        # MULH has two signed factors, MULHSU one, MULHU none; MUL's low half does not care.
        a_sign = a[31] & Mux(shift, self.alternative, funct3[:2] != 3)
        b_sign = b[31] & ~funct3[1] & ~shift
        factor = Mux(shift, power, Cat(b, b_sign))
        a_low, a_high = a[:16], Cat(a[16:], a_sign).as_signed()
        b_low, b_high = factor[:16], Cat(factor[16:], b_sign).as_signed()
        low, crossed, high = Signal(32), Signal(signed(35)), Signal(32)
        ab, ba = Signal(signed(34)), Signal(signed(33))
        m.d.sync += [
            low.eq(a_low * b_low),
            ab.eq(a_low * b_high),
            ba.eq(a_high * b_low),
            high.eq((a_high * b_high)[:32]),
        ]
        upper = Signal(48)
        m.d.comb += crossed.eq(ab + ba)
        m.d.comb += upper.eq(Cat(low[16:], high) + crossed)
        whole = Cat(low[:16], upper)
        takes_low = Mux(shift, left, funct3[:2] == 0)
        m.d.comb += self.product.eq(Mux(takes_low, whole[:32], whole[32:]))
