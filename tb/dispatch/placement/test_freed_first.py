"""`freed_first`: whom it gives a block, and what a refused swap names, of RTL and model alike."""

import pytest

from tb.support.dispatch_configs import config_of
from tb.support.dispatch_rules import (
    RTL_AND_MODEL,
    WHOLE,
    at,
    drive,
    errors,
    given,
    launch,
    policy,
    reporting,
    used,
)
from warploom_spec import ErrorCode, layouts

pytestmark = RTL_AND_MODEL

FREED = policy("freed_first")


def reported(*when, slot=0):
    """Return the levels of reports, each (cycle, SMs that report a block in it)."""
    levels = {}
    for sm in range(FREED.sms):
        levels |= reporting(sm, *((cycle, slot) for cycle, sms in when if sm in sms))
    return levels


@pytest.mark.rule("block_dispatcher", 21)
def test_freed_first_takes_the_sm_that_was_freed_first(block):
    sent = [launch(config=FREED, gx=6, **WHOLE)]
    levels = {**reporting(3, (20, 0)), **reporting(1, (24, 0))}
    recording = drive(block, sent, config=FREED, enable=used(15, 40), **levels)
    assert given(recording) == [0, 1, 2, 3, 3, 1]


@pytest.mark.rule("block_dispatcher", 21)
def test_freed_first_drops_a_head_that_has_no_room_and_takes_the_table_from_its_pointer(block):
    sent = [launch(config=FREED, gx=7, **WHOLE)]
    levels = {**reporting(3, (20, 0)), **reporting(2, (24, 0)), **reporting(1, (28, 0))}

    def enable(now: int) -> int:
        return 0b0111 if now == 40 else used(15, 40)(now)

    # Queue 3, 2, 1. SM 3 is out of use in 41 alone: its entry is dropped, and the table, which
    # stands at 0, gives SM 1. Then the head is 2. Then 1, which is full: SM 3 by the table.
    recording = drive(block, sent, config=FREED, enable=enable, **levels)
    assert given(recording) == [0, 1, 2, 3, 1, 2, 3]


@pytest.mark.rule("block_dispatcher", 21)
def test_the_table_s_pointer_moves_on_from_the_sm_that_was_found_past_the_last_one(block):
    recording = drive(block, [launch(config=FREED, gx=6)], config=FREED, enable=0b0111)
    assert given(recording) == [0, 1, 2, 0, 1, 2]


#: Two blocks fill an SM. Launch 1 has blocks on SMs 0, 1 and 2 by the table, whose pointer then
#: stands at 3. Launch 2 comes in 30, after reports of launch 1's blocks. No SM is used until 60: by
#: then it is known how blocks of both launches fit beside each other.
THREE_THEN = [launch(1, FREED, gx=3, barriers=2), launch(2, FREED, gx=3, stream=1, barriers=2)]
LATER = {"launch__hold": lambda cycle: int(0 < cycle < 30)}


@pytest.mark.rule("block_dispatcher", 21)
def test_the_table_s_pointer_stays_while_blocks_go_by_the_queue(block):
    # SM 1 is freed: the first block goes to it by the queue, the others by the table, from 3 on.
    levels = LATER | reporting(1, (20, 0))
    recording = drive(block, THREE_THEN, 80, FREED, enable=used(15, 60), **levels)
    assert given(recording) == [0, 1, 2, 1, 3, 0]


@pytest.mark.rule("block_dispatcher", 21)
def test_the_table_s_pointer_moves_while_the_queue_is_not_empty(block):
    # SMs 1 and 2 are freed, and SM 1 is out of use. Its entry is dropped while that of SM 2 waits:
    # the table gives SM 3. Then the queue gives SM 2, and the table goes on behind SM 3. A cycle
    # without a decision lets the port of SM 3 be open again by then.
    levels = LATER | reporting(1, (20, 0)) | reporting(2, (24, 0))

    def without_sm_1(now: int) -> int:
        return 0 if now == 62 else used(15, 60)(now) & (0b1111 if now < 15 else 0b1101)

    recording = drive(block, THREE_THEN, 80, FREED, enable=without_sm_1, **levels)
    assert given(recording) == [0, 1, 2, 3, 2, 0]


@pytest.mark.rule("block_dispatcher", 21)
def test_of_sms_freed_in_one_cycle_the_first_behind_the_last_one_to_enter_is_first(block):
    # SM 2 is freed alone: the rotating pointer stands at 3 when the others are, all in one cycle.
    sent = [launch(config=FREED, gx=8, **WHOLE)]
    levels = reported((20, [2]), (30, [0, 1, 3]))
    recording = drive(block, sent, 80, FREED, enable=used(15, 60), **levels)
    assert given(recording) == [0, 1, 2, 3, 2, 3, 0, 1]


@pytest.mark.rule("block_dispatcher", 21)
def test_of_sms_freed_in_one_cycle_the_lowest_is_first_after_a_reset(block):
    # All blocks went by the table, whose pointer moves past 0 and leaves the rotating one alone.
    sent = [launch(config=FREED, gx=7, **WHOLE)]
    levels = reported((20, [3, 1, 2]))
    recording = drive(block, sent, 80, FREED, enable=used(15, 60), **levels)
    assert given(recording) == [0, 1, 2, 3, 1, 2, 3]


@pytest.mark.rule("block_dispatcher", 21)
def test_an_sm_freed_twice_lets_the_others_go_before_it_enters_again(block):
    # Two blocks fill an SM. SMs 1 and 2 are freed in 20, SM 1 once more in 21: 1 enters in 23, and
    # in 24 both wait, but the pointer stands at 2. Blocks are decided four cycles apart: by then
    # every port is open again.
    sent = [launch(config=FREED, gx=11, barriers=2)]
    levels = reported((20, [2])) | reporting(1, (20, 0), (21, 1))

    def enable(now: int) -> int:
        return 0b1111 if now < 15 or (now >= 60 and now % 4 == 0) else 0

    recording = drive(block, sent, 80, FREED, enable=enable, **levels)
    assert given(recording) == [0, 1, 2, 3, 0, 1, 2, 3, 1, 2, 1]


@pytest.mark.rule("block_dispatcher", 21)
@pytest.mark.parametrize(("cycle", "order"), [(38, [1, 0]), (39, [0, 1])])
def test_of_two_sms_the_one_that_reports_first_is_first(block, cycle, order):
    sent = [launch(config=FREED, gx=6, **WHOLE)]
    levels = reporting(1, (cycle, 0)) | reporting(0, (77 - cycle, 0))
    recording = drive(block, sent, 80, FREED, enable=used(15, 60), **levels)
    assert given(recording) == [0, 1, 2, 3, *order]


@pytest.mark.rule("block_dispatcher", 21)
def test_the_rotating_pointer_outlives_a_launch_and_moves_with_what_enters_in_vain(block):
    # Two blocks fill an SM. All are reported in 19 and 20: the counters are 1 at the end of 21 and
    # rise to 2 but for SM 0's. SMs 0, 1, 2, 3 and 0 enter in 22 to 26. No launch is resident from
    # 26 on: all is dropped, but the pointer stands at 1 when the next launch's blocks are freed.
    sent = [launch(1, FREED, gx=8, barriers=2), launch(2, FREED, gx=8, **WHOLE)]
    levels = {}
    for sm in range(FREED.sms):
        levels |= reporting(sm, (19, 0), (20, 1), (60, 2))
    recording = drive(
        block,
        sent,
        100,
        FREED,
        enable=used(45, 80),
        launch__hold=lambda cycle: int(0 < cycle < 30),
        **levels,
    )
    assert given(recording) == [0, 1, 2, 3] * 3 + [1, 2, 3, 0]


@pytest.mark.rule("block_dispatcher", 21)
def test_a_lost_sm_s_slots_never_enter(block):
    # SM 0 is lost from 42 on; what it reports in 40 still counts, at the end of 42.
    config = config_of("tiny,sms=3,policy=freed_first,kill_timeout=16")
    sent = [launch(1, config, gx=3, barriers=2), launch(2, config, gx=9, stream=1, barriers=2)]
    stops = layouts.dispatch_stop(config).pack({"place0": 2, "place1": 0})
    recording = drive(
        block,
        sent,
        90,
        config,
        enable=lambda now: 0b111 if now < 22 or now >= 60 else 0,
        stop=at(20, stops),
        **reporting(0, (40, 1)),
        **reporting(1, (25, 0, 2), (50, 1)),
        **reporting(2, (25, 0, 2)),
    )
    assert recording.cycles("lost")[0] == 42
    after = [
        n
        for _, n in sorted(
            (c, n) for n in range(3) for c in recording.cycles(f"offer__{n}__valid") if c > 60
        )
    ]
    # The queue has SM 1, SM 2 and SM 1; SM 0 is not chosen, and its entry is not in the way.
    assert after == [1, 2, 1]


@pytest.mark.rule("block_dispatcher", 22)
@pytest.mark.parametrize(
    ("first", "second", "told"), [(5, 7, 5), (7, 5, 7), (6, 6, 6), (4, 6, 6), (7, 0, 7)]
)
def test_a_swap_s_refusal_names_its_first_position_that_does_not_exist(block, first, second, told):
    config = config_of("tiny,sms=5,policy=freed_first")
    recording = drive(
        block,
        [],
        30,
        config,
        order_table__valid=at(10),
        order_table__payload=layouts.order_swap(config).pack({"first": first, "second": second}),
    )
    assert errors(recording) == [(14, ErrorCode.ORDER_RANGE, told)]


@pytest.mark.rule("block_dispatcher", 22)
def test_of_two_reasons_to_refuse_a_swap_the_range_is_told(block):
    config = config_of("tiny,sms=3,policy=freed_first")
    recording = drive(
        block,
        [launch(config=config)],
        config=config,
        order_table__valid=at(20),
        order_table__payload=layouts.order_swap(config).pack({"first": 3, "second": 0}),
    )
    assert errors(recording) == [(24, ErrorCode.ORDER_RANGE, 3)]
