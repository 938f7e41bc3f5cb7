"""Every code that a core of version 2 can give is provoked through the doorbell."""

import pytest

from tb.host.test_drivers import run_tour
from tb.host.test_error_codes import TINY, UNREACHABLE
from warploom.host._queued_front_end import QueuedFrontEnd
from warploom_spec.errors import ErrorCode
from warploom_spec.host_errors import HostError
from warploom_spec.queue import QueueCode
from warploom_spec.queue_host import QueueHostOpcode
from warploom_spec.table_errors import TableCode

FIELD_RANGE = int(HostError.FIELD_RANGE)
#: Code, argument, and by how much ERROR_COUNT rose.
STREAMS = {
    **{f"{one.name} of no stream": [FIELD_RANGE, 1, 0] for one in QueueHostOpcode},
    **{
        f"{one.name} of a stream that does not exist": [FIELD_RANGE, 1, 0]
        for one in QueueHostOpcode
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


@pytest.fixture(scope="module")
def tours(tmp_path_factory):
    found = run_tour(
        *("everything", "plain", tmp_path_factory.mktemp("tours")),
        kind=QueuedFrontEnd,
        stream_queues=True,
        module="tb.host.stream_code_tours",
    )
    assert "failure" not in found, found
    return found


def test_codes_that_stream_queues_add(tours):
    assert tours["streams"] == STREAMS


def test_codes_of_version_1_are_the_same(tours):
    found = dict(tours["codes"])
    assert found.pop("DISCONNECT") == [0, 0, 0]
    assert found == TINY


def test_every_code_that_version_1_lacks_is_provoked():
    """Left are those that an order table gives, and what no core gives yet."""
    left = {ErrorCode.RELEASE_UNREFERENCED, ErrorCode.STOP_UNKNOWN, *TableCode}
    codes = {value[0] for name, value in STREAMS.items() if name != "records"}
    assert set(map(int, UNREACHABLE)) - set(map(int, left)) <= codes
    assert set(map(int, QueueCode)) <= codes
