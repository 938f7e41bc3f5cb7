"""Random traffic against KernelQueue's model, with the ledger; and the ledger itself."""

import random

import pytest

from tb.support.dispatch_configs import config_of
from tb.support.kernel_queue_ledger import QueueLedger
from tb.support.kernel_queue_traffic import Mood, QueueTraffic
from warploom_golden.launch import KernelQueue

WRAPS = {"first_ticket": (1 << 32) - 20, "first_count": (1 << 32) - 4}
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


@pytest.mark.rule("kernel_queue", 4, 7, 14, 16, 17, 18, 21, 23, 25, 26, 27, 31)
@pytest.mark.parametrize(
    ("text", "first"),
    [("tiny", {}), ("tiny", WRAPS), ("tiny,stream_bits=2,launch_waits=4,sm_kill=False", {})],
    ids=["tiny", "wraps", "four_streams"],
)
def test_each_ticket_has_one_record_and_everything_ends(text, first, seed):
    """Launches, waits, all modes, aborts, preemption, time-outs, faults, a soft reset."""
    world = World(text, seed, **first)
    world.run(1500)
    world.wind_up()
    world.run(500)
    world.traffic.reset_softly()
    world.run(600)
    world.traffic.lose_all(300)
    world.run(100)
    world.wind_up()
    seen = world.ledger.seen
    assert seen["restarts"] and seen["refused RESET"] and seen["finished"]
    assert all(launch.recorded for launch in world.ledger.launches.values())
