"""The drivers know every command and every field of a launch; what they lack is named."""

import re
from pathlib import Path

import pytest

from warploom_spec import preset
from warploom_spec.host_commands import COMMAND_TABLE, RESERVED_FIELD, WAIT_WORDS, launch_words

HOST = Path(__file__).parents[2] / "host"
HEADER, SOURCE = (HOST / f"c/warploom.{end}" for end in "hc")
PYTHON = HOST / "python/warploom_host/driver.py"
#: Fields that a caller gives otherwise, word 0, inline argument words and pairs, or not at all.
NOT_OF_CALLER = (
    "opcode",
    "flags",
    "parameter",
    RESERVED_FIELD,
    *(f"inline{k}" for k in range(10)),
    *(f"wait{k}_{part}" for k in range(WAIT_WORDS) for part in ("stream", "count")),
)
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
        if field.bits < 32 and f"EXCESS(launch->{name}, {macro})" not in source:
            found.append(f"launch_fits does not check {name} (host/c/warploom.c)")
        if field.bits < 32 and f"PUT(launch->{name}, {macro})" not in source:
            found.append(f"warploom_pack_launch does not write {name} (host/c/warploom.c)")
    return found


def test_the_driver_has_every_field() -> None:
    assert missing(HEADER.read_text(), SOURCE.read_text()) == []


@pytest.mark.parametrize(
    ("file", "old", "said"),
    [
        (HEADER, "barriers", "warploom_launch has no barriers (host/c/warploom.h)"),
        (
            SOURCE,
            "EXCESS(launch->barriers",
            "launch_fits does not check barriers (host/c/warploom.c)",
        ),
        (
            SOURCE,
            "PUT(launch->barriers",
            "warploom_pack_launch does not write barriers (host/c/warploom.c)",
        ),
    ],
)
def test_a_field_that_it_lacks_is_named_with_the_file(file: Path, old: str, said: str) -> None:
    texts = [path.read_text() for path in (HEADER, SOURCE)]
    changed = [
        re.sub(rf"{re.escape(old)}\b", "gone", text) if path is file else text
        for path, text in zip((HEADER, SOURCE), texts, strict=True)
    ]
    assert changed != texts
    assert missing(*changed) == [said]


def missing_calls(header: str, source: str, python: str) -> list[str]:
    """Return in words each call that a driver lacks for a command."""
    found = []
    for opcode, command in COMMAND_TABLE.items():
        call = command.call
        if not call:
            continue
        for text, old, file in (
            (header, f"int warploom_submit_{call}(", "host/c/warploom.h"),
            (source, f"PUT(WARPLOOM_OPCODE_{opcode.name},", "host/c/warploom.c"),
            (python, f"def submit_{call}(", "host/python/warploom_host/driver.py"),
        ):
            if old not in text:
                found.append(f"opcode {opcode.name} has no submit_{call} ({file})")
    return found


def texts_with_others() -> list[str]:
    """Return the texts of the three files, each with those beside it, as loops have."""
    return [
        "".join(path.read_text() for path in sorted(file.parent.glob(f"*{file.suffix}")))
        for file in (HEADER, SOURCE, PYTHON)
    ]


def test_the_drivers_have_every_command() -> None:
    assert missing_calls(*texts_with_others()) == []


@pytest.mark.parametrize("number", range(3))
def test_a_call_that_a_driver_lacks_is_named_with_the_file(number: int) -> None:
    files = (HEADER, SOURCE, PYTHON)
    texts = texts_with_others()
    text = texts[number].replace("submit_abort(", "end(").replace("OPCODE_ABORT,", "OPCODE_2,")
    texts[number] = text
    named = files[number].relative_to(HOST.parent)
    assert missing_calls(*texts) == [f"opcode ABORT has no submit_abort ({named})"]
