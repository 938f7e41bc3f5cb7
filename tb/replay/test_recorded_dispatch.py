"""The golden dispatcher on recorded grids: cases small enough to count by hand."""

import numpy as np
import pytest

from warploom_golden.replay.recorded_dispatch import (
    CHANCE,
    PERIOD,
    RecordedDispatch,
    RecordedGrid,
    drawn_slots,
    slots_taken,
    turnaround,
)

POLICIES = ("freed_first", "first_fit", "round_robin", "least_loaded")


def grid(slots, *blocks):
    """Return a recording of blocks (SM, start, end)."""
    sm, start, end = zip(*blocks, strict=True)
    return RecordedGrid(slots, np.array(sm), np.array(start, float), np.array(end, float))


#: Two SMs of one slot. SM 1 is left first (300), then SM 0 (500), then SM 1 again (900).
TWO = grid(1, (0, 0, 500), (1, 0, 300), (1, 400, 900), (0, 600, 1600), (1, 1000, 1100))


def test_the_first_wave_ends_at_the_first_slot_that_was_left():
    assert TWO.first_wave == 2
    assert grid(2, (0, 0, 1), (1, 0, 1), (0, 0, 1), (0, 9, 10), (1, 9, 10)).first_wave == 3
    assert grid(3, (0, 0, 1), (0, 0, 1)).first_wave == 2


def test_an_sm_gives_its_slots_in_the_order_in_which_they_were_left():
    assert slots_taken(TWO).tolist() == [300, 500, 900]
    # SM 1 has a slot that was never taken: it goes before the one that was left.
    one = grid(2, (0, 0, 5), (1, 0, 7), (0, 0, 9), (0, 6, 10), (1, 6, 10), (1, 8, 10))
    assert one.first_wave == 3
    assert slots_taken(one).tolist() == [5, 0, 7]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_single_free_slot_is_given_by_every_policy(policy):
    told = RecordedDispatch(TWO, policy, 100, reports=True).run()
    assert told.sm.tolist() == [1, 0, 1]
    assert told.freed.tolist() == [300, 500, 900]
    assert np.all(told.start - told.freed >= 100)
    assert np.all(told.start - told.freed < 100 + 2 * PERIOD)


def test_alone_a_block_ends_its_recorded_length_after_its_start_here():
    # With 200 ns for 100 the third block, 500 ns long, ends at 1000: SM 1 is left then.
    alone = RecordedDispatch(TWO, "freed_first", 200, reports=False).run()
    assert alone.sm.tolist() == [1, 0, 1]
    assert alone.start == pytest.approx([500, 700, 1200], abs=3 * PERIOD)
    assert alone.freed == pytest.approx([300, 500, 1000], abs=2 * PERIOD)


def test_policies_differ_where_two_slots_wait():
    # SM 1 is left at 20, SM 0 at 40; the wave's last block starts at 500, and then both wait.
    wave = ((0, 0, 40), (1, 0, 20), (2, 500, 5000))
    late = grid(1, *wave, (1, 600, 5000), (0, 600, 5000))
    chosen = {
        policy: RecordedDispatch(late, policy, 10, reports=True).run().sm.tolist()
        for policy in POLICIES
    }
    assert chosen == {
        "freed_first": [1, 0],
        "first_fit": [0, 1],
        "round_robin": [0, 1],
        "least_loaded": [0, 1],
    }


def test_blocks_start_no_faster_than_the_gpu_launches():
    many = grid(1, *((sm, 0, 100) for sm in range(50)), *((sm, 200, 300) for sm in range(50)))
    alone = RecordedDispatch(many, "round_robin", 50, reports=False).run()
    assert alone.sm.tolist() == list(range(50))
    assert np.diff(alone.start) == pytest.approx(PERIOD)


def test_least_loaded_takes_the_emptier_sm():
    # When the wave's last block starts at 500, SM 0 holds two blocks of three, SM 1 holds one.
    zero = [(0, 0, 9000), (0, 0, 9000), (0, 0, 70)]
    one = [(1, 0, 9000), (1, 0, 80), (1, 0, 90)]
    blocks = grid(3, *zero, *one, (2, 500, 9000), (2, 500, 9000), (1, 800, 9000))
    chosen = {
        policy: RecordedDispatch(blocks, policy, 300, reports=True).run().sm.tolist()
        for policy in POLICIES
    }
    assert chosen == {
        "freed_first": [0],
        "first_fit": [0],
        "round_robin": [0],
        "least_loaded": [1],
    }


def test_turnaround_is_found_beneath_a_jittering_timer():
    draws = np.random.default_rng(1)
    sms, waves, delay = 40, 30, 321.0
    left, rows = np.zeros(sms), []
    for wave in range(waves):
        for sm in draws.permutation(sms):
            start = left[sm] + (delay if wave else 0)
            left[sm] = start + draws.integers(4000, 9000)
            rows.append((int(sm), start, left[sm]))
    rows.sort(key=lambda row: row[1])
    names = {}
    rounded = [
        (names.setdefault(sm, len(names)), 32 * round(start / 32), 32 * round(end / 32))
        for sm, start, end in rows
    ]
    assert turnaround(grid(1, *rounded)) == pytest.approx(delay, abs=20)


def test_turnaround_leaves_out_the_wait_for_the_launching_rate():
    # All SMs are left at once: the last of them waits for its turn, 99 launches long.
    first = [(sm, 0, 1000) for sm in range(100)]
    then = [(sm, 1500 + sm * PERIOD, 3000) for sm in range(100)]
    assert turnaround(grid(1, *first, *then)) == pytest.approx(500, abs=1)


def test_chance_is_worse_than_a_policy_and_repeats():
    draws = np.random.default_rng(2)
    left, rows = np.zeros(16), [(sm, 0, 0) for sm in range(16)]
    rows = []
    for number in range(400):
        sm = number if number < 16 else int(left.argmin())
        start = left[sm] + 100 if number >= 16 else 0
        left[sm] = start + draws.integers(1000, 9000)
        rows.append((sm, start, left[sm]))
    recorded = grid(1, *rows)
    taken = slots_taken(recorded)
    drawn = drawn_slots(recorded)
    assert np.mean(np.abs(drawn - taken) <= 64) < 0.3
    assert drawn.tolist() == drawn_slots(recorded).tolist()
    policy = RecordedDispatch(recorded, "freed_first", 100, reports=False).run()
    chance = RecordedDispatch(recorded, CHANCE, 100, reports=False).run()
    assert chance.start.max() > 1.2 * policy.start.max()
    assert sorted(set(chance.sm.tolist())) == list(range(16))
