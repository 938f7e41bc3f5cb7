"""What a host does with streams and events: for the C driver and the Python driver alike.

A tour is blocking code. It returns what the calls gave, as plain data.
"""

from tb.host.driver_bench import FAULTS
from tb.host.driver_tours import kernel

#: Streams; the last one's launches are urgent.
FIRST, SECOND, THIRD, FOURTH, URGENT = range(5)
HIGHEST = 3


def low(cycles=60, blocks=16, **fields):
    """Return a low launch that begins anew after it was stopped."""
    return kernel(blocks, cycles, idempotent=1, mode=1, barriers=4) | fields


def urgent(**fields):
    return kernel(2, 20, stream=URGENT, priority=HIGHEST, barriers=4) | fields


def records(driver, count):
    """Return ticket, kills and fate of the next records."""
    found = []
    for _ in range(count):
        error, record = driver.wait_record()
        assert not error, error
        found.append([record[name] for name in ("ticket", "kills", "fate")])
    return found


def orders(driver, sms, cores):
    """Let launches wait for other streams; preempt by priority and by command; resume."""
    found = {"identify": driver.identify(), "begin": driver.begin()}
    before = driver.clock()
    # The second stream waits for the first one's launch, which makes way for an urgent one.
    tickets = [driver.launch(0, **low(stream=FIRST))[1]]
    found["wait"] = driver.stream_wait(SECOND, driver.event_record(FIRST))
    tickets.append(driver.launch(1, **kernel(2, 10, stream=SECOND))[1])
    tickets.append(driver.launch(0, **urgent())[1])
    found["tickets"], found["first"] = tickets, records(driver, 3)
    after = driver.clock()
    found["clock"] = [before[0], after[0], before[1] < after[1]]
    # Held by a command: the launch waits until it is resumed.
    held = driver.launch(0, **low(stream=FIRST))[1]
    found["preempt"] = driver.preempt(0, 1 << FIRST)
    error, record = driver.wait_record()
    met = [record[f"met_{fate}"] for fate in ("finished", "killed", "drained", "skipped")]
    found["preempted"] = [error, record["ticket"], record["kind"], sum(met), record["cycles"]]
    passes = driver.launch(1, **kernel(1, 10, stream=SECOND))[1]
    found["passes"] = [records(driver, 1)[0][0] == passes, driver.take_record()[0]]
    found["resume"] = driver.resume(0, 1 << FIRST)
    found["resumed"] = [one[0] == held and one[2] for one in records(driver, 1)]
    found["times"] = _times(driver)
    return found


def _times(driver):
    """Return whether a record's times are in order, and its stream."""
    driver.launch(0, **kernel(1, 10, stream=THIRD))
    _, record = driver.wait_record()
    ordered = record["accepted"] < record["first_offer"] < record["made"]
    return [ordered, record["stream"], record["offered"], record["kind"]]


def many_pairs(driver, sms, cores):
    """Let a launch wait for more launches than hardware can keep pairs of; it has two.

    The driver waits for the oldest: its record is kept, and comes first later.
    """
    found = {"begin": driver.begin()}
    tickets = [driver.launch(0, **low(600, 4, stream=n))[1] for n in (FIRST, SECOND, THIRD)]
    events = [driver.event_record(n) for n in (FIRST, SECOND, THIRD)]
    # Twice one stream is one pair.
    found["waits"] = [driver.stream_wait(FOURTH, one) for one in (*events[:2], events[1])]
    found["none yet"] = driver.take_record()[0]
    found["third"] = driver.stream_wait(FOURTH, events[2])
    last = driver.launch(0, **kernel(1, 10, stream=FOURTH))[1]
    found["records"] = [one[0] for one in records(driver, 4)]
    found["tickets"] = [*tickets, last]
    found["empty"] = driver.take_record()[0]
    return found


def aborts_and_resets(driver, sms, cores):
    """End streams, let launches run out of time; an event of an earlier epoch is reached."""
    found = {"begin": driver.begin()}
    ticket = driver.launch(0, **low(4000, stream=FIRST))[1]
    found["abort_streams"] = [driver.abort_streams(0, 1 << FIRST), records(driver, 1)[0][2]]
    found["timeout"] = [driver.set_launch_timeout(100), driver.launch(0, **low(4000, 1))[1]]
    _, record = driver.wait_record()
    found["timed out"] = [record["ticket"] - ticket, record["fate"], record["code"]]
    driver.set_launch_timeout(0)
    driver.launch(0, **low(4000, stream=FIRST))
    event = driver.event_record(FIRST)
    found["none"] = driver.stream_wait(SECOND, driver.event_record(THIRD))
    found["reset"] = driver.soft_reset()
    found["ended"] = records(driver, 1)[0][2]
    found["earlier"] = driver.stream_wait(SECOND, event)
    found["after"] = [driver.launch(0, **kernel(1, 10, stream=SECOND))[0], records(driver, 1)[0][2]]
    return found


def interrupts(driver, sms, cores):
    """A lone record raises the interrupt after its time, below the threshold."""
    found = {"begin": driver.begin(), "irq": driver.enable_irq(1, 4)}
    found["timeout"] = driver.set_irq_timeout(300)
    driver.interrupts = True
    ticket = driver.launch(0, **kernel(1, 10))[1]
    found["record"] = driver.wait_record()[1]["ticket"] - ticket
    driver.interrupts = False
    return found


def example(driver, sms, cores):
    """Run both programs of the example in C."""
    found = {"code": driver.example(100), "blocks": len(sms.blocks)}
    found["second"] = driver.second_example(100, FAULTS - 1)
    return found
