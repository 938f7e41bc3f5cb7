"""Random calls with loops: both drivers make the same accesses, and know what the core has done."""

import random

from tb.host.driver_tours import BUSY, FULL, QUIET, RANGE, kernel
from tb.host.loop_hosts import LOOPING, c_loops, python_loops
from tb.host.loop_stub import LoopStub
from warploom_host import wait_latest

STREAMS = range(1, 5)
SECTIONS = (0, 1)
SLOTS = LOOPING.loop_templates
EMPTY = -8
LOOP_CODES = (59, 60, 55)
#: What a call may give: no access is refused, no launch waits for one that is yet to come.
LEGAL = {0, BUSY, RANGE, EMPTY, FULL, QUIET, *LOOP_CODES}


class Pair:
    """Both drivers, each on a stub of its own."""

    def __init__(self, keep_words):
        self.stubs = [LoopStub(LOOPING, 3) for _ in range(2)]
        makes = c_loops, python_loops
        self.drivers = [
            make(stub, keep_words=keep_words) for make, stub in zip(makes, self.stubs, strict=True)
        ]
        self.call("begin")

    def call(self, name, *arguments, **fields):
        """Make a call of both; return its code and what it gave."""
        found = [getattr(driver, name)(*arguments, **fields) for driver in self.drivers]
        first, second = (one if isinstance(one, tuple) else (one, None) for one in found)
        assert first[0] == second[0], f"{name}{arguments} {fields}"
        assert first[0] < 0 or first == second, f"{name}{arguments} {fields}"
        assert self.stubs[0].writes == self.stubs[1].writes, f"{name}{arguments} {fields}"
        for stub in self.stubs:
            stub.writes.clear()
        assert first[0] in LEGAL, f"{name}{arguments} {fields}: {first[0]}"
        return first

    def event(self, stream):
        """Return both drivers' events of a stream; None while it is busy."""
        found = [driver.event_record(stream) for driver in self.drivers]
        if BUSY in found:
            assert found == [BUSY, BUSY]
            return None
        count = self.stubs[0].accepted[stream]
        assert [one.count for one in found] == [count, self.stubs[1].accepted[stream]]
        return found

    def wait(self, stream, events):
        codes = [
            driver.stream_wait(stream, event)
            for driver, event in zip(self.drivers, events, strict=True)
        ]
        assert codes[0] == codes[1] and codes[0] in LEGAL


def launch_of(rng):
    return kernel(rng.randint(1, 9), stream=rng.choice(STREAMS), arguments=rng.choice((1, 1 << 40)))


def changes_of(rng):
    """Return steps and alternates, each field in one of them at most."""
    found = ({}, {})
    for name, value in (("gx", 3), ("grid_yz", (1, 2)), ("arguments", 64), ("inline", {0: 9})):
        kind = rng.randrange(4)
        if kind < 2:
            found[kind][name] = value
    return found


def storm(rng, pair, calls):
    """Make random calls; return how often each gave 0."""
    events, done = [], dict.fromkeys(("loop", "launch", "template", "wait", "ended"), 0)
    for _ in range(calls):
        kind, section, first = rng.randrange(13), rng.choice(SECTIONS), rng.randrange(SLOTS)
        if kind == 0:
            pair.call("take_slots", rng.randint(1, 4))
        elif kind == 1:
            pair.call("free_slots", first)
        elif kind <= 4:
            waits = [wait_latest(rng.choice(STREAMS), rng.randrange(3))] * rng.randrange(2)
            steps = changes_of(rng)
            found = pair.call("write_template", first, *steps, waits=waits, **launch_of(rng))
            done["template"] += found[0] == 0
        elif kind <= 6:
            loop = first, rng.randint(1, 3), rng.randint(0, 6), rng.randrange(5)
            done["loop"] += pair.call("submit_loop", section, *loop)[0] == 0
            if rng.random() < 0.1:
                at = len(pair.stubs[0].launches) + rng.randrange(4)
                for stub in pair.stubs:
                    stub.failing.add(at)
        elif kind <= 8:
            done["ended"] += pair.call("loop_outcome", section)[0] != BUSY
        elif kind == 9 and rng.random() < 0.2:
            pair.call("loop_stop", section)
        elif kind <= 11:
            fields = launch_of(rng) | {"quiet": rng.randrange(2)}
            done["launch"] += pair.call("launch", section, **fields)[0] == 0
            while pair.call("take_record")[0] == 0:
                pass
        elif rng.random() < 0.02:
            pair.call("soft_reset")
        else:
            if (event := pair.event(rng.choice(STREAMS))) is not None:
                events = [*events[-5:], event]
            if events:
                pair.wait(rng.choice(STREAMS), rng.choice(events))
                done["wait"] += 1
    return done


def test_both_drivers_are_one(seed):
    for keep_words in (False, True):
        rng = random.Random(f"{seed} {keep_words}")
        pair = Pair(keep_words)
        done = storm(rng, pair, 1500)
        assert min(done.values()) > 10, done
        launches = [[(words, awaited) for _, words, awaited in s.launches] for s in pair.stubs]
        assert launches[0] == launches[1]
