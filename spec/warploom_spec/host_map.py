"""A section of the mailbox as a host sees it: addresses and words, as data."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from warploom_spec.codes import AnyCode
from warploom_spec.host_commands import TASK_WORDS
from warploom_spec.queue_packets import WAIT_BITS
from warploom_spec.word_layout import WordField

#: Bytes of the AXI4-Lite address space, of a section, and where section 0 begins.
ADDRESS_BITS: Final = 16
SECTION_BASE: Final = 0x1000
SECTION_BYTES: Final = 0x200
#: Words that a unit's cores may write as results.
RESULT_WORDS: Final = 8
#: AXI responses.
OKAY, SLVERR = 0, 2


@dataclass(frozen=True)
class Word:
    """One word of the map.

    Attributes
    ----------
    name : str
        As the page has it.
    offset : int
        Byte offset within the section, or byte address of a register.
    access : str
        ``rw``, ``ro``, ``wo`` (reads 0), or ``w1c`` (a bit is cleared by writing 1).
    meaning : str
        What it holds.
    fields : tuple[WordField, ...]
        Its fields; their ``word`` is 0. Bits without a name read 0.
    acts : bool
        Whether a write does something at once: it must have all its strobes.
    read_only : tuple[str, ...]
        Names of fields that a write never changes, whatever the register's access is.
    """

    name: str
    offset: int
    access: str
    meaning: str
    fields: tuple[WordField, ...]
    acts: bool = False
    read_only: tuple[str, ...] = ()


def bits(
    name: str, low: int, width: int, meaning: str, names: type[IntEnum] | None = None
) -> WordField:
    """Return a field of a word of its own."""
    return WordField(name, 0, low, width, meaning, names)


def _whole(name: str, offset: int, access: str, meaning: str) -> Word:
    """Return a word that is one field."""
    return Word(name, offset, access, meaning, (bits("value", 0, 32, meaning),))


SECTION_WORDS: Final = (
    Word(
        "DOORBELL",
        0x000,
        "rw",
        "bit 0: a command waits or runs",
        (bits("rung", 0, 1, "1: a command waits or runs"),),
        acts=True,
    ),
    _whole("STATUS", 0x004, "ro", "bit c: core c's part succeeded"),
    _whole("ASSIGNED", 0x008, "ro", "bit c: core c got a part"),
    Word(
        "ERROR",
        0x00C,
        "ro",
        "code [7:0], core [15:8], argument [31:16]",
        (
            bits("code", 0, 8, "0, or why the command failed", AnyCode),
            bits("core", 8, 8, "the core that the code speaks of"),
            bits("argument", 16, 16, "argument of the code"),
        ),
    ),
    _whole("RESULT0", 0x010, "ro", "ticket of a launch; 0: none"),
    Word(
        "RESULT1",
        0x014,
        "ro",
        "task number [7:0], launch's number [31:16]",
        (
            bits("task", 0, 8, "number of the unit's task"),
            bits("count", 16, WAIT_BITS, "number of a launch in its stream, low bits; 0: none"),
        ),
    ),
    *(
        _whole(f"RESULT{8 + k}", 0x020 + 4 * k, "ro", f"result word {k} of the unit's cores")
        for k in range(RESULT_WORDS)
    ),
    *(_whole(f"T{k}", 0x080 + 4 * k, "wo", f"task register, word {k}") for k in range(TASK_WORDS)),
)
OFFSETS: Final = {word.name: word.offset for word in SECTION_WORDS}


def section_address(section: int, name: str) -> int:
    """Return the byte address of a word of a section."""
    return SECTION_BASE + SECTION_BYTES * section + OFFSETS[name]
