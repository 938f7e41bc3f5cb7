"""Machine code to instructions, through capstone."""

from dataclasses import dataclass
from typing import Any, Final, Literal

from warploom_golden.deferral.elf_image import ElfImage
from warploom_golden.deferral.extra import require
from warploom_golden.deferral.registers import X87

#: The longest x86-64 instruction, in bytes.
_LONGEST: Final = 15
RETURNS: Final = frozenset({"ret", "repz ret", "retq"})
#: What neither returns nor goes on.
STOPS: Final = frozenset({"hlt", "ud2", "int3"})
#: Instructions that only read memory which stands as their first operand. Capstone's word is not
#: taken for it: it says so of rol, fistp, movnti, vmovsd and other stores, too.
_READERS: Final = frozenset(
    {
        "cmp",
        "test",
        "push",
        "call",
        "jmp",
        "nop",
        "bt",
        "mul",
        "imul",
        "div",
        "idiv",
        "cmpsb",
        "cmpsw",
        "cmpsd",
        "cmpsq",
        "ldmxcsr",
        "vldmxcsr",
        "clflush",
        "clflushopt",
        "prefetchnta",
        "prefetcht0",
        "prefetcht1",
        "prefetcht2",
        "prefetchw",
    }
)
#: What stores of the x87 unit begin with; all others that begin with an f compute or load.
_X87_STORES: Final = ("fst", "fist", "fbst", "fnst", "fnsave", "fsave", "fxsave")
#: Registers that instructions change without naming them, where capstone does not say so.
_ALSO_WRITTEN: Final = {"cmpxchg": ("rax",), "xlatb": ("rax",)}


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand.

    Attributes
    ----------
    kind : {'register', 'number', 'memory'}
        What it is.
    size : int
        Bytes.
    register : str
        Its name, or a memory operand's base; empty if none.
    index : str
        A memory operand's index register; empty if none.
    scale : int
        Factor of the index.
    number : int
        The number, or a memory operand's displacement, with sign.
    segment : str
        A memory operand's segment register; empty if none.
    is_written : bool
        Whether the instruction may change it.
    """

    kind: Literal["register", "number", "memory"]
    size: int
    register: str = ""
    index: str = ""
    scale: int = 1
    number: int = 0
    segment: str = ""
    is_written: bool = True


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    Attributes
    ----------
    address, size : int
        Where it stands, and its bytes.
    name : str
        Mnemonic without ``lock`` or ``notrack``; ``rep`` stays.
    operands : tuple of Operand
        The target stands first.
    used, written : tuple of str
        Registers that it reads and changes, for instructions that the analysis does not know.
    """

    address: int
    size: int
    name: str
    operands: tuple[Operand, ...]
    used: tuple[str, ...]
    written: tuple[str, ...]

    @property
    def next(self) -> int:
        """Address of what stands behind it."""
        return self.address + self.size

    @property
    def target(self) -> int | None:
        """Where a direct branch or call leads."""
        if len(self.operands) == 1 and self.operands[0].kind == "number":
            return self.operands[0].number
        return None

    @property
    def is_jump(self) -> bool:
        """Whether it is an unconditional branch."""
        return self.name == "jmp"

    @property
    def is_branch(self) -> bool:
        """Whether it is a conditional branch."""
        return self.name.startswith("j") and self.name != "jmp"


class Decoder:
    """Decodes one instruction at a time.

    Parameters
    ----------
    image : ElfImage
        Where the bytes come from.
    """

    def __init__(self, image: ElfImage):
        self._image = image
        self._capstone = require("capstone")
        self._engine = self._capstone.Cs(self._capstone.CS_ARCH_X86, self._capstone.CS_MODE_64)
        self._engine.detail = True
        self._known: dict[int, Instruction | None] = {}

    def at(self, address: int) -> Instruction | None:
        """Return the instruction at an address, None if there is none."""
        if address not in self._known:
            code = self._image.code(address, _LONGEST)
            found = next(self._engine.disasm(code, address, 1), None)
            self._known[address] = self._convert(found) if found is not None else None
        return self._known[address]

    def table(self, address: int, function: int) -> list[int]:
        """Return the jumps of a table: distances from its begin to places in a function."""
        targets: list[int] = []
        begin = self._image.functions.get(function)
        while begin is not None:
            data = self._image.constant(address + 4 * len(targets), 4)
            if data is None:
                break
            target = address + int.from_bytes(data, "little", signed=True)
            if not begin.address < target < begin.address + begin.size:
                break
            targets.append(target)
        return targets

    def _convert(self, raw: Any) -> Instruction:
        name = raw.mnemonic
        for prefix in ("notrack ", "lock ", "bnd "):
            name = name.removeprefix(prefix)
        used, written = (
            tuple(raw.reg_name(register) for register in registers)
            for registers in raw.regs_access()
        )
        written += _ALSO_WRITTEN.get(name, ())
        if name.startswith("f"):
            used, written = (*used, X87), (*written, X87)
        return Instruction(
            address=raw.address,
            size=raw.size,
            name=name,
            operands=tuple(self._operand(raw, name, o) for o in range(len(raw.operands))),
            used=used,
            written=written,
        )

    def _operand(self, raw: Any, instruction: str, place: int) -> Operand:
        x86 = self._capstone.x86
        operand = raw.operands[place]
        if operand.type == x86.X86_OP_REG:
            return Operand("register", operand.size, register=raw.reg_name(operand.reg))
        if operand.type == x86.X86_OP_IMM:
            return Operand("number", operand.size, number=operand.imm)
        memory = operand.mem

        def name(register: int) -> str:
            return raw.reg_name(register) if register else ""

        number = memory.disp
        base = name(memory.base)
        if base == "rip":
            number += raw.address + raw.size
        return Operand(
            "memory",
            operand.size,
            register=base,
            index=name(memory.index),
            scale=memory.scale,
            number=number,
            segment=name(memory.segment),
            is_written=(place == 0 and not _reads_first(instruction))
            or not operand.access
            or bool(operand.access & self._capstone.CS_AC_WRITE),
        )


def _reads_first(name: str) -> bool:
    """Return whether an instruction leaves memory that stands as its first operand as it is."""
    if name.startswith("f"):
        return not name.startswith(_X87_STORES)
    return name.split()[-1] in _READERS
