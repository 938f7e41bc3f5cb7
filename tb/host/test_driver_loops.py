"""Templates and loops of both drivers: literal accesses, and whole loops on a stub of registers."""

from dataclasses import replace

import pytest

from simt_host.c_calls import Refused
from tb.host.driver_tours import BUS_ERROR, BUSY, FULL, RANGE, WAITED, kernel
from tb.host.loop_hosts import LOOPING, c_loops, python_loops
from tb.host.loop_stub import LoopStub
from tb.host.scripted_bus import ScriptedBus
from tb.host.test_driver_accesses import NOTHING
from warploom_host import wait_latest

BEGIN = [("read", 0x1C, 0)]
LAUNCH_FAILED, LOOP_STOPPED, RESET = 59, 60, 55
#: Two sections, of which the second one can loop; a driver waits for each event by itself.
ONE = replace(LOOPING, loop_sections=1)
ALONE = replace(LOOPING, launch_waits=0)
LAUNCH = kernel(3, 9, arguments=0xFFFF_FFFF_FFFF_F000, barriers=2)


@pytest.fixture(params=["c", "python"])
def host(request):
    """Return what makes a driver on a bus."""
    return python_loops if request.param == "python" else c_loops


def play(host, script, steps, **more):
    """Return what some calls give, which make the accesses of a script and no others."""
    bus = ScriptedBus([*BEGIN, *script])
    driver = host(bus, **more)
    assert driver.begin() == 0
    found = steps(driver)
    bus.demand_over()
    return found


def on_stub(host, config=LOOPING, pace=1, **more):
    """Return a driver on a stub that has begun, and the stub."""
    stub = LoopStub(config, pace)
    driver = host(stub, config=config, **more)
    assert (driver.identify(), driver.begin()) == (0, 0)
    return driver, stub


# Accesses, literally

#: A template of slot 2, all words of NOTHING 0 but these: its launch, and T11.
WORDS = {0: 0x2, 3: 0x1000, 5: 0x10000000, 6: 7, 11: 0x0001_000D}


def template(slot, words, second=()):
    """Return the accesses that write a whole template: T0 to T13, and words of its second half."""
    base = 0x8000 + 0x100 * slot
    writes = [("write", base + 4 * n, words.get(n, 0)) for n in range(14)]
    return writes + [("write", base + 0x80 + 4 * n, word) for n, word in second]


def write_it(driver, slot=2, pointer=0x1000, **more):
    """Write a template whose pointer and inline word step, and whose gx alternates."""
    steps = {"arguments": 0x1_0000_0010, "inline": {0: 5}}
    fields = NOTHING | {"arguments": pointer, "gx": 7} | more
    return driver.write_template(slot, steps, {"gx": 9}, **fields)


def taken(driver, count=4):
    assert driver.take_slots(count) == (0, 0)


SECOND = [(3, 0x10), (4, 1), (6, 9), (12, 5), (13, 0)]


def demand_words_that_differ(host):
    """Hold that a template is written whole once, and then only where it differs."""
    script = template(2, WORDS, SECOND)
    script += [("write", 0x820C, 0x2000), ("write", 0x8210, 1)]
    # Only the launch: T11, no word of the second half.
    script += [("write", 0x822C, 0)]
    # Another slot knows nothing.
    script += template(3, WORDS, SECOND)

    def steps(driver):
        taken(driver)
        found = [write_it(driver), write_it(driver)]
        found += [write_it(driver, pointer=0x1_0000_2000)]
        fields = NOTHING | {"arguments": 0x1_0000_2000, "gx": 7}
        return [*found, driver.write_template(2, **fields), write_it(driver, 3)]

    assert play(host, script, steps) == [0] * 5


def test_a_template_is_written_whole_once_and_then_where_it_differs(host):
    demand_words_that_differ(host)


def test_pairs_of_a_template_stand_behind_its_words(host):
    waits = [(1, 0x12345), wait_latest(2), wait_latest(3, 4)]
    words = {0: 0x2 | 0b0010_0011 << 8, 5: 0x10000000}
    script = template(0, words) + [("write", 0x8070, 0x23450100), ("write", 0x8074, 0x00000200)]
    script += [("write", 0x8000, 0x2 | 0b0001_0001 << 8), ("write", 0x8070, 0x00040300)]

    def steps(driver):
        taken(driver)
        found = [driver.write_template(0, waits=waits[:2], **NOTHING)]
        return [*found, driver.write_template(0, waits=waits[2:], **NOTHING)]

    assert play(host, script, steps) == [0, 0]


class RefusingLast(ScriptedBus):
    """A bus that refuses one access."""

    number = -1

    def _next(self, kind, address, value):
        found = super()._next(kind, address, value)
        if len(self.made) == self.number:
            raise Refused
        return found


def demand_that_all_is_forgotten(host, number):
    """Hold that after a refused write no template is known: written whole, and not launched."""
    whole = template(2, WORDS, SECOND)
    last = [("write", 0x820C, 0x2000), ("write", 0x8210, 7)][: number - 14 - len(SECOND)]
    bus = RefusingLast([*BEGIN, *whole, *last, *template(3, WORDS, SECOND), *whole])
    bus.number = 1 + number
    driver = host(bus)
    assert driver.begin() == 0
    taken(driver)
    assert write_it(driver) == 0
    assert write_it(driver, pointer=0x7_0000_2000) == BUS_ERROR
    assert driver.submit_loop(0, 2, 1, 9) == RANGE
    assert [write_it(driver, 3), write_it(driver)] == [0, 0]
    bus.demand_over()


@pytest.mark.parametrize("number", [20, 21])
def test_after_a_bus_error_no_copy_is_known(host, number):
    demand_that_all_is_forgotten(host, number)


def loop_script(section=0, words=(0x4, 1000, 0x00020302)):
    """Return the accesses that ring a LOOP."""
    base = 0x1000 + 0x200 * section
    writes = [("write", base + 0x80 + 4 * n, word) for n, word in enumerate(words)]
    return [("read", base, 0), *writes, ("write", base, 1)]


def test_a_loop_is_three_words_and_the_doorbell_and_its_outcome_two_reads(host):
    # By default two launches of 4 entries are under way.
    script = [*template(2, WORDS, SECOND), *template(3, WORDS, SECOND), *loop_script(1)]
    script += [("read", 0x1200, 1), ("read", 0x1200, 1), ("read", 0x1200, 0)]
    script += [("read", 0x1200, 0), ("read", 0x120C, 0), ("read", 0x121C, 2000)]
    script += [("write", 0x150, 2)]
    # One that ended early has the count of finished launches, too.
    script += [*loop_script(0, (0x4, 5, 0x00FF0303))]
    script += [("read", 0x1000, 0), ("read", 0x100C, 0x0007003A), ("read", 0x101C, 3)]
    script += [("read", 0x1018, 2)]

    def steps(driver):
        taken(driver)
        found = [write_it(driver, 2), write_it(driver, 3), driver.submit_loop(1, 2, 2, 1000)]
        found += [driver.loop_outcome(1)[0], driver.loop_done(1), driver.loop_outcome(1)]
        found += [driver.loop_stop(1), driver.submit_loop(0, 3, 1, 5, 255)]
        return [*found, driver.loop_outcome(0)]

    ended = {"code": 0, "argument": 0, "accepted": 2000, "finished": 2000}
    early = {"code": 58, "argument": 7, "accepted": 3, "finished": 2}
    assert play(host, script, steps) == [0, 0, 0, BUSY, 0, (0, ended), 0, 0, (58, early)]


class Sleeping(ScriptedBus):
    """A bus whose interrupt stands in the list, too."""

    def wait_irq(self):
        self._next("wait", 0, 0)


@pytest.mark.parametrize(("turns", "code"), [(2, 0), (3, WAITED)])
def test_a_driver_sleeps_until_the_loop_has_ended(host, turns, code):
    clear, busy, wait = ("write", 0x24, 1 << 4), ("read", 0x1000, 1), ("wait", 0, 0)
    script = [*BEGIN, *[clear, busy, wait] * turns]
    bus = Sleeping(script if code else [*script, clear, ("read", 0x1000, 0)])
    driver = host(bus, patience=3)
    driver.begin()
    driver.interrupts = True
    assert driver.loop_done(0) == code
    bus.demand_over()


class Posting(ScriptedBus):
    """A bus that posts writes: after a write a read waits for the barrier."""

    posted = False

    def _next(self, kind, address, value):
        assert kind == "write" or not self.posted, f"a read of {address:#x} passes a write"
        self.posted = kind == "write"
        return super()._next(kind, address, value)

    def barrier(self):
        self.posted = False


def demand_barriers(host):
    """Hold that no read passes the writes of a call."""
    bus = Posting([*BEGIN, *template(2, WORDS, SECOND), *loop_script(), ("write", 0x150, 1)])
    bus.script[-5:-1] = [*loop_script(0, (4, 3, 0x00020202))][-4:]
    driver = host(bus)
    driver.begin()
    taken(driver)
    for call in (
        lambda: write_it(driver),
        lambda: driver.submit_loop(0, 2, 1, 3),
        lambda: driver.loop_stop(0),
    ):
        assert call() == 0
        assert not bus.posted
    bus.demand_over()


def test_no_read_passes_a_write(host):
    demand_barriers(host)


# What is refused without an access


def test_slots_are_taken_in_a_row_and_given_back(host):
    def steps(driver):
        found = [driver.take_slots(n) for n in (0, 9, 3, 3, 3)]
        found += [driver.free_slots(n) for n in (1, 6, 0, 0)]
        # Slots 6, 7, 0 and 1 follow each other.
        return [*found, driver.take_slots(4), driver.take_slots(2)]

    lists = [(RANGE, 0), (RANGE, 0), (0, 0), (0, 3), (FULL, 0)]
    freed = [RANGE, RANGE, 0, RANGE]
    assert play(host, [], steps) == [*lists, *freed, (0, 6), (FULL, 0)]


def test_what_no_loop_can_be_is_refused(host):
    script = template(2, WORDS, SECOND) + template(4, WORDS, SECOND)

    def steps(driver):
        taken(driver)
        driver.take_slots(1)
        assert [write_it(driver, 2), write_it(driver, 4)] == [0, 0]
        found = [write_it(driver, 5), write_it(driver, 8), write_it(driver, dx=4096)]
        # A section that cannot loop, or is not there; no slot; too many; one that was not written;
        # two groups; more in flight than the field holds.
        for loop in ((0, 2, 1), (2, 2, 1), (1, 2, 0), (1, 2, 9), (1, 2, 2), (1, 4, 2)):
            found.append(driver.submit_loop(*loop, 10))
        found.append(driver.submit_loop(1, 2, 1, 10, 256))
        return [*found, driver.loop_done(0), driver.loop_outcome(0)[0], driver.loop_stop(2)]

    assert play(host, script, steps, config=ONE) == [RANGE] * 13


@pytest.mark.parametrize(
    ("steps", "alternates"),
    [({"inline": {1: 1}}, {}), ({"gx": 1}, {"gx": 2}), ({}, {"inline": {2: 1}})],
)
def test_a_change_that_no_template_can_have_is_refused(host, steps, alternates):
    def write(driver):
        taken(driver)
        return driver.write_template(0, steps, alternates, **NOTHING)

    assert play(host, [], write) == RANGE


# Whole loops on the stub


def started(host, iterations=1000, pace=200, **more):
    """Return a driver whose section 1 loops over three templates of two streams, and the stub."""
    driver, stub = on_stub(host, pace=pace, **more)
    taken(driver, 3)
    fields = LAUNCH | {"stream": 1}
    writes = [
        driver.write_template(0, {"arguments": 0x800, "gx": 2}, inline=(3,), **fields),
        driver.write_template(1, None, {"inline": {0: 77}}, inline=(5,), **fields),
        driver.write_template(
            2, {"inline": {0: (1 << 64) - 1}}, waits=[wait_latest(1)], **LAUNCH | {"stream": 2}
        ),
    ]
    assert [*writes, driver.submit_loop(1, 0, 3, iterations)] == [0] * 4
    return driver, stub


def demand_a_thousand_iterations(host):
    """Hold that each launch has its values: by the loop that a host would write."""
    driver, stub = started(host)
    assert driver.loop_done(1) == 0
    assert driver.loop_outcome(1)[1] == {
        "code": 0,
        "argument": 0,
        "accepted": 3000,
        "finished": 3000,
    }
    seen = []
    for section, words, awaited in stub.launches:
        arguments, inline = (words[n] | words[n + 1] << 32 for n in (3, 12))
        assert (section, words[5] >> 28 & 1) == (1, 1)
        seen.append((words[5] >> 16 & 0xFF, words[6], arguments, inline, awaited))
    expected = []
    for i in range(1000):
        pointer = (0xFFFF_FFFF_FFFF_F000 + 0x800 * i) % (1 << 64)
        expected.append((1, 3 + 2 * i, pointer, 3, []))
        expected.append((1, 3, LAUNCH["arguments"], 77 if i % 2 else 5, []))
        # It waits for the second launch of its own iteration.
        expected.append((2, 3, LAUNCH["arguments"], -i % (1 << 64), [(1, 2 * i + 2)]))
    assert seen == expected


def test_a_loop_of_two_streams_launches_what_a_host_would(host):
    demand_a_thousand_iterations(host)


def test_the_same_slots_launch_the_same_again_without_a_write(host):
    driver, stub = started(host, 10)
    driver.loop_done(1), driver.loop_outcome(1)
    first, stub.writes = [words for _, words, _ in stub.launches], []
    assert driver.submit_loop(0, 0, 3, 10) == driver.loop_done(0) == 0
    assert [words for _, words, _ in stub.launches[30:]] == first
    assert stub.writes == [0x1080, 0x1084, 0x1088, 0x1000]


def demand_that_slots_in_use_are_left_alone(host):
    """Hold that nobody writes, frees or loops over the slots of a loop that runs."""
    driver, stub = started(host)
    stub.writes = []
    busy = [driver.write_template(1, **LAUNCH), driver.free_slots(0)]
    busy += [driver.submit_loop(0, 2, 1, 5), driver.submit_loop(1, 0, 1, 5)]
    assert busy == [BUSY] * 4 and stub.writes == []
    driver.loop_done(1), driver.loop_outcome(1)
    assert [driver.write_template(1, **LAUNCH), driver.free_slots(0)] == [0, 0]


def test_the_slots_of_a_loop_that_runs_are_left_alone(host):
    demand_that_slots_in_use_are_left_alone(host)


def demand_that_who_depends_waits(host):
    """Hold that streams of a loop that runs are busy, and that their counts go on behind it."""
    driver, stub = started(host)
    fields = LAUNCH | {"quiet": 0}
    assert driver.launch(0, **fields | {"stream": 3})[0] == 0
    earlier = driver.event_record(3)
    assert [driver.event_record(1), driver.event_record(2)] == [BUSY, BUSY]
    assert [driver.launch(0, **fields | {"stream": n})[0] for n in (1, 2)] == [BUSY, BUSY]
    # Another stream goes on, and one may wait for it.
    assert driver.stream_wait(4, earlier) == driver.launch(0, **fields | {"stream": 4})[0] == 0
    driver.loop_done(1), driver.loop_outcome(1)
    assert driver.stream_wait(5, driver.event_record(1)) == 0
    assert driver.stream_wait(5, driver.event_record(2)) == 0
    assert driver.launch(0, **fields | {"stream": 5})[0] == 0
    assert stub.launches[-1][2] == [(1, 2000), (2, 1000)]


def test_who_depends_on_a_loop_waits_for_its_end(host):
    demand_that_who_depends_waits(host)


def test_an_event_before_a_loop_is_busy_while_the_loop_runs(host):
    driver, stub = on_stub(host)
    assert driver.launch(0, **LAUNCH | {"stream": 1})[0] == 0
    event = driver.event_record(1)
    assert driver.stream_wait(3, event) == 0
    taken(driver)
    assert driver.write_template(0, **LAUNCH | {"stream": 1}) == 0
    assert driver.submit_loop(0, 0, 1, 40_000) == 0
    assert driver.stream_wait(4, event) == driver.launch(1, **LAUNCH | {"stream": 3})[0] == BUSY
    stub._pace = 40_001
    driver.loop_done(0), driver.loop_outcome(0)
    # Now it is more than 2^15 launches behind: reached.
    assert driver.stream_wait(4, event) == driver.launch(1, **LAUNCH | {"stream": 3})[0] == 0
    assert stub.launches[-1][2] == []


def demand_counts(host, end, code):
    """Hold that the counts of streams go on by the launches of a loop that ended early."""
    driver, stub = started(host, pace=1)
    stub.failing = {7} if end == "fails" else set()
    for _ in range(8):
        assert driver.loop_outcome(1)[0] in (BUSY, code)
    if end == "stop":
        assert driver.loop_stop(1) == driver.loop_done(1) == 0
    result = driver.loop_outcome(1)[1]
    accepted = len(stub.launches)
    assert (result["code"], result["accepted"]) == (code, accepted)
    assert result["finished"] == accepted - (end == "fails")
    # Asked again it gives the same, and counts nothing twice.
    assert driver.loop_outcome(1)[1] == result
    assert [driver.event_record(n).count for n in (1, 2)] == [stub.accepted[1], stub.accepted[2]]
    # The record of the one that failed has its number.
    error, record = driver.take_record()
    if end == "fails":
        assert (record["stream"], record["fate"], record["number"]) == (1, 2, 6)
    else:
        assert error < 0


@pytest.mark.parametrize(("end", "code"), [("fails", LAUNCH_FAILED), ("stop", LOOP_STOPPED)])
def test_counts_go_on_by_the_launches_that_were_accepted(host, end, code):
    demand_counts(host, end, code)


def test_after_a_soft_reset_nothing_is_counted(host):
    driver, _ = started(host)
    driver.loop_outcome(1)
    assert driver.soft_reset() == 0
    assert driver.loop_outcome(1)[0] == RESET
    assert [driver.event_record(n).count for n in (1, 2)] == [0, 0]
    assert driver.submit_loop(1, 0, 3, 2) == driver.loop_done(1) == 0
    assert driver.loop_outcome(1)[1]["accepted"] == 6


@pytest.mark.parametrize(("depth", "streams", "flying"), [(4, 1, 2), (16, 1, 4), (16, 5, 6)])
def test_so_many_launches_are_under_way_by_default(host, depth, streams, flying):
    config = replace(LOOPING, queue_depth=depth)
    driver, stub = on_stub(host, config)
    assert driver.take_slots(streams) == (0, 0)
    for slot in range(streams):
        assert driver.write_template(slot, **LAUNCH | {"stream": slot}) == 0
    assert driver.submit_loop(0, 0, streams, 0) == 0
    assert stub.loop_words[2] == flying << 16 | streams - 1 << 8
