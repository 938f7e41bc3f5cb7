"""The cycle numbers and conflicts on BlockDispatcher's page, one by one, of RTL and model alike."""

import pytest

from tb.support.dispatch_configs import config_of
from tb.support.dispatch_rules import (
    HALF,
    IN_ORDER,
    RTL_AND_MODEL,
    SMALLEST,
    TINY,
    at,
    completing,
    completion,
    drive,
    ends,
    errors,
    launch,
    mask,
    stop,
)
from warploom_spec import ErrorCode, Fate, layouts, preset, timing

pytestmark = RTL_AND_MODEL


def test_first_offer_is_valid_four_cycles_after_the_launch(block):
    # Transfer 0, walker from 0 + stage on, head 3, decision 3, offer 4.
    assert timing(TINY).stage == 2 and timing(TINY).offer == 1
    assert drive(block, [launch()]).cycles("offer__0__valid") == [4]


def test_the_worked_example(block):
    sent = [launch(config=SMALLEST, gx=2)]
    recording = drive(block, sent, cycles=12, config=SMALLEST, **completing(0, (7, completion(0))))
    assert recording.cycles("offer__0__valid") == [4, 11]


def test_the_worked_example_as_tiny_shows_it(block):
    config = preset("tiny")
    sent = [launch(config=config, gx=2, warps=16)]
    levels = {"enable": 1, **completing(0, (7, completion(0)))}
    recording = drive(block, sent, cycles=12, config=config, **levels)
    assert recording.cycles("offer__0__valid") == [4, 11]


@pytest.mark.parametrize("too_much", [{"warps": 17}, {"registers": 33}], ids=["warps", "registers"])
def test_a_block_that_fits_no_sm_holds_up_all_behind_it_until_it_is_stopped(block, too_much):
    config = preset("tiny")
    sent = [launch(1, config, **too_much), launch(2, config, stream=1)]
    waiting = drive(block, sent, cycles=200, config=config)
    assert not any(waiting.transfers(f"offer__{n}") for n in range(config.sms))
    assert (errors(waiting), ends(waiting)) == ([], [])
    levels = {"stop__valid": at(20), "stop__payload": stop(1)}
    stopped = drive(block, sent, config=config, **levels)
    # Stop state in 22, in which the head is flushed; the next launch is given to the walker in 23.
    assert [(end["ticket"], end["fate"]) for _, end in ends(stopped)] == [(1, Fate.SKIPPED)]
    assert stopped.cycles("offer__0__valid") == [25]


def test_a_completion_is_seen_by_decisions_three_cycles_later(block):
    # A block that needs the whole SM; only SM 0 is in use.
    assert timing(TINY).returns == 3
    recording = drive(
        block, [launch(gx=2, barriers=4)], enable=1, **completing(0, (20, completion(0)))
    )
    assert recording.cycles("offer__0__valid") == [4, 20 + 3 + 1]


def test_in_order_a_block_is_retired_when_done_and_seen_three_cycles_later(block):
    sent = [launch(config=IN_ORDER, gx=2, barriers=4)]
    levels = completing(0, (20, completion(0)))
    recording = drive(block, sent, config=IN_ORDER, enable=1, **levels)
    # Processed in 22, done in 23 and retired in it, seen by the decision of 26.
    assert recording.cycles("offer__0__valid") == [4, 23 + 3 + 1]


def test_in_order_the_first_block_holds_the_second_back(block):
    sent = [launch(config=IN_ORDER, gx=3, barriers=2)]
    levels = completing(0, (20, completion(1)), (30, completion(0)))
    recording = drive(block, sent, config=IN_ORDER, enable=1, **levels)
    assert recording.cycles("offer__0__valid") == [4, 5, 33 + 3 + 1]


def test_a_placement_counts_in_the_next_decision(block):
    # Two blocks that fill an SM: the second one goes to the next SM at once.
    recording = drive(block, [launch(gx=2, barriers=4)])
    assert (recording.cycles("offer__0__valid"), recording.cycles("offer__1__valid")) == ([4], [5])


def test_an_sm_with_an_offer_not_taken_has_no_room_and_the_others_go_on(block):
    recording = drive(block, [launch(gx=4)], offer__0__ready=0)
    assert [cycle for cycle, _ in recording.transfers("offer__1")] == [5, 6, 7]
    assert recording.cycles("offer__0__valid") == list(range(4, 60))


def test_enable_counts_one_cycle_later_and_for_new_blocks_only(block):
    recording = drive(block, [launch(gx=3)], enable=lambda cycle: 1 if cycle == 9 else 0)
    # In use in 10: a decision in 10, an offer in 11; the next ones wait.
    assert recording.cycles("offer__0__valid") == [11]


def test_a_place_is_free_five_cycles_after_its_last_completion_and_the_record_shows(block):
    assert timing(TINY).end == 2
    recording = drive(block, [launch()], **completing(0, (20, completion(0))))
    ((cycle, end),) = ends(recording)
    assert cycle == 25
    assert (end["fate"], end["cycles"]) == (Fate.FINISHED, 20 - 4)


def test_the_next_launch_of_a_stream_offers_seven_cycles_after_the_last_completion(block):
    recording = drive(block, [launch(1), launch(2)], **completing(0, (20, completion(0))))
    assert recording.cycles("offer__0__valid") == [4, 27]
    # The second launch may be walked from 3 on; no head stands from 4 on; its turn comes in 25.
    order = recording.port("stall_order")
    assert (order[5:8], order[-1]) == ([0, 1, 2], 25 - 4)


def test_without_after_previous_it_does_not_wait(block):
    recording = drive(block, [launch(1), launch(2, after_previous=0)])
    assert (recording.cycles("offer__0__valid"), recording.cycles("offer__1__valid")) == ([4], [5])


def test_a_later_launch_meets_the_earlier_one_s_blocks_from_the_fit_table_on(block):
    # Only SM 0 is in use. The second launch is transferred in 1; nothing lacks meanwhile.
    assert timing(TINY).fit_table == 20
    recording = drive(block, [launch(1), launch(2, stream=1)], enable=1)
    assert recording.cycles("offer__0__valid") == [4, 1 + 20 + 1]
    assert [recording.port(f"stall_{r}")[-1] for r in ("slots", "warps", "offer")] == [0, 0, 0]


def test_before_the_fit_table_it_goes_where_none_of_them_is(block):
    # From when the first launch's block has returned, three cycles after its completion, too.
    sent = [launch(1), launch(2, stream=1)]
    recording = drive(block, sent, enable=1, **completing(0, (10, completion(0))))
    assert recording.cycles("offer__0__valid") == [4, 10 + 3 + 1]


def test_an_sm_that_has_just_got_the_earlier_one_s_last_block_is_known_a_cycle_later(block):
    # The first launch fills what is left of SM 0 one block at a time; its last one goes out in c.
    early = [launch(1, gx=2, barriers=3), launch(2, gx=2, stream=1)]
    recording = drive(block, early, enable=1, **completing(0, (40, completion(0))))
    # Completed in 40, decided in 43; the second launch, known since long, is decided in 45 and 46.
    assert recording.cycles("offer__0__valid") == [4, 44, 46, 47]


def test_a_slot_that_is_missing_counts_although_the_fit_is_not_known(block):
    recording = drive(block, [launch(1, gx=4), launch(2, stream=1)], enable=1)
    assert recording.cycles("offer__0__valid") == [4, 5, 6, 7]
    assert recording.port("stall_slots")[-1] == 60 - 7 - timing(TINY).stall


def test_the_later_launch_gets_only_what_the_earlier_leaves(block):
    # The first launch fills both SMs' barriers and has blocks left: the second one waits.
    recording = drive(block, [launch(1, gx=3, barriers=4), launch(2, stream=1)])
    assert len(recording.cycles("offer__0__valid") + recording.cycles("offer__1__valid")) == 2


@pytest.mark.parametrize("cause", HALF)
def test_each_resource_alone_holds_a_block_back_and_is_counted(block, cause):
    recording = drive(block, [launch(gx=3, **{cause: HALF[cause]})])
    # Two SMs, one block each: decided in 3 and 4, stalled from 5 on, shown from 5 + stall on.
    assert timing(TINY).stall == 2
    assert recording.port(f"stall_{cause}")[:9] == [0] * 7 + [1, 2]
    others = {"slots", "warps", "registers", "shared", "barriers", "offer"} - {cause}
    assert not any(recording.port(f"stall_{name}")[-1] for name in others)


def test_an_offer_that_is_not_taken_is_counted_while_it_alone_holds_a_block_back(block):
    ready = {"offer__0__ready": lambda now: int(now >= 10)}
    recording = drive(block, [launch(gx=2)], enable=1, **ready)
    # The first block stands from 4 on; the second one waits from 4 to 9.
    assert recording.cycles("offer__0__valid") == [*range(4, 12)]
    stalled = recording.port("stall_offer")
    assert (stalled[5:8], stalled[-1]) == ([0, 1, 2], 6)
    others = ("slots", "warps", "registers", "shared", "barriers", "order")
    assert not any(recording.port(f"stall_{name}")[-1] for name in others)


def test_signals_that_nothing_asked_for_are_recorded_and_change_nothing(block):
    recording = drive(
        block,
        [launch()],
        stop__valid=at(30),
        stop__payload=stop(77),
        acknowledge__1=at(12, mask(1)),
        **completing(0, (10, completion(3))),
    )
    assert errors(recording) == [
        (13, ErrorCode.COMPLETION_NOT_RUNNING, 0),
        (15, ErrorCode.ACK_NOT_OUTSTANDING, 1),
        (32, ErrorCode.STOP_UNKNOWN, 0),
    ]
    assert recording.port("error_count")[-1] == 3
    assert ends(recording) == []


FREED = config_of("tiny,sms=3,policy=freed_first")


def swap(first: int, second: int) -> int:
    return layouts.order_swap(FREED).pack({"first": first, "second": second})


def test_the_order_table_is_swapped_while_nothing_is_resident_and_refused_otherwise(block):
    swaps = {1: swap(0, 2), 2: swap(3, 0), 30: swap(0, 1)}
    recording = drive(
        block,
        [launch(config=FREED, gx=2)],
        config=FREED,
        order_table__valid=lambda cycle: int(cycle in swaps),
        order_table__payload=lambda cycle: swaps.get(cycle, 0),
    )
    # Swapped: SM 2, then SM 1.
    assert (recording.cycles("offer__2__valid"), recording.cycles("offer__1__valid")) == ([4], [5])
    assert errors(recording) == [(3, ErrorCode.ORDER_RANGE, 3), (31, ErrorCode.ORDER_BUSY, 0)]
