"""`round_robin`: whom it gives a block, of RTL and model alike."""

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


@pytest.mark.rule("block_dispatcher", 19)
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


@pytest.mark.rule("block_dispatcher", 19)
def test_round_robin_does_not_move_while_a_block_waits(block):
    config = policy("round_robin")
    sent = [launch(config=config, gx=6, **WHOLE)]
    levels = {**reporting(3, (20, 0)), **reporting(1, (21, 0))}
    # Blocks 4 and 5 wait from 8 on, all SMs full; the pointer stands at 0, and 1 is met before 3.
    recording = drive(block, sent, config=config, enable=used(15, 40), **levels)
    assert given(recording) == [0, 1, 2, 3, 1, 3]


@pytest.mark.rule("block_dispatcher", 19)
def test_round_robin_goes_on_where_the_launch_before_stopped(block):
    config = policy("round_robin")
    sent = [launch(1, config, gx=2), launch(2, config, after_previous=0, gx=2)]
    assert given(drive(block, sent, config=config)) == [0, 1, 2, 3]


@pytest.mark.rule("block_dispatcher", 19)
def test_the_pointer_moves_on_from_the_sm_that_was_found_past_the_last_one(block):
    config = policy("round_robin")
    recording = drive(block, [launch(config=config, gx=6)], config=config, enable=0b0111)
    assert given(recording) == [0, 1, 2, 0, 1, 2]
