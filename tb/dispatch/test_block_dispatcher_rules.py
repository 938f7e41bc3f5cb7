"""The cycle numbers and conflicts on BlockDispatcher's page, one by one, of RTL and model alike."""

import pytest

from tb.support.dispatch_configs import config_of
from tb.support.dispatch_rules import (
    IN_ORDER,
    RTL_AND_MODEL,
    SMALLEST,
    TINY,
    at,
    begun,
    drive,
    ends,
    errors,
    fates,
    launch,
    offers,
    reporting,
    stop,
)
from warploom_spec import ErrorCode, Fate, Stop, layouts, preset, timing

pytestmark = RTL_AND_MODEL

THREE = config_of("tiny,sms=3,policy=first_fit,kill_timeout=16")


# Boot


@pytest.mark.rule("block_dispatcher", 1, 2)
@pytest.mark.parametrize(("config", "boot"), [(TINY, 4), (SMALLEST, 1)], ids=["tiny", "smallest"])
def test_the_first_launch_is_taken_when_every_slot_has_been_entered(block, config, boot):
    assert timing(config).boot == boot
    # `drive` counts from the end of the boot on.
    booting = {"launch__hold": 0, "enable": 1}
    recording = drive(block, [launch(config=config)], config=config, **booting)
    assert [cycle for cycle, _ in recording.transfers("launch")] == [0]


@pytest.mark.rule("block_dispatcher", 1)
@pytest.mark.parametrize(("sent", "told"), [(-4, []), (-1, []), (0, [4])])
def test_reports_during_the_boot_are_ignored_without_an_error(block, sent, told):
    recording = drive(block, [], **reporting(1, (sent, 0)))
    assert errors(recording) == [(cycle, ErrorCode.REPORT_NOT_RUNNING, 1) for cycle in told]


# Offers


@pytest.mark.rule("block_dispatcher", 7, 8, 9, 16)
def test_first_offer_is_valid_six_cycles_after_the_launch(block):
    # Transfer 0, given to the walker in 2, head and decision in 4, offer in 6.
    found = timing(TINY)
    assert (found.stage, found.change, found.offer, found.first_offer) == (2, 2, 2, 6)
    assert drive(block, [launch()]).cycles("offer__0__valid") == [6]


@pytest.mark.rule("block_dispatcher", 16, 26, 36, 39)
def test_the_worked_example(block):
    sent = [launch(config=SMALLEST, gx=2)]
    recording = drive(block, sent, config=SMALLEST, **reporting(0, (9, 0), (18, 0)))
    assert recording.cycles("offer__0__valid") == [6, 15]
    assert fates(recording) == [(24, 1, Fate.FINISHED, ErrorCode.OK, 12)]


def test_the_worked_example_as_tiny_shows_it(block):
    config = preset("tiny")
    levels = {"enable": 1, **reporting(0, (9, 0), (18, 1))}
    recording = drive(block, [launch(config=config, gx=2, warps=16)], config=config, **levels)
    assert recording.cycles("offer__0__valid") == [6, 15]
    assert [offer["slot"] for offer in offers(recording)] == [0, 1]
    assert fates(recording) == [(24, 1, Fate.FINISHED, ErrorCode.OK, 12)]


@pytest.mark.rule("block_dispatcher", 14, 16, 17)
def test_one_sm_alone_takes_a_block_in_every_third_cycle(block):
    assert timing(TINY).again == 3
    recording = drive(block, [launch(gx=9)], enable=1)
    assert recording.cycles("offer__0__valid") == [6, 9, 12, 15]
    assert [offer["slot"] for offer in offers(recording)] == [0, 1, 2, 3]


@pytest.mark.rule("block_dispatcher", 9, 11)
def test_three_sms_take_a_block_in_every_cycle_and_two_in_two_of_three(block):
    recording = drive(block, [launch(config=THREE, gx=13)], config=THREE)
    for n in range(3):
        assert recording.cycles(f"offer__{n}__valid") == [6 + n, 9 + n, 12 + n, 15 + n]
    recording = drive(block, [launch(gx=9)])
    assert recording.cycles("offer__0__valid") == [6, 9, 12, 15]
    assert recording.cycles("offer__1__valid") == [7, 10, 13, 16]


@pytest.mark.rule("block_dispatcher", 14, 16)
def test_an_sm_with_an_offer_not_taken_gets_no_other_block_and_the_others_go_on(block):
    recording = drive(block, [launch(gx=4)], offer__0__ready=0)
    assert recording.cycles("offer__1__valid") == [7, 10, 13]
    assert recording.cycles("offer__0__valid") == list(range(6, 60))


@pytest.mark.rule("block_dispatcher", 14)
@pytest.mark.parametrize("taken", [6, 7, 11])
def test_an_sm_may_get_a_block_in_the_cycle_after_it_takes_one(block, taken):
    recording = drive(block, [launch(gx=2)], enable=1, offer__0__ready=at(taken))
    assert begun(recording) == [6, taken + 1 + 2]


@pytest.mark.rule("block_dispatcher", 13)
def test_enable_counts_one_cycle_later_and_for_new_blocks_only(block):
    recording = drive(block, [launch(gx=3)], enable=at(9))
    # In use in 10: a decision in 10, an offer in 12; the next ones wait.
    assert recording.cycles("offer__0__valid") == [12]


@pytest.mark.rule("block_dispatcher", 12, 15)
def test_a_placement_counts_in_the_next_decision(block):
    # Two blocks that fill an SM: the second one goes to the next SM at once.
    recording = drive(block, [launch(gx=2, barriers=4)])
    assert (recording.cycles("offer__0__valid"), recording.cycles("offer__1__valid")) == ([6], [7])


@pytest.mark.rule("block_dispatcher", 10, 11, 15)
@pytest.mark.parametrize("too_much", [{"warps": 17}, {"registers": 33}], ids=["warps", "registers"])
def test_a_block_that_fits_no_sm_holds_up_all_behind_it_until_it_is_stopped(block, too_much):
    config = preset("tiny")
    sent = [launch(1, config, **too_much), launch(2, config, stream=1)]
    waiting = drive(block, sent, cycles=200, config=config)
    assert not any(waiting.transfers(f"offer__{n}") for n in range(config.sms))
    assert (errors(waiting), ends(waiting)) == ([], [])
    stopped = drive(block, sent, config=config, stop=at(20, stop(0)))
    # Stopped from 22 on, forgotten at the end of 24, gone in 25. The next launch is given to the
    # walker in 25 and decided in 27.
    assert fates(stopped) == [(28, 1, Fate.SKIPPED, ErrorCode.OK, 0)]
    assert stopped.cycles("offer__0__valid") == [29]


# Slots


@pytest.mark.rule("block_dispatcher", 17)
def test_a_block_gets_the_slot_that_has_been_free_longest(block):
    # All four slots are taken, and free again in the order 2, 0, 3, 1; then 2 once more.
    reports = reporting(0, (20, 2), (23, 0), (25, 3), (26, 1), (40, 2))
    recording = drive(block, [launch(gx=9)], enable=1, **reports)
    assert [offer["slot"] for offer in offers(recording)] == [0, 1, 2, 3, 2, 0, 3, 1, 2]


@pytest.mark.rule("block_dispatcher", 17, 27)
def test_in_order_slots_are_free_in_order_of_retirement(block):
    # Reported in another order: retired in 32 to 35.
    reports = reporting(0, (20, 2), (21, 1), (22, 3), (30, 0))
    recording = drive(block, [launch(config=IN_ORDER, gx=8)], 60, IN_ORDER, enable=1, **reports)
    assert [offer["slot"] for offer in offers(recording)] == [0, 1, 2, 3, 0, 1, 2, 3]
    assert recording.cycles("offer__0__valid")[4:] == [38, 41, 44, 47]


# Returns


@pytest.mark.rule("block_dispatcher", 15, 26)
def test_a_report_is_seen_by_decisions_four_cycles_later(block):
    # A block that needs the whole SM; only SM 0 is in use.
    assert timing(TINY).returns == 4
    recording = drive(block, [launch(gx=2, barriers=4)], enable=1, **reporting(0, (20, 0)))
    assert recording.cycles("offer__0__valid") == [6, 20 + 4 + 2]


@pytest.mark.rule("block_dispatcher", 27)
def test_in_order_a_block_retires_two_cycles_after_its_report_and_is_seen_four_later(block):
    sent = [launch(config=IN_ORDER, gx=2, barriers=4)]
    recording = drive(block, sent, config=IN_ORDER, enable=1, **reporting(0, (20, 0)))
    assert recording.cycles("offer__0__valid") == [6, 22 + 4 + 2]


@pytest.mark.rule("block_dispatcher", 27)
def test_in_order_the_first_block_holds_the_second_back(block):
    sent = [launch(config=IN_ORDER, gx=3, barriers=2)]
    reports = reporting(0, (20, 1), (30, 0))
    recording = drive(block, sent, config=IN_ORDER, enable=1, **reports)
    assert recording.cycles("offer__0__valid") == [6, 9, 32 + 4 + 2]


@pytest.mark.rule("block_dispatcher", 27)
def test_in_order_one_block_retires_in_a_cycle(block):
    # Both SMs' blocks are reported in 20; they retire in 22 and 23.
    sent = [launch(config=IN_ORDER, gx=4, barriers=4)]
    reports = reporting(0, (20, 0)) | reporting(1, (20, 0))
    recording = drive(block, sent, config=IN_ORDER, **reports)
    assert recording.cycles("offer__0__valid") == [6, 22 + 4 + 2]
    assert recording.cycles("offer__1__valid") == [7, 23 + 4 + 2]


# Ends, and the next launch


@pytest.mark.rule("block_dispatcher", 35, 36, 39)
def test_the_record_is_valid_six_cycles_after_the_last_report(block):
    assert timing(TINY).end == 3
    recording = drive(block, [launch()], **reporting(0, (20, 0)))
    assert fates(recording) == [(26, 1, Fate.FINISHED, ErrorCode.OK, 20 - 6)]


@pytest.mark.rule("block_dispatcher", 36)
def test_a_record_waits_until_the_one_before_is_taken_and_the_older_launch_is_first(block):
    # Reported in 20 and 21: both are gone while nobody takes a record. The first one is loaded in
    # 25; the second one in 40, in which the first is taken.
    sent = [launch(1), launch(2, stream=1)]
    reports = reporting(0, (21, 0)) | reporting(1, (20, 0))
    levels = {"ended__ready": lambda cycle: int(cycle >= 40)}
    recording = drive(block, sent, **levels, **reports)
    assert recording.cycles("ended__valid")[0] == 26
    assert [(cycle, end["ticket"], end["place"]) for cycle, end in ends(recording)] == [
        (40, 2, 1),
        (41, 1, 0),
    ]


@pytest.mark.rule("block_dispatcher", 3, 36)
def test_of_two_launches_gone_in_one_cycle_the_older_one_s_record_is_first(block):
    sent = [launch(1), launch(2, stream=1)]
    reports = reporting(0, (20, 0)) | reporting(1, (20, 0))
    recording = drive(block, sent, **reports)
    assert [(cycle, end["ticket"]) for cycle, end in ends(recording)] == [(26, 1), (27, 2)]


@pytest.mark.rule("block_dispatcher", 7, 8, 36)
def test_a_waiting_launch_of_the_stream_offers_eleven_cycles_after_the_last_report(block):
    recording = drive(block, [launch(1), launch(2)], **reporting(0, (20, 0)))
    # The place is free from 26 on: given in 27, decided in 29.
    assert recording.cycles("offer__0__valid") == [6, 31]


@pytest.mark.rule("block_dispatcher", 2, 3)
def test_a_launch_that_is_taken_when_a_place_is_free_offers_twelve_cycles_after_the_report(block):
    sent = [launch(1), launch(2, stream=1), launch(3, stream=2)]
    recording = drive(block, sent, **reporting(0, (20, 0)))
    assert [cycle for cycle, _ in recording.transfers("launch")] == [0, 1, 26]
    assert recording.cycles("offer__0__valid") == [6, 32]


@pytest.mark.rule("block_dispatcher", 3)
def test_launch_words_stay_until_the_place_is_occupied_again(block):
    sent = [launch(1), launch(2, code=7), launch(3, code=9)]
    recording = drive(block, sent, **reporting(0, (20, 0)))
    words = layouts.launch_words(TINY)
    # In 0 the place was never occupied.
    shown = [words.unpack(word) for word in recording.port("words__0")[1:]]
    assert [w["ticket"] for w in shown] == [1] * 26 + [3] * 33
    assert [w["code"] for w in shown][26:] == [9] * 33


@pytest.mark.rule("block_dispatcher", 7, 9)
def test_without_after_previous_a_launch_does_not_wait(block):
    recording = drive(block, [launch(1), launch(2, after_previous=0)])
    # The first launch's only block is decided in 4. The second one is given in 5, and its block is
    # decided in 7.
    assert timing(TINY).change == 2
    assert (recording.cycles("offer__0__valid"), recording.cycles("offer__1__valid")) == ([6], [9])


@pytest.mark.rule("block_dispatcher", 5, 9)
def test_a_change_of_launch_costs_a_third_cycle_where_all_sms_hold_the_older_one_s_blocks(block):
    # Both are resident for long before the first one's blocks: nothing but SM 1's port holds them
    # back. They are decided in 40, 43 and 46. The second launch is given in 47. Its block is the
    # head in 49, in which SM 1 holds blocks of the other place, and is decided in 50.
    sent = [launch(1, gx=3, barriers=1), launch(2, gx=3, stream=1)]
    recording = drive(block, sent, enable=lambda cycle: 2 if cycle >= 39 else 0)
    assert recording.cycles("offer__1__valid") == [42, 45, 48, 52]
    both = drive(block, sent, enable=lambda cycle: 3 if cycle >= 39 else 0)
    # Decided in 40, 41, 43; then 47, 48, 50.
    assert both.cycles("offer__0__valid") == [42, 45, 49, 52]
    assert both.cycles("offer__1__valid") == [43, 50]


@pytest.mark.rule("block_dispatcher", 15)
@pytest.mark.parametrize(("reported", "offered"), [(39, 45), (40, 46), (60, 46)])
def test_in_its_first_cycle_a_head_goes_only_where_no_block_of_the_other_place_is(
    block, reported, offered
):
    # The first launch's blocks are decided in 4 for SM 0, and in 40 for SM 1, which is in use from
    # 40 on. The second launch's block is the head in 43. Both SMs hold a block in 43, and so none
    # has room, unless SM 0's has returned by then. In 44 it fits beside what is there.
    sent = [launch(1, gx=2, barriers=3), launch(2, stream=1)]
    levels = {"enable": lambda now: 1 if now < 39 else 3} | reporting(0, (reported, 0))
    recording = drive(block, sent, **levels)
    assert recording.cycles("offer__1__valid") == [42]
    assert recording.cycles("offer__0__valid") == [6, offered]


@pytest.mark.rule("block_dispatcher", 6, 11)
def test_the_later_launch_gets_only_what_the_earlier_leaves(block):
    # The first launch fills both SMs' barriers and has blocks left: the second one waits.
    recording = drive(block, [launch(1, gx=3, barriers=4), launch(2, stream=1)])
    assert len(recording.cycles("offer__0__valid") + recording.cycles("offer__1__valid")) == 2


# The fit of two launches


@pytest.mark.rule("block_dispatcher", 15)
@pytest.mark.parametrize(
    ("first", "second", "known"),
    [
        # Four blocks fit alone, by the slots.
        ({}, {}, 1 + 9 + 2 * 4 + 4),
        ({}, {"barriers": 2}, 1 + 9 + 2 * 2 + 4),
        ({"warps": 8}, {}, 1 + 9 + 2 * 4 + 2),
        ({"shared": 22}, {"registers": 11}, 1 + 9 + 2 * 2 + 2),
    ],
)
def test_a_later_launch_meets_the_earlier_one_s_blocks_when_the_fit_is_known(
    block, first, second, known
):
    # Only SM 0 is in use. The second launch is transferred in 1.
    assert timing(TINY).fit_table == 9
    sent = [launch(1, **first), launch(2, stream=1, **second)]
    recording = drive(block, sent, enable=1)
    assert recording.cycles("offer__0__valid") == [6, known + 2]


@pytest.mark.rule("block_dispatcher", 15)
def test_before_the_fit_is_known_it_goes_where_none_of_them_is(block):
    # From when the first launch's block has returned, four cycles after its report, too.
    sent = [launch(1), launch(2, stream=1)]
    recording = drive(block, sent, enable=1, **reporting(0, (10, 0)))
    assert recording.cycles("offer__0__valid") == [6, 10 + 4 + 2]


@pytest.mark.rule("block_dispatcher", 15)
def test_what_both_launches_take_together_never_exceeds_an_sm(block):
    # Two of the first launch's blocks take 20 of 64 units; two of the second one's fit beside them.
    sent = [launch(1, gx=2, shared=10), launch(2, gx=9, stream=1, shared=22)]
    recording = drive(block, sent, enable=1, **reporting(0, (40, 0)))
    places = [offer["place"] for offer in offers(recording)]
    assert places == [0, 0, 1, 1]
    again = drive(block, sent, enable=1, **reporting(0, (40, 2)))
    assert [offer["place"] for offer in offers(again)] == [0, 0, 1, 1, 1]


# Errors and the order table


@pytest.mark.rule("block_dispatcher", 24)
def test_reports_that_nothing_asked_for_are_recorded_and_change_nothing(block):
    levels = reporting(0, (10, 3), (12, 1, 1), (30, 1, 2)) | reporting(1, (11, 0))
    recording = drive(block, [launch()], **levels)
    none = ErrorCode.REPORT_NOT_RUNNING
    assert timing(TINY).error == 4
    assert errors(recording) == [(14, none, 0), (15, none, 1), (16, none, 0), (34, none, 0)]
    assert recording.port("error_count")[-1] == 4
    assert ends(recording) == []


FREED = config_of("tiny,sms=3,policy=freed_first")


def swap(first: int, second: int) -> int:
    return layouts.order_swap(FREED).pack({"first": first, "second": second})


@pytest.mark.rule("block_dispatcher", 22)
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
    assert (recording.cycles("offer__2__valid"), recording.cycles("offer__1__valid")) == ([6], [7])
    assert errors(recording) == [(6, ErrorCode.ORDER_RANGE, 3), (34, ErrorCode.ORDER_BUSY, 0)]


@pytest.mark.parametrize(("cycle", "busy"), [(5, False), (6, True), (25, True), (26, False)])
def test_a_launch_is_resident_from_two_cycles_after_its_first_decision_to_its_end(
    block, cycle, busy
):
    # Decided in 4; reported in 20, its place is free from 26 on.
    recording = drive(
        block,
        [launch(config=FREED)],
        config=FREED,
        order_table__valid=at(cycle),
        order_table__payload=swap(0, 1),
        **reporting(0, (20, 0)),
    )
    assert errors(recording) == [(cycle + 4, ErrorCode.ORDER_BUSY, 0)] * busy


def test_a_drain_stops_the_walk_and_the_next_launch_takes_over(block):
    # SM 0's block returns in 28, the third one is decided in 32, the first cycle of the stop. The
    # walk is forgotten at the end of 34. The next launch is given in 35 and is the head in 37, in
    # which both SMs hold a block of the other place.
    sent = [launch(1, gx=9, barriers=4), launch(2, stream=1)]
    levels = {"stop": at(30, stop(0, Stop.DRAIN)), **reporting(0, (28, 0))}
    recording = drive(block, sent, **levels)
    assert recording.cycles("offer__0__valid") == [6, 34, 40]
