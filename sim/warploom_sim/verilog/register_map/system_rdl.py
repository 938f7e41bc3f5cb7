"""The register map as SystemRDL 2.0."""

from collections.abc import Iterator
from typing import Final

from warploom_spec import Config
from warploom_spec.host_commands import command_layouts, template_words
from warploom_spec.host_map import (
    SECTION_BASE,
    SECTION_BYTES,
    TEMPLATE_BASE,
    TEMPLATE_BYTES,
    Word,
    section_words,
)
from warploom_spec.host_registers import IDENTITY, config_crc, map_version, params, registers
from warploom_spec.word_layout import WordLayout

_ACCESS: Final = {
    "ro": "sw = r; hw = w;",
    "rw": "sw = rw; hw = r;",
    "wo": "sw = w; hw = r;",
    # An event wins over a write that clears its bit.
    "w1c": "sw = rw; hw = r; hwset; onwrite = woclr; precedence = hw;",
}


_WIDTHS: Final = (
    "    default regwidth = 32;",
    "    default accesswidth = 32;",
    "    lsb0;",
)
_REGISTERS: Final = ("addrmap warploom_registers {", '    name = "Registers and sections";')


def system_rdl(config: Config, name: str, *, blocks: bool = False) -> str:
    """Return one configuration's map as an ``addrmap`` with a ``regfile`` for each section.

    Registers that are constants are ``hw = na`` with their value as reset value. Before it stands
    an ``addrmap`` for each command, ``warploom_launch`` and so on: the task register with that
    command's fields, by byte offset from T0. With loops ``warploom_template`` has the words of half
    a template slot, and all slots are one ``mem``. The map itself is the last one, which tools take
    if they are told none.

    Parameters
    ----------
    config : Config
        The configuration.
    name : str
        Its name, for the map's description.
    blocks : bool
        Whether registers and templates are two blocks of the map, for tools that take no ``mem``
        beside registers.
    """
    constants = _constants(config)
    about = ("addrmap warploom {", '    name = "Warploom";', f'    desc = "Configuration {name}.";')
    task = "The task register of a section, from T0 on, for one command."
    lines = [
        "// Warploom's registers as a host sees them; generated, not to be edited.",
        *(line for layout in command_layouts(config) for line in _layout(layout, task)),
        *(_layout(template_words(config), "Half a template slot.") if config.has_loops else ()),
        *(_REGISTERS if blocks else about),
        *_WIDTHS,
        *(f"    {line}" for word in registers(config) for line in _register(word, constants)),
        "    regfile {",
        '        name = "One section of the mailbox";',
        *(f"        {line}" for word in section_words(config) for line in _register(word, {})),
        f"    }} SECTION[{config.sections}] @ {SECTION_BASE:#x} += {SECTION_BYTES:#x};",
        *(("};", *about, "    warploom_registers REGISTERS @ 0x0;") if blocks else ()),
        *_templates(config),
        "};",
    ]
    return "".join(f"{line}\n" for line in lines)


def _constants(config: Config) -> dict[tuple[str, str], int]:
    """Return the values that never change, by register and field."""
    found = {
        ("ID", "value"): IDENTITY,
        ("VERSION", "minor"): map_version(config) & 0xFFFF,
        ("VERSION", "major"): map_version(config) >> 16,
        ("CONFIG_CRC", "value"): config_crc(config),
    }
    return found | {(f"PARAMS{f.word}", f.name): value for f, value in params(config)}


def _templates(config: Config) -> Iterator[str]:
    """Yield the template slots as one memory; nothing where there are no loops."""
    if not config.has_loops:
        return
    words = TEMPLATE_BYTES // 4
    yield "    external mem {"
    yield '        name = "Launch templates";'
    yield f'        desc = "{words} words a slot. Not each word is there: the others are refused.";'
    yield f"        mementries = {config.loop_templates * words};"
    yield "        memwidth = 32;"
    yield "        sw = w;"
    yield f"    }} TEMPLATES @ {TEMPLATE_BASE:#x};"


def _layout(layout: WordLayout, meaning: str) -> Iterator[str]:
    """Yield words with the fields of one layout, by byte offset from T0."""
    yield f"addrmap warploom_{layout.name} {{"
    yield f'    name = "Words of {layout.name}";'
    yield f'    desc = "{meaning}";'
    yield from _WIDTHS
    for number in range(layout.words):
        if fields := layout.in_word(number):
            word = Word(f"T{number}", 4 * number, "wo", f"word {number}", fields)
            yield from (f"    {line}" for line in _register(word, {}))
    yield "};"


def _register(word: Word, constants: dict[tuple[str, str], int]) -> Iterator[str]:
    yield "reg {"
    yield f'    desc = "{word.meaning}";'
    for field in word.fields:
        constant = constants.get((word.name, field.name))
        access = _ACCESS["ro" if field.name in word.read_only else word.access]
        access = access if constant is None else "sw = r; hw = na;"
        reset = "" if constant is None else f" = {constant:#x}"
        yield (
            f'    field {{ {access} desc = "{field.meaning}"; }}'
            f" {field.name}[{field.high}:{field.low}]{reset};"
        )
    yield f"}} {word.name} @ {word.offset:#x};"
