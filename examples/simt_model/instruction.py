"""Decodes one instruction word: RV32I, the four multiplications, reads of CSRs, the barrier."""

import functools
from dataclasses import dataclass
from typing import Final

#: CSRs from here to `LAST_CSR` are read only; a write to `BARRIER_CSR` is the block's barrier.
FIRST_CSR: Final = 0xCC0
LAST_CSR: Final = 0xCCD
BARRIER_CSR: Final = 0xCCE

_BRANCHES: Final = {0: "beq", 1: "bne", 4: "blt", 5: "bge", 6: "bltu", 7: "bgeu"}
_LOADS: Final = {0: "lb", 1: "lh", 2: "lw", 4: "lbu", 5: "lhu"}
_STORES: Final = {0: "sb", 1: "sh", 2: "sw"}
_IMMEDIATES: Final = {0: "addi", 2: "slti", 3: "sltiu", 4: "xori", 6: "ori", 7: "andi"}
_SHIFTS: Final = {(1, 0x00): "slli", (5, 0x00): "srli", (5, 0x20): "srai"}
_REGISTERS: Final = {
    (0, 0x00): "add",
    (0, 0x20): "sub",
    (1, 0x00): "sll",
    (2, 0x00): "slt",
    (3, 0x00): "sltu",
    (4, 0x00): "xor",
    (5, 0x00): "srl",
    (5, 0x20): "sra",
    (6, 0x00): "or",
    (7, 0x00): "and",
    (0, 0x01): "mul",
    (1, 0x01): "mulh",
    (2, 0x01): "mulhsu",
    (3, 0x01): "mulhu",
}
#: Of the published set; SimtCore has none of them.
_DIVISIONS: Final = {4: "div", 5: "divu", 6: "rem", 7: "remu"}


class IllegalInstruction(ValueError):
    """A word that is no instruction of SimtCore.

    Attributes
    ----------
    why : str
        What is wrong with it, such as ``division (divu)``.
    """

    def __init__(self, word: int, why: str):
        self.word = word
        self.why = why
        super().__init__(f"{word:#010x} is illegal: {why}")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    Attributes
    ----------
    name : str
        As assemblers write it; ``csr`` reads a CSR, ``barrier`` is the write to `BARRIER_CSR`.
    rd, rs1, rs2 : int or None
        Registers; None where the instruction has none.
    immediate : int
        Its immediate value, with its sign; a CSR's number.
    """

    name: str
    rd: int | None = None
    rs1: int | None = None
    rs2: int | None = None
    immediate: int = 0

    @property
    def registers(self) -> tuple[int, ...]:
        """The registers that the instruction names."""
        return tuple(r for r in (self.rd, self.rs1, self.rs2) if r is not None)


@functools.lru_cache(1 << 16)
def decode(word: int) -> Instruction:
    """Return the instruction of a word.

    Raises
    ------
    IllegalInstruction
        If SimtCore has none of that word.
    """
    opcode, funct3 = word & 0x7F, word >> 12 & 7
    rd, rs1, rs2 = word >> 7 & 31, word >> 15 & 31, word >> 20 & 31
    match opcode:
        case 0x37 | 0x17:
            name = "lui" if opcode == 0x37 else "auipc"
            return Instruction(name, rd=rd, immediate=_signed(word & 0xFFFFF000, 32))
        case 0x6F:
            return Instruction("jal", rd=rd, immediate=_jump_offset(word))
        case 0x67 if funct3 == 0:
            return Instruction("jalr", rd=rd, rs1=rs1, immediate=_signed(word >> 20, 12))
        case 0x63 if funct3 in _BRANCHES:
            offset = _branch_offset(word)
            return Instruction(_BRANCHES[funct3], rs1=rs1, rs2=rs2, immediate=offset)
        case 0x03 if funct3 in _LOADS:
            return Instruction(_LOADS[funct3], rd=rd, rs1=rs1, immediate=_signed(word >> 20, 12))
        case 0x23 if funct3 in _STORES:
            offset = _signed(word >> 25 << 5 | rd, 12)
            return Instruction(_STORES[funct3], rs1=rs1, rs2=rs2, immediate=offset)
        case 0x13 if funct3 in _IMMEDIATES:
            value = _signed(word >> 20, 12)
            return Instruction(_IMMEDIATES[funct3], rd=rd, rs1=rs1, immediate=value)
        case 0x13 if (funct3, word >> 25) in _SHIFTS:
            return Instruction(_SHIFTS[funct3, word >> 25], rd=rd, rs1=rs1, immediate=rs2)
        case 0x33 if (funct3, word >> 25) in _REGISTERS:
            return Instruction(_REGISTERS[funct3, word >> 25], rd=rd, rs1=rs1, rs2=rs2)
        case 0x33 if word >> 25 == 1 and funct3 in _DIVISIONS:
            raise IllegalInstruction(word, f"division ({_DIVISIONS[funct3]})")
        case 0x0F if funct3 == 0:
            return Instruction("fence")
        case 0x73:
            return _system(word, funct3, rd, rs1)
    raise IllegalInstruction(word, "not in RV32I with multiplication")


def _system(word: int, funct3: int, rd: int, rs1: int) -> Instruction:
    """Decode a read of a CSR, or the barrier."""
    number = word >> 20
    if funct3 in (0, 4):
        raise IllegalInstruction(word, "there is no system to call")
    # csrrw and csrrwi write whatever the operand is; the others write unless it is x0 or 0.
    writes = funct3 in (1, 5) or rs1 != 0
    if FIRST_CSR <= number <= LAST_CSR and not writes:
        return Instruction("csr", rd=rd, immediate=number)
    if number == BARRIER_CSR and funct3 in (1, 5) and rd == 0:
        return Instruction("barrier", rs1=rs1 if funct3 == 1 else None)
    if FIRST_CSR <= number <= LAST_CSR:
        raise IllegalInstruction(word, f"CSR {number:#x} is read only")
    if number == BARRIER_CSR:
        raise IllegalInstruction(word, f"CSR {number:#x} is write only")
    raise IllegalInstruction(word, f"there is no CSR {number:#x}")


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> bits - 1 & 1 else value


def _branch_offset(word: int) -> int:
    low = (word >> 8 & 0xF) << 1 | (word >> 25 & 0x3F) << 5
    return _signed(low | (word >> 7 & 1) << 11 | (word >> 31) << 12, 13)


def _jump_offset(word: int) -> int:
    low = (word >> 21 & 0x3FF) << 1 | (word >> 20 & 1) << 11
    return _signed(low | (word >> 12 & 0xFF) << 12 | (word >> 31) << 20, 21)
