"""Reads a kernel's ELF file, and refuses what SimtCore cannot run."""

import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from simt_model.instruction import IllegalInstruction, decode
from simt_model.memory_model import WINDOW
from warploom_spec import WarploomError
from warploom_spec.extras import need

#: Symbols of `kernel.ld` that say what a block takes.
REGISTERS: Final = "warploom_registers"
SHARED_BYTES: Final = "warploom_shared_bytes"
BARRIERS: Final = "warploom_barriers"
_EXECUTABLE: Final = 4
_COMPRESSED: Final = 1
_STACK_POINTER: Final = 2


@dataclass(frozen=True)
class KernelElf:
    """A kernel that SimtCore can run.

    Attributes
    ----------
    entry : int
        Address of its first instruction.
    segments : tuple of (int, bytes)
        What is loaded, and where.
    end : int
        The first address behind it.
    registers : int
        Registers of a thread.
    shared_bytes, barriers : int
        What a block takes.
    code : dict of int to int
        Each instruction word, by its address.
    symbols : dict of str to int
        The address of each label.
    """

    entry: int
    segments: tuple[tuple[int, bytes], ...]
    end: int
    registers: int
    shared_bytes: int
    barriers: int
    code: dict[int, int]
    symbols: dict[str, int] = field(default_factory=dict)

    def labels(self, start: str) -> list[int]:
        """Return the addresses of the labels whose names begin so."""
        return [value for name, value in self.symbols.items() if name.startswith(start)]


def read_kernel(path: Path, memory_bytes: int) -> KernelElf:
    """Read a kernel's file.

    Raises
    ------
    WarploomError
        If the file is no such kernel: one line names the file, what is wrong, and what is legal.
    """
    elftools = need("elftools.elf.elffile", "elf", "reading kernels")
    errors = need("elftools.common.exceptions", "elf", "reading kernels")
    try:
        elf = elftools.ELFFile(io.BytesIO(path.read_bytes()))
        return _kernel(elf, path.name, memory_bytes)
    except (OSError, errors.ELFError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"no ELF file ({error})"
        raise WarploomError(f"{path}: {reason}") from error


def _kernel(elf: Any, name: str, memory_bytes: int) -> KernelElf:
    _check_machine(elf, name)
    segments = []
    for segment in elf.iter_segments("PT_LOAD"):
        address, data = segment["p_vaddr"], segment.data()
        size = segment["p_memsz"]
        if address >= WINDOW:
            if data:
                raise WarploomError(f"{name}: shared memory has initial values; legal: none")
            continue
        if address + size > memory_bytes:
            legal = f"below {memory_bytes:#x}"
            raise WarploomError(f"{name}: a segment ends at {address + size:#x}; legal: {legal}")
        if size < len(data):
            legal = f"{len(data)}, the bytes in the file, or more"
            raise WarploomError(f"{name}: a segment takes {size} bytes of memory; legal: {legal}")
        segments.append((address, data + bytes(size - len(data))))
    code = _code(elf, name)
    entry = elf["e_entry"]
    loaded = any(address <= entry < address + len(data) for address, data in segments)
    if entry not in code or not loaded:
        raise WarploomError(
            f"{name}: entry is {entry:#x}; legal: the address of a loaded instruction"
        )
    amounts = _amounts(elf, name)
    return KernelElf(
        entry=entry,
        segments=tuple(segments),
        end=max(address + len(data) for address, data in segments),
        registers=amounts[REGISTERS],
        shared_bytes=amounts[SHARED_BYTES],
        barriers=amounts[BARRIERS],
        code=code,
        symbols=_symbols(elf),
    )


def _check_machine(elf: Any, name: str) -> None:
    """Demand RV32I without compressed instructions, linked to fixed addresses."""
    for what, found, legal in (
        ("machine", elf["e_machine"], "EM_RISCV"),
        ("class", f"ELF{elf.elfclass}", "ELF32"),
        ("type", elf["e_type"], "ET_EXEC"),
    ):
        if found != legal:
            raise WarploomError(f"{name}: {what} is {found}; legal: {legal}")
    if elf["e_flags"] & _COMPRESSED:
        raise WarploomError(f"{name}: has compressed instructions; legal: -march=rv32im")


def _code(elf: Any, name: str) -> dict[int, int]:
    """Return the instructions; refuse those that no lane can execute, or that need a stack."""
    code: dict[int, int] = {}
    for section in elf.iter_sections():
        if not section["sh_flags"] & _EXECUTABLE:
            continue
        words = np.frombuffer(section.data()[: section["sh_size"] & ~3], "<u4").tolist()
        code |= {section["sh_addr"] + 4 * k: word for k, word in enumerate(words)}
    for address, word in code.items():
        try:
            instruction = decode(word)
        except IllegalInstruction as error:
            legal = "RV32I, multiplication, CSRs of warploom_kernel.h"
            raise WarploomError(f"{name}: at {address:#x}: {error}; legal: {legal}") from error
        if _STACK_POINTER in instruction.registers:
            raise WarploomError(
                f"{name}: at {address:#x}: {instruction.name} names x2, the stack pointer; legal:"
                " every other register, there is no stack"
            )
    return code


def _symbols(elf: Any) -> dict[str, int]:
    """Return what the symbol table names."""
    table = elf.get_section_by_name(".symtab")
    symbols: Any = getattr(table, "iter_symbols", tuple)()
    return {symbol.name: int(symbol["st_value"]) for symbol in symbols if symbol.name}


def _amounts(elf: Any, name: str) -> dict[str, int]:
    """Return the values of the three symbols."""
    # Nothing has this method but a symbol table.
    find = getattr(elf.get_section_by_name(".symtab"), "get_symbol_by_name", None)
    amounts = {}
    for symbol in (REGISTERS, SHARED_BYTES, BARRIERS):
        found = find(symbol) if find else None
        if not found:
            raise WarploomError(f"{name}: has no symbol {symbol}; legal: linked with kernel.ld")
        amounts[symbol] = int(found[0]["st_value"])
    return amounts
