"""The seven stall counters: what counts, in which cycles, and what does not; RTL and model."""

import pytest

from tb.support.dispatch_configs import config_of
from tb.support.dispatch_rules import (
    HALF,
    RTL_AND_MODEL,
    TINY,
    at,
    completing,
    completion,
    drive,
    launch,
    stop,
)
from tb.support.planted import plant_timing
from warploom.dispatch import BlockDispatcher
from warploom_golden.dispatch import BlockDispatcher as Model
from warploom_spec import timing

pytestmark = RTL_AND_MODEL

RESOURCES = ("slots", "warps", "registers", "shared", "barriers")
CAUSES = (*RESOURCES, "offer", "order")
#: Each run has cycles 0 to 59: what is counted in 57 is shown in 59, the last one.
LAST = 57


def counted(recording):
    """Return what the counters show in the end, but for those that show 0."""
    last = {cause: recording.port(f"stall_{cause}")[-1] for cause in CAUSES}
    return {cause: count for cause, count in last.items() if count}


def first(recording, cause):
    """Return the first cycle that a counter counts, if any: it shows it two cycles later."""
    return next((cycle - 2 for cycle in recording.cycles(f"stall_{cause}")), None)


def test_the_counters_are_as_wide_and_as_late_as_the_page_says(block):
    assert (timing(TINY).stall, timing(TINY).stall_counter_bits) == (2, 32)
    assert counted(drive(block, [])) == {}


def test_what_one_sm_lacks_counts_and_what_another_lacks_as_well(block):
    # The first launch takes all warps of SM 0, the second one's first block 3 barriers of SM 1. Its
    # second block is the head from 5 on. Of SM 0 it is known from 1 + 20 on what fits.
    sent = [launch(1, warps=16), launch(2, stream=1, gx=2, barriers=3)]
    recording = drive(block, sent)
    assert (recording.cycles("offer__0__valid"), recording.cycles("offer__1__valid")) == ([4], [5])
    assert (first(recording, "barriers"), first(recording, "warps")) == (5, 21)
    assert counted(recording) == {"barriers": LAST - 4, "warps": LAST - 20}


@pytest.mark.parametrize(
    ("enable", "barriers", "warps"),
    [(0b10, LAST - 4, 30 - 20), (0b01, 30 - 4, LAST - 20), (0, 30 - 4, 30 - 20)],
)
def test_an_sm_out_of_use_lacks_nothing(block, enable, barriers, warps):
    # As above; the mask that is at the port in 30 counts from 31 on.
    sent = [launch(1, warps=16), launch(2, stream=1, gx=2, barriers=3)]
    recording = drive(block, sent, enable=lambda now: enable if now >= 30 else 0b11)
    assert counted(recording) == {"barriers": barriers, "warps": warps}


#: The launch's second block lacks all five; one SM with one slot, whose first block takes it all.
FULL = config_of("tiny,sms=1,block_slots=1")
ALL = {"warps": 16, "registers": 32, "shared": 64, "barriers": 4}


def test_a_block_that_lacks_everything_counts_everything(block):
    recording = drive(block, [launch(config=FULL, gx=2, **ALL)], config=FULL)
    # Decided in 3; the second block waits from 4 on.
    assert [first(recording, cause) for cause in RESOURCES] == [4] * 5
    assert counted(recording) == dict.fromkeys(RESOURCES, LAST - 3)


def test_a_counter_counts_again_where_it_stopped(block):
    # Completed in 20, seen by the decision of 23; the third block waits from 24 on.
    sent = [launch(config=FULL, gx=3, **ALL)]
    recording = drive(block, sent, config=FULL, **completing(0, (20, completion(0))))
    assert recording.port("stall_shared")[24:28] == [19, 19, 20, 21]
    assert counted(recording) == dict.fromkeys(RESOURCES, 22 - 3 + LAST - 23)


@pytest.mark.parametrize("cause", HALF)
def test_no_cycle_with_a_decision_counts(block, cause):
    # SM 0 lacks it in 4, in which the second block is decided for SM 1.
    recording = drive(block, [launch(gx=2, **{cause: HALF[cause]})])
    assert recording.cycles("offer__1__valid") == [5]
    assert counted(recording) == {}


def test_a_stopped_head_counts_no_more(block):
    # Drained in 20: its stop counts from 22 on, in which the head still stands.
    levels = {"stop__valid": at(20), "stop__payload": stop(1, drain=1)}
    recording = drive(block, [launch(gx=3, warps=9)], **levels)
    assert first(recording, "warps") == 5
    assert counted(recording) == {"warps": 21 - 4}


def test_of_an_sm_whose_fit_is_not_known_slots_alone_count(block):
    # The first launch fills SM 0, whose fit is known from 1 + 20 on; the second one's block is the
    # head from 4 on, and from 7 on, when all four are decided.
    whole = drive(block, [launch(1, **ALL), launch(2, stream=1, **ALL)], enable=1)
    assert counted(whole) == dict.fromkeys(ALL, LAST - 20)
    slots = drive(block, [launch(1, gx=4), launch(2, stream=1)], enable=1)
    assert first(slots, "slots") == 7
    assert counted(slots) == {"slots": LAST - 6}


# Offers


@pytest.mark.parametrize(
    ("enable", "offer", "slots"), [(0b10, 30 - 7, LAST - 7), (0b01, LAST - 7, 30 - 7)]
)
def test_an_offer_counts_where_its_sm_has_room_and_is_in_use(block, enable, offer, slots):
    # SM 0's first block is not taken. The next four fill SM 1's slots, the sixth waits from 8 on.
    levels = {"offer__0__ready": 0, "enable": lambda now: enable if now >= 30 else 3}
    recording = drive(block, [launch(gx=6)], **levels)
    assert (first(recording, "offer"), first(recording, "slots")) == (8, 8)
    assert counted(recording) == {"offer": offer, "slots": slots}


def test_an_offer_does_not_count_where_its_sm_has_no_room(block):
    recording = drive(block, [launch(gx=2, barriers=3)], enable=1, offer__0__ready=0)
    assert counted(recording) == {"barriers": LAST - 3}


def test_an_offer_does_not_count_where_the_fit_is_not_known(block):
    sent = [launch(1), launch(2, stream=1)]
    recording = drive(block, sent, enable=1, offer__0__ready=0)
    assert first(recording, "offer") == 1 + 20
    assert counted(recording) == {"offer": LAST - 20}


# Stream order


def test_a_launch_counts_from_when_it_could_be_walked(block):
    # Transferred in 10, it could be given to the walker from 12 on.
    recording = drive(block, [launch(1), launch(2)], launch__hold=lambda cycle: int(0 < cycle < 10))
    assert first(recording, "order") == 12
    assert counted(recording) == {"order": LAST - 11}


def test_a_launch_in_the_first_place_counts_as_well(block):
    # The first launch's block completes in 20, and its place is free from 25 on: the third launch
    # is transferred to it in 25. The second one, of another stream, never ends.
    sent = [launch(1), launch(2, stream=1), launch(3, stream=1)]
    recording = drive(block, sent, **completing(0, (20, completion(0))))
    assert [cycle for cycle, _ in recording.transfers("launch")] == [0, 1, 25]
    assert first(recording, "order") == 27
    assert counted(recording) == {"order": LAST - 26}


@pytest.mark.parametrize("free", [{"stream": 1}, {"after_previous": 0}])
def test_a_launch_that_order_does_not_hold_does_not_count(block, free):
    recording = drive(block, [launch(1), launch(2, **free)])
    assert counted(recording) == {}


def test_while_the_older_one_s_head_waits_its_resources_count_and_order_does_not(block):
    recording = drive(block, [launch(1, gx=3, barriers=3), launch(2)])
    assert counted(recording) == {"barriers": LAST - 4}


def test_a_launch_that_is_stopped_counts_no_more(block):
    # Drained in 20: its stop counts from 22 on.
    levels = {"stop__valid": at(20), "stop__payload": stop(2, drain=1)}
    recording = drive(block, [launch(1), launch(2)], **levels)
    # It could be walked from 3 on, in which the first block is the head; from 4 on none is.
    assert first(recording, "order") == 4
    assert counted(recording) == {"order": 21 - 3}


def test_the_counters_wrap(block, monkeypatch):
    # Of 5 bits instead of 32. All five count from 4 on.
    plant_timing(monkeypatch, BlockDispatcher, Model, stall_counter_bits=5)
    recording = drive(block, [launch(config=FULL, gx=2, **ALL)], config=FULL)
    for cause in RESOURCES:
        shown = recording.port(f"stall_{cause}")
        assert (shown[5:8], shown[35:40]) == ([0, 1, 2], [30, 31, 0, 1, 2])
