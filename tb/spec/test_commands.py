"""The mailbox's page lists every opcode; one that is missing is named with the file."""

import re
from collections.abc import Iterable
from pathlib import Path

from tb.spec.test_unknown_names import extended
from warploom_spec.host_commands import Opcode

PAGE = Path(__file__).parents[2] / "docs/host/mailbox.md"


def missing(page: str, opcodes: Iterable[Opcode]) -> list[str]:
    """Return in words each opcode without a row in the page's table of commands."""
    rows = re.findall(r"^\| (\d+) ([A-Z_]+) \|", page, re.MULTILINE)
    return [
        f"the table of commands has no row '| {opcode} {opcode.name} |' (docs/host/mailbox.md)"
        for opcode in opcodes
        if (str(int(opcode)), opcode.name) not in rows
    ]


def test_the_page_lists_every_opcode() -> None:
    assert missing(PAGE.read_text(), Opcode) == []


def test_an_opcode_that_it_lacks_is_named() -> None:
    said = missing(PAGE.read_text(), extended(Opcode, "PING", 9))
    assert said == ["the table of commands has no row '| 9 PING |' (docs/host/mailbox.md)"]
