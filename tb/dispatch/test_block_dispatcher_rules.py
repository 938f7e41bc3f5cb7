"""The cycles on BlockDispatcher's page: boot, starts, who is next, picks, holds and stops."""

import pytest

from tb.support.block_dispatcher_rules import (
    KILLED,
    ONE,
    RTL_AND_MODEL,
    TINY,
    WHOLE,
    at,
    blocks,
    changes,
    drive,
    during,
    ends,
    given,
    ones,
    start,
)
from tb.support.dispatch_configs import config_of
from warploom_spec import Fate, WarploomError, timing

pytestmark = RTL_AND_MODEL

FIVE = config_of("tiny,policy=first_fit,stream_bits=2,sms=5,kill_timeout=16")


def streams(recording):
    """Return the stream of each offered block."""
    return [block["stream"] for block in blocks(recording)]


# Boot


@pytest.mark.rule("block_dispatcher", 1)
@pytest.mark.parametrize(
    ("text", "boot"),
    [("tiny", 17), ("tiny,stream_bits=4", 25), ("tiny,sms=3,block_slots=5,stream_bits=1", 24)],
)
def test_a_launch_is_taken_nine_cycles_after_the_rows_of_the_largest_memory(block, text, boot):
    config = config_of(text)
    assert timing(config).resident_boot == boot
    recording = drive(block, {}, 5, config, before=boot)
    assert recording.cycles("start__ready") == list(range(boot, boot + 5))


@pytest.mark.rule("block_dispatcher", 1, 28)
@pytest.mark.parametrize(("sent", "told"), [(-17, []), (-1, []), (0, [9 + 5])])
def test_reports_in_the_boot_are_dropped_without_an_error(block, sent, told):
    # The record comes five cycles after the report.
    recording = drive(block, {}, 10, reports=[(sent, 1, 0)], before=9)
    assert [cycle for cycle, word in enumerate(recording.port("error")) if word] == told


def test_what_the_page_does_not_describe_is_refused(block):
    for text, message in [
        ("tiny,sms=3,reclaim=in_order", "^sms x block_slots is 12; legal .*: a power of two"),
        (
            "tiny,sms=1,block_slots=1,reclaim=in_order",
            "^sms x block_slots is 1; legal .* 2 or more",
        ),
    ]:
        with pytest.raises(WarploomError, match=message):
            block(config_of(text))


# From a start to an offer


@pytest.mark.rule("block_dispatcher", 3, 5, 7, 8, 11, 12, 14, 21)
def test_the_first_offer_comes_nine_cycles_after_the_start(block):
    found = timing(TINY)
    assert (found.resident_first_offer, found.resident_offer, found.resident_fetch) == (9, 3, 2)
    recording = drive(block, {0: start(2, entry=5, index_address=7, warps=3)})
    assert given(recording) == [(9, 0)]
    said = {"stream": 2, "slot": 0, "bx": 0, "by": 0, "bz": 0, "block_number": 0}
    assert blocks(recording) == [said | {"index_address": 7, "entry": 5, "warps": 3}]
    assert recording.port("fetch")[7] == 5
    # Other in 1 to 4. Picked in 6, and that was the last block.
    assert ones(recording, "yields", 2) == [(2, 5)]
    assert ones(recording, "open", 2) == [(1, 7)]
    last = 59
    for port, since in [("resident", 1), ("begun", 8), ("busy", 8)]:
        assert ones(recording, port, 2) == [(since, last)]


@pytest.mark.rule("block_dispatcher", 15)
def test_blocks_come_x_first_then_y_then_z_and_their_numbers_wrap(block):
    def wrapping(config):
        return block(config, first_number=(1 << 32) - 3)

    recording = drive(wrapping, {0: start(gx=2, gy=2, gz=2)})
    said = [(b["bx"], b["by"], b["bz"]) for b in blocks(recording)]
    assert said == [(x, y, z) for z in range(2) for y in range(2) for x in range(2)]
    numbers = [b["block_number"] for b in blocks(recording)]
    assert numbers == [(n - 3) % (1 << 32) for n in range(8)]


@pytest.mark.rule("block_dispatcher", 16, 21, 22)
def test_one_sm_alone_takes_a_block_in_every_fifth_cycle(block):
    assert timing(TINY).resident_again == 5
    recording = drive(block, {0: start(gx=9)}, enable=1)
    assert given(recording) == [(9, 0), (14, 0), (19, 0), (24, 0)]
    assert [b["slot"] for b in blocks(recording)] == [0, 1, 2, 3]


@pytest.mark.rule("block_dispatcher", 16, 23)
def test_five_sms_take_a_block_in_every_cycle(block):
    # The change in 4 lets the scan begin anew: SMs 3 and 4 are looked at in 8 and 9.
    recording = drive(block, {0: start(gx=15)}, config=FIVE)
    began = [(9, 0), (10, 1), (11, 2)]
    assert given(recording) == began + [(14 + n, n % 5) for n in range(12)]


@pytest.mark.rule("block_dispatcher", 16)
def test_enable_counts_for_picks_two_cycles_later(block):
    # Off in 10: the last pick is in 11.
    recording = drive(block, {0: start(gx=9)}, enable=during(0, 10, 3))
    assert given(recording) == [(9, 0), (10, 1), (14, 0)]
    # On in 20: used in 21, room in 22, as a verdict lands in every cycle.
    recording = drive(block, {0: start(config=ONE, gx=9)}, config=ONE, enable=during(20, 99))
    assert given(recording) == [(25, 0), (30, 0)]


@pytest.mark.rule("block_dispatcher", 15)
def test_a_block_that_does_not_fit_holds_up_those_behind_it(block):
    recording = drive(block, {0: start(gx=9, warps=17)})
    assert given(recording) == []


# Who is next


@pytest.mark.rule("block_dispatcher", 8, 11, 12, 13)
def test_a_change_after_a_last_block_costs_three_picks(block):
    # Picked in 6 and 7, spent and wanted in 8, made in 9, active in 10, picked from 11 on.
    recording = drive(block, {0: start(0, gx=2), 1: start(1, gx=2)})
    assert given(recording) == [(9, 0), (10, 1), (14, 0), (15, 1)]
    assert streams(recording) == [0, 0, 1, 1]


@pytest.mark.rule("block_dispatcher", 11, 13)
def test_launches_of_one_block_change_in_every_fifth_cycle(block):
    # Made in 4, so not wanted before 8: none is active then.
    recording = drive(block, {n: start(n) for n in range(4)})
    assert given(recording) == [(9, 0), (14, 0), (19, 0), (24, 0)]
    assert streams(recording) == [0, 1, 2, 3]


@pytest.mark.rule("block_dispatcher", 8)
def test_of_one_priority_the_launch_that_started_first_is_next(block):
    # Released in 40, other in 41: top is 0 in 40, too, so eligible in 42 and active in 45.
    sent = {0: start(2), 1: start(0), 2: start(3), 3: start(1)}
    recording = drive(block, sent, 90, hold=during(-99, 40, 15))
    assert streams(recording) == [2, 0, 3, 1]
    assert given(recording)[0] == (49, 0)


@pytest.mark.rule("block_dispatcher", 8)
def test_the_highest_priority_is_next_whenever_it_started(block):
    # Released in 40, other in 41: top is 3 in 41, so eligible in 43 and active in 46. The change in
    # 45 leaves the verdict that lands in 46, of the scan's second SM.
    sent = {n: start(n, priority=p) for n, p in enumerate([1, 3, 1, 2])}
    recording = drive(block, sent, 90, hold=during(-99, 40, 15))
    assert streams(recording) == [1, 3, 0, 2]
    assert given(recording)[0] == (50, 1)


@pytest.mark.rule("block_dispatcher", 8, 9)
def test_where_none_was_other_before_priority_0_is_eligible_a_cycle_earlier(block):
    # Active in 45. The higher one is next in 44, and made in 49 at the earliest: after 44.
    sent = {0: start(0, gx=9), 1: start(1, priority=3)}
    recording = drive(block, sent, 90, hold=during(-99, 40, 15))
    assert streams(recording)[:3] == [0, 0, 1]
    assert [cycle for cycle, _ in given(recording)][:3] == [49, 50, 54]


@pytest.mark.rule("block_dispatcher", 8, 9, 11)
def test_a_higher_priority_gets_its_first_offer_nine_cycles_after_its_start(block):
    # The low launch waits. Looks in 32 and 33 land in 35 and 36, the first ones after the change.
    sent = {0: start(0, gx=9, barriers=3), 30: start(1, priority=1, gx=2, barriers=1)}
    recording = drive(block, sent)
    assert given(recording) == [(9, 0), (10, 1), (39, 1), (40, 0)]
    assert streams(recording) == [0, 0, 1, 1]


@pytest.mark.rule("block_dispatcher", 12, 14, 15)
@pytest.mark.parametrize(("begins", "last"), [(17, 20), (18, 24), (20, 25)])
def test_a_lower_launch_is_offered_till_six_cycles_after_a_higher_ones_start(block, begins, last):
    sent = {0: start(0, gx=40), begins: start(1, priority=1, gx=4)}
    recording = drive(block, sent, 300, length=5)
    found = list(zip(given(recording), streams(recording), strict=True))
    urgent = [cycle for (cycle, _), stream in found if stream == 1]
    assert max(cycle for (cycle, _), s in found if s == 0 and cycle < urgent[0]) == last
    # Nothing of the low one in between, and it goes on where it stood.
    assert not [c for (c, _), s in found if s == 0 and urgent[0] < c < urgent[-1]]
    numbers = [b["block_number"] for b in blocks(recording) if b["stream"] == 0]
    assert numbers == list(range(40))


@pytest.mark.rule("block_dispatcher", 9)
def test_an_older_launch_of_the_same_priority_takes_over_and_a_younger_does_not(block):
    # Released in 40: other in 41, wanted in 43, made in 44.
    sent = {0: start(0, gx=3), 10: start(1, gx=20), 12: start(2)}
    recording = drive(block, sent, 120, length=5, hold=during(-99, 40))
    order = streams(recording)
    taken_over = order.index(0)
    assert order == [1] * taken_over + [0] * 3 + [1] * (20 - taken_over) + [2]
    assert given(recording)[taken_over - 1][0] <= 46 < given(recording)[taken_over][0]


# The mode `wait`


@pytest.mark.rule("block_dispatcher", 10)
@pytest.mark.parametrize(("waits", "order"), [(0, [0, 1, 0, 0]), (1, [0, 0, 0, 1])])
def test_a_begun_wait_launch_is_placed_to_its_end(block, waits, order):
    sent = {
        0: start(0, ONE, gx=3, wait_mode=waits, **WHOLE),
        10: start(1, ONE, priority=3, **WHOLE),
    }
    assert streams(drive(block, sent, 120, ONE, length=5)) == order


@pytest.mark.rule("block_dispatcher", 10, 12)
@pytest.mark.parametrize(("begins", "order"), [(18, [1, 0, 0]), (19, [0, 0, 1])])
def test_a_first_pick_in_the_cycle_in_which_a_change_is_wanted_keeps_the_launch(
    block, begins, order
):
    # Enabled in 20: first pick in 22. A start in 19 wants the change in 22 and would make it in 23;
    # one in 18 makes it in 22, and nothing is picked.
    sent = {
        0: start(0, ONE, gx=2, wait_mode=1, **WHOLE),
        begins: start(1, ONE, priority=1, **WHOLE),
    }
    recording = drive(block, sent, 120, ONE, length=5, enable=during(20, 999))
    assert streams(recording) == order
    assert given(recording)[0][0] == (25 if order[0] == 0 else 27)


@pytest.mark.rule("block_dispatcher", 7, 10)
@pytest.mark.parametrize(("hold", "count"), [(3, 0), (4, 0), (5, 4), (6, 4), (20, 4)])
def test_a_hold_in_whatever_cycle_stops_a_wait_launch_before_its_first_block_only(
    block, hold, count
):
    # The hold of 4 counts in the candidate of 5, and so in the first pick's cycle, 6.
    sent = {0: start(gx=4, wait_mode=1, **WHOLE)}
    recording = drive(block, sent, 120, length=9, hold=during(hold, 999))
    assert len(given(recording)) == count


# Holds


@pytest.mark.rule("block_dispatcher", 7, 10, 13, 15)
def test_a_held_launch_gets_its_last_offer_four_cycles_later_and_goes_on_where_it_stood(block):
    # Held in 20: last pick in 21. Released in 40: other in 41, next in 43, active in 45.
    sent = {0: start(gx=9)}
    recording = drive(block, sent, 70, length=5, hold=during(20, 40))
    began = [(9, 0), (10, 1), (14, 0), (15, 1), (19, 0), (20, 1), (24, 0)]
    assert given(recording) == [*began, (49, 0), (50, 1)]
    assert [b["block_number"] for b in blocks(recording)] == list(range(9))
    assert ones(recording, "yields") == [(2, 5), (42, 45)]


@pytest.mark.rule("block_dispatcher", 10, 15)
@pytest.mark.parametrize("grid", [(2, 3, 2), (1, 4, 1), (1, 2, 4)], ids=str)
def test_a_launch_goes_on_with_its_next_block_wherever_it_was_held(block, grid):
    # Held and released in turn: two blocks in a row, then it leaves.
    gx, gy, gz = grid
    sent = {0: start(gx=gx, gy=gy, gz=gz)}
    recording = drive(block, sent, 100, length=5, hold=lambda now: int(now % 13 >= 6))
    said = [(b["bx"], b["by"], b["bz"]) for b in blocks(recording)]
    assert said == [(x, y, z) for z in range(gz) for y in range(gy) for x in range(gx)]


# Stops


@pytest.mark.rule("block_dispatcher", 4, 6, 30)
def test_a_stopped_launch_gets_at_most_one_pick_more_and_ends_killed(block):
    # Stopped in 10: open in 10, so placing in 11. SM 0's second report waits until 23.
    reports = [(20, 0, 0, KILLED), (20, 1, 0, KILLED), (20, 0, 1, KILLED)]
    recording = drive(block, {0: start(gx=8)}, reports=reports, stop=at(10))
    assert given(recording) == [(9, 0), (10, 1), (14, 0)]
    assert ends(recording) == [(29, 0, Fate.KILLED, 0)]
    assert ones(recording, "open") == [(1, 10)]
    assert ones(recording, "kill") == [(11, 29)]
    assert ones(recording, "busy") == [(8, 27)]
    assert ones(recording, "resident") == [(1, 29)]


@pytest.mark.rule("block_dispatcher", 4, 29, 30)
@pytest.mark.parametrize(
    ("stopped", "ended", "fate"),
    [
        # Turn 0 is in 3, 7, 11 and so on.
        (1, 4, Fate.KILLED),
        (2, 4, Fate.KILLED),
        # Open in 3. A change was wanted in 3: active in 5 and 6, left in 6.
        (3, 8, Fate.KILLED),
        (4, 8, Fate.KILLED),
        # Open in 5, so placing in 6.
        (5, 26, Fate.FINISHED),
        (6, 26, Fate.FINISHED),
        (7, 26, Fate.FINISHED),
        (12, 26, Fate.FINISHED),
    ],
)
def test_a_stop_before_the_last_pick_ends_killed_and_one_after_it_finished(
    block, stopped, ended, fate
):
    recording = drive(block, {0: start()}, reports=[(20, 0, 0)], stop=at(stopped))
    assert ends(recording) == [(ended, 0, fate, 0)]
    assert len(given(recording)) == (fate == Fate.FINISHED)
    assert ones(recording, "kill") == [(stopped + 1, ended)]


@pytest.mark.rule("block_dispatcher", 4, 29)
def test_a_held_launch_that_is_stopped_ends_at_its_streams_turn(block):
    recording = drive(block, {0: start(gx=4)}, stop=at(20), hold=1)
    assert (ends(recording), given(recording)) == ([(24, 0, Fate.KILLED, 0)], [])


@pytest.mark.rule("block_dispatcher", 3, 4)
def test_a_stop_in_a_launchs_first_cycle_does_not_speak_of_it(block):
    assert given(drive(block, {0: start()}, stop=at(0))) == [(9, 0)]
    assert given(drive(block, {0: start()}, stop=at(1))) == []


@pytest.mark.rule("block_dispatcher", 4, 6, 30)
def test_a_stop_of_a_launch_that_is_over_and_not_told_changes_nothing(block):
    levels = {"ended__ready": during(40, 99), "stop": during(27, 40)}
    recording = drive(block, {0: start()}, reports=[(20, 0, 0)], **levels)
    assert ends(recording) == [(40, 0, Fate.FINISHED, 0)]
    assert ones(recording, "kill") == []


@pytest.mark.rule("block_dispatcher", 3)
def test_a_stream_takes_its_next_launch_eight_cycles_after_an_end(block):
    sent = {0: start(gx=9), 37: start(gx=2)}
    reports = [(20, 0, 0, KILLED), (20, 1, 0, KILLED), (20, 0, 1, KILLED)]
    recording = drive(block, sent, reports=reports, stop=during(10, 30))
    assert [cycle for cycle, _ in given(recording)] == [9, 10, 14, 46, 47]
    assert [b["block_number"] for b in blocks(recording)] == [0, 1, 2, 0, 1]
    assert changes(recording, "begun") == [(8, 1), (38, 0), (45, 1)]
