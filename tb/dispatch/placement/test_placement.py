"""Whom each policy gives a block, retirement's width and ties, of RTL and model alike."""

import pytest

from tb.support.dispatch_configs import config_of
from tb.support.dispatch_rules import (
    RTL_AND_MODEL,
    SMS,
    WHOLE,
    at,
    completing,
    completion,
    drive,
    ends,
    errors,
    given,
    launch,
    mask,
    policy,
    stop,
    used,
)
from warploom_spec import ErrorCode, Fate, layouts

pytestmark = RTL_AND_MODEL


def test_first_fit_fills_the_lowest_sm_first(block):
    config = policy("first_fit")
    recording = drive(block, [launch(config=config, gx=6)], config=config)
    assert given(recording) == [0, 0, 0, 0, 1, 1]


def test_round_robin_goes_on_behind_the_sm_that_got_a_block_past_one_without_room(block):
    config = policy("round_robin")
    recording = drive(
        block,
        [launch(config=config, gx=7)],
        config=config,
        enable=lambda now: 0b1111 if now < 5 else 0b1011,
    )
    # SM 2 is out of use from 6 on, in which it would be next; its first block was decided in 5.
    assert given(recording) == [0, 1, 2, 3, 0, 1, 3]


@pytest.mark.parametrize("name", ["round_robin", "freed_first"])
def test_the_pointer_moves_on_from_the_sm_that_was_found_past_the_last_one(block, name):
    config = policy(name)
    recording = drive(block, [launch(config=config, gx=6)], config=config, enable=0b0111)
    assert given(recording) == [0, 1, 2, 0, 1, 2]


def test_round_robin_does_not_move_while_a_block_waits(block):
    config = policy("round_robin")
    sent = [launch(config=config, gx=6, **WHOLE)]
    levels = {**completing(3, (20, completion(0))), **completing(1, (21, completion(0)))}
    # Blocks 4 and 5 wait from 7 on, all SMs full; the pointer stands at 0, and 1 is met before 3.
    recording = drive(block, sent, config=config, enable=used(15, 40), **levels)
    assert given(recording) == [0, 1, 2, 3, 1, 3]


def test_round_robin_goes_on_where_the_launch_before_stopped(block):
    config = policy("round_robin")
    sent = [launch(1, config, gx=2), launch(2, config, after_previous=0, gx=2)]
    assert given(drive(block, sent, config=config)) == [0, 1, 2, 3]


def test_least_loaded_takes_the_fewest_warps_then_the_lowest_number(block):
    config = policy("least_loaded")
    sent = [launch(1, config, gx=3, warps=4), launch(2, config, stream=1, gx=4, warps=2)]
    # The first launch's blocks are decided in 3 to 5; the second's when the fit table is made. The
    # three SMs with four warps each are the second choice until SM 3 has four, too.
    recording = drive(block, sent, config=config, enable=used(5, 40))
    assert given(recording) == [0, 1, 2, 3, 3, 0, 1]


def test_least_loaded_sees_what_has_returned(block):
    config = policy("least_loaded")
    sent = [launch(1, config, gx=4), launch(2, config, after_previous=0)]
    levels = completing(2, (20, completion(0)))
    assert given(drive(block, sent, config=config, enable=used(6, 40))) == [0, 1, 2, 3, 0]
    recording = drive(block, sent, config=config, enable=used(6, 40), **levels)
    assert given(recording) == [0, 1, 2, 3, 2]


def test_freed_first_takes_the_sm_that_was_freed_first(block):
    config = policy("freed_first")
    sent = [launch(config=config, gx=6, **WHOLE)]
    levels = {**completing(3, (20, completion(0))), **completing(1, (24, completion(0)))}
    recording = drive(block, sent, config=config, enable=used(15, 40), **levels)
    assert given(recording) == [0, 1, 2, 3, 3, 1]


def test_freed_first_drops_a_head_that_has_no_room_and_takes_the_table_from_its_pointer(block):
    config = policy("freed_first")
    sent = [launch(config=config, gx=7, **WHOLE)]
    levels = {
        **completing(3, (20, completion(0))),
        **completing(2, (24, completion(0))),
        **completing(1, (28, completion(0))),
    }

    def enable(now: int) -> int:
        return 0b0111 if now == 40 else used(15, 40)(now)

    # Queue 3, 2, 1. SM 3 is out of use in 41 alone: its entry is dropped, and the table, which
    # stands at 0, gives SM 1. Then the head is 2. Then 1, which is full: SM 3 by the table.
    recording = drive(block, sent, config=config, enable=enable, **levels)
    assert given(recording) == [0, 1, 2, 3, 1, 2, 3]


@pytest.mark.parametrize(("width", "offered"), [(1, 51), (2, 49), (4, 48)])
def test_as_many_blocks_are_retired_in_a_cycle_as_the_width_says(block, width, offered):
    config = config_of(f"tiny,policy=first_fit,reclaim=in_order,retire_width={width}")
    early = {n: [(20 + k, completion(k)) for k in range(4)] for n in range(2)}
    early[0][0] = (40, completion(0))
    recording = drive(
        block,
        [launch(config=config, gx=9)],
        config=config,
        enable=lambda now: 3 if now < 30 else 2,
        **completing(0, *early[0]),
        **completing(1, *early[1]),
    )
    # SM 0's four blocks and then SM 1's wait for the first one, done in 43. SM 1's first one is the
    # fifth to be retired, in 44 if four are at once; its slot is seen three cycles later. SM 0 is
    # out of use.
    assert recording.cycles("offer__1__valid")[4:] == [offered]


def test_of_two_reasons_to_refuse_a_swap_the_range_is_told(block):
    config = config_of("tiny,sms=3,policy=freed_first")
    recording = drive(
        block,
        [launch(config=config)],
        config=config,
        order_table__valid=at(20),
        order_table__payload=layouts.order_swap(config).pack({"first": 0, "second": 3}),
    )
    assert errors(recording) == [(21, ErrorCode.ORDER_RANGE, 3)]


def test_of_several_errors_in_a_cycle_the_lowest_code_then_the_lowest_sm_is_told(block):
    config = policy("first_fit")
    recording = drive(
        block,
        [],
        config=config,
        stop__valid=at(11),
        stop__payload=stop(7),
        acknowledge__0=at(10, mask(1)),
        **completing(3, (10, completion(0))),
        **completing(2, (10, completion(1))),
    )
    assert errors(recording) == [(13, ErrorCode.COMPLETION_NOT_RUNNING, 2)]


@pytest.mark.parametrize(("first", "second"), [(1, 0), (0, 1)], ids=["kill last", "drain last"])
def test_a_drain_becomes_a_kill_and_never_the_other_way(block, first, second):
    config = policy("first_fit")
    stops = {20: stop(1, drain=first), 24: stop(1, drain=second)}
    recording = drive(
        block,
        [launch(config=config, gx=6, **WHOLE)],
        config=config,
        stop__valid=lambda now: int(now in stops),
        stop__payload=lambda now: stops.get(now, 0),
        **{f"acknowledge__{n}": at(30, mask(1)) for n in range(SMS)},
    )
    # A kill's pulse is four cycles after its stop.
    assert recording.cycles("kill__0") == [24 + 4 if first else 20 + 4]
    ((_, end),) = ends(recording)
    assert end["fate"] == Fate.KILLED


def test_launch_words_stay_until_the_place_is_occupied_again(block):
    config = policy("first_fit")
    packet = layouts.launch_words(config)
    sent = [launch(5, config, gx=3), launch(6, config, gx=2)]
    levels = completing(0, *((20 + k, completion(k)) for k in range(3)))
    recording = drive(block, sent, config=config, **levels)
    tickets = [packet.unpack(word)["ticket"] for word in recording.port("words__0")[1:]]
    assert tickets == [5] * len(tickets)
    assert len(ends(recording)) == 1
