"""`first_fit`: whom it gives a block, of RTL and model alike."""

import pytest

from tb.support.dispatch_rules import (
    RTL_AND_MODEL,
    drive,
    given,
    launch,
    policy,
)

pytestmark = RTL_AND_MODEL


@pytest.mark.rule("block_dispatcher", 18)
def test_first_fit_takes_the_lowest_sm_whose_port_is_open(block):
    # Each SM takes a block in every third cycle; four blocks fill one.
    config = policy("first_fit")
    recording = drive(block, [launch(config=config, gx=14)], config=config)
    assert given(recording) == [0, 1, 2] * 4 + [3, 3]
