"""Every code that the core can give is provoked; rounds that go wrong end as their page says."""

import re
from pathlib import Path

import pytest

from tb.host.test_drivers import run_tour
from warploom_spec.codes import CODES
from warploom_spec.errors import ErrorCode
from warploom_spec.host_commands import STREAM_COMMANDS
from warploom_spec.host_errors import HostError
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
    "TEMPLATE_BUSY": [58, 1, 0],
    "LAUNCH_FAILED": [59, 0, 0],
    "LOOP_STOPPED": [60, 0, 0],
}
#: The same of a core with an order table, three SMs, index words of 8 bits, and a section that
#: cannot loop.
SPECIAL = {
    "INDEX_BITS": [6, 10, 0],
    "ORDER_RANGE": [25, 3, 1],
    "ORDER_BUSY": [26, 0, 1],
    "NO_LOOP": [57, 0, 0],
}
FIELD_RANGE = int(HostError.FIELD_RANGE)
#: Code, argument, and by how much ERROR_COUNT rose.
STREAMS = {
    **{f"{one.name} of no stream": [FIELD_RANGE, 1, 0] for one in STREAM_COMMANDS},
    **{
        f"{one.name} of a stream that does not exist": [FIELD_RANGE, 1, 0]
        for one in STREAM_COMMANDS
    },
    "a launch in a stream that does not exist": [FIELD_RANGE, 5, 0],
    "a mode that does not exist": [FIELD_RANGE, 10, 0],
    "a pair of a stream that does not exist": [FIELD_RANGE, 29, 0],
    "a pair too many": [FIELD_RANGE, 30, 0],
    "a wait ahead": [29, 28, 0],
    "a second wait ahead": [29, 29, 0],
    "a wait that is reached": [0, 0, 0],
    "PREEMPT": [0, 0, 0],
    "a second PREEMPT": [46, 0, 0],
    "RESUME of another stream": [47, 0, 0],
    "RESUME": [0, 0, 0],
    "RESUME again": [47, 0, 0],
    "ABORT": [0, 0, 0],
    # A PREEMPT's record, and that of an aborted launch.
    "records": [[0, 1], [2, 0]],
    "ABORT of a launch that has ended": [45, 0, 0],
    "ABORT of no launch": [45, 0, 0],
    "a full priority": [32, 0, 0],
    "another priority": [0, 0, 0],
    "no room for a record": [16, 0, 0],
    "no room for a PREEMPT's record": [16, 0, 0],
    "a launch that runs too long": [27, 0, 0],
}
#: Codes that no core gives yet, and why.
UNREACHABLE = {
    ErrorCode.RELEASE_UNREFERENCED: "the launch path releases an entry once for each acceptance",
    ErrorCode.STOP_UNKNOWN: "an abort of an unknown ticket is answered TICKET_UNKNOWN instead",
    **dict.fromkeys(TableCode, "mapping tables are not in hardware"),
}


def test_every_code_is_provoked_or_cannot_be_given_yet():
    provoked = TINY | SPECIAL
    numbers = {name: number for name, (number, _, _) in provoked.items()}
    assert {CODES[number].name: number for number in numbers.values()} == numbers
    of_streams = {found[0] for name, found in STREAMS.items() if name != "records"}
    assert {*numbers.values(), *of_streams, *map(int, UNREACHABLE)} == set(CODES)
    assert not {*numbers.values(), *of_streams} & {*map(int, UNREACHABLE)}


@pytest.fixture(scope="module")
def tours(tmp_path_factory):
    found = run_tour("everything", "plain", tmp_path_factory.mktemp("tours"))
    assert "failure" not in found, found
    return found


@pytest.mark.thorough
def test_codes_of_tiny(tours):
    found = dict(tours["codes"])
    assert found.pop("DISCONNECT") == [0, 0, 0]
    assert found == TINY


@pytest.mark.thorough
def test_codes_of_commands_for_streams(tours):
    assert tours["streams"] == STREAMS


@pytest.mark.deep
def test_codes_of_a_special_core(tmp_path):
    config = "tiny,policy=freed_first,sms=3,word_bits=8,loop_sections=1"
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


@pytest.mark.thorough
def test_rounds_that_go_wrong(tours):
    assert tours["rounds"] == ROUNDS


@pytest.mark.deep
def test_rounds_that_go_wrong_on_icarus(tmp_path):
    assert run_tour("rounds", "plain", tmp_path, "icarus") == ROUNDS


def test_the_page_has_cause_and_cure_of_each_code():
    rows = re.findall(r"^\| (\d+) `(\w+)` \| (.*) \| (.*) \|$", PAGE.read_text(), re.MULTILINE)
    found = {int(number): (name, cause, cure) for number, name, cause, cure in rows}
    assert found == {n: (code.name, code.cause, code.cure) for n, code in CODES.items()}
