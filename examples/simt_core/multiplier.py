"""Multiplies and shifts two words."""

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from simt_core.decoder import DECODED


class Multiplier(wiring.Component):
    """A product, or a shift: a multiplication by a power of two.

    A product's low half is the left shift, its high half the right one. `product` belongs to the
    operands of two cycles before.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "a": In(32),
                "b": In(32),
                # It keeps its value: `shift`; it goes to the `left`; the `low` half is asked for;
                # the operands' signs count (`a_signed`, `b_signed`).
                "decoded": In(DECODED),
                # The operands are taken.
                "take": In(1),
                "product": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        a, b, decoded = self.a, self.b, self.decoded
        # A right shift by n is the high half of the product with 2 ** (32 - n): up to 2 ** 32.
        places = Signal(32)
        m.d.comb += places.eq(1 << (b[:5] ^ (~decoded.left).replicate(5)))
        power = Mux(decoded.left, places, Cat(0, places))
        first, second = Signal(33), Signal(34)
        with m.If(self.take):
            m.d.sync += first.eq(Cat(a, a[31] & decoded.a_signed))
            sign = (b[31] & decoded.b_signed).replicate(2)
            m.d.sync += second.eq(Mux(decoded.shift, power, Cat(b, sign)))
        a_low, a_high = first[:16], first[16:].as_signed()
        b_low, b_high = second[:16], second[16:].as_signed()
        # The halves are multiplied in the first cycle, and the four products added in the second.
        low, crossed, high = Signal(32), Signal(signed(35)), Signal(32)
        ab, ba = Signal(signed(34)), Signal(signed(33))
        m.d.sync += [low.eq(a_low * b_low), ab.eq(a_low * b_high), ba.eq(a_high * b_low)]
        m.d.sync += high.eq((a_high * b_high)[:32])
        upper = Signal(48)
        m.d.comb += crossed.eq(ab + ba)
        m.d.comb += upper.eq(Cat(low[16:], high) + crossed)
        whole = Cat(low[:16], upper)
        m.d.comb += self.product.eq(Mux(decoded.low, whole[:32], whole[32:]))
        return m
