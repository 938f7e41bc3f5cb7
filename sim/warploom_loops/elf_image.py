"""Reads an x86-64 ELF program: its functions, the names of calls, and its read-only bytes."""

import hashlib
import io
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from warploom_loops.extra import require
from warploom_loops.kernel_parameters import kernel_parameters
from warploom_spec import WarploomError

ELF_MAGIC: Final = b"\x7fELF"
_WRITABLE, _ALLOCATED, _CODE = 1, 2, 4
#: Sections that the loader fills and then makes read-only: their contents do not change.
_RELOCATED: Final = (".got", ".data.rel.ro", ".dynamic")
#: First bytes of the jump in a stub of the procedure linkage table. The jump reads its target from
#: the global offset table.
_STUB_JUMPS: Final = (b"\xff\x25", b"\xf2\xff\x25")


@dataclass(frozen=True, slots=True)
class Function:
    """A function's symbol.

    Attributes
    ----------
    name : str
        Name of the symbol, as the compiler mangled it.
    address : int
        Address of the function, relative to the image's load address.
    size : int
        Size of the function in bytes.
    """

    name: str
    address: int
    size: int


@dataclass(frozen=True, slots=True)
class _Section:
    name: str
    address: int
    data: bytes
    flags: int


@dataclass(frozen=True)
class ElfImage:
    """A program that nvcc made.

    Attributes
    ----------
    functions : dict of int to Function
        The program's functions, by address.
    objects : dict of int to str
        Names of variables, by address.
    imports : dict of int to str
        Names of imported functions, by the address of their stub, or of their slot in the global
        offset table.
    kernels : dict of str to tuple of int
        Parameter sizes of each kernel, by its mangled name.
    code_hash : str
        SHA-256 of the section ``.text``.
    position_independent : bool
        Whether the program can be loaded at any address.
    """

    functions: dict[int, Function]
    objects: dict[int, str]
    imports: dict[int, str]
    kernels: dict[str, tuple[int, ...]]
    code_hash: str
    position_independent: bool
    _sections: list[_Section] = field(repr=False, default_factory=list)

    def section(self, address: int) -> str | None:
        """Return the name of the section that holds an address; None if no section does."""
        found = self._find(address)
        return found.name if found else None

    def code(self, address: int, size: int) -> bytes:
        """Return up to ``size`` bytes of machine code; empty outside code."""
        found = self._find(address)
        if found is None or not found.flags & _CODE:
            return b""
        begin = address - found.address
        return found.data[begin : begin + size]

    def constant(self, address: int, size: int) -> bytes | None:
        """Return bytes that never change; None if a byte may be written or is in no section."""
        found = self._find(address)
        if found is None or found.flags & _WRITABLE or found.name in _RELOCATED:
            return None
        data = found.data[address - found.address :][:size]
        return data if len(data) == size else None

    def is_fixed(self, address: int) -> bool:
        """Return whether the running program cannot write to an address."""
        found = self._find(address)
        return found is not None and (not found.flags & _WRITABLE or found.name in _RELOCATED)

    def call_name(self, target: int) -> str | None:
        """Return the name of the function that a call to ``target`` reaches; None if unknown."""
        if target in self.imports:
            return self.imports[target]
        function = self.functions.get(target)
        return function.name if function else None

    def _find(self, address: int) -> _Section | None:
        for section in self._sections:
            if section.address <= address < section.address + len(section.data):
                return section
        return None


def read_image(path: Path) -> ElfImage:
    """Read a program.

    Raises
    ------
    WarploomError
        If the file is no ELF file, is cut off, is made for another machine, or has no symbol table
        or no code.
    """
    module = require("elftools.elf.elffile")
    errors = require("elftools.common.exceptions").ELFError
    data = path.read_bytes()
    if not data.startswith(ELF_MAGIC):
        raise WarploomError(f"{path} is no ELF file; legal: an x86-64 program made by nvcc")
    try:
        elf = module.ELFFile(io.BytesIO(data))
        _check(path, elf, len(data))
        return _read(elf)
    except WarploomError:
        raise
    except (
        errors,
        struct.error,
        KeyError,
        IndexError,
        ValueError,
        TypeError,
        AttributeError,
        AssertionError,
        EOFError,
        OverflowError,
        MemoryError,
    ) as error:
        what = str(error) or type(error).__name__
        raise WarploomError(f"{path} is cut off or damaged: {what}") from error


def _check(path: Path, elf: Any, size: int) -> None:
    if elf.elfclass != 64 or not elf.little_endian:
        order = "little" if elf.little_endian else "big"
        raise WarploomError(
            f"{path} is an ELF file of {elf.elfclass} bits, {order}-endian; legal: 64, little"
        )
    machine = elf["e_machine"]
    if machine != "EM_X86_64":
        raise WarploomError(f"{path} is an ELF file for {machine}; legal: EM_X86_64")
    kind = elf["e_type"]
    if kind not in ("ET_DYN", "ET_EXEC"):
        raise WarploomError(f"{path} is an ELF file of type {kind}; legal: ET_EXEC, ET_DYN")
    if not elf["e_shoff"]:
        raise WarploomError(f"{path} has no section headers; legal: a program that is not stripped")
    if elf["e_shoff"] + elf["e_shnum"] * elf["e_shentsize"] > size:
        raise WarploomError(f"{path} is cut off: its section headers lie behind its end")
    for section in elf.iter_sections():
        if section["sh_type"] != "SHT_NOBITS" and section["sh_offset"] + section["sh_size"] > size:
            raise WarploomError(f"{path} is cut off in section {section.name}")
    if elf.get_section_by_name(".symtab") is None:
        raise WarploomError(f"{path} is stripped: no section .symtab; legal: with a symbol table")
    if elf.get_section_by_name(".text") is None:
        raise WarploomError(f"{path} holds no section .text; legal: a program made by nvcc")


def _read(elf: Any) -> ElfImage:
    sections = [
        _Section(s.name, s["sh_addr"], _bytes(s), s["sh_flags"])
        for s in elf.iter_sections()
        if s["sh_flags"] & _ALLOCATED and s["sh_size"] and s.name not in (".tbss", ".tdata")
    ]
    functions, objects = _symbols(elf)
    fatbin = elf.get_section_by_name(".nv_fatbin")
    slots = _import_slots(elf)
    return ElfImage(
        functions=functions,
        objects=objects,
        imports=slots | _import_stubs(sections, slots),
        kernels=kernel_parameters(fatbin.data()) if fatbin else {},
        code_hash=hashlib.sha256(elf.get_section_by_name(".text").data()).hexdigest(),
        position_independent=elf["e_type"] == "ET_DYN",
        _sections=sections,
    )


def _bytes(section: Any) -> bytes:
    if section["sh_type"] == "SHT_NOBITS":
        return bytes(section["sh_size"])
    data: bytes = section.data()
    return data


def _symbols(elf: Any) -> tuple[dict[int, Function], dict[int, str]]:
    functions: dict[int, Function] = {}
    objects: dict[int, str] = {}
    for symbol in elf.get_section_by_name(".symtab").iter_symbols():
        if symbol["st_shndx"] == "SHN_UNDEF":
            continue
        address, kind = symbol["st_value"], symbol["st_info"]["type"]
        if kind == "STT_FUNC":
            known = functions.get(address)
            # One address may have two names, such as a constructor's. The first name with a size
            # stays.
            if known is None or not known.size:
                functions[address] = Function(symbol.name, address, symbol["st_size"])
        elif kind == "STT_OBJECT":
            objects.setdefault(address, symbol.name)
    return functions, objects


def _import_slots(elf: Any) -> dict[int, str]:
    """Return the names of imported symbols by the address of the slot that the loader fills."""
    slots: dict[int, str] = {}
    for name in (".rela.plt", ".rela.dyn"):
        table = elf.get_section_by_name(name)
        if table is None or not table["sh_link"]:
            continue
        symbols = elf.get_section(table["sh_link"])
        for entry in table.iter_relocations():
            symbol = symbols.get_symbol(entry["r_info_sym"])
            if symbol is not None and symbol.name:
                slots[entry["r_offset"]] = symbol.name
    return slots


def _import_stubs(sections: list[_Section], slots: dict[int, str]) -> dict[int, str]:
    """Return the names of imported functions by the address of their stub."""
    stubs: dict[int, str] = {}
    for section in sections:
        if not section.name.startswith(".plt"):
            continue
        for begin in range(0, len(section.data) - 7, 8):
            for jump in _STUB_JUMPS:
                # An `endbr64` of four bytes may stand before the jump.
                for before in (0, 4):
                    at = begin + before
                    if section.data[at : at + len(jump)] == jump:
                        end = at + len(jump) + 4
                        (distance,) = struct.unpack_from("<i", section.data, at + len(jump))
                        slot = section.address + end + distance
                        if slot in slots:
                            stubs.setdefault(section.address + begin, slots[slot])
    return stubs
