"""The H200's rounds on a machine of ten SMs, small enough to count by hand."""

import numpy as np
import pytest

from warploom_golden.replay.h200_machine import EARLY, OFFER, TAKE, next_choices, place_blocks
from warploom_golden.replay.h200_state import NONE, Layout, state

# They run beside the recordings' tests: the model's loop is compiled by one process alone.
pytestmark = pytest.mark.xdist_group("silicon")

#: GPC 0 has SM 0 to 3, GPC 1 has SM 4 to 7. SM 8 and 9 are singletons and report through GPC 0.
SMALL = Layout(
    gpc=np.array([0, 0, 0, 0, 1, 1, 1, 1, 0, 0]),
    rotation=np.array([[0, 1, 4], [2, 3, NONE]]),
    served=np.array([[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, NONE, NONE]]),
    group=np.array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2]),
)
SMS = len(SMALL.gpc)


def in_order(ends):
    """Return ticks and SMs of ends."""
    table = np.array(sorted(ends), np.int64).reshape(-1, 2)
    return table[:, 0].copy(), table[:, 1].copy()


def placed(*ends, blocks=None, room=None, length=-1.0, gap=0.0):
    """Return (SM, tick) of the blocks that go out after ends (tick, SM)."""
    blocks = len(ends) if blocks is None else blocks
    free = np.zeros(SMS, np.int64) if room is None else np.array(room)
    ways = np.zeros(SMS), np.zeros(SMS)
    gaps = gap, np.full(SMS, -np.inf)
    lengths = np.full(blocks, length)
    sms, leaves = place_blocks(SMALL, state(SMALL, free), in_order(ends), 0, ways, lengths, gaps)
    return list(zip(sms.tolist(), leaves.tolist(), strict=True))


def test_a_round_begins_on_the_first_free_slot():
    assert placed((100, 5)) == [(5, 100)]
    assert placed((100, 5), (500, 5)) == [(5, 100), (5, 500)]


def test_the_pointers_gpc_comes_last_and_each_gpc_takes_a_tick():
    # The pointer moves to GPC 0, which has room first; the round goes from GPC 1 around to it.
    assert placed((100, 0), (100, 2), (101, 4)) == [(4, 100), (0, 101), (2, 101)]
    # In the next round GPC 1 has room first.
    assert placed((100, 0), (500, 4), (501, 0)) == [(0, 100), (0, 500), (4, 501)]


def test_an_end_counts_if_it_is_reported_before_the_round_looks_at_its_gpc():
    # The round of tick 100 looks at GPC 1 in tick 101, at GPC 0 in tick 102; the next is 24 later.
    assert placed((100, 0), (101, 4)) == [(4, 100), (0, 101)]
    assert placed((100, 0), (102, 4)) == [(0, 100), (4, 124)]
    assert placed((100, 0), (102, 2)) == [(0, 100), (2, 100)]
    assert placed((100, 0), (103, 2)) == [(0, 100), (2, 124)]


def test_singletons_come_first_and_the_pointer_stays():
    # The pointer is at GPC 1: behind the singletons the round goes from GPC 0 to GPC 1.
    one = [0] * SMS
    one[0] = one[4] = one[8] = 1
    assert placed(blocks=3, room=one) == [(8, 0), (0, 1), (4, 2)]
    # From GPC 1 it moves to GPC 0, which therefore comes last.
    assert placed((100, 8), (110, 0), (111, 4)) == [(8, 100), (4, 124), (0, 125)]


def test_an_sm_with_room_for_two_gets_one_in_each_pass():
    two = [0] * SMS
    two[1], two[5], two[6] = 2, 1, 1
    # One pass every 8 ticks; a round of two passes takes 32, and then the end of tick 3 is seen.
    assert placed((3, 7), blocks=5, room=two) == [(5, 0), (6, 0), (1, 1), (1, 8), (7, 32)]


def test_one_end_a_tick_is_reported_the_gpcs_in_turn():
    # SM 2 is known at 100, SM 6 at 101, SM 0 at 102, and SM 4 at 103, which is too late.
    ends = [(100, sm) for sm in (0, 2, 4, 6)]
    assert placed(*ends) == [(6, 100), (0, 101), (2, 101), (4, 124)]


def test_two_sms_of_a_tpc_share_a_path():
    # SM 1 is taken 3 ticks after SM 0 and offered 11 ticks after it: too late for the round.
    assert (TAKE, OFFER) == (3, 11)
    assert placed((100, 0), (100, 1)) == [(0, 100), (1, 124)]
    # In turn: SM 0 at 100, SM 1 at 111, SM 0 at 122 and, behind the second round's look, at 133.
    three = [(100, 0)] * 3
    assert placed(*three, (100, 1)) == [(0, 100), (0, 124), (1, 124), (0, 148)]


def test_a_block_ends_its_length_after_its_start():
    # SM 3 alone has a slot: a block every 50 ticks.
    one = [0] * SMS
    one[3] = 1
    assert placed(blocks=3, room=one, length=50.0) == [(3, 0), (3, 50), (3, 100)]
    assert placed(blocks=2, room=one, length=5.0) == [(3, 0), (3, 24)]
    assert placed(blocks=2, room=one, length=5.0, gap=40.0) == [(3, 0), (3, 40)]


def choices(chosen, dates, *ends):
    free = state(SMALL, np.zeros(SMS, np.int64))
    return next_choices(SMALL, free, in_order(ends), np.array(chosen), np.array(dates, float))


def test_told_the_past_a_wrong_choice_has_no_consequence():
    ends = (100, 0), (100, 2), (101, 4), (500, 6)
    found, had_room = choices([4, 0, 2, 6], [100, 101, 101, 500], *ends)
    assert found.tolist() == [4, 0, 2, 6] and had_room.all()
    # The GPU takes SM 2 first: the rule goes on behind it, to the next pass, and is right again.
    found, had_room = choices([2, 4, 0, 6], [100, 101, 101, 500], *ends)
    assert found.tolist() == [4, 4, 0, 6] and had_room.all()


def test_told_the_past_a_slot_that_is_not_known_yet_had_no_room():
    found, had_room = choices([0, 6], [100, 300], (100, 0), (400, 6))
    assert found.tolist() == [0, NONE]
    assert had_room.tolist() == [True, False]
    # The end of SM 6 comes later than its slot was given away: the slot is not free again.
    found, _ = choices([0, 6, 7], [100, 300, 600], (100, 0), (400, 6), (590, 7))
    assert found.tolist() == [0, NONE, 7]


@pytest.mark.parametrize("distance", [8, 18, 30])
def test_told_the_past_rounds_are_cut_by_dates_alone(distance):
    """From 12 ticks on a block is of a new round, which sees what came until then."""
    late = 100 + distance
    found, _ = choices([0, 2], [100, late], (100, 0), (late - EARLY, 2))
    assert found.tolist() == [0, NONE if distance < 12 else 2]
