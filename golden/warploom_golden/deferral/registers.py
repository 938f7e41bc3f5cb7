"""Names of x86-64 registers: which part of which whole register each one is."""

from typing import Final, NamedTuple


class Part(NamedTuple):
    """A part of a general register.

    Attributes
    ----------
    whole : str
        The 64-bit register.
    shift, bits : int
        Where the part lies in it.
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
#: Where everything on the stack of the x87 unit is kept: one register, since nvcc rarely uses it.
X87: Final = "x87"
VECTOR: Final = (*(f"xmm{number}" for number in range(16)), X87)
#: Integer arguments of a call, in order; further ones stand on the stack.
ARGUMENTS: Final = ("rdi", "rsi", "rdx", "rcx", "r8", "r9")
#: What a callee gives back as it was.
KEPT: Final = ("rbx", "rbp", "rsp", "r12", "r13", "r14", "r15")
