"""The C driver knows every field of a launch; one that it lacks is named with the file."""

import re
from pathlib import Path

import pytest

from warploom_spec import preset
from warploom_spec.host_commands import launch_words

FOLDER = Path(__file__).parents[2] / "host/c"
HEADER, SOURCE = (FOLDER / f"warploom.{end}" for end in "hc")
#: Fields that a caller gives otherwise: word 0, and inline argument words.
NOT_OF_CALLER = ("opcode", "flags", "parameter", *(f"inline{k}" for k in range(10)))
FIELDS = [
    field for field in launch_words(preset("default")).fields if field.name not in NOT_OF_CALLER
]


def missing(header: str, source: str) -> list[str]:
    """Return in words each field that the driver's struct, its checks or its words lack."""
    struct = re.search(r"typedef struct \{([^}]*)\} warploom_launch;", header)
    assert struct, "host/c/warploom.h has no struct warploom_launch"
    found = []
    for field in FIELDS:
        name, macro = field.name, f"WARPLOOM_LAUNCH_{field.name.upper()}"
        if not re.search(rf"\b{name}\b", struct[1]):
            found.append(f"warploom_launch has no {name} (host/c/warploom.h)")
        if field.bits < 32 and f"FITS(launch->{name}, {macro})" not in source:
            found.append(f"launch_fits does not check {name} (host/c/warploom.c)")
        if field.bits < 32 and f"PUT(launch->{name}, {macro})" not in source:
            found.append(f"warploom_submit_launch does not write {name} (host/c/warploom.c)")
    return found


def test_the_driver_has_every_field() -> None:
    assert missing(HEADER.read_text(), SOURCE.read_text()) == []


@pytest.mark.parametrize(
    ("file", "old", "said"),
    [
        (HEADER, ", barriers;", "warploom_launch has no barriers (host/c/warploom.h)"),
        (
            *(SOURCE, "FITS(launch->barriers,"),
            "launch_fits does not check barriers (host/c/warploom.c)",
        ),
        (
            *(SOURCE, "PUT(launch->barriers,"),
            "warploom_submit_launch does not write barriers (host/c/warploom.c)",
        ),
    ],
)
def test_a_field_that_it_lacks_is_named_with_the_file(file: Path, old: str, said: str) -> None:
    texts = [path.read_text() for path in (HEADER, SOURCE)]
    changed = [
        text.replace(old, ";") if path is file else text
        for path, text in zip((HEADER, SOURCE), texts, strict=True)
    ]
    assert changed != texts
    assert missing(*changed) == [said]
