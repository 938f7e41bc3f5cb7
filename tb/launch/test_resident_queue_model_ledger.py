"""ResidentQueue's model among random neighbours: the ledger is right, and nothing hangs."""

import random
from dataclasses import replace

import pytest

from tb.launch.resident_model_ledger import World
from tb.launch.resident_model_script import TINY

WRAPS = {"first_ticket": (1 << 32) - 20, "first_count": (1 << 32) - 4}


@pytest.mark.rule("resident_queue", 4, 7, 14, 16, 17, 18, 21, 23, 25, 26, 27, 31)
@pytest.mark.parametrize(
    ("config", "first"),
    [(TINY, {}), (TINY, WRAPS), (replace(TINY, stream_bits=2, launch_waits=4, sm_kill=False), {})],
    ids=["tiny", "wraps", "four_streams"],
)
def test_each_ticket_has_one_record_and_everything_ends(config, first, seed):
    """Launches, waits, all modes, aborts, preemption, time-outs, faults, a soft reset."""
    world = World(config, random.Random(seed), **first)
    world.run(1500)
    world.wind_up()
    world.goes_on()
    world.run(500)
    world.reset_softly()
    world.run(300)
    world.lose_all()
    world.run(100)
    world.wind_up()
    assert world.ledger.finals > 30
