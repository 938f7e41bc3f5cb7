"""The mailbox as a host sees it: addresses, words, opcodes, as data."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

#: Bytes of the AXI4-Lite address space, of a section, and where section 0 begins.
ADDRESS_BITS: Final = 16
SECTION_BASE: Final = 0x1000
SECTION_BYTES: Final = 0x200
#: Words of a task register, of which RUN uses the first eight.
TASK_WORDS: Final = 32
#: Words that a unit's cores may write as results.
RESULT_WORDS: Final = 8
#: AXI responses.
OKAY, SLVERR = 0, 2


class Opcode(IntEnum):
    """Commands, in the lowest eight bits of the task register's word 0."""

    NOP = 0
    RUN = 1
    DISCONNECT = 8


#: Flag of RUN, bit 8 of word 0: the primary core takes no part itself.
FLAG_SKIP_PRIMARY: Final = 1


@dataclass(frozen=True)
class Word:
    """One word of a section.

    Attributes
    ----------
    name : str
        As the page has it.
    offset : int
        Byte offset within the section.
    access : str
        ``rw``, ``ro`` or ``wo``; a word that can only be written reads 0.
    meaning : str
        What it holds.
    """

    name: str
    offset: int
    access: str
    meaning: str


SECTION_WORDS: Final = (
    Word("DOORBELL", 0x000, "rw", "bit 0: a command waits or runs"),
    Word("STATUS", 0x004, "ro", "bit c: core c's part succeeded"),
    Word("ASSIGNED", 0x008, "ro", "bit c: core c got a part"),
    Word("ERROR", 0x00C, "ro", "code [7:0], core [15:8], argument [31:16]"),
    Word("RESULT0", 0x010, "ro", "ticket of a launch; 0: none"),
    Word("RESULT1", 0x014, "ro", "task number [7:0]"),
    *(
        Word(f"RESULT{8 + k}", 0x020 + 4 * k, "ro", f"result word {k} of the unit's cores")
        for k in range(RESULT_WORDS)
    ),
    *(Word(f"T{k}", 0x080 + 4 * k, "wo", f"task register, word {k}") for k in range(TASK_WORDS)),
)
OFFSETS: Final = {word.name: word.offset for word in SECTION_WORDS}


def section_address(section: int, name: str) -> int:
    """Return the byte address of a word of a section."""
    return SECTION_BASE + SECTION_BYTES * section + OFFSETS[name]
