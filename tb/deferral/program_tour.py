"""What a host does for a program's groups, by the C driver on the core."""

from math import prod

from tb.host.loop_hosts import U64
from warploom_host import wait_latest

#: A loop's section, and that of single launches.
LOOPS, SINGLE = 1, 0
#: Turns of waiting for an answer or a loop.
TURNS = 10_000
#: Accesses after the last block that is to come: none may follow.
QUIET_ACCESSES = 50


def groups(driver, sms, cores, steps):
    """Do what `DriverSteps` say; return what the SMs saw: of each block its launch's words."""
    del cores
    demand(driver.identify(), driver.begin())
    driver.patience = TURNS
    blocks = 0
    for step in steps:
        if "templates" in step:
            blocks += loop(driver, step)
        else:
            blocks += sum(alone(driver, **launch) for launch in step["launches"])
    while len(sms.taken) < blocks:
        demand(driver.clock()[0])
    for _ in range(QUIET_ACCESSES):
        demand(driver.clock()[0])
    return [words for _, words in sms.taken]


def loop(driver, step):
    """Write templates into slots of their own, and loop over them; return the blocks."""
    templates, count = step["templates"], step["count"]
    code, first = driver.take_slots(len(templates))
    demand(code)
    for slot, launch in enumerate(templates, first):
        changes = (numbered(launch[kind]) for kind in ("steps", "alternates"))
        waits = [wait_latest(*pair) for pair in launch["waits"]]
        written = driver.write_template(slot, *changes, waits, launch["inline"], **launch["fields"])
        demand(written)
    demand(driver.submit_loop(LOOPS, first, len(templates), count, step["in_flight"]))
    demand(driver.loop_done(LOOPS))
    code, outcome = driver.loop_outcome(LOOPS)
    launches = count * len(templates)
    assert (code, outcome["accepted"], outcome["finished"]) == (0, launches, launches), outcome
    demand(driver.free_slots(first))
    return step["blocks"]


def alone(driver, fields, inline, waits, steps, alternates):
    """Launch; return its blocks."""
    assert not waits and not steps and not alternates
    words = (U64 * 10)(*inline)
    demand(driver.launch(SINGLE, inline_args=words, **fields)[0])
    return prod(fields[name] for name in ("gx", "gy", "gz"))


def numbered(changes):
    """Return changes with numbers as keys of inline words, which JSON makes texts."""
    changes = dict(changes)
    if "inline" in changes:
        changes["inline"] = {int(number): word for number, word in changes["inline"].items()}
    return changes


def demand(*codes):
    """Hold that calls were not refused."""
    assert not any(codes), codes
