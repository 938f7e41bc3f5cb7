"""What a host does with loops on the core: for the C driver."""

from tb.host.driver_bench import FAULTS
from tb.host.driver_tours import kernel
from warploom_host import wait_latest

#: The pointer passes 2^32, and the grid's x grows by 1 block modulo so many iterations.
POINTER, STEP, OTHER = 0xFFFF_FE00, 0x100, 0x1234_5678_9ABC_DEF0
COMMAND_DONE = 4


def three_templates(driver, sms, cores, iterations):
    """Loop over three templates of two streams; what comes meanwhile, and what is left."""
    found = {"identify": driver.identify(), "begin": driver.begin(), "slots": driver.take_slots(3)}
    pair = [wait_latest(1)]
    found["writes"] = [
        driver.write_template(
            0, {"arguments": STEP}, inline=(1,), **kernel(1, 4, stream=1, arguments=POINTER)
        ),
        driver.write_template(
            1, None, {"inline": {0: OTHER}}, inline=(2,), **kernel(2, 4, stream=1, arguments=5)
        ),
        driver.write_template(2, None, waits=pair, inline=(3,), **kernel(1, 4, stream=2)),
    ]
    found["irq"] = driver.enable_irq(1 << COMMAND_DONE, 0)
    found["loop"] = driver.submit_loop(1, 0, 3, iterations)
    found["busy"] = [driver.loop_outcome(1)[0], driver.event_record(1)]
    # Past the driver, which would not do it: by now the slots are in use.
    found["refused"] = [driver.call("write_register", 0x800C + 0x100 * n, 7) for n in range(3)]
    driver.interrupts, driver.patience = True, 0
    found["done"] = driver.loop_done(1)
    driver.interrupts = False
    found["outcome"] = driver.loop_outcome(1)
    found["none"] = driver.take_record()[0]
    found["seen"] = list(sms.taken)
    found["ended"] = list(sms.ended)
    # The counts have gone on: a launch may wait for them, and its record has its number.
    found["waits"] = driver.stream_wait(3, driver.event_record(2))
    found["launch"] = [driver.launch(0, **kernel(1, 4, stream=n))[0] for n in (3, 1)]
    records = [driver.wait_record()[1] for _ in range(2)]
    found["numbers"] = sorted((one["stream"], one["number"], one["fate"]) for one in records)
    return found


def few(driver, sms, cores):
    """Loop a few times."""
    return three_templates(driver, sms, cores, 6)


def thousand(driver, sms, cores):
    """Loop a thousand times."""
    return three_templates(driver, sms, cores, 1000)


def early_ends(driver, sms, cores):
    """Stop a loop, let one fail, reset one; after each the next one is like the first."""
    found = {"begin": driver.begin(), "slots": driver.take_slots(1)}
    for name in ("stop", "fails", "reset"):
        code = FAULTS + 4 if name == "fails" else 4
        found[name] = [driver.write_template(0, {"arguments": 1}, **kernel(1, code, stream=1))]
        found[name].append(driver.submit_loop(0, 0, 1, 10_000))
        if name == "stop":
            found[name] += [driver.loop_stop(0), driver.loop_done(0)]
        elif name == "fails":
            found[name] += [driver.loop_done(0), driver.wait_record()[1]["fate"]]
        else:
            found[name] += [driver.soft_reset(), driver.loop_done(0)]
        found[name] += driver.loop_outcome(0)
        while driver.take_record()[0] == 0:
            pass
        found[name] += [driver.clear_stream(1)]
    sms.taken.clear()
    found["again"] = [driver.write_template(0, {"arguments": 1}, **kernel(1, 4, stream=1))]
    found["again"] += [driver.submit_loop(0, 0, 1, 5), driver.loop_done(0)]
    found["again"] += driver.loop_outcome(0)
    found["seen"] = [words["arguments"] for _, words in sms.taken]
    return found
