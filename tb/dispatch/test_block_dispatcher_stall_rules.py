"""The seven stall counters: what counts, in which cycles, and what does not; RTL and model."""

import pytest

from tb.support.dispatch_configs import config_of
from tb.support.dispatch_rules import (
    HALF,
    RTL_AND_MODEL,
    TINY,
    at,
    drive,
    launch,
    reporting,
    stop,
)
from tb.support.planted import plant_timing
from warploom.dispatch import BlockDispatcher
from warploom_golden.dispatch import BlockDispatcher as Model
from warploom_spec import RESOURCES, STALL_CAUSES, Stop, capacities, timing

pytestmark = RTL_AND_MODEL

#: Each run has cycles 0 to 59: what is counted in 56 is shown in 59, the last one.
LAST = 56


def counted(recording):
    """Return what the counters show in the end, but for those that show 0."""
    last = {cause: recording.port(f"stall_{cause}")[-1] for cause in STALL_CAUSES}
    return {cause: count for cause, count in last.items() if count}


def first(recording, cause):
    """Return the first cycle that a counter counts, if any: it shows it three cycles later."""
    return next((cycle - 3 for cycle in recording.cycles(f"stall_{cause}")), None)


@pytest.mark.rule("block_dispatcher", 44)
def test_the_counters_are_as_wide_and_as_late_as_the_page_says(block):
    assert (timing(TINY).stall, timing(TINY).stall_counter_bits) == (3, 32)
    assert counted(drive(block, [])) == {}


@pytest.mark.rule("block_dispatcher", 40, 41)
@pytest.mark.parametrize("cause", HALF)
def test_each_resource_alone_holds_a_block_back_and_is_counted(block, cause):
    # One block fits on each SM: decided in 4 and 5. In 6 SM 0 has no room, and SM 1's port is not
    # open yet; from 7 on neither has room.
    recording = drive(block, [launch(gx=3, **{cause: HALF[cause]})])
    assert recording.port(f"stall_{cause}")[:11] == [0] * 9 + [1, 2]
    assert counted(recording) == {cause: LAST - 5, "offer": 1}


@pytest.mark.rule("block_dispatcher", 41)
def test_slots_are_counted_where_nothing_else_is_short(block):
    # Four blocks fit: decided in 4, 7, 10 and 13. In the two cycles between the port is not open,
    # and in 14 the SM does not hold the last one yet.
    recording = drive(block, [launch(gx=9)], enable=1)
    assert (first(recording, "slots"), first(recording, "offer")) == (15, 5)
    assert counted(recording) == {"slots": LAST - 14, "offer": 7}


#: The launch's second block lacks all; one SM with one slot, whose first block takes it all.
FULL = config_of("tiny,sms=1,block_slots=1")
ALL = {name: size for name, size in capacities(FULL).items() if name != "slots"}


@pytest.mark.rule("block_dispatcher", 41)
def test_a_launch_that_is_limited_by_everything_counts_everything(block):
    recording = drive(block, [launch(config=FULL, gx=2, **ALL)], config=FULL)
    # Decided in 4; the second block waits from 5 on, in which the port is not open.
    assert [first(recording, cause) for cause in RESOURCES] == [6] * len(RESOURCES)
    assert counted(recording) == dict.fromkeys(RESOURCES, LAST - 5) | {"offer": 1}


@pytest.mark.rule("block_dispatcher", 41)
@pytest.mark.parametrize(
    ("need", "limits"),
    [
        ({"warps": 5}, {"warps"}),
        ({"warps": 4}, {"slots", "warps"}),
        ({"registers": 11, "shared": 22}, {"registers", "shared"}),
        ({"registers": 8, "shared": 22, "barriers": 1}, {"shared"}),
        ({"barriers": 2, "warps": 6}, {"warps", "barriers"}),
    ],
)
def test_what_limits_one_block_more_than_fit_counts(block, need, limits):
    # 3, 4, 2, 2 and 2 blocks fit on an SM; what one block more lacks counts.
    recording = drive(block, [launch(gx=9, **need)], enable=1)
    assert counted(recording).keys() - {"offer"} == limits


@pytest.mark.rule("block_dispatcher", 41)
def test_what_the_other_launch_takes_is_not_told_apart(block):
    # The first launch leaves one warp on the only SM. The second one needs two: by itself slots
    # would limit it, and that is what is counted once its own limit is known.
    sent = [launch(1, warps=15), launch(2, stream=1, warps=2)]
    recording = drive(block, sent, enable=1)
    # A is 4: known from 1 + 4 + 3 on; the head stands from 7 on.
    assert first(recording, "slots") == 8
    assert counted(recording) == {"slots": LAST - 7}


def test_a_counter_counts_again_where_it_stopped(block):
    # Reported in 20, seen by the decision of 24; the third block waits from 25 on.
    sent = [launch(config=FULL, gx=3, **ALL)]
    recording = drive(block, sent, config=FULL, **reporting(0, (20, 0)))
    assert recording.port("stall_shared")[25:31] == [17, 18, 18, 18, 19, 20]
    assert counted(recording)["shared"] == 23 - 5 + LAST - 25


@pytest.mark.rule("block_dispatcher", 40)
@pytest.mark.parametrize("cause", HALF)
def test_no_cycle_with_a_decision_counts(block, cause):
    # SM 0 has no room in 6, in which the second block is decided for SM 1.
    levels = {"enable": lambda cycle: 1 if cycle < 5 else 3}
    recording = drive(block, [launch(gx=2, **{cause: HALF[cause]})], **levels)
    assert recording.cycles("offer__1__valid") == [8]
    assert counted(recording) == {"offer": 1}


@pytest.mark.rule("block_dispatcher", 40)
def test_a_stopped_head_counts_no_more(block):
    # Drained in 20: stopped from 22 on, in which the head still counts.
    levels = {"stop": at(20, stop(0, Stop.DRAIN))}
    recording = drive(block, [launch(gx=3, warps=9)], **levels)
    assert counted(recording) == {"warps": 22 - 5, "offer": 1}


@pytest.mark.rule("block_dispatcher", 41, 42)
@pytest.mark.parametrize(
    ("enable", "barriers", "offer"), [(0b10, 30 - 8, LAST - 6), (0b01, LAST - 8, 30 - 6)]
)
def test_an_sm_out_of_use_does_not_count(block, enable, barriers, offer):
    # SM 0 gets two blocks, the second one decided in 7, and is full from 9 on. SM 1's first offer
    # is not taken, and it has room for another block. In 6 no port is open. The mask at the port in
    # 30 counts from 31 on.
    levels = {"offer__1__ready": 0, "enable": lambda now: enable if now >= 30 else 0b11}
    recording = drive(block, [launch(gx=9, barriers=2)], **levels)
    assert (first(recording, "barriers"), first(recording, "offer")) == (9, 6)
    assert counted(recording) == {"barriers": barriers, "offer": offer}


@pytest.mark.rule("block_dispatcher", 41)
def test_without_an_sm_in_use_nothing_counts(block):
    recording = drive(block, [launch(gx=9, barriers=4)], enable=lambda now: 0b11 * (now < 30))
    assert counted(recording) == {"barriers": 31 - 6, "offer": 1}


# Offers


@pytest.mark.rule("block_dispatcher", 42)
def test_an_offer_that_is_not_taken_counts_while_it_alone_holds_a_block_back(block):
    ready = {"offer__0__ready": lambda now: int(now >= 10)}
    recording = drive(block, [launch(gx=2)], enable=1, **ready)
    # Decided in 4, offered from 6 to 10; the second one waits from 5 to 10.
    assert recording.cycles("offer__0__valid") == [*range(6, 11), 13]
    assert recording.port("stall_offer")[7:10] == [0, 1, 2]
    assert counted(recording) == {"offer": 6}


@pytest.mark.rule("block_dispatcher", 42)
def test_an_offer_does_not_count_where_its_sm_has_no_room(block):
    recording = drive(block, [launch(gx=2, barriers=3)], enable=1, offer__0__ready=0)
    # In 5 the SM does not hold the block yet.
    assert counted(recording) == {"barriers": LAST - 5, "offer": 1}


@pytest.mark.rule("block_dispatcher", 15, 41, 42)
def test_an_sm_whose_fit_is_not_known_has_no_room(block):
    # The second launch's fit is known from 1 + 9 + 8 + 4 = 22 on, its own limit from 8 on.
    sent = [launch(1), launch(2, stream=1)]
    recording = drive(block, sent, enable=1, offer__0__ready=0)
    assert (first(recording, "slots"), first(recording, "offer")) == (8, 22)
    assert counted(recording) == {"slots": 22 - 8, "offer": LAST - 21}


# Stream order


@pytest.mark.rule("block_dispatcher", 7, 43)
def test_a_launch_counts_from_when_it_is_the_candidate(block):
    # Transferred in 10, it is the candidate from 11 on.
    recording = drive(block, [launch(1), launch(2)], launch__hold=lambda cycle: int(0 < cycle < 10))
    assert first(recording, "order") == 11
    assert counted(recording) == {"order": LAST - 10}


@pytest.mark.rule("block_dispatcher", 43)
def test_a_launch_counts_while_no_place_is_walked(block):
    # The candidate from 3 on. The first launch is walked in 3 and 4.
    recording = drive(block, [launch(1), launch(2)], **reporting(0, (20, 0)))
    assert first(recording, "order") == 5
    # The first one's place is free from 26 on.
    assert counted(recording) == {"order": 26 - 5}


@pytest.mark.rule("block_dispatcher", 43)
def test_a_launch_in_the_first_place_counts_as_well(block):
    # The first launch's block is reported in 20, and its place is free from 26 on: the third launch
    # is transferred to it in 26. The second one, of another stream, never ends.
    sent = [launch(1), launch(2, stream=1), launch(3, stream=1)]
    recording = drive(block, sent, **reporting(0, (20, 0)))
    assert [cycle for cycle, _ in recording.transfers("launch")] == [0, 1, 26]
    assert first(recording, "order") == 27
    assert counted(recording) == {"order": LAST - 26}


@pytest.mark.rule("block_dispatcher", 7, 43)
@pytest.mark.parametrize("free", [{"stream": 1}, {"after_previous": 0}])
def test_a_launch_that_order_does_not_hold_does_not_count(block, free):
    recording = drive(block, [launch(1), launch(2, **free)])
    assert counted(recording) == {}


@pytest.mark.rule("block_dispatcher", 43)
def test_while_the_older_one_s_head_waits_order_does_not_count(block):
    recording = drive(block, [launch(1, gx=3, barriers=3), launch(2)])
    assert counted(recording) == {"barriers": LAST - 5, "offer": 1}


@pytest.mark.rule("block_dispatcher", 7, 43)
def test_a_launch_that_is_stopped_counts_no_more(block):
    # Drained in 20: stopped from 22 on.
    recording = drive(block, [launch(1), launch(2)], stop=at(20, stop(1, Stop.DRAIN)))
    assert counted(recording) == {"order": 22 - 5}


@pytest.mark.rule("block_dispatcher", 44)
def test_the_counters_wrap(block, monkeypatch):
    # Of 5 bits instead of 32. All count from 6 on.
    plant_timing(monkeypatch, BlockDispatcher, Model, stall_counter_bits=5)
    recording = drive(block, [launch(config=FULL, gx=2, **ALL)], config=FULL)
    for cause in RESOURCES:
        shown = recording.port(f"stall_{cause}")
        assert (shown[8:11], shown[38:43]) == ([0, 1, 2], [30, 31, 0, 1, 2])
