"""A section of the mailbox as a host sees it: addresses and words, as data."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from warploom_spec.codes import AnyCode
from warploom_spec.config import Config
from warploom_spec.host_commands import INLINE_WORD, TASK_WORDS
from warploom_spec.queue_packets import FIRST_WAIT_WORD, WAIT_BITS
from warploom_spec.word_layout import WordField

#: Bytes of the AXI4-Lite address space, of a section, and where section 0 begins.
ADDRESS_BITS: Final = 16
SECTION_BASE: Final = 0x1000
SECTION_BYTES: Final = 0x200
#: Bytes of a template slot, where slot 0 begins, and where a slot's second half does.
TEMPLATE_BASE: Final = 0x8000
TEMPLATE_BYTES: Final = 0x100
TEMPLATE_STEPS: Final = 0x80
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
#: What a section has, too, where there are loops. 0 in a section that cannot loop.
LOOP_RESULTS: Final = (
    _whole("RESULT2", 0x018, "ro", "launches of a loop that finished"),
    _whole("RESULT3", 0x01C, "ro", "launches of a loop that were accepted"),
)
OFFSETS: Final = {word.name: word.offset for word in (*SECTION_WORDS, *LOOP_RESULTS)}


def section_words(config: Config) -> tuple[Word, ...]:
    """Return the words of a section, by rising offset."""
    words = (*SECTION_WORDS, *(LOOP_RESULTS if config.has_loops else ()))
    return tuple(sorted(words, key=lambda word: word.offset))


def section_address(section: int, name: str) -> int:
    """Return the byte address of a word of a section."""
    return SECTION_BASE + SECTION_BYTES * section + OFFSETS[name]


def template_numbers(config: Config) -> tuple[int, ...]:
    """Return the numbers of the words that each half of a template has: those of its launch."""
    inline = range(INLINE_WORD, INLINE_WORD + 2 * config.inline_args)
    waits = range(FIRST_WAIT_WORD, FIRST_WAIT_WORD + config.launch_waits)
    return (*range(INLINE_WORD), *inline, *waits)


def template_address(slot: int, number: int, *, steps: bool = False) -> int:
    """Return the byte address of a word of a template, of its first or second half."""
    return TEMPLATE_BASE + TEMPLATE_BYTES * slot + TEMPLATE_STEPS * steps + 4 * number


def find_template(config: Config, address: int) -> tuple[int, bool, int] | None:
    """Return slot, half and word number of a byte address; None outside the templates."""
    slot, offset = divmod(address - TEMPLATE_BASE, TEMPLATE_BYTES)
    second, rest = divmod(offset, TEMPLATE_STEPS)
    there = 0 <= slot < config.loop_templates and rest // 4 in template_numbers(config)
    return (slot, bool(second), rest // 4) if there else None
