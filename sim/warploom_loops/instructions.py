"""Decodes machine code to instructions, with capstone."""

from dataclasses import dataclass
from typing import Any, Final, Literal

from warploom_loops.elf_image import ElfImage
from warploom_loops.extra import require
from warploom_loops.registers import X87

#: The longest x86-64 instruction, in bytes.
_LONGEST: Final = 15
RETURNS: Final = frozenset({"ret", "repz ret", "retq"})
#: Instructions after which the function neither returns nor goes on.
STOPS: Final = frozenset({"hlt", "ud2", "int3"})
#: Instructions that only read their first operand if it is memory. Capstone's own answer is not
#: used: capstone calls the first operand of rol, fistp, movnti, vmovsd and other stores read-only.
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
#: Prefixes of the x87 unit's stores. Every other instruction whose name begins with f computes or
#: loads.
_X87_STORES: Final = ("fst", "fist", "fbst", "fnst", "fnsave", "fsave", "fxsave")
#: Registers that an instruction changes without naming them, and that capstone does not list.
_ALSO_WRITTEN: Final = {"cmpxchg": ("rax",), "xlatb": ("rax",)}


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand of an instruction.

    Attributes
    ----------
    kind : {'register', 'number', 'memory'}
        The operand's kind.
    size : int
        The operand's size in bytes.
    register : str
        The register's name, or a memory operand's base register; empty if none.
    index : str
        A memory operand's index register; empty if none.
    scale : int
        Factor of a memory operand's index register.
    number : int
        The number, or a memory operand's displacement, with sign. If the base is ``rip``, the next
        instruction's address is already added.
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
        The instruction's address, and its size in bytes.
    name : str
        Mnemonic without the prefixes ``lock``, ``notrack`` and ``bnd``; ``rep`` stays.
    operands : tuple of Operand
        The operands; the target stands first.
    used, written : tuple of str
        Registers that the instruction reads, and that it changes. The analysis needs them for
        instructions that it does not know.
    """

    address: int
    size: int
    name: str
    operands: tuple[Operand, ...]
    used: tuple[str, ...]
    written: tuple[str, ...]

    @property
    def next(self) -> int:
        """Address of the next instruction in memory."""
        return self.address + self.size

    @property
    def target(self) -> int | None:
        """Target address of a direct branch or call; None for any other instruction."""
        if len(self.operands) == 1 and self.operands[0].kind == "number":
            return self.operands[0].number
        return None

    @property
    def is_jump(self) -> bool:
        """Whether the instruction is an unconditional branch."""
        return self.name == "jmp"

    @property
    def is_branch(self) -> bool:
        """Whether the instruction is a conditional branch."""
        return self.name.startswith("j") and self.name != "jmp"


class Decoder:
    """Decodes one instruction at a time.

    Parameters
    ----------
    image : ElfImage
        The program whose bytes are decoded.
    """

    def __init__(self, image: ElfImage):
        self._image = image
        self._capstone = require("capstone")
        self._engine = self._capstone.Cs(self._capstone.CS_ARCH_X86, self._capstone.CS_MODE_64)
        self._engine.detail = True
        self._known: dict[int, Instruction | None] = {}

    def at(self, address: int) -> Instruction | None:
        """Return the instruction at an address; None if no code stands there."""
        if address not in self._known:
            code = self._image.code(address, _LONGEST)
            found = next(self._engine.disasm(code, address, 1), None)
            self._known[address] = self._convert(found) if found is not None else None
        return self._known[address]

    def table(self, address: int, function: int) -> list[int]:
        """Return the targets of a jump table.

        Each entry is a signed 32-bit distance from the table's begin. The table ends before the
        first entry that does not lead into the function.

        Parameters
        ----------
        address : int
            Address of the table.
        function : int
            Address of the function that jumps through the table.
        """
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
    """Return whether an instruction only reads its first operand if that operand is memory."""
    if name.startswith("f"):
        return not name.startswith(_X87_STORES)
    return name.split()[-1] in _READERS
