"""A new opcode or status is not judged as an old one: the models refuse it."""

from enum import IntEnum
from pathlib import Path
from typing import Any

import pytest

from warploom_golden.host import Mailbox
from warploom_golden.host import mailbox as mailbox_module
from warploom_golden.oracles.block_state import reported_state
from warploom_spec import (
    BlockStatus,
    WarploomError,
    host_commands,
    host_packets,
    preset,
)
from warploom_spec.host_commands import Opcode
from warploom_spec.host_errors import HostError
from warploom_spec.host_map import section_address

TINY = preset("tiny")
READ, WRITE, ANSWER = (
    getattr(host_packets, name)(TINY) for name in ("bus_read", "bus_write", "bus_answer")
)


def extended(kind: type[IntEnum], name: str, number: int) -> Any:
    """Return an enum with one member more."""
    members = {member.name: member.value for member in kind}
    return IntEnum(kind.__name__, members | {name: number})  # type: ignore[misc]


def ring(opcode: int) -> int:
    """Let section 0 of the mailbox's model run a command; return what ERROR reads."""
    mailbox = Mailbox(TINY, launches=False)
    idle = {"write": 0, "read": 0, "done__0": 0, "result__0": 0, "missing": 0, "unit_reset": 0}

    def write(name: str, data: int) -> dict[str, int]:
        address = section_address(0, name) // 4
        return {"write": WRITE.pack({"valid": 1, "address": address, "data": data, "strobes": 15})}

    read = {"read": READ.pack({"valid": 1, "address": section_address(0, "ERROR") // 4})}
    # The answer comes three cycles after `read`: one to its sampling, and two more.
    for inputs in (write("T0", opcode), write("DOORBELL", 1), {}, {}, read, {}, {}):
        mailbox.tick(idle | inputs)
    answer = mailbox.outputs(idle)["answer"]
    assert answer is not None
    return ANSWER.unpack(answer)["data"]


def test_an_opcode_of_no_table_is_a_bad_opcode() -> None:
    for opcode in set(range(256)) - {int(known) for known in Opcode}:
        assert ring(opcode) == HostError.BAD_OPCODE


def test_an_opcode_that_the_model_does_not_judge_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without `assert_never` it was judged as a RUN."""
    monkeypatch.setattr(mailbox_module, "Opcode", extended(Opcode, "PING", 9))
    assert ring(Opcode.NOP) == HostError.OK
    with pytest.raises(AssertionError, match="Opcode.PING: 9") as refused:
        ring(9)
    named = [Path(str(entry.path)).name for entry in refused.traceback]
    assert "mailbox.py" in named


def test_an_opcode_without_a_row_is_refused_with_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_commands, "Opcode", extended(Opcode, "PING", 9))
    with pytest.raises(WarploomError, match="^opcode PING is not in COMMAND_TABLE") as refused:
        host_commands.check_commands()
    assert str(refused.value).endswith("(spec/warploom_spec/host_commands.py)")


def test_a_status_without_a_rule_is_refused() -> None:
    with pytest.raises(AssertionError, match="LATER"):
        reported_state(extended(BlockStatus, "LATER", 3).LATER, False)


def test_a_status_without_a_name_counts_as_a_fault() -> None:
    assert [BlockStatus.of(number) for number in range(4)] == [
        BlockStatus.OK,
        BlockStatus.FAULT,
        BlockStatus.KILLED,
        BlockStatus.FAULT,
    ]
