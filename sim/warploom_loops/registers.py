"""Names of x86-64 registers: each name is a part of a 64-bit register."""

from typing import Final, NamedTuple


class Part(NamedTuple):
    """A part of a general register.

    Attributes
    ----------
    whole : str
        Name of the 64-bit register.
    shift, bits : int
        The part's lowest bit in the register, and the part's width.
    """

    whole: str
    shift: int
    bits: int


_LEGACY: Final = ("ax", "bx", "cx", "dx", "si", "di", "bp", "sp")


def _parts() -> dict[str, Part]:
    parts: dict[str, Part] = {}
    for name in _LEGACY:
        whole = "r" + name
        parts |= {
            whole: Part(whole, 0, 64),
            "e" + name: Part(whole, 0, 32),
            name: Part(whole, 0, 16),
        }
        if name.endswith("x"):
            parts[name[0] + "l"] = Part(whole, 0, 8)
            parts[name[0] + "h"] = Part(whole, 8, 8)
        else:
            parts[name + "l"] = Part(whole, 0, 8)
    for number in range(8, 16):
        whole = f"r{number}"
        parts[whole] = Part(whole, 0, 64)
        for suffix, bits in (("d", 32), ("w", 16), ("b", 8)):
            parts[whole + suffix] = Part(whole, 0, bits)
    return parts


PARTS: Final = _parts()
GENERAL: Final = tuple(dict.fromkeys(part.whole for part in PARTS.values()))
#: One register stands for the whole stack of the x87 unit, since nvcc rarely uses that unit.
X87: Final = "x87"
VECTOR: Final = (*(f"xmm{number}" for number in range(16)), X87)
#: Registers of a call's integer arguments, in order; further arguments stand on the stack.
ARGUMENTS: Final = ("rdi", "rsi", "rdx", "rcx", "r8", "r9")
#: Registers that a callee preserves.
KEPT: Final = ("rbx", "rbp", "rsp", "r12", "r13", "r14", "r15")
