"""Orders between streams, events, as lists of accesses: the drivers in C and Python alike.

Addresses and words stand here as the pages have them, as numbers.
"""

import ctypes
import functools
import tempfile
from pathlib import Path

import pytest

from tb.host import c_driver
from tb.host.scripted_bus import ScriptedBus
from tb.host.stream_hosts import TINY, CStreams, PythonStreams
from tb.host.stream_stub import StreamStub
from tb.host.test_driver_accesses import (
    BUS_ERROR,
    BUSY,
    DOORBELL,
    EMPTY,
    NOTHING,
    QUEUE_FULL,
    RANGE,
    WAITED,
    complete,
)
from tb.host.test_driver_bus_rules import PostingBus, RefusingBus
from warploom_host import HostDriver

FULL, GRID_ZERO = -9, 1
#: STATE with epoch 7.
BEGIN = [("read", 0x01C, 7 << 16)]
NO_RECORD = ("read", 0x30, 0)


@functools.cache
def c_host(text=None, name="warploom_streams.c"):
    """Return what makes the C driver on a bus; ``text`` stands in for the file ``name``."""
    with tempfile.TemporaryDirectory() as folder:
        texts = {name: text} if text else {}
        library = ctypes.CDLL(str(c_driver.build(Path(folder), texts=texts)))

    def make(bus):
        functions = bus.read32, bus.write32, lambda: None
        return CStreams(library, *functions, barrier=getattr(bus, "barrier", None))

    return make


def python_host(bus):
    """Return the Python driver on a bus."""
    functions = bus.read32, bus.write32, lambda: None
    barrier = getattr(bus, "barrier", None)
    return PythonStreams(HostDriver(*functions[:2], TINY, 1000, barrier=barrier), functions)


@pytest.fixture(params=["c", "python"])
def host(request):
    """Return what makes a driver on a bus."""
    return python_host if request.param == "python" else c_host()


def play(host, script, steps):
    """Return what some calls give, which make the accesses of a script and no others."""
    bus = ScriptedBus([*BEGIN, *script])
    driver = host(bus)
    assert driver.begin() == 0
    found = steps(driver)
    bus.demand_over()
    return found


def launched(stream, pairs=(), **answer):
    """Return the accesses of a launch whose fields are 0 but for its stream and its pairs."""
    words = [0] * (28 + len(pairs) if pairs else 14)
    words[0] = 2 | ((1 << len(pairs)) - 1) << 8
    words[5] = stream << 16
    for k, (awaited, count) in enumerate(pairs):
        words[28 + k] = awaited << 8 | count << 16
    writes = [("write", DOORBELL + 0x80 + 4 * n, word) for n, word in enumerate(words)]
    ring = ("write", DOORBELL, 1)
    return [("read", DOORBELL, 0), *writes, ring, *complete(**answer)]


def record(ticket, stream=0, words=(), kind=0):
    """Return the accesses that take a record."""
    words = [ticket, kind << 11 | stream << 18, *words]
    words += [0] * (8 - len(words))
    reads = [("read", 0x40 + 4 * n, word) for n, word in enumerate(words)]
    return [("read", 0x30, 1), *reads, ("write", 0x34, 1)]


def launch(driver, stream):
    return driver.launch(0, **NOTHING | {"stream": stream})


#: Call -> its arguments, its accesses.
CALLS = {
    "launch": ((0,), launched(0, ticket=1, number=1)),
    "take_record": ((), record(1)),
    "wait_record": ((), record(1)),
    "soft_reset": ((), [("write", 0x18, 1), ("read", 0x1C, 1 << 16), ("read", 0x1C, 1 << 16)]),
}


def code_of(driver, call):
    """Make a call; return its code."""
    fields = NOTHING if call == "launch" else {}
    found = getattr(driver, call)(*CALLS[call][0], **fields)
    return found[0] if isinstance(found, tuple) else found


def test_in_c_a_refused_read_of_the_epoch_is_told():
    """In Python `Streams` raises what the access raised."""
    bus = RefusingBus(BEGIN)
    assert c_host()(bus).begin() == BUS_ERROR
    bus.demand_over()


@pytest.mark.parametrize("call", CALLS)
def test_a_refused_access_ends_the_call_and_is_told(host, call):
    script = CALLS[call][1]
    for length in range(1, len(script) + 1):
        bus = RefusingBus([*BEGIN, *script[:length]])
        driver = host(bus)
        assert driver.begin() == 0
        assert code_of(driver, call) == BUS_ERROR
        bus.demand_over()


@pytest.mark.parametrize("call", CALLS)
def test_no_read_passes_a_write(host, call):
    bus = PostingBus([*BEGIN, *CALLS[call][1]])
    driver = host(bus)
    driver.begin()
    assert code_of(driver, call) == 0
    bus.demand_over()
    assert not bus.posted, f"{call} returns before its last write has its response"


def demand_pairs(host):
    """Hold that pairs go into the next launch of their stream, the later count of two."""
    script = launched(1, ticket=1, number=1) + launched(2, ticket=2, number=1)
    script += launched(1, ticket=3, number=2)
    script += launched(3, [(1, 2), (2, 1)], ticket=4, number=1) + launched(3, ticket=5, number=2)

    def steps(driver):
        launch(driver, 1)
        launch(driver, 2)
        events = [driver.event_record(1), driver.event_record(2)]
        launch(driver, 1)
        # An earlier event after a later one of its stream changes nothing.
        for event in (events[0], events[1], driver.event_record(1), events[0]):
            assert driver.stream_wait(3, event) == 0
        # A stream without a launch.
        assert driver.stream_wait(3, driver.event_record(4)) == 0
        return launch(driver, 3), launch(driver, 3)

    assert play(host, script, steps) == ((0, 4), (0, 5))


def demand_kept_pairs(host):
    """Hold that a launch that is refused keeps its pairs for the next one."""
    pair = [(1, 1)]
    script = launched(1, ticket=1, number=1) + launched(2, pair, code=GRID_ZERO)
    script += launched(2, pair, code=QUEUE_FULL) + launched(2, pair, ticket=2, number=1)

    def steps(driver):
        launch(driver, 1)
        driver.stream_wait(2, driver.event_record(1))
        return launch(driver, 2), launch(driver, 2)

    assert play(host, script, steps) == ((GRID_ZERO, 0), (0, 2))


def demand_old_events_dropped(host):
    """Hold that an event 2^15 launches behind is reached, and one of an earlier epoch."""
    far = 0x8001
    script = launched(1, ticket=1, number=1) + launched(1, ticket=2, number=far - 1)
    script += launched(2, [(1, 1)], ticket=3, number=1) + launched(1, ticket=4, number=far)
    script += launched(2, ticket=5, number=2)
    reset = [("write", 0x18, 1), ("read", 0x1C, 8 << 16), ("read", 0x1C, 8 << 16)]
    script += reset + launched(2, ticket=6, number=1) + launched(2, ticket=7, number=2)
    script += launched(1, ticket=8, number=1)

    def steps(driver):
        launch(driver, 1)
        event = driver.event_record(1)
        launch(driver, 1)
        for stream in (2, 1, 2):
            assert driver.stream_wait(2, event) == 0
            assert launch(driver, stream)[0] == 0
        later = driver.event_record(2)
        assert driver.soft_reset() == 0
        launch(driver, 2)
        launch(driver, 2)
        driver.stream_wait(1, later)
        return launch(driver, 1)

    assert play(host, script, steps) == (0, 8)


def demand_wait_for_the_oldest(host):
    """Hold that a pair too many is waited for: records are taken until no launch up to it is open.

    The first stream's second launch ends before its first one; its third one is not awaited.
    """
    script = launched(1, ticket=1, number=1) + launched(1, ticket=2, number=2)
    script += launched(1, ticket=3, number=3)
    script += launched(2, ticket=4, number=1) + launched(3, ticket=5, number=1)
    script += record(2, 1) + record(0, kind=2) + record(5, 3) + [NO_RECORD] + record(1, 1)
    script += launched(5, [(2, 1), (3, 1)], ticket=6, number=1)
    script += [*record(4, 2), *record(3, 1), NO_RECORD]

    def steps(driver):
        launch(driver, 1)
        launch(driver, 1)
        events = [driver.event_record(1)]
        launch(driver, 1)
        for stream in (2, 3):
            launch(driver, stream)
            events.append(driver.event_record(stream))
        for event in events:
            assert driver.stream_wait(5, event) == 0
        assert launch(driver, 5) == (0, 6)
        return [driver.take_record()[1].get("ticket") for _ in range(6)], driver.take_record()[0]

    assert play(host, script, steps) == ([2, 0, 5, 1, 4, 3], EMPTY)


def demand_order_past_16_bits(host):
    """Hold that an event is the same when its stream's count has passed 2^16: the port has 16 bits.

    The first answer says that the stream has 65,534 launches; of 65,537 the port has 1.
    """
    script = launched(1, ticket=1, number=0xFFFE) + launched(1, ticket=2, number=0xFFFF)
    script += launched(1, ticket=3, number=0)
    # The 65,536th launch is not 'none of them', and later than the 65,535th.
    script += launched(2, [(1, 0)], ticket=4, number=1)
    script += launched(2, [(1, 0)], ticket=5, number=2)
    script += launched(1, ticket=6, number=1) + launched(2, [(1, 1)], ticket=7, number=3)
    script += launched(2, [(1, 0xFFFF)], ticket=8, number=4)

    def steps(driver):
        launch(driver, 1)
        launch(driver, 1)
        before = driver.event_record(1)
        launch(driver, 1)
        at = driver.event_record(1)
        for events in ((at,), (at, before)):
            for event in events:
                assert driver.stream_wait(2, event) == 0
            launch(driver, 2)
        launch(driver, 1)
        for events in ((at, driver.event_record(1), before), (before,)):
            for event in events:
                assert driver.stream_wait(2, event) == 0
            found = launch(driver, 2)
        return [event.count for event in (before, at)], found

    assert play(host, script, steps) == ([65535, 65536], (0, 8))


def demand_a_reset_ends_pairs(host):
    """Hold that a stream's pairs end with a soft reset: they do not swallow a new one."""
    script = launched(1, ticket=1, number=1) + launched(1, ticket=2, number=2)
    script += [("write", 0x18, 1), ("read", 0x1C, 8 << 16), ("read", 0x1C, 8 << 16)]
    script += launched(1, ticket=3, number=1) + launched(3, [(1, 1)], ticket=4, number=1)

    def steps(driver):
        launch(driver, 1)
        launch(driver, 1)
        assert driver.stream_wait(3, driver.event_record(1)) == 0
        assert driver.soft_reset() == 0
        launch(driver, 1)
        assert driver.stream_wait(3, driver.event_record(1)) == 0
        return launch(driver, 3)

    assert play(host, script, steps) == (0, 4)


def demand_a_reset_that_goes_on_ends_pairs(host):
    """Hold that a soft reset ends all that was, though it goes on when the driver gives up.

    The epoch rises at its end, and wraps.
    """
    script = launched(1, ticket=1, number=1) + launched(1, ticket=2, number=2)
    script += [("write", 0x18, 1), *[("read", 0x1C, 7 << 16 | 1)] * 1001]
    script += launched(1, ticket=3, number=1) + launched(3, [(1, 1)], ticket=4, number=1)
    script += [("write", 0x18, 1), *[("read", 0x1C, 0xFFFF0001)] * 1001]

    def steps(driver):
        launch(driver, 1)
        launch(driver, 1)
        before = driver.event_record(1)
        assert driver.stream_wait(3, before) == 0
        assert driver.soft_reset() == WAITED
        launch(driver, 1)
        event = driver.event_record(1)
        for one in (event, before):
            assert driver.stream_wait(3, one) == 0
        found = launch(driver, 3)
        assert driver.soft_reset() == WAITED
        return found, event.epoch, driver.event_record(1).epoch

    assert play(host, script, steps) == ((0, 4), 8, 0)


def demand_taken_records_noted(host):
    """Hold that no call waits for a launch whose record the program has taken, by either call."""
    script = [one for n in (1, 2, 3, 4) for one in launched(n, ticket=n, number=1)]
    script += record(1, 1) + record(2, 2)
    script += launched(6, [(3, 1), (4, 1)], ticket=5, number=1)

    def steps(driver):
        events = []
        for stream in (1, 2, 3, 4):
            launch(driver, stream)
            events.append(driver.event_record(stream))
        tickets = [driver.wait_record()[1]["ticket"], driver.take_record()[1]["ticket"]]
        # Of four pairs two are too many; nothing is read for these.
        for event in events:
            assert driver.stream_wait(6, event) == 0
        return tickets, launch(driver, 6)

    assert play(host, script, steps) == ([1, 2], (0, 5))


def demand_the_ticket_0(host):
    """Hold that a launch that is not accepted has the ticket 0, whatever the section shows."""
    script = launched(1, code=GRID_ZERO, ticket=77) + [("read", DOORBELL, 1)]

    def steps(driver):
        return launch(driver, 1), launch(driver, 1), launch(driver, 256)

    assert play(host, script, steps) == ((GRID_ZERO, 0), (BUSY, 0), (RANGE, 0))


def demand_order_past_32_bits(host):
    """Hold that in C an event is the same when its stream's count has passed 2^32."""
    script = launched(1, ticket=1, number=0xFFFF) + launched(1, ticket=2, number=0)
    script += launched(2, [(1, 0)], ticket=3, number=1)

    def steps(driver):
        driver.state.count[1] = 0xFFFFFFFE
        events = []
        for _ in range(2):
            launch(driver, 1)
            events.append(driver.event_record(1))
        for event in events:
            assert driver.stream_wait(2, event) == 0
        return [event.count for event in events], launch(driver, 2)

    assert play(host, script, steps) == ([0xFFFFFFFF, 0x100000000], (0, 3))


def demand_no_limit(host):
    """Hold that in C a full queue is tried again for ever with patience 0."""

    def steps(driver):
        driver.patience = 0
        return launch(driver, 1)

    script = launched(1, code=QUEUE_FULL) * 3 + launched(1, ticket=9, number=1)
    assert play(host, script, steps) == (0, 9)


DEMANDS = (
    demand_pairs,
    demand_kept_pairs,
    demand_old_events_dropped,
    demand_wait_for_the_oldest,
    demand_order_past_16_bits,
    demand_a_reset_ends_pairs,
    demand_taken_records_noted,
    demand_the_ticket_0,
    demand_a_reset_that_goes_on_ends_pairs,
)


@pytest.mark.parametrize("demand", DEMANDS)
def test_events_follow_their_rules(host, demand):
    demand(host)


def test_in_c_patience_0_is_no_limit():
    demand_no_limit(c_host())


# Aborted, code 0; failed, code 27; finished in another order than the example demands.
@pytest.mark.parametrize(("head", "code"), [(1 << 8, 255), (2 << 8 | 27, 27), (0, 255)])
def test_the_example_with_streams_tells_an_end_that_it_does_not_want(head, code):
    assert c_host()(StreamStub(head)).example(100) == code


# The PREEMPT's record has another fate; it is right, and the next one has another ticket.
@pytest.mark.parametrize("head", [1 << 8, 0])
def test_the_second_example_tells_an_end_that_it_does_not_want(head):
    assert c_host()(StreamStub(head)).second_example(100, 200) == 255


def test_in_c_counts_have_more_than_32_bits():
    demand_order_past_32_bits(c_host())


def test_a_list_of_records_that_is_full_is_told(monkeypatch):
    """In C the list is the program's."""
    monkeypatch.setattr(CStreams, "size", 1)
    script = [one for n in (1, 2, 3) for one in launched(n, ticket=n, number=1)] + record(3, 3)

    def steps(driver):
        for stream in (1, 2, 3):
            launch(driver, stream)
        return [driver.stream_wait(5, driver.event_record(stream)) for stream in (1, 2, 3)]

    assert play(c_host(), script, steps) == [0, 0, FULL]


def test_in_c_launches_without_a_taken_record_are_as_many_as_the_core_has_records():
    """The launch that is too many accesses nothing; a record that is taken makes room for it."""
    many = range(1, TINY.records + 1)
    script = [one for n in many for one in launched(1, ticket=n, number=n)] + record(1, 1)
    script += launched(1, ticket=99, number=len(many) + 1)

    def steps(driver):
        codes = [launch(driver, 1)[0] for _ in many]
        return codes, launch(driver, 1), driver.take_record()[0], launch(driver, 1)

    assert play(c_host(), script, steps) == ([0] * len(many), (FULL, 0), 0, (0, 99))
