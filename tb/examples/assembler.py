"""Words of instructions, from the formats of the RISC-V manual, volume I, chapter 2 and 'M'."""

#: Opcode, funct3 and funct7 of instructions with two source registers.
R_TYPE = {
    "add": (0, 0x00),
    "sub": (0, 0x20),
    "sll": (1, 0x00),
    "slt": (2, 0x00),
    "sltu": (3, 0x00),
    "xor": (4, 0x00),
    "srl": (5, 0x00),
    "sra": (5, 0x20),
    "or": (6, 0x00),
    "and": (7, 0x00),
    "mul": (0, 0x01),
    "mulh": (1, 0x01),
    "mulhsu": (2, 0x01),
    "mulhu": (3, 0x01),
}
I_TYPE = {"addi": 0, "slti": 2, "sltiu": 3, "xori": 4, "ori": 6, "andi": 7}
SHIFTS = {"slli": (1, 0x00), "srli": (5, 0x00), "srai": (5, 0x20)}
BRANCHES = {"beq": 0, "bne": 1, "blt": 4, "bge": 5, "bltu": 6, "bgeu": 7}
LOADS = {"lb": 0, "lh": 1, "lw": 2, "lbu": 4, "lhu": 5}
STORES = {"sb": 0, "sh": 1, "sw": 2}
FENCE = 0x0FF0000F
BARRIER = 0xCCE05073
END = 0x00000067


def register(name: str, rd: int, rs1: int, rs2: int) -> int:
    funct3, funct7 = R_TYPE[name]
    return funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | 0x33


def immediate(name: str, rd: int, rs1: int, value: int) -> int:
    if name in SHIFTS:
        funct3, funct7 = SHIFTS[name]
        return funct7 << 25 | value << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | 0x13
    return (value & 0xFFF) << 20 | rs1 << 15 | I_TYPE[name] << 12 | rd << 7 | 0x13


def load(name: str, rd: int, rs1: int, offset: int) -> int:
    return (offset & 0xFFF) << 20 | rs1 << 15 | LOADS[name] << 12 | rd << 7 | 0x03


def store(name: str, rs2: int, rs1: int, offset: int) -> int:
    high, low = offset >> 5 & 0x7F, offset & 0x1F
    return high << 25 | rs2 << 20 | rs1 << 15 | STORES[name] << 12 | low << 7 | 0x23


def branch(name: str, rs1: int, rs2: int, offset: int) -> int:
    high = (offset >> 12 & 1) << 6 | offset >> 5 & 0x3F
    low = (offset >> 1 & 0xF) << 1 | offset >> 11 & 1
    return high << 25 | rs2 << 20 | rs1 << 15 | BRANCHES[name] << 12 | low << 7 | 0x63


def upper(name: str, rd: int, value: int) -> int:
    return value << 12 | rd << 7 | {"lui": 0x37, "auipc": 0x17}[name]


def jal(rd: int, offset: int) -> int:
    bits = (offset >> 20 & 1) << 19 | (offset >> 1 & 0x3FF) << 9
    return (bits | (offset >> 11 & 1) << 8 | offset >> 12 & 0xFF) << 12 | rd << 7 | 0x6F


def jalr(rd: int, rs1: int, offset: int) -> int:
    return (offset & 0xFFF) << 20 | rs1 << 15 | rd << 7 | 0x67


def csr(rd: int, number: int) -> int:
    return number << 20 | 2 << 12 | rd << 7 | 0x73
