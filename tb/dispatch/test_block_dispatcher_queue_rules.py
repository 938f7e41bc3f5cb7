"""Queues whose depth is no power of two: their pointers go back to 0 behind the last entry.

Both queues have an entry for each slot of all SMs: six here, addressed by three bits.
"""

import pytest

from tb.support.dispatch_configs import config_of
from tb.support.dispatch_rules import RTL_AND_MODEL, WHOLE, drive, fates, given, launch, reporting
from tb.support.planted import plant
from warploom.dispatch import BlockDispatcher
from warploom.dispatch._retire_queue import RetireQueue
from warploom.dispatch.placement.freed_first import FreedFirst
from warploom_dev.rewrite import Rewrite
from warploom_spec import Fate

SIX = "tiny,sms=3,block_slots=2"
ROUNDS = 4
#: SM, and the cycle in which it reports its block of the first round; it reports one more every 20
#: cycles. SMs are used in 32 to 34, 52 to 54, ...: by then all three have room.
REPORTS = ((2, 20), (0, 22), (1, 24))


def rounds(block, mode):
    """Run a launch of a block for each SM and round; each block fills its SM."""
    config = config_of(f"{SIX},{mode}")
    levels = {"enable": lambda now: 0b111 if now < 15 or (now - 15) % 20 > 16 else 0}
    for sm, first in REPORTS:
        levels |= reporting(sm, *((first + 20 * k, k % 2) for k in range(ROUNDS)))
    sent = [launch(config=config, gx=3 * ROUNDS, **WHOLE)]
    return drive(block, sent, 110, config, **levels)


def demand_all_retire(block):
    """Hold that every block retires in the order of the decisions, up to the launch's end."""
    recording = rounds(block, "policy=first_fit,reclaim=in_order")
    assert given(recording, 3) == [0, 1, 2] * ROUNDS
    [(_, ticket, fate, code, _)] = fates(recording)
    assert (ticket, fate, code) == (1, Fate.FINISHED, 0)


def demand_freed_in_turn(block):
    """Hold that blocks go to the SMs in the order of their reports, 2, 0, 1, in every round."""
    recording = rounds(block, "policy=freed_first")
    assert given(recording, 3) == [0, 1, 2] + [2, 0, 1] * (ROUNDS - 1)


FINDERS = {"in_order": demand_all_retire, "freed_first": demand_freed_in_turn}


@RTL_AND_MODEL
@pytest.mark.parametrize("mode", FINDERS)
def test_a_queue_of_six_goes_round(block, mode):
    FINDERS[mode](block)


#: Pointers that wrap by their width, at eight.
WRONG = {
    "in_order": Rewrite(
        RetireQueue, "elaborate", "Mux(pointer == depth - 1, 0, pointer + 1)", "pointer + 1"
    ),
    "freed_first": Rewrite(
        FreedFirst, "_queue", "Mux(port.addr == depth - 1, 0, port.addr + 1)", "port.addr + 1"
    ),
}


@pytest.mark.parametrize("mode", WRONG)
def test_a_queue_that_goes_round_by_its_width_is_found(mode, monkeypatch):
    plant(monkeypatch, [WRONG[mode]])
    with pytest.raises(AssertionError):
        FINDERS[mode](BlockDispatcher)
