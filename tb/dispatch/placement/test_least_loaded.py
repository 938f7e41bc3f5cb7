"""`least_loaded`: whom it gives a block, of RTL and model alike."""

import pytest

from tb.support.dispatch_rules import (
    RTL_AND_MODEL,
    drive,
    given,
    launch,
    policy,
    reporting,
    used,
)

pytestmark = RTL_AND_MODEL


@pytest.mark.rule("block_dispatcher", 20)
def test_least_loaded_takes_the_fewest_warps_then_the_lowest_number(block):
    config = policy("least_loaded")
    sent = [launch(1, config, gx=3, warps=4), launch(2, config, stream=1, gx=4, warps=2)]
    # The first launch's blocks are decided in 4 to 6; the second one's from 41 on, when the fit is
    # known. SM 3 gets the first one, and the fourth one when its port is open again, in 44.
    recording = drive(block, sent, config=config, enable=used(7, 40))
    assert given(recording) == [0, 1, 2, 3, 0, 1, 3]


@pytest.mark.rule("block_dispatcher", 20)
def test_least_loaded_sees_what_has_returned(block):
    config = policy("least_loaded")
    sent = [launch(1, config, gx=4), launch(2, config, after_previous=0)]
    assert given(drive(block, sent, config=config, enable=used(8, 40))) == [0, 1, 2, 3, 0]
    recording = drive(block, sent, config=config, enable=used(8, 40), **reporting(2, (20, 0)))
    assert given(recording) == [0, 1, 2, 3, 2]


@pytest.mark.rule("block_dispatcher", 20, 26)
@pytest.mark.parametrize(("reported", "chosen"), [(37, 2), (38, 0)])
def test_least_loaded_sees_a_return_four_cycles_later(block, reported, chosen):
    # The second launch's block is decided in 41.
    config = policy("least_loaded")
    sent = [launch(1, config, gx=4), launch(2, config, after_previous=0)]
    levels = reporting(2, (reported, 0))
    recording = drive(block, sent, config=config, enable=used(8, 40), **levels)
    assert given(recording) == [0, 1, 2, 3, chosen]
