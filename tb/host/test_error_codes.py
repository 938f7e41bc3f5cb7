"""Every code that the core can give is provoked; rounds that go wrong end as their page says."""

import re
from pathlib import Path

import pytest

from tb.host.test_drivers import run_tour
from warploom_spec.codes import CODES
from warploom_spec.errors import ErrorCode
from warploom_spec.queue import QueueCode
from warploom_spec.table_errors import TableCode

PAGE = Path(__file__).parents[2] / "docs" / "host" / "error_codes.md"

#: Code, argument, and by how much ERROR_COUNT rose.
TINY = {
    "GRID_ZERO": [1, 2, 0],
    "GRID_RANGE": [2, 1, 0],
    "BLOCK_ZERO": [3, 1, 0],
    "BLOCK_RANGE": [4, 0, 0],
    "THREADS": [5, 0, 0],
    "INDEX_REGION": [7, 0, 0],
    "BLOCK_WARPS": [8, 0, 0],
    "BLOCK_REGISTERS": [9, 0, 0],
    "BLOCK_SHARED": [10, 0, 0],
    "BLOCK_BARRIERS": [11, 0, 0],
    "TABLE_UNKNOWN": [12, 3, 0],
    "STREAM_PRIORITY": [13, 0, 0],
    "STREAM_BROKEN": [14, 0, 0],
    "NO_SM": [15, 0, 0],
    "COMPLETION_FULL": [16, 0, 0],
    "BLOCK_FAULT": [17, 0, 0],
    "SM_LOST": [18, 0, 0],
    "REPORT_NOT_RUNNING": [20, 1, 1],
    "KILL_NOT_ASKED": [21, 1, 1],
    "LOST_SM_SIGNAL": [23, 1, 1],
    "QUEUE_FULL": [32, 0, 0],
    "TICKET_UNKNOWN": [45, 0, 0],
    "BAD_OPCODE": [48, 0, 0],
    "NO_UNIT": [49, 0, 0],
    "DISCONNECTED": [50, 0, 0],
    "CORE_MISSING": [51, 0, 0],
    "BAD_SPLIT": [52, 0, 0],
    "CORE_FAILED": [53, 77, 0],
    "CORE_TIMEOUT": [54, 0, 0],
    "RESET": [55, 0, 0],
    "FIELD_RANGE": [56, 5, 0],
}
#: The same of a core with an order table, three SMs, and index words of 8 bits.
SPECIAL = {
    "INDEX_BITS": [6, 10, 0],
    "ORDER_RANGE": [25, 3, 1],
    "ORDER_BUSY": [26, 0, 1],
}
#: Codes that no core gives yet, and why.
UNREACHABLE = {
    ErrorCode.RELEASE_UNREFERENCED: "LaunchPath releases an entry once for each acceptance",
    ErrorCode.STOP_UNKNOWN: "an abort of an unknown ticket is answered TICKET_UNKNOWN instead",
    QueueCode.WAIT_AHEAD: "a launch has no pairs before the kernel queue is built",
    QueueCode.TIMEOUT: "a launch has no time-out before the kernel queue is built",
    QueueCode.PREEMPT_PENDING: "PREEMPT is BAD_OPCODE until the kernel queue is built",
    QueueCode.NOT_PREEMPTED: "RESUME is BAD_OPCODE until the kernel queue is built",
    **dict.fromkeys(TableCode, "mapping tables are loaded by no command yet"),
}


def test_every_code_is_provoked_or_cannot_be_given_yet():
    provoked = TINY | SPECIAL
    numbers = [number for number, _, _ in provoked.values()]
    assert {number: CODES[number].name for number in numbers} == {
        number: name for name, (number, _, _) in provoked.items()
    }
    assert sorted([0, *numbers, *map(int, UNREACHABLE)]) == sorted(CODES)


@pytest.fixture(scope="module")
def tours(tmp_path_factory):
    found = run_tour("everything", "plain", tmp_path_factory.mktemp("tours"))
    assert "failure" not in found, found
    return found


def test_codes_of_tiny(tours):
    found = dict(tours["codes"])
    assert found.pop("DISCONNECT") == [0, 0, 0]
    assert found == TINY


@pytest.mark.deep
def test_codes_of_a_special_core(tmp_path):
    config = "tiny,policy=freed_first,sms=3,word_bits=8"
    assert run_tour("special", "plain", tmp_path, "icarus", config) == SPECIAL


#: What a worker reads: code, core, argument, ticket, STATUS, ASSIGNED, task number, number in
#: the launch's stream.
ROUNDS = {
    "ring while busy": [True, True],
    "refused": 2,
    "the task that was busy": [0, 0, 0, 0, 0b11, 0b11, 1, 0],
    "unknown opcode": [48, 0, 0],
    "disconnect": [[0, 0, 0], [50, 0, 0, 0, 0, 0, 0, 0], [50, 0, 0, 0, 0, 0, 0, 0]],
    "connected again": [0, 0, 0, 0, 1, 1, 2, 0],
    "a core fails": [53, 0, 77, 0, 0, 0b111, 3, 0],
    "a core does not arrive": [54, 0, 0, 0, 0b10, 0b11, 4, 0],
    "while it is missing": [51, 0, 0, 0, 0, 0, 0, 0],
    "after its late arrival": [0, 0, 0, 0, 0b1111, 0b1111, 5, 0],
    "no parts": [0, 0, 0, 0, 0, 0, 0, 0],
    "more parts than cores": [52, 0, 0, 0, 0, 0, 0, 0],
    "more parts than cores but one": [52, 0, 0, 0, 0, 0, 0, 0],
    "a field too large": [56, 0, 5, 0, 0, 0, 0, 0],
}


def test_rounds_that_go_wrong(tours):
    assert tours["rounds"] == ROUNDS


@pytest.mark.deep
def test_rounds_that_go_wrong_on_icarus(tmp_path):
    assert run_tour("rounds", "plain", tmp_path, "icarus") == ROUNDS


def test_the_page_has_cause_and_cure_of_each_code():
    rows = re.findall(r"^\| (\d+) `(\w+)` \| (.*) \| (.*) \|$", PAGE.read_text(), re.MULTILINE)
    found = {int(number): (name, cause, cure) for number, name, cause, cure in rows}
    assert found == {n: (code.name, code.cause, code.cure) for n, code in CODES.items()}
