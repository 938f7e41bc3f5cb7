"""Whom each policy gives a block, of RTL and model alike."""

import pytest

from tb.support.dispatch_rules import (
    RTL_AND_MODEL,
    WHOLE,
    drive,
    given,
    launch,
    policy,
    reporting,
    used,
)

pytestmark = RTL_AND_MODEL


def test_first_fit_takes_the_lowest_sm_whose_port_is_open(block):
    # Each SM takes a block in every second cycle; four blocks fill one.
    config = policy("first_fit")
    recording = drive(block, [launch(config=config, gx=10)], config=config)
    assert given(recording) == [0, 1, 0, 1, 0, 1, 0, 1, 2, 3]


def test_round_robin_goes_on_behind_the_sm_that_got_a_block_past_one_without_room(block):
    config = policy("round_robin")
    recording = drive(
        block,
        [launch(config=config, gx=7)],
        config=config,
        enable=lambda now: 0b1111 if now < 6 else 0b1011,
    )
    # SM 2 is out of use from 7 on; its first block was decided in 6. It would be next in 10.
    assert given(recording) == [0, 1, 2, 3, 0, 1, 3]


@pytest.mark.parametrize("name", ["round_robin", "freed_first"])
def test_the_pointer_moves_on_from_the_sm_that_was_found_past_the_last_one(block, name):
    config = policy(name)
    recording = drive(block, [launch(config=config, gx=6)], config=config, enable=0b0111)
    assert given(recording) == [0, 1, 2, 0, 1, 2]


def test_round_robin_does_not_move_while_a_block_waits(block):
    config = policy("round_robin")
    sent = [launch(config=config, gx=6, **WHOLE)]
    levels = {**reporting(3, (20, 0)), **reporting(1, (21, 0))}
    # Blocks 4 and 5 wait from 8 on, all SMs full; the pointer stands at 0, and 1 is met before 3.
    recording = drive(block, sent, config=config, enable=used(15, 40), **levels)
    assert given(recording) == [0, 1, 2, 3, 1, 3]


def test_round_robin_goes_on_where_the_launch_before_stopped(block):
    config = policy("round_robin")
    sent = [launch(1, config, gx=2), launch(2, config, after_previous=0, gx=2)]
    assert given(drive(block, sent, config=config)) == [0, 1, 2, 3]


def test_least_loaded_takes_the_fewest_warps_then_the_lowest_number(block):
    config = policy("least_loaded")
    sent = [launch(1, config, gx=3, warps=4), launch(2, config, stream=1, gx=4, warps=2)]
    # The first launch's blocks are decided in 4 to 6; the second one's from 41 on, when the fit is
    # known. SM 3 has two warps from then on, and gets the third block in 43.
    recording = drive(block, sent, config=config, enable=used(7, 40))
    assert given(recording) == [0, 1, 2, 3, 0, 3, 1]


def test_least_loaded_sees_what_has_returned(block):
    config = policy("least_loaded")
    sent = [launch(1, config, gx=4), launch(2, config, after_previous=0)]
    assert given(drive(block, sent, config=config, enable=used(8, 40))) == [0, 1, 2, 3, 0]
    recording = drive(block, sent, config=config, enable=used(8, 40), **reporting(2, (20, 0)))
    assert given(recording) == [0, 1, 2, 3, 2]


@pytest.mark.parametrize(("reported", "chosen"), [(37, 2), (38, 0)])
def test_least_loaded_sees_a_return_four_cycles_later(block, reported, chosen):
    # The second launch's block is decided in 41.
    config = policy("least_loaded")
    sent = [launch(1, config, gx=4), launch(2, config, after_previous=0)]
    levels = reporting(2, (reported, 0))
    recording = drive(block, sent, config=config, enable=used(8, 40), **levels)
    assert given(recording) == [0, 1, 2, 3, chosen]


def test_freed_first_takes_the_sm_that_was_freed_first(block):
    config = policy("freed_first")
    sent = [launch(config=config, gx=6, **WHOLE)]
    levels = {**reporting(3, (20, 0)), **reporting(1, (24, 0))}
    recording = drive(block, sent, config=config, enable=used(15, 40), **levels)
    assert given(recording) == [0, 1, 2, 3, 3, 1]


def test_freed_first_drops_a_head_that_has_no_room_and_takes_the_table_from_its_pointer(block):
    config = policy("freed_first")
    sent = [launch(config=config, gx=7, **WHOLE)]
    levels = {**reporting(3, (20, 0)), **reporting(2, (24, 0)), **reporting(1, (28, 0))}

    def enable(now: int) -> int:
        return 0b0111 if now == 40 else used(15, 40)(now)

    # Queue 3, 2, 1. SM 3 is out of use in 41 alone: its entry is dropped, and the table, which
    # stands at 0, gives SM 1. Then the head is 2. Then 1, which is full: SM 3 by the table.
    recording = drive(block, sent, config=config, enable=enable, **levels)
    assert given(recording) == [0, 1, 2, 3, 1, 2, 3]
