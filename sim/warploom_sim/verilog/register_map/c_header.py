"""The register map as a C header that needs ``stdint.h`` and nothing else."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import IntEnum
from typing import Final

from warploom_spec import Config
from warploom_spec.codes import CODES
from warploom_spec.host_commands import (
    FIRST_RELATIVE_FLAG,
    FLAG_SKIP_PRIMARY,
    command_layouts,
    known_commands,
    template_words,
)
from warploom_spec.host_map import (
    SECTION_BASE,
    SECTION_BYTES,
    TEMPLATE_BASE,
    TEMPLATE_BYTES,
    TEMPLATE_STEPS,
    Word,
    section_words,
)
from warploom_spec.host_registers import (
    IDENTITY,
    ErrorBlock,
    Interrupt,
    config_crc,
    map_version,
    params,
    registers,
)
from warploom_spec.queue import FinalFate, Mode, RecordKind
from warploom_spec.queue_packets import final_record_words
from warploom_spec.word_layout import WordField, WordLayout

PREFIX: Final = "WARPLOOM_"


def c_header(config: Config, name: str) -> str:
    """Return the header of one configuration.

    Constants are macros, so that the preprocessor and other languages can read them: of each field
    ``_SHIFT``, its lowest bit, and ``_MASK``, its bits in their place; in a command's or record's
    words also ``_WORD``. Addresses are byte addresses from the core's own.

    Parameters
    ----------
    config : Config
        The configuration.
    name : str
        Its name, for the header's first lines.
    """
    record = replace(final_record_words(config), name="record")
    lines = [
        f"/* Warploom's registers as a host sees them. Configuration {name}; generated, not to be",
        " * edited. A driver compares CONFIG_CRC with WARPLOOM_CONFIG_CRC before anything else. */",
        "#ifndef WARPLOOM_HOST_H",
        "#define WARPLOOM_HOST_H",
        "",
        "#include <stdint.h>",
        "",
        *_constants(config),
        *_registers(registers(config)),
        *_section(section_words(config)),
        *_enumeration("opcodes", "OPCODE", known_commands(config)),
        _define("FLAG_SKIP_PRIMARY", FLAG_SKIP_PRIMARY),
        *(line for layout in command_layouts(config) for line in _words(layout)),
        *_templates(config),
        *_enumeration("modes of a launch", "MODE", Mode),
        *_words(record),
        *_enumeration("fates of a record", "FATE", FinalFate),
        *_enumeration("kinds of a record", "KIND", RecordKind),
        *_enumeration("bits of IRQ_ENABLE and IRQ_STATUS", "IRQ", Interrupt),
        *_enumeration("blocks of ERROR_LAST", "BLOCK", ErrorBlock),
        *_codes(),
        *_functions(),
        "#endif",
    ]
    return "".join(f"{line}\n" for line in lines)


def _define(name: str, value: int, *, hexadecimal: bool = False) -> str:
    text = f"0x{value:08X}" if hexadecimal else str(value)
    return f"#define {PREFIX}{name} UINT32_C({text})"


def _constants(config: Config) -> Iterator[str]:
    yield "/* What ID, VERSION and CONFIG_CRC read. */"
    yield _define("ID", IDENTITY, hexadecimal=True)
    yield _define("VERSION", map_version(config), hexadecimal=True)
    yield _define("CONFIG_CRC", config_crc(config), hexadecimal=True)
    yield ""
    numbers = params(config)
    last = numbers[-1][0].word
    yield f"/* Numbers of this configuration, as PARAMS0 to PARAMS{last} say them. */"
    for field, value in numbers:
        yield _define(field.name.upper(), value)
    yield ""
    yield "/* Rows of the index memory, a warp's indices each; 0: there is none. */"
    yield _define("INDEX_MEMORY_WARPS", config.index_memory_warps)
    yield ""


def _registers(words: Iterable[Word]) -> Iterator[str]:
    yield "/* Registers: byte addresses; fields. */"
    for word in words:
        yield f"/* {word.access}: {word.meaning} */"
        yield _define(f"{word.name}_ADDRESS", word.offset, hexadecimal=True)
        yield from _fields(word.name, word.fields)
    yield ""


def _section(words: Iterable[Word]) -> Iterator[str]:
    yield "/* Sections: section k begins at SECTION_BASE + k * SECTION_BYTES. */"
    yield _define("SECTION_BASE", SECTION_BASE, hexadecimal=True)
    yield _define("SECTION_BYTES", SECTION_BYTES, hexadecimal=True)
    for word in words:
        yield f"/* {word.access}: {word.meaning} */"
        yield _define(f"SECTION_{word.name}_OFFSET", word.offset, hexadecimal=True)
        yield from _fields(f"SECTION_{word.name}", word.fields)
    yield ""


def _fields(owner: str, fields: Iterable[WordField]) -> Iterator[str]:
    """Give shift and mask of each field; a word that is one number needs none."""
    for field in fields:
        if field.bits < 32:
            name = f"{owner}_{field.name.upper()}"
            yield _define(f"{name}_SHIFT", field.low)
            yield _define(f"{name}_MASK", ((1 << field.bits) - 1) << field.low, hexadecimal=True)


def _words(layout: WordLayout) -> Iterator[str]:
    yield ""
    yield f"/* Words of {layout.name}. */"
    for word in range(layout.words):
        for field in layout.in_word(word):
            owner = layout.name.upper()
            yield _define(f"{owner}_{field.name.upper()}_WORD", word)
            yield from _fields(owner, [field])


def _templates(config: Config) -> Iterator[str]:
    """Give the templates of loops; nothing where there are none."""
    if not config.has_loops:
        return
    yield ""
    yield "/* Flags of LAUNCH: pair k is relative if the flag of this number + k is 1. */"
    yield _define("FLAG_RELATIVE", FIRST_RELATIVE_FLAG)
    yield "/* Templates: slot k begins at TEMPLATE_BASE + k * TEMPLATE_BYTES, its second half"
    yield " * TEMPLATE_STEPS further on. */"
    yield _define("TEMPLATE_BASE", TEMPLATE_BASE, hexadecimal=True)
    yield _define("TEMPLATE_BYTES", TEMPLATE_BYTES, hexadecimal=True)
    yield _define("TEMPLATE_STEPS", TEMPLATE_STEPS, hexadecimal=True)
    yield from _words(template_words(config))


def _enumeration(title: str, prefix: str, kind: Iterable[IntEnum]) -> Iterator[str]:
    yield ""
    yield f"/* {title.capitalize()}. */"
    for member in kind:
        yield _define(f"{prefix}_{member.name}", member.value)


def _codes() -> Iterator[str]:
    """Give every error code."""
    yield ""
    yield "/* Error codes, of ERROR, of records and of ERROR_LAST. */"
    for number, code in CODES.items():
        yield _define(f"ERROR_{code.name}", number)
    yield ""


def _functions() -> Iterator[str]:
    yield "/* Byte address of a section's word: an offset of the macros above. */"
    yield "static inline uint32_t warploom_section(uint32_t section, uint32_t offset)"
    yield "{"
    yield "    return WARPLOOM_SECTION_BASE + section * WARPLOOM_SECTION_BYTES + offset;"
    yield "}"
    yield ""
