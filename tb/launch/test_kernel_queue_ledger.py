"""Random traffic against KernelQueue's model, with the ledger; and the ledger itself."""

import random
from collections import Counter

import pytest

from tb.support.dispatch_configs import config_of
from tb.support.kernel_queue_ledger import QueueLedger
from tb.support.kernel_queue_traffic import Mood, QueueTraffic
from tb.support.loop_books import LOOP_EVENTS
from tb.support.planted import plant
from warploom_dev.rewrite import Rewrite
from warploom_golden.launch import KernelQueue
from warploom_golden.launch.queue_parts import events
from warploom_golden.launch.queue_parts.packing import Packets
from warploom_golden.launch.queue_parts.rows import Launch

WRAPS = {"first_ticket": (1 << 32) - 20, "first_count": (1 << 32) - 4}
LOOPS = "tiny,stream_bits=2"
#: Cycles within which everything must have ended when nothing new comes.
WIND_UP = 20_000


class World:
    """A model among its neighbours, under the ledger."""

    def __init__(self, text, seed, *, first_ticket=1, first_count=0):
        config = config_of(text)
        first = {"first_ticket": first_ticket, "first_count": first_count}
        self.model, self.ledger = KernelQueue(config, **first), QueueLedger(config, **first)
        self.traffic = QueueTraffic(config, Mood(), random.Random(seed), first_count)
        self._outputs = None

    def run(self, cycles):
        """Run some cycles."""
        for _ in range(cycles):
            inputs = self.traffic.next(self._outputs)
            self._outputs = self.model.outputs(inputs)
            self.ledger.see(inputs, self._outputs)
            self.model.tick(inputs)

    def wind_up(self):
        """Launch nothing more, and let everything end."""
        self.traffic.winds_up = True
        for _ in range(WIND_UP):
            self.run(1)
            if self._outputs["idle"]:
                self.traffic.winds_up = False
                return
        raise AssertionError("it hangs")


def live(world):
    """Launches, waits, all modes, aborts, preemption, time-outs, faults, a soft reset."""
    world.run(1500)
    world.wind_up()
    world.run(500)
    world.traffic.reset_softly()
    world.run(600)
    world.traffic.lose_all(300)
    world.run(100)
    world.wind_up()
    assert all(launch.recorded for launch in world.ledger.launches.values())


@pytest.mark.rule("kernel_queue", 4, 7, 14, 16, 17, 18, 21, 23, 25, 26, 27, 31)
@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("tiny", {}),
        ("tiny", WRAPS),
        ("tiny,stream_bits=2,launch_waits=4,sm_kill=False", {}),
        (LOOPS, WRAPS),
    ],
    ids=["tiny", "wraps", "four_streams", "loops"],
)
def test_each_ticket_has_one_record_and_everything_ends(text, first, seed):
    world = World(text, seed, **first)
    live(world)
    seen = world.ledger.seen
    assert seen["restarts"] and seen["refused RESET"] and seen["finished"]
    assert text != LOOPS or all(seen[name] for name in LOOP_EVENTS[:3])


@pytest.mark.deep
def test_so_for_a_hundred_thousand_launches_with_quiet_ones_among_them(seed):
    """Records exactly for those that the rule names; no place of one is missing or lost."""
    seen = Counter()
    for number in range(2000):
        world = World(LOOPS, f"{seed}/{number}")
        live(world)
        seen.update(world.ledger.seen)
        if seen["accepted"] >= 100_000:
            break
    assert seen["accepted"] >= 100_000
    assert seen["quiet finished"] > 20_000 and seen["quiet with a record"] > 5_000


TOLD = "parts.pulses.loop_end = parts.packets.loop_end(launch.loop - 1, finished=finished)"
#: A wrong rule of the model each, and what the ledger says of it.
WRONG = {
    "a quiet launch's place is lost": (
        Rewrite(events, "_make_record", "parts.kept.places += 1", "pass"),
        "records_left beside",
    ),
    "a quiet launch has a record": (
        Rewrite(events, "_make_record", "launch.quiet and finished", "False"),
        "has two records|records_left beside",
    ),
    "a quiet launch never has one": (
        Rewrite(events, "_make_record", "launch.quiet and finished", "launch.quiet"),
        "records_left beside",
    ),
    "a launch that does not finish is not told of": (
        Rewrite(events, "_make_record", TOLD, f"if finished:\n {TOLD}"),
        "no loop_end of",
    ),
    "a loop's launch that ends is told of as finished": (
        Rewrite(events, "_make_record", TOLD, TOLD.replace("=finished", "=True")),
        "a wrong end",
    ),
    "a record has the number of the launch before": (
        Rewrite(Packets, "record", "launch.number", "(launch.number - 1)"),
        "another number",
    ),
    "a relative pair is one further back": (
        Rewrite(Launch, "pair", "rows[stream].accepted", "(rows[stream].accepted - 1)"),
        "did not wait|what is ahead",
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("wrong", WRONG)
def test_the_ledger_finds_a_wrong_rule_of_loops(wrong, seed, monkeypatch):
    change, says = WRONG[wrong]
    plant(monkeypatch, [change])
    with pytest.raises(AssertionError, match=says):
        for number in range(8):
            live(World(LOOPS, f"{seed}/{number}"))
