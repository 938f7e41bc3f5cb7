"""Drivers on a bus that posts writes: right with the barrier, and wrong without it."""

import ctypes

import pytest

from simt_host.c_calls import Refused
from tb.host import c_driver
from tb.host.c_driver import HOST
from tb.host.posted_bus import LATE, PostedBus, ShutBus
from tb.support.planted import plant
from warploom_dev.rewrite import Rewrite
from warploom_host import HostDriver
from warploom_spec import LaunchDescriptor, preset

TINY = preset("tiny")
LAUNCHES = 4
BUS_ERROR = -1
#: Cycles in which a core that is reset refuses words, and positions of the first one.
SHUT, POSITIONS = 6, 24


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return ctypes.CDLL(str(c_driver.build(tmp_path_factory.mktemp("driver"))))


class CHost:
    """The C driver's calls, without their codes, which must be 0."""

    def __init__(self, library, bus, barrier):
        accesses = (bus.read32, bus.write32, lambda: None)
        self._driver = c_driver.CDriver(library, *accesses, barrier=barrier)

    def launch(self):
        error, ticket = self._driver.launch(0, gx=1, gy=1, gz=1, dx=1, dy=1, dz=1)
        if error == BUS_ERROR:
            raise Refused
        assert error == 0
        return ticket

    def take_record(self):
        error, record = self._driver.take_record()
        assert error == 0
        return record["ticket"]

    def soft_reset(self):
        assert self._driver.soft_reset() == 0


class PythonHost:
    """The Python driver's calls."""

    def __init__(self, bus, barrier):
        self._driver = HostDriver(bus.read32, bus.write32, TINY, barrier=barrier)

    def launch(self):
        return self._driver.launch(0, LaunchDescriptor(grid=(1, 1, 1), block=(1, 1, 1)))

    def take_record(self):
        return self._driver.take_record().ticket

    def soft_reset(self):
        self._driver.soft_reset()


@pytest.fixture(params=["c", "python"])
def host_of(request, library):
    """Return what makes a host on a bus, with or without the barrier."""

    def make(bus, ordered):
        barrier = bus.barrier if ordered else None
        return CHost(library, bus, barrier) if request.param == "c" else PythonHost(bus, barrier)

    return make


def launched(host, bus):
    """Launch, with a pause after each as a program has it; return the tickets."""
    tickets = []
    for _ in range(LAUNCHES):
        tickets.append(host.launch())
        bus.barrier()
        bus.now += 10
    return tickets


def test_with_the_barrier_a_launch_has_its_own_ticket(host_of):
    bus = PostedBus(TINY)
    assert launched(host_of(bus, True), bus) == [43, 44, 45, 46]


def test_without_it_each_launch_gets_the_ticket_before(host_of):
    bus = PostedBus(TINY)
    assert launched(host_of(bus, False), bus) == [42, 43, 44, 45]


def test_with_the_barrier_a_record_is_taken_once(host_of):
    bus = PostedBus(TINY, records=[1, 2, 3])
    host = host_of(bus, True)
    assert [host.take_record() for _ in range(3)] == [1, 2, 3]
    assert bus.records == []


def test_without_it_one_record_is_taken_three_times(host_of):
    bus = PostedBus(TINY, records=[1, 2, 3])
    host = host_of(bus, False)
    assert [host.take_record() for _ in range(3)] == [1, 1, 1]


def demand_no_mixed_launch(host):
    """Hold that no doorbell rings half a command, wherever another master's reset falls."""
    refused = 0
    for first in range(LATE, LATE + POSITIONS):
        bus = ShutBus(TINY, shut=range(first, first + SHUT))
        try:
            host(bus).launch()
        except Refused:
            refused += 1
        assert bus.mixed == 0, f"half a command is rung if the core is shut from cycle {first} on"
    assert refused >= POSITIONS // 2


def c_host(library):
    return lambda bus: CHost(library, bus, bus.barrier)


def python_host(bus):
    return PythonHost(bus, bus.barrier)


def test_beside_another_masters_reset_no_half_a_command_is_rung(library):
    demand_no_mixed_launch(c_host(library))
    demand_no_mixed_launch(python_host)


def test_without_c_s_barrier_before_the_doorbell_one_is_rung(tmp_path):
    source = (HOST / "warploom.c").read_text()
    settled = "    error = settle(core);"
    assert source.count(settled) == 1
    texts = {"warploom.c": source.replace(settled, "    error = 0;")}
    broken = ctypes.CDLL(str(c_driver.build(tmp_path, texts=texts)))
    with pytest.raises(AssertionError, match="half a command is rung"):
        demand_no_mixed_launch(c_host(broken))


def test_without_python_s_barrier_before_the_doorbell_one_is_rung(monkeypatch):
    ring = "self._write(doorbell, 1)"
    plant(monkeypatch, [Rewrite(HostDriver, "_ring", f"self._settle()\n{ring}", ring)])
    with pytest.raises(AssertionError, match="half a command is rung"):
        demand_no_mixed_launch(python_host)


@pytest.mark.parametrize("ordered", [True, False])
def test_a_soft_reset_has_ended_when_the_call_returns_if_reads_are_ordered(host_of, ordered):
    bus = PostedBus(TINY)
    host_of(bus, ordered).soft_reset()
    # Without the barrier the reset has not even begun.
    assert (bus.posted == [] and bus.now >= bus.resetting_until > 0) == ordered


@pytest.mark.parametrize("call", ["clear_stream", "enable_irq", "acknowledge_irq"])
def test_every_call_that_writes_waits_for_its_last_response(call, library):
    """The C driver returns a bus error if the barrier tells of one."""
    bus, calls = PostedBus(TINY), []

    def barrier():
        calls.append(bus.now)
        raise Refused

    driver = c_driver.CDriver(library, bus.read32, bus.write32, lambda: None, barrier=barrier)
    arguments = {"clear_stream": (1,), "enable_irq": (1, 2), "acknowledge_irq": ()}[call]
    found = getattr(driver, call)(*arguments)
    assert (found[0] if isinstance(found, tuple) else found) == -1
    assert len(calls) == 1 and bus.posted
