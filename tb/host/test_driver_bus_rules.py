"""What the drivers do beside reads and writes: refused accesses, barriers, the interrupt.

The bus is a list of accesses, as in `test_driver_accesses`, or of kinds of access.
"""

import pytest

from simt_host.c_calls import Refused
from tb.host.driver_hosts import c_host, python_host
from tb.host.scripted_bus import ScriptedBus
from tb.host.test_driver_accesses import (
    BUS_ERROR,
    CRC,
    DOORBELL,
    IDENTITY,
    NOTHING,
    WAITED,
    complete,
    made,
    rings,
)

RECORD = [("read", 0x30, 1), *(("read", 0x40 + 4 * n, 7) for n in range(8))]
RESULTS = [("read", 0x1020 + 4 * n, n) for n in range(8)]


def rung(*words):
    """Return the accesses that write T0 and the words behind it, and ring."""
    writes = [("write", 0x1080 + 4 * n, word) for n, word in enumerate(words)]
    return [("read", DOORBELL, 0), *writes, ("write", DOORBELL, 1)]


#: Call -> its arguments, its accesses.
CALLS = {
    "identify": ((), {}, [*IDENTITY, ("read", 0x008, CRC)]),
    "submit_launch": ((0,), NOTHING, rings()),
    "launch": ((0,), NOTHING, rings() + complete(ticket=7)),
    "poll": ((0,), {}, complete(ticket=7)),
    "run": (
        (0,),
        {"code": 1, "arguments": 0, "first": 0, "parts": 1, "larger": 0, "small": 1},
        rung(1, 0, 1, 1, 1, 0, 0, 0) + complete(),
    ),
    "abort": ((0, 7), {}, rung(7, 7) + complete()),
    "preempt": ((0, 3), {}, rung(5, 3) + complete()),
    "resume": ((0, 3), {}, rung(6, 3) + complete()),
    "abort_streams": ((0, 3), {}, rung(13, 3) + complete()),
    "disconnect": ((0,), {}, rung(8) + complete()),
    "results": ((0, 8), {}, RESULTS),
    "take_record": ((), {}, [*RECORD, ("write", 0x34, 1)]),
    "wait_record": ((), {}, [*RECORD, ("write", 0x34, 1)]),
    "enable_irq": ((1, 2), {}, [("write", 0x28, 2), ("write", 0x20, 1)]),
    "acknowledge_irq": ((), {}, [("read", 0x24, 3), ("write", 0x24, 3)]),
    "set_launch_timeout": ((3,), {}, [("write", 0x2C, 3)]),
    "set_irq_timeout": ((3,), {}, [("write", 0x3C, 3)]),
    "clock": ((), {}, [("read", 0x14C, 0), ("read", 0x148, 1), ("read", 0x14C, 0)]),
    "clear_stream": ((3,), {}, [("write", 0x70, 3)]),
    "reset_units": ((1,), {}, [("write", 0x78, 1)]),
    "enable_sms": ((3,), {}, [("write", 0x80, 3)]),
    "soft_reset": ((), {}, [("write", 0x18, 1), ("read", 0x1C, 1 << 16)]),
}
calls = pytest.mark.parametrize("call", CALLS)


@pytest.fixture(params=["c", "python"])
def host(request):
    """Return what makes a driver on a bus."""
    return python_host if request.param == "python" else c_host()


def code_of(found):
    """Return a call's code, which comes first."""
    return found[0] if isinstance(found, tuple) else found


class RefusingBus(ScriptedBus):
    """A bus whose last access is refused."""

    def _next(self, kind, address, value):
        found = super()._next(kind, address, value)
        if len(self.made) == len(self.script):
            raise Refused
        return found


def demand_a_bus_error(host, call):
    """Hold that a call stops at the access that is refused, whichever it is, and tells of it."""
    arguments, fields, script = CALLS[call]
    for length in range(1, len(script) + 1):
        bus = RefusingBus(script[:length])
        assert code_of(getattr(host(bus, 1000), call)(*arguments, **fields)) == BUS_ERROR
        bus.demand_over()


@calls
def test_a_refused_access_ends_the_call_and_is_told(host, call):
    demand_a_bus_error(host, call)


class PostingBus(ScriptedBus):
    """A bus that posts writes: after a write a read waits for the barrier."""

    posted = False

    def _next(self, kind, address, value):
        assert kind == "write" or not self.posted, f"a read of {address:#x} passes a write"
        self.posted = kind == "write"
        return super()._next(kind, address, value)

    def barrier(self):
        """Wait for the responses of all writes."""
        self.posted = False


def demand_a_barrier(host, call):
    """Hold that no read passes a write of a call, and none of the next call."""
    arguments, fields, script = CALLS[call]
    bus = PostingBus(list(script))
    assert code_of(getattr(host(bus, 1000), call)(*arguments, **fields)) == 0
    bus.demand_over()
    assert not bus.posted, f"{call} returns before its last write has its response"


@calls
def test_no_read_passes_a_write(host, call):
    demand_a_barrier(host, call)


class WaitingBus(ScriptedBus):
    """A bus whose interrupt stands in the list, too."""

    def wait_irq(self):
        """Hold a wait against the list."""
        self._next("wait", 0, 0)


def demand_waits(host):
    """Hold that a driver waits for the interrupt after each look at RECORDS that found none."""
    wait, none = ("wait", 0, 0), ("read", 0x30, 0)
    for script, patience, code in (
        ([none, wait, none, wait, *RECORD, ("write", 0x34, 1)], 9, 0),
        ([none, wait] * 3, 3, WAITED),
    ):
        bus = WaitingBus(script)
        driver = host(bus, patience)
        driver.interrupts = True
        assert driver.wait_record()[0] == code
        bus.demand_over()


def test_the_interrupt_is_waited_for_after_a_look_that_found_none(host):
    demand_waits(host)


def demand_a_count(host, count):
    """Hold that more result words than there are, or fewer than none, are refused."""
    assert code_of(made(host, "results", [], 0, count)) == -7


def test_a_count_of_results_below_0_is_refused():
    """In C the count has no sign."""
    demand_a_count(python_host, -1)
