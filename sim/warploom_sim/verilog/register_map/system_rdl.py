"""The register map as SystemRDL 2.0."""

from collections.abc import Iterator
from typing import Final

from warploom_spec import Config
from warploom_spec.host_map import SECTION_BASE, SECTION_BYTES, SECTION_WORDS, Word
from warploom_spec.host_registers import (
    IDENTITY,
    MAP_VERSION,
    config_crc,
    params,
    registers,
)

_ACCESS: Final = {
    "ro": "sw = r; hw = w;",
    "rw": "sw = rw; hw = r;",
    "wo": "sw = w; hw = r;",
    "w1c": "sw = rw; hw = w; onwrite = woclr;",
}


def system_rdl(config: Config, name: str) -> str:
    """Return one configuration's map as an ``addrmap`` with a ``regfile`` for each section.

    Registers that are constants are ``hw = na`` with their value as reset value.

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
        "addrmap warploom {",
        '    name = "Warploom";',
        f'    desc = "Configuration {name}.";',
        "    default regwidth = 32;",
        "    default accesswidth = 32;",
        "    lsb0;",
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


def _register(word: Word, constants: dict[tuple[str, str], int]) -> Iterator[str]:
    yield "reg {"
    yield f'    desc = "{word.meaning}";'
    for field in word.fields:
        constant = constants.get((word.name, field.name))
        access = _ACCESS[word.access] if constant is None else "sw = r; hw = na;"
        reset = "" if constant is None else f" = {constant:#x}"
        yield (
            f'    field {{ {access} desc = "{field.meaning}"; }}'
            f" {field.name}[{field.high}:{field.low}]{reset};"
        )
    yield f"}} {word.name} @ {word.offset:#x};"
