"""Quiet launches, relative pairs and kept words of both drivers, on buses without a core."""

from dataclasses import replace

import pytest

from simt_host.c_calls import Refused
from tb.host.driver_hosts import TINY, c_host, python_host
from tb.host.driver_tours import BUS_ERROR, FULL, QUIET, RANGE, WAITED, descriptor
from tb.host.loop_hosts import LOOPING, c_loops, python_loops
from tb.host.loop_stub import LoopStub
from tb.host.scripted_bus import ScriptedBus
from tb.host.test_driver_accesses import NOTHING, made
from warploom_host import wait_latest

BEGIN = [("read", 0x1C, 0)]
QUEUE_FULL, STREAM_BROKEN = 32, 17
#: The driver waits for each event by itself.
ALONE = replace(LOOPING, launch_waits=0)
PLAIN = replace(TINY, loop_templates=0)


@pytest.fixture(params=["c", "python"])
def host(request):
    """Return what makes a driver on a bus."""
    return python_loops if request.param == "python" else c_loops


def on_stub(host, config=LOOPING, **more):
    """Return a driver on a stub that has begun, and the stub."""
    stub = LoopStub(config)
    driver = host(stub, config=config, **more)
    assert driver.begin() == 0
    return driver, stub


def launch(driver, stream, quiet=0, **more):
    """Launch in a stream; return code and ticket."""
    return driver.launch(0, **NOTHING | {"stream": stream, "quiet": quiet} | more)


# Words


def test_quiet_and_relative_are_bits_of_a_launch(host):
    driver, stub = on_stub(host)
    assert launch(driver, 1)[0] == launch(driver, 2)[0] == launch(driver, 2)[0] == 0
    assert launch(driver, 3, 1, waits=[wait_latest(1), wait_latest(2, 1)])[0] == 0
    words, awaited = stub.launches[-1][1:]
    assert (words[0], words[5]) == (0x2 | 0b0011_0011 << 8, 0x10030000)
    assert words[28:30] == (0x00000100, 0x00010200)
    assert awaited == [(1, 1), (2, 1)]


def demand_own_pairs_first(host):
    """Hold that a launch keeps its relative pairs beside its stream's, as many as there is room."""
    driver, stub = on_stub(host)
    for stream in (1, 2):
        launch(driver, stream)
    assert driver.stream_wait(3, driver.event_record(1)) == 0
    assert launch(driver, 3, waits=[wait_latest(2)])[0] == 0
    assert stub.launches[-1][2] == [(2, 1), (1, 1)]
    for stream in (1, 2):
        assert driver.stream_wait(3, driver.event_record(stream)) == 0
    assert launch(driver, 3, waits=[wait_latest(2)])[0] == RANGE


def test_relative_pairs_of_a_launch_stand_before_its_stream_s(host):
    demand_own_pairs_first(host)


@pytest.mark.parametrize(("make", "quiet"), [(c_host, 1), (c_host, 2), (python_host, 1)])
def test_without_loops_a_quiet_launch_is_refused(make, quiet):
    if make is python_host:
        driver, fields = python_host(ScriptedBus([]), 9, PLAIN), descriptor((), NOTHING)
        assert driver.call("launch_after", 0, fields, (), quiet=True)[0] == RANGE
        assert driver.call("launch_after", 0, fields, [wait_latest(1)])[0] == RANGE
        return
    assert made(c_host(config=PLAIN), "launch", [], 0, **NOTHING | {"quiet": quiet})[0] == RANGE
    pair = [(1, 0, 1)]
    assert made(c_host(config=PLAIN), "launch", [], 0, waits=pair, **NOTHING)[0] == RANGE


# Quiet launches have no record to wait for


def test_quiet_launches_are_not_in_the_list_of_open_ones(host):
    driver, _ = on_stub(host)
    for _ in range(LOOPING.records + 5):
        assert launch(driver, 1, 1)[0] == 0
    assert driver.take_record()[0] < 0
    assert driver.event_record(1).count == LOOPING.records + 5
    found = [launch(driver, 1)[0] for _ in range(LOOPING.records + 1)]
    # In C the list is full; in Python the core refuses, which the stub does not.
    assert found[:-1] == [0] * LOOPING.records and found[-1] in (0, FULL)


def demand_no_wait_for_quiet(host):
    """Hold that the driver waits for a later record than a quiet launch's, or refuses."""
    driver, stub = on_stub(host, ALONE)
    launch(driver, 1)
    launch(driver, 1, 1)
    event = driver.event_record(1)
    # The record of the first launch says nothing of the quiet one behind it.
    assert driver.stream_wait(2, event) == QUIET
    launch(driver, 2)
    assert driver.stream_wait(2, event) == QUIET
    launch(driver, 1)
    assert driver.stream_wait(2, event) == 0
    # All records that were there were taken and kept, and come now.
    taken = [driver.take_record() for _ in range(3)]
    assert [(code, record["ticket"]) for code, record in taken] == [(0, 1), (0, 3), (0, 4)]
    assert driver.stream_wait(2, event) == 0
    # A new quiet launch is not over by that record.
    launch(driver, 1, 1)
    assert driver.stream_wait(2, event) == 0
    assert driver.stream_wait(2, driver.event_record(1)) == QUIET


def test_the_driver_waits_for_a_later_record_or_refuses(host):
    demand_no_wait_for_quiet(host)


def demand_that_it_began(host):
    """Hold that the record of a launch that never began says nothing of those before it."""
    driver, stub = on_stub(host, ALONE)
    launch(driver, 1, 1)
    event = driver.event_record(1)
    launch(driver, 1)
    # It was aborted while it waited: no block of it was offered.
    ticket, head, *rest = stub._records[0]
    stub._records[0] = (ticket, head & ~(1 << 24) | 1 << 8, *rest)
    assert driver.stream_wait(2, event) == QUIET


def test_a_record_of_a_launch_that_never_began_is_no_such_record(host):
    demand_that_it_began(host)


def test_behind_a_loop_no_record_is_needed(host):
    driver, stub = on_stub(host, ALONE)
    launch(driver, 1, 1)
    early = driver.event_record(1)
    assert driver.take_slots(1) == (0, 0)
    assert driver.write_template(0, **NOTHING | {"stream": 1}) == 0
    assert driver.submit_loop(1, 0, 1, 2) == driver.loop_done(1) == 0
    assert driver.loop_outcome(1)[0] == 0
    assert driver.stream_wait(2, early) == driver.stream_wait(2, driver.event_record(1)) == 0
    # One that failed may have been aborted before others.
    launch(driver, 1, 1)
    stub.failing = {4}
    assert driver.submit_loop(1, 0, 1, 2) == driver.loop_done(1) == 0
    assert driver.loop_outcome(1)[0] == 59
    stub._records.clear()
    assert driver.stream_wait(2, driver.event_record(1)) == QUIET


# Kept words

DOORBELL = 0x1000


def kept_script(words, chosen, code=0, number=1, ticket=None):
    """Return the accesses of a launch that writes some of its words, and reads its answer."""
    script = [("read", DOORBELL, 0)]
    script += [("write", DOORBELL + 0x80 + 4 * n, words.get(n, 0)) for n in chosen]
    script += [("write", DOORBELL, 1), ("read", DOORBELL, 1), ("read", DOORBELL, 0)]
    script += [("read", DOORBELL + 0x0C, code)]
    if code:
        return script
    script += [("read", DOORBELL + 0x14, number << 16)]
    return script + ([] if ticket is None else [("read", DOORBELL + 0x10, ticket)])


ALL = (*range(11), 12, 13)
FIRST = {0: 2, 3: 0x1000, 6: 1}


def demand_kept_words(host):
    """Hold that only words that differ are written, and which answers let all be forgotten."""
    next_words = FIRST | {3: 0x2000}
    quiet = next_words | {5: 1 << 28}
    script = [
        *kept_script(FIRST, ALL, ticket=9),
        *kept_script(next_words, (3,), number=2, ticket=10),
        *kept_script(next_words, (), number=3, ticket=11),
        # The ticket of a quiet launch is not read.
        *kept_script(quiet, (5,), number=4),
        # A full queue: rung again as it stands.
        *kept_script(next_words, (5,), QUEUE_FULL),
        *kept_script(next_words, (), number=5, ticket=12),
        *kept_script(FIRST, (3,), STREAM_BROKEN),
        *kept_script(FIRST, ALL, number=6, ticket=13),
        # Somebody used the section.
        *kept_script(FIRST, ALL, number=7, ticket=14),
    ]
    bus = ScriptedBus([*BEGIN, *script])
    driver = host(bus)
    driver.begin()

    def launched(pointer, quiet=0):
        fields = NOTHING | {"arguments": pointer, "gx": 1, "quiet": quiet}
        return driver.launch_kept(0, **fields)

    found = [launched(0x1000), launched(0x2000), launched(0x2000), launched(0x2000, 1)]
    found += [launched(0x2000), launched(0x1000), launched(0x1000)]
    driver.forget_words(0)
    found.append(launched(0x1000))
    bus.demand_over()
    numbers = [(0, n) for n in range(1, 6)]
    assert found == [*numbers, (STREAM_BROKEN, 0), (0, 6), (0, 7)]


def test_a_launch_writes_the_words_that_differ(host):
    demand_kept_words(host)


class RefusingNth(ScriptedBus):
    """A bus that refuses its last access."""

    def _next(self, kind, address, value):
        found = super()._next(kind, address, value)
        if len(self.made) == self.stop:
            raise Refused
        return found


@pytest.mark.parametrize("stop", range(1, 8))
def test_after_a_bus_error_every_word_is_written(host, stop):
    first = kept_script(FIRST, ALL, ticket=9)
    broken = kept_script(FIRST | {3: 7}, (3,), number=2, ticket=1)[:stop]
    bus = RefusingNth([*BEGIN, *first, *broken, *kept_script(FIRST, ALL, ticket=2)])
    bus.stop = len(BEGIN) + len(first) + len(broken)
    driver = host(bus)
    driver.begin()
    fields = NOTHING | {"gx": 1}
    assert driver.launch_kept(0, **fields | {"arguments": 0x1000})[0] == 0
    assert driver.launch_kept(0, **fields | {"arguments": 7})[0] == BUS_ERROR
    assert driver.launch_kept(0, **fields | {"arguments": 0x1000})[0] == 0
    bus.demand_over()


def test_no_answer_lets_all_be_forgotten(host):
    rung = kept_script(FIRST, ALL)[: 2 + len(ALL)]
    silent = [*rung, *[("read", DOORBELL, 1)] * 3]
    bus = ScriptedBus([*BEGIN, *silent, *kept_script(FIRST, ALL, ticket=1)])
    driver = host(bus, patience=3)
    driver.begin()
    fields = NOTHING | {"gx": 1, "arguments": 0x1000}
    assert driver.launch_kept(0, **fields)[0] == WAITED
    assert driver.launch_kept(0, **fields)[0] == 0
    bus.demand_over()


def demand_streams_keep_words(host):
    """Hold that launches write what differs, and all behind a LOOP, a refusal and a reset."""
    driver, stub = on_stub(host, keep_words=True)

    def writes(stream=1, section=0):
        stub.writes = []
        driver.launch(section, **NOTHING | {"stream": stream})
        return len(stub.writes) - 1

    assert [writes(), writes(), writes(2), writes(1, 1), writes(2)] == [13, 0, 1, 13, 0]
    driver.take_slots(1)
    driver.write_template(0, **NOTHING | {"stream": 5})
    assert driver.submit_loop(0, 0, 1, 3) == driver.loop_done(0) == 0
    assert driver.loop_outcome(0)[0] == 0
    assert [writes(), writes(1, 1), writes()] == [13, 0, 0]
    assert driver.soft_reset() == 0
    assert [writes(), writes(1, 1)] == [13, 13]
    # A refusal: the launch waits for one that a soft reset past the driver has ended.
    event = driver.event_record(1)
    stub.write32(0x18, 1)
    assert driver.stream_wait(2, event) == 0
    assert driver.launch(0, **NOTHING | {"stream": 2})[0] == 29
    stub.writes = []
    assert driver.launch(0, **NOTHING | {"stream": 3})[0] == 0
    assert len(stub.writes) == 14


def test_launches_of_streams_keep_words(host):
    demand_streams_keep_words(host)
