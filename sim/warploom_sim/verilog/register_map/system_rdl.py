"""The register map as SystemRDL 2.0."""

from collections.abc import Iterator
from typing import Final

from warploom_spec import Config
from warploom_spec.host_commands import LAYOUTS
from warploom_spec.host_map import SECTION_BASE, SECTION_BYTES, SECTION_WORDS, Word
from warploom_spec.host_registers import (
    IDENTITY,
    MAP_VERSION,
    config_crc,
    params,
    registers,
)
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


def system_rdl(config: Config, name: str) -> str:
    """Return one configuration's map as an ``addrmap`` with a ``regfile`` for each section.

    Registers that are constants are ``hw = na`` with their value as reset value. Before it stands
    an ``addrmap`` for each command, ``warploom_launch`` and so on: the task register with that
    command's fields, by byte offset from T0. The map itself is the last one, which tools take if
    they are told none.

    Parameters
    ----------
    config : Config
        The configuration.
    name : str
        Its name, for the map's description.
    """
    constants = _constants(config)
    lines = [
        "// Warploom's registers as a host sees them; generated, not to be edited.",
        *(line for make in LAYOUTS for line in _command(make(config))),
        "addrmap warploom {",
        '    name = "Warploom";',
        f'    desc = "Configuration {name}.";',
        *_WIDTHS,
        *(f"    {line}" for word in registers(config) for line in _register(word, constants)),
        "    regfile {",
        '        name = "One section of the mailbox";',
        *(f"        {line}" for word in SECTION_WORDS for line in _register(word, {})),
        f"    }} SECTION[{config.sections}] @ {SECTION_BASE:#x} += {SECTION_BYTES:#x};",
        "};",
    ]
    return "".join(f"{line}\n" for line in lines)


def _constants(config: Config) -> dict[tuple[str, str], int]:
    """Return the values that never change, by register and field."""
    found = {
        ("ID", "value"): IDENTITY,
        ("VERSION", "minor"): MAP_VERSION & 0xFFFF,
        ("VERSION", "major"): MAP_VERSION >> 16,
        ("CONFIG_CRC", "value"): config_crc(config),
    }
    return found | {(f"PARAMS{f.word}", f.name): value for f, value in params(config)}


def _command(layout: WordLayout) -> Iterator[str]:
    """Yield the task register with the fields of one command."""
    yield f"addrmap warploom_{layout.name} {{"
    yield f'    name = "Words of {layout.name}";'
    yield '    desc = "The task register of a section, from T0 on, for one command.";'
    yield from _WIDTHS
    for number in range(layout.words):
        if fields := layout.in_word(number):
            meaning = f"word {number} of the task register"
            word = Word(f"T{number}", 4 * number, "wo", meaning, fields)
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
