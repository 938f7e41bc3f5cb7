"""Says what an instruction word asks for."""

from typing import Final

from amaranth.hdl import C, Cat, Module, Mux
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

_FIRST_CSR = 0xCC0
_LAST_CSR = 0xCCD
_BARRIER_CSR = 0xCCE


class Kind(enum.Enum, shape=4):
    """What is done; the fields funct3 and bit 30 say more of `ALU`, `BRANCH`, `LOAD`, `STORE`."""

    ILLEGAL = 0
    ALU = 1
    MULTIPLY = 2
    LUI = 3
    AUIPC = 4
    JAL = 5
    JALR = 6
    BRANCH = 7
    LOAD = 8
    STORE = 9
    CSR = 10
    BARRIER = 11
    FENCE = 12


#: What a word asks for. With `with_immediate` the ALU's second operand is the immediate value, not
#: rs2; `alternative` is SUB and SRA; `subtract` is 1 where a difference is needed; `writes`: a
#: register other than x0 is written.
_FLAGS: Final = ("with_immediate", "alternative", "subtract", "shift", "writes")
DECODED: Final = data.StructLayout({"kind": Kind, "immediate": 32} | dict.fromkeys(_FLAGS, 1))


class Decoder(wiring.Component):
    """Decode RV32I, the multiplications, reads of CSRs and the barrier; combinational."""

    def __init__(self) -> None:
        super().__init__({"word": In(32), "o": Out(DECODED)})

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        word, o = self.word, self.o
        funct3, funct7, rd, rs1 = word[12:15], word[25:], word[7:12], word[15:20]
        sign = word[31]
        shifts = funct3[:2] == 1
        by_i = Cat(word[20:31], sign.replicate(21))
        by_s = Cat(word[7:12], word[25:31], sign.replicate(21))
        by_b = Cat(C(0, 1), word[8:12], word[25:31], word[7], sign.replicate(20))
        by_u = Cat(C(0, 12), word[12:])
        by_j = Cat(C(0, 1), word[21:31], word[20], word[12:20], sign.replicate(12))
        m.d.comb += o.immediate.eq(by_i)
        with m.Switch(word[:7]):
            with m.Case(0x37, 0x17):
                kind = Mux(word[5], Kind.LUI, Kind.AUIPC)
                m.d.comb += [o.kind.eq(kind), o.immediate.eq(by_u)]
            with m.Case(0x6F):
                m.d.comb += [o.kind.eq(Kind.JAL), o.immediate.eq(by_j)]
            with m.Case(0x67):
                m.d.comb += o.kind.eq(Mux(funct3 == 0, Kind.JALR, Kind.ILLEGAL))
                m.d.comb += o.with_immediate.eq(1)
            with m.Case(0x63):
                legal = funct3[1:] != 1
                m.d.comb += o.kind.eq(Mux(legal, Kind.BRANCH, Kind.ILLEGAL))
                m.d.comb += o.immediate.eq(by_b)
            with m.Case(0x03):
                legal = (funct3 != 3) & (funct3[1:] != 3)
                m.d.comb += o.kind.eq(Mux(legal, Kind.LOAD, Kind.ILLEGAL))
                m.d.comb += o.with_immediate.eq(1)
            with m.Case(0x23):
                m.d.comb += o.kind.eq(Mux(funct3 < 3, Kind.STORE, Kind.ILLEGAL))
                m.d.comb += [o.immediate.eq(by_s), o.with_immediate.eq(1)]
            with m.Case(0x13):
                right = funct3 == 5
                shift_legal = (funct7 == 0) | (right & (funct7 == 0x20))
                legal = ~shifts | shift_legal
                m.d.comb += [
                    o.kind.eq(Mux(legal, Kind.ALU, Kind.ILLEGAL)),
                    o.with_immediate.eq(1),
                    o.alternative.eq(right & word[30]),
                ]
            with m.Case(0x33):
                alternative = (funct7 == 0x20) & ((funct3 == 0) | (funct3 == 5))
                with m.If((funct7 == 0) | alternative):
                    m.d.comb += [o.kind.eq(Kind.ALU), o.alternative.eq(word[30])]
                with m.Elif((funct7 == 1) & ~funct3[2]):
                    m.d.comb += o.kind.eq(Kind.MULTIPLY)
            with m.Case(0x0F):
                m.d.comb += o.kind.eq(Mux(funct3 == 0, Kind.FENCE, Kind.ILLEGAL))
            with m.Case(0x73):
                number = word[20:]
                only_writes = funct3[:2] == 1
                there = (number >= _FIRST_CSR) & (number <= _LAST_CSR)
                with m.If((funct3[:2] != 0) & there & ~only_writes & (rs1 == 0)):
                    m.d.comb += o.kind.eq(Kind.CSR)
                with m.Elif((number == _BARRIER_CSR) & only_writes & (rd == 0)):
                    m.d.comb += o.kind.eq(Kind.BARRIER)
        computes = o.kind == Kind.ALU
        m.d.comb += o.shift.eq(computes & shifts)
        # SUB, SLT and SLTU; SRA does not look at it.
        differs = o.alternative | (funct3[1:] == 1)
        m.d.comb += o.subtract.eq((o.kind == Kind.BRANCH) | computes & differs)
        without = [Kind.ILLEGAL, Kind.BRANCH, Kind.STORE, Kind.BARRIER, Kind.FENCE]
        m.d.comb += o.writes.eq((rd != 0) & Cat(o.kind != kind for kind in without).all())
        return m
