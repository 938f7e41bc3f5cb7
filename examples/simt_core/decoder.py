"""Says what an instruction word asks for."""

from typing import Final

from amaranth.hdl import C, Cat, Module, Mux, Signal
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

_FIRST_CSR = 0xCC0
_LAST_CSR = 0xCCD
_BARRIER_CSR = 0xCCE

#: Of a multiplication: the ALU hands on its first operand, as for a shift.
_FIRST_OPERAND = 1


class Kind(enum.Enum, shape=4):
    """What is done; the flags say more of `ALU`, `MULTIPLY`, `LOAD`, `STORE` and `CSR`."""

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


#: What a word asks for. With `with_immediate` the second operand is the immediate value, not rs2.
#: The ALU's result is the sum or the difference (`adds`), by two bits of `funct3` (`logic`), or
#: whether the first operand is less (`compares`); `subtract`: there is a difference. `walks`: the
#: lanes are served one after the other; `multiply`: by the multiplier, whose other flags are at
#: `Multiplier`; `index`: a lane's own index is read. `writes`: a register other than x0 is written.
_FLAGS: Final = (
    *("with_immediate", "subtract", "adds", "logic", "compares", "walks", "load", "index"),
    *("multiply", "shift", "left", "low", "a_signed", "b_signed", "writes"),
)
DECODED: Final = data.StructLayout(
    {"kind": Kind, "immediate": 32, "funct3": 3} | dict.fromkeys(_FLAGS, 1)
)


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
        # SUB and SRA.
        alternative = Signal()
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
                m.d.comb += [o.kind.eq(Mux(legal, Kind.ALU, Kind.ILLEGAL)), o.with_immediate.eq(1)]
                m.d.comb += alternative.eq(right & word[30])
            with m.Case(0x33):
                other = (funct7 == 0x20) & ((funct3 == 0) | (funct3 == 5))
                with m.If((funct7 == 0) | other):
                    m.d.comb += [o.kind.eq(Kind.ALU), alternative.eq(word[30])]
                with m.Elif((funct7 == 1) & ~funct3[2]):
                    m.d.comb += o.kind.eq(Kind.MULTIPLY)
            with m.Case(0x0F):
                m.d.comb += o.kind.eq(Mux(funct3 == 0, Kind.FENCE, Kind.ILLEGAL))
            with m.Case(0x73):
                number = word[20:]
                only_writes = funct3[:2] == 1
                there = (number >= _FIRST_CSR) & (number <= _LAST_CSR)
                with m.If((funct3[:2] != 0) & there & ~only_writes & (rs1 == 0)):
                    m.d.comb += [o.kind.eq(Kind.CSR), o.with_immediate.eq(1)]
                with m.Elif((number == _BARRIER_CSR) & only_writes & (rd == 0)):
                    m.d.comb += o.kind.eq(Kind.BARRIER)
        alu = o.kind == Kind.ALU
        load = o.kind == Kind.LOAD
        accesses = load | (o.kind == Kind.STORE)
        product = o.kind == Kind.MULTIPLY
        # Thread x, y and z: a lane's packed word is shifted.
        index = (o.kind == Kind.CSR) & (word[20:24] < 3)
        shift = alu & shifts
        compares = alu & (funct3[1:] == 1)
        m.d.comb += [
            o.funct3.eq(Mux(product, _FIRST_OPERAND, funct3)),
            o.adds.eq(accesses | alu & (funct3 == 0)),
            o.logic.eq(product | shift | alu & funct3[2]),
            o.compares.eq(compares),
            o.subtract.eq((o.kind == Kind.BRANCH) | compares | alu & alternative),
            o.walks.eq(accesses | o.multiply),
            o.load.eq(load),
            o.index.eq(index),
            o.multiply.eq(product | o.shift),
            o.shift.eq(shift | index),
            o.left.eq(shift & ~funct3[2]),
            o.low.eq(o.left | product & (funct3[:2] == 0)),
            # MULH has two signed factors, MULHSU one, MULHU none; MUL's low half does not care.
            o.a_signed.eq(Mux(product, funct3[:2] != 3, alternative)),
            o.b_signed.eq(product & ~funct3[1]),
        ]
        without = [Kind.ILLEGAL, Kind.BRANCH, Kind.STORE, Kind.BARRIER, Kind.FENCE]
        m.d.comb += o.writes.eq((rd != 0) & Cat(o.kind != kind for kind in without).all())
        return m
