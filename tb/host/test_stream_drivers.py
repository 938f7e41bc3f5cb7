"""The drivers of version 2 of the map against the core's RTL, over AXI4-Lite."""

import pytest

from tb.host import stream_hosts
from tb.host.stream_hosts import TINY
from tb.host.test_drivers import DRIVERS, run_tour
from warploom.host._queued_front_end import QueuedFrontEnd
from warploom_spec.queue import QueueCode

ABORTED, FAILED, EMPTY = 1, 2, -8


def tour(name, driver, folder, simulator="verilator", module="stream_tours"):
    """Let a driver take a tour, and return what it found."""
    plan = {"library": str(stream_hosts.build(folder))} if driver == "c" else {}
    plan |= {"stream_queues": True, "module": f"tb.host.{module}"}
    found = run_tour(name, driver, folder, simulator, kind=QueuedFrontEnd, **plan)
    assert "failure" not in found, found
    return found


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_host_orders_streams_and_preempts(driver, tmp_path):
    found = tour("orders", driver, tmp_path)
    assert [found[name] for name in ("identify", "begin", "wait", "preempt", "resume")] == [0] * 5
    first, second, urgent = found["tickets"]
    # The urgent one first; the low one was stopped once; the one that waited for it comes last.
    assert found["first"] == [[urgent, 0, 0], [first, 1, 0], [second, 0, 0]]
    assert found["clock"] == [0, 0, True]
    assert found["preempted"] == [0, 0, 2, 1, 0]
    assert found["passes"] == [True, EMPTY]
    assert found["resumed"] == [0]
    assert found["times"] == [True, 2, 1, 0]


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_driver_waits_itself_for_what_is_too_much_for_a_launch(driver, tmp_path):
    found = tour("many_pairs", driver, tmp_path)
    assert found["waits"] == [0, 0, 0]
    assert found["none yet"] == EMPTY
    assert found["third"] == 0
    assert found["records"] == found["tickets"]
    assert found["empty"] == EMPTY
    assert TINY.launch_waits == 2


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_host_aborts_streams_and_limits_launches(driver, tmp_path):
    found = tour("aborts_and_resets", driver, tmp_path)
    assert found["abort_streams"] == [0, ABORTED]
    assert found["timeout"][0] == 0
    assert found["timed out"] == [1, FAILED, QueueCode.TIMEOUT]
    assert (found["none"], found["reset"], found["ended"], found["earlier"]) == (0, 0, ABORTED, 0)
    assert found["after"] == [0, 0]


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_lone_record_interrupts(driver, tmp_path):
    found = tour("interrupts", driver, tmp_path)
    assert found == {"begin": 0, "irq": 0, "timeout": 0, "record": 0}


def test_the_example_runs_in_order(tmp_path):
    found = tour("example", "c", tmp_path)
    # 64 blocks twice, one urgent one, and those of the low launch that were stopped.
    assert found["code"] == 0
    assert found["blocks"] > 2 * 64 + 1
