"""Marks inside a copy of the program: a loaded section with one variable for each loop.

The section ``.warploom.marks`` begins with a head of 48 bytes: magic ``WLMK``, version (u16), 0
(u16), loops (u32), 0 (u32), and the code's SHA-256. Each loop's variable follows, at a multiple of
8: its length (u32), 0 (u32), and its mark as JSON. A symbol ``warploom_loop_N`` names each one.
"""

import json
import struct
import tempfile
from pathlib import Path
from typing import Any, Final

from warploom_loops.elf_image import read_image
from warploom_loops.extra import require
from warploom_loops.marks import Marks
from warploom_loops.marks_file import FORMAT, VERSION, loop_as_data, marks_from_data
from warploom_spec import WarploomError

SECTION: Final = ".warploom.marks"
_MAGIC: Final = b"WLMK"
_HEAD: Final = struct.Struct("<4sHHII32s")
_LENGTH: Final = struct.Struct("<II")
_ALIGNMENT: Final = 8


def encode(marks: Marks) -> tuple[bytes, list[tuple[int, int]]]:
    """Return the section's bytes, and each variable's offset and size in the section."""
    content = bytearray(
        _HEAD.pack(_MAGIC, VERSION, 0, len(marks.loops), 0, bytes.fromhex(marks.code_hash))
    )
    places = []
    for loop in marks.loops:
        content += bytes(-len(content) % _ALIGNMENT)
        text = json.dumps(loop_as_data(loop), separators=(",", ":")).encode()
        places.append((len(content), _LENGTH.size + len(text)))
        content += _LENGTH.pack(len(text), 0) + text
    return bytes(content), places


def decode(content: bytes) -> Marks:
    """Return the marks that a section holds.

    Raises
    ------
    WarploomError
        If the section holds no marks of this version, or is damaged.
    """
    try:
        magic, version, _, count, _, code_hash = _HEAD.unpack_from(content)
        if magic != _MAGIC:
            raise WarploomError(f"section {SECTION} begins with {magic!r}; legal: {_MAGIC!r}")
        place, loops = _HEAD.size, []
        for _ in range(count):
            place += -place % _ALIGNMENT
            length, _ = _LENGTH.unpack_from(content, place)
            place += _LENGTH.size
            loops.append(json.loads(content[place : place + length]))
            place += length
    except (struct.error, ValueError) as error:
        if isinstance(error, WarploomError):
            raise
        raise WarploomError(f"section {SECTION} is damaged: {error}") from error
    data = {"format": FORMAT, "version": version, "code_hash": code_hash.hex(), "loops": loops}
    return marks_from_data(data)


def read_marked(path: Path) -> Marks:
    """Return the marks inside a program.

    Raises
    ------
    WarploomError
        If the program holds no marks, or the marks of other code.
    """
    image = read_image(path)
    section = require("lief").parse(str(path)).get_section(SECTION)
    if section is None:
        raise WarploomError(f"{path} has no section {SECTION}; legal: a program that was marked")
    marks = decode(bytes(section.content))
    if marks.code_hash != image.code_hash:
        raise WarploomError(f"the marks in {path} are of other code: {marks.code_hash}")
    return marks


def marked_program(path: Path, marks: Marks) -> bytes:
    """Return a copy of a program with its marks inside; code and data stay where they are.

    Raises
    ------
    WarploomError
        If the program holds marks already, has no room for another segment's entry, or if the
        copy's code or marks would differ.
    """
    lief = require("lief")
    binary = lief.parse(str(path))
    if binary.get_section(SECTION) is not None:
        raise WarploomError(f"{path} holds section {SECTION} already; legal: a program without")
    # The table of segments grows by one entry and moves to a gap between two segments. At any other
    # place it would move the code.
    if not binary.relocate_phdr_table(lief.ELF.Binary.PHDR_RELOC.SEGMENT_GAP):
        raise WarploomError(f"{path} has no gap between its segments for another segment's entry")
    content, places = encode(marks)
    added = _add_section(lief, binary, content)
    for number, (place, size) in enumerate(places):
        _add_symbol(lief, binary, f"warploom_loop_{number}", added, place, size)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "program"
        binary.write(str(copy))
        _check(path, copy, marks)
        return copy.read_bytes()


def _add_section(lief: Any, binary: Any, content: bytes) -> Any:
    section = lief.ELF.Section(SECTION)
    section.content = list(content)
    section.alignment = _ALIGNMENT
    section.add(lief.ELF.Section.FLAGS.ALLOC)
    return binary.add(section, loaded=True)


def _add_symbol(lief: Any, binary: Any, name: str, section: Any, place: int, size: int) -> None:
    symbol = lief.ELF.Symbol()
    symbol.name = name
    symbol.value = section.virtual_address + place
    symbol.size = size
    symbol.type = lief.ELF.Symbol.TYPE.OBJECT
    symbol.binding = lief.ELF.Symbol.BINDING.GLOBAL
    symbol.shndx = next(i for i, s in enumerate(binary.sections) if s.name == SECTION)
    binary.add_symtab_symbol(symbol)


def _check(path: Path, copy: Path, marks: Marks) -> None:
    """Refuse a copy whose code is not the program's, or whose marks cannot be read back."""
    before, after = read_image(path), read_image(copy)
    if (before.code_hash, before.functions) != (after.code_hash, after.functions):
        raise WarploomError(f"{path} cannot be marked: its code would move")
    if read_marked(copy) != marks:
        raise WarploomError(f"{path} cannot be marked: the marks do not come back")
