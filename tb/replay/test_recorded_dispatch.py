"""The golden dispatcher on recorded grids: cases small enough to count by hand."""

import numpy as np
import pytest

from warploom_golden.replay.recorded_dispatch import CHANCE, RecordedDispatch
from warploom_golden.replay.recorded_grid import (
    ENOUGH,
    PERIOD,
    RecordedGrid,
    Turnaround,
    fit,
    paced,
    slots_taken,
)
from warploom_golden.replay.recorded_rounds import ROUND, RecordedRounds

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


def one_slot_each(sms, waves, delay, seed=1, timer=32):
    """Return a recording of SMs of one slot, whose turnaround is ``delay(sm)``."""
    draws = np.random.default_rng(seed)
    left, rows = np.zeros(sms), []
    for wave in range(waves):
        for sm in draws.permutation(sms) if wave else range(sms):
            start = left[sm] + (delay(sm) if wave else 0)
            left[sm] = start + draws.integers(4000, 9000)
            rows.append((int(sm), start, left[sm]))
    rows[sms:] = sorted(rows[sms:], key=lambda row: row[1])
    return grid(1, *((sm, timer * round(a / timer), timer * round(b / timer)) for sm, a, b in rows))


def test_turnaround_is_found_beneath_a_jittering_timer():
    recorded = one_slot_each(40, 30, lambda sm: 321)
    assert fit([recorded]).usual == pytest.approx(321, abs=20)
    assert paced(recorded) == pytest.approx(321, abs=20)


def test_an_sm_has_its_own_turnaround_if_it_ran_enough_blocks():
    def delay(sm):
        return 300 + 10 * (sm % 4)

    found = fit([one_slot_each(8, ENOUGH + 1, delay, timer=1)])
    assert found.by_sm == {sm: pytest.approx(delay(sm), abs=1) for sm in range(8)}
    assert fit([one_slot_each(8, ENOUGH, delay, timer=1)]).by_sm == {}


def test_turnaround_goes_by_the_gpus_own_numbers():
    wanted = Turnaround(200, {7: 150, 9: 170})
    named = RecordedGrid(1, TWO.sm, TWO.start, TWO.end, (9, 4))
    assert wanted.of(named).tolist() == [170, 200]
    assert wanted.of(TWO).tolist() == [200, 200]


def test_turnaround_leaves_out_the_wait_for_the_launching_rate():
    # All SMs are left at once: the last of them waits for its turn, 99 launches long.
    first = [(sm, 0, 1000) for sm in range(100)]
    then = [(sm, 1500 + sm * PERIOD, 3000) for sm in range(100)]
    assert paced(grid(1, *first, *then)) == pytest.approx(500, abs=1)
    assert fit([grid(1, *first, *then)]).usual == pytest.approx(500, abs=1)


def test_a_recording_whose_blocks_wait_for_their_turn_tells_no_turnaround():
    free = one_slot_each(4, 60, lambda sm: 300, timer=1)
    loaded = one_slot_each(8, 60, lambda sm: 340, timer=1)
    assert fit([free, loaded]).by_sm == fit([free]).by_sm
    # SMs 4 to 7 ran in the loaded recording alone.
    assert set(fit([free]).by_sm) == {0, 1, 2, 3}
    assert fit([loaded]).usual == pytest.approx(340, abs=1)


def rounds(*blocks, turnaround=100):
    """Place the blocks behind the first wave in rounds."""
    return RecordedRounds(grid(1, *blocks), turnaround, reports=True).run()


def test_a_round_takes_every_sm_that_has_room_when_it_begins():
    # SM 0 alone has room at 110. SM 2 and SM 1 have it before the next round, 16 ns later.
    wave = ((0, 0, 10), (1, 0, 12), (2, 0, 11))
    placed = rounds(*wave, (0, 110, 900), (1, 126, 900), (2, 126, 900))
    assert placed.sm.tolist() == [0, 1, 2]
    assert placed.start == pytest.approx([110, 110 + ROUND, 110 + ROUND + PERIOD])
    assert placed.freed.tolist() == [10, 12, 11]


def test_a_round_goes_on_behind_the_sm_that_got_the_last_block():
    # The wave's last block is on SM 2, and 0 comes behind it; then SM 1 is left, and 2 before 0.
    wave = ((0, 0, 10), (1, 0, 5), (2, 0, 10))
    placed = rounds(*wave, (1, 105, 200), (2, 121, 200), (0, 121, 200), (2, 900, 901))
    assert placed.sm.tolist() == [1, 2, 0, 1]


def test_rounds_alone_take_the_recorded_lengths():
    alone = RecordedRounds(TWO, 200, reports=False).run()
    assert alone.sm.tolist() == [1, 0, 1]
    assert alone.start == pytest.approx([500, 700, 1200])
    assert alone.freed == pytest.approx([300, 500, 1000])


def test_each_sm_has_its_own_turnaround_in_rounds():
    wave = ((0, 0, 10), (1, 0, 10))
    placed = rounds(*wave, (1, 110, 200), (0, 160, 200), turnaround=np.array([150.0, 100.0]))
    assert placed.sm.tolist() == [1, 0]
    assert placed.start == pytest.approx([110, 160])


def test_chance_takes_any_sm_with_room_at_once_and_repeats():
    # All 16 SMs are left at 10; the blocks behind the first wave get each of them once.
    wave = [(sm, 0, 10) for sm in range(16)]
    recorded = grid(1, *wave, *[(sm, 200, 300) for sm in range(16)])
    for reports in (True, False):
        drawn = RecordedDispatch(recorded, CHANCE, 100, reports).run()
        assert sorted(drawn.sm.tolist()) == list(range(16)) != drawn.sm.tolist()
        assert drawn.start == pytest.approx(110 + PERIOD * np.arange(16), abs=PERIOD)
        again = RecordedDispatch(recorded, CHANCE, 100, reports).run()
        assert drawn.sm.tolist() == again.sm.tolist()
