"""`freed_first`: who enters the queue first, and whom a swap's refusal names; RTL and model."""

import pytest

from tb.support.dispatch_configs import config_of
from tb.support.dispatch_rules import (
    RTL_AND_MODEL,
    WHOLE,
    at,
    completing,
    completion,
    drive,
    errors,
    given,
    launch,
    policy,
    used,
)
from warploom_spec import ErrorCode, layouts

pytestmark = RTL_AND_MODEL

FREED = policy("freed_first")


def completed(*when, slot=0):
    """Return the levels of completions, each (cycle, SMs that complete a block in it)."""
    levels = {}
    for sm in range(FREED.sms):
        own = [(cycle, completion(slot)) for cycle, sms in when if sm in sms]
        levels |= completing(sm, *own)
    return levels


def test_of_sms_freed_in_one_cycle_the_first_behind_the_last_one_to_enter_is_first(block):
    # SM 2 is freed alone: the rotating pointer stands at 3 when the others are, all in one cycle.
    sent = [launch(config=FREED, gx=8, **WHOLE)]
    levels = completed((20, [2]), (30, [0, 1, 3]))
    recording = drive(block, sent, 80, FREED, enable=used(15, 60), **levels)
    assert given(recording) == [0, 1, 2, 3, 2, 3, 0, 1]


def test_of_sms_freed_in_one_cycle_the_lowest_is_first_after_a_reset(block):
    # All blocks went by the table, whose pointer moves past 0 and leaves the rotating one alone.
    sent = [launch(config=FREED, gx=7, **WHOLE)]
    levels = completed((20, [3, 1, 2]))
    recording = drive(block, sent, 80, FREED, enable=used(15, 60), **levels)
    assert given(recording) == [0, 1, 2, 3, 1, 2, 3]


def test_an_sm_freed_twice_lets_the_others_go_before_it_enters_again(block):
    # Two blocks fill an SM. SMs 1 and 2 are freed in 20, SM 1 once more in 21: 1 enters in 23, and
    # in 24 both wait, but the pointer stands at 2.
    sent = [launch(config=FREED, gx=11, barriers=2)]
    levels = completed((20, [2])) | completing(1, (20, completion(0)), (21, completion(1)))
    recording = drive(block, sent, 80, FREED, enable=used(15, 60), **levels)
    assert given(recording) == [0, 1, 2, 3, 0, 1, 2, 3, 1, 2, 1]


def test_the_rotating_pointer_outlives_a_launch_and_moves_with_what_enters_in_vain(block):
    # All four are freed at the end of 22; SMs 0, 1 and 2 enter in 23, 24 and 25. The launch leaves
    # at the end of 24: what entered is dropped at the end of 25, SM 3's count as well. The pointer
    # stands at 3 when the next launch's blocks are freed, all in one cycle.
    sent = [launch(1, FREED, gx=4, **WHOLE), launch(2, FREED, gx=8, **WHOLE)]
    recording = drive(
        block,
        sent,
        100,
        FREED,
        enable=used(45, 80),
        launch__hold=lambda cycle: int(0 < cycle < 30),
        **completed((20, range(4)), (50, range(4))),
    )
    assert given(recording) == [0, 1, 2, 3, 0, 1, 2, 3, 3, 0, 1, 2]


def test_of_sms_whose_blocks_retire_in_one_cycle_the_pointer_chooses_too(block):
    # SM 0 enters alone: the pointer stands at 1 when four blocks are retired in one cycle.
    config = policy("freed_first", reclaim="in_order")
    assert config.retire_width == 4
    recording = drive(
        block,
        [launch(config=config, gx=9, **WHOLE)],
        100,
        config,
        enable=lambda now: 0 if 20 <= now < 30 or 36 <= now < 80 else 0b1111,
        **completed((20, [0]), (40, range(4))),
    )
    assert given(recording) == [0, 1, 2, 3, 0, 1, 2, 3, 0]


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
    assert errors(recording) == [(11, ErrorCode.ORDER_RANGE, told)]
