"""Ten cases for each instruction, from the text of the RISC-V manual, volume I.

A case is a few words of a program that leave their result in x7, the two words that stand in x5
and x6 before, and the result that the manual demands.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tb.examples import assembler as asm

M = 0xFFFFFFFF
#: Pairs of operands: carries, signs, the ends of both ranges.
PAIRS = (
    (0, 0),
    (1, M),
    (0x7FFFFFFF, 1),
    (0x80000000, 0x80000000),
    (0x80000000, M),
    (M, M),
    (5, 3),
    (3, 0x80000005),
    (0x12345678, 0x9ABCDEF0),
    (0xDEADBEEF, 31),
)
IMMEDIATES = (0, 1, -1, 2047, -2048, 5, -5, 0x555, -0x556, 31)
SHIFTS = (0, 1, 2, 7, 8, 15, 16, 30, 31, 4)
UPPERS = (0, 1, 0x80000, 0xFFFFF, 0x12345, 0x7FFFF, 2, 0xABCDE, 0x10, 0x00F00)


def s(value: int) -> int:
    """Read a word as a signed number."""
    return value - (1 << 32) if value >> 31 else value


FORMULAS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "sll": lambda a, b: a << (b & 31),
    "slt": lambda a, b: int(s(a) < s(b)),
    "sltu": lambda a, b: int(a < b),
    "xor": lambda a, b: a ^ b,
    "srl": lambda a, b: a >> (b & 31),
    "sra": lambda a, b: s(a) >> (b & 31),
    "or": lambda a, b: a | b,
    "and": lambda a, b: a & b,
    "mul": lambda a, b: a * b,
    "mulh": lambda a, b: s(a) * s(b) >> 32,
    "mulhsu": lambda a, b: s(a) * b >> 32,
    "mulhu": lambda a, b: a * b >> 32,
}
TAKEN: dict[str, Callable[[int, int], bool]] = {
    "beq": lambda a, b: a == b,
    "bne": lambda a, b: a != b,
    "blt": lambda a, b: s(a) < s(b),
    "bge": lambda a, b: s(a) >= s(b),
    "bltu": lambda a, b: a < b,
    "bgeu": lambda a, b: a >= b,
}
#: The word 0x8081F2E3 in memory, byte by byte from its address on.
BYTES = (0xE3, 0xF2, 0x81, 0x80)
STORED = 0x8081F2E3


@dataclass(frozen=True)
class Case:
    """One case; ``words`` is made for the address that its first word gets."""

    name: str
    words: Callable[[int], list[int]]
    a: int
    b: int
    expected: Callable[[int], int]


def cases() -> Iterator[Case]:
    """Give every case."""
    for name, formula in FORMULAS.items():
        for a, b in PAIRS:
            yield _plain(name, asm.register(name, 7, 5, 6), a, b, formula(a, b))
    for name in asm.I_TYPE:
        formula = FORMULAS["sltu" if name == "sltiu" else name.removesuffix("i")]
        for (a, _), value in zip(PAIRS, IMMEDIATES, strict=True):
            yield _plain(name, asm.immediate(name, 7, 5, value), a, 0, formula(a, value & M))
    for name in asm.SHIFTS:
        formula = FORMULAS[name.removesuffix("i")]
        for (a, _), value in zip(PAIRS, SHIFTS, strict=True):
            yield _plain(name, asm.immediate(name, 7, 5, value), a, 0, formula(a, value))
    for name, taken in TAKEN.items():
        for a, b in PAIRS:
            words = [asm.immediate("addi", 7, 0, 1), asm.branch(name, 5, 6, 8)]
            words.append(asm.immediate("addi", 7, 0, 0))
            yield Case(name, _fixed(words), a, b, _value(int(taken(a, b))))
    for value in UPPERS:
        yield _plain("lui", asm.upper("lui", 7, value), 0, 0, value << 12)
        relative = asm.upper("auipc", 7, value)
        yield Case("auipc", _fixed([relative]), 0, 0, lambda at, v=value: at + (v << 12) & M)
    yield from _jumps()
    yield from _accesses()
    for number in range(10):
        yield _plain("fence", asm.FENCE | number << 24, 0, 0, 0)


def _fixed(words: list[int]) -> Callable[[int], list[int]]:
    return lambda at: words


def _value(value: int) -> Callable[[int], int]:
    return lambda at: value & M


def _plain(name: str, word: int, a: int, b: int, expected: int) -> Case:
    words = [asm.immediate("addi", 7, 0, 0), word]
    return Case(name, _fixed(words), a, b, _value(expected))


def _jumps() -> Iterator[Case]:
    """Jumps over words that would spoil the link."""
    spoil = asm.immediate("addi", 7, 7, 1)
    for n in range(10):
        ahead = [asm.jal(7, 4 * (n + 1)), *[spoil] * n]
        yield Case("jal", _fixed(ahead), 0, 0, lambda at: at + 4)
        # The target is x5 and an immediate value of either sign; its lowest bit is ignored.
        offset = (-1, 1, 4, -8, 2047, -2048, 0, 9, 100, -101)[n]

        def words(at: int, n: int = n, offset: int = offset) -> list[int]:
            target = at + 4 * (n + 4) - offset & M
            high = target + 0x800 >> 12 & 0xFFFFF
            low = target - (high << 12)
            low = low - (1 << 32) if low >= 0x800 else low
            made = [asm.upper("lui", 5, high), asm.immediate("addi", 5, 5, low)]
            return [*made, asm.jalr(7, 5, offset), *[spoil] * (n + 1)]

        yield Case("jalr", words, 0, 0, lambda at: at + 12)


def _accesses() -> Iterator[Case]:
    """Loads and stores of each byte and half, some by a negative offset; x10 has the data's end."""
    for name in asm.LOADS:
        size = {"b": 1, "h": 2, "w": 4}[name[1]]
        for n in range(10):
            byte = n * size % 4
            base = asm.immediate("addi", 5, 10, 40 * n)
            value = sum(BYTES[byte + k] << 8 * k for k in range(size))
            if not name.endswith("u") and value >> 8 * size - 1:
                value |= M << 8 * size
            word = asm.load(name, 7, 5, byte - 40 * n)
            yield Case(name, _fixed([base, word]), 0, STORED, _value(value))
    for name in asm.STORES:
        size = {"b": 1, "h": 2, "w": 4}[name[1]]
        for n in range(10):
            byte = n * size % 4
            mask = (1 << 8 * size) - 1
            value = STORED & ~(mask << 8 * byte) | (0x12345678 + n & mask) << 8 * byte
            word = asm.store(name, 5, 10, byte)
            words = [word, asm.load("lw", 7, 10, 0)]
            yield Case(name, _fixed(words), 0x12345678 + n, STORED, _value(value))


def program(some: list[Case], entry: int, data: int) -> tuple[list[int], list[int], list[int]]:
    """Return a program for one lane, its data, and the results that it must store.

    A case has three words of data: x5, x6 (at which x10 points while it runs), and the result.
    """
    words, values, expected = [asm.immediate("addi", 10, 10, 4)], [], []
    for case in some:
        words += [asm.load("lw", 5, 10, -4), asm.load("lw", 6, 10, 0)]
        at = entry + 4 * len(words)
        words += case.words(at)
        words += [asm.store("sw", 7, 10, 4), asm.immediate("addi", 10, 10, 12)]
        values += [case.a, case.b, 0x5A5A5A5A]
        expected.append(case.expected(at))
    assert entry + 4 * len(words) < data
    return [*words, asm.END], values, expected
