"""Which SM gets the next block, by each policy on BlockDispatcher's page; literal cycles."""

import pytest

from tb.support.block_dispatcher_rules import (
    MODEL_FIRST,
    WHOLE,
    at,
    changes,
    drive,
    during,
    ends,
    errors,
    given,
    start,
)
from tb.support.dispatch_configs import config_of
from warploom_spec import ErrorCode, layouts

pytestmark = MODEL_FIRST


def machine(policy, sms=4, **changes):
    """Return a machine with a policy."""
    more = "".join(f",{name}={value}" for name, value in changes.items())
    return config_of(f"tiny,policy={policy},stream_bits=2,sms={sms},kill_timeout=16{more}")


FIRST = machine("first_fit")
ROUND = machine("round_robin")
LEAST = machine("least_loaded")
FREED = machine("freed_first")
FREED_2 = machine("freed_first", 2)

FOUR_LAUNCHES = {n: start(n) for n in range(4)}


@pytest.mark.rule("block_dispatcher", 17)
def test_first_fit_takes_the_lowest_with_room(block):
    recording = drive(block, FOUR_LAUNCHES, config=FIRST)
    assert given(recording) == [(9, 0), (14, 0), (19, 0), (24, 0)]


@pytest.mark.rule("block_dispatcher", 18, 23)
def test_round_robin_takes_the_first_with_room_from_the_pointer_on(block):
    # Picks in 6, 11, 16 and 21. The verdicts of the SM picked before and of one look more have
    # landed: room of 0 and 2, of 2 and 3, of 3 and 1.
    recording = drive(block, FOUR_LAUNCHES, config=ROUND)
    assert given(recording) == [(9, 0), (14, 2), (19, 3), (24, 1)]


@pytest.mark.rule("block_dispatcher", 18, 23)
def test_round_robins_scan_begins_at_the_pointer(block):
    recording = drive(block, {0: start(0, gx=2), 40: start(1, gx=2)}, config=ROUND)
    assert given(recording) == [(9, 0), (10, 1), (49, 2), (50, 3)]


# `least_loaded`


@pytest.mark.rule("block_dispatcher", 19, 24)
def test_least_loaded_waits_for_the_round_and_takes_an_sm_every_sixth_cycle(block):
    # The scan begins in 4 and has nothing to do in 9: known in 14.
    recording = drive(block, {0: start(gx=8)}, config=LEAST)
    assert given(recording) == [(c + n, n) for c in (17, 23) for n in range(4)]


@pytest.mark.rule("block_dispatcher", 19)
def test_least_loaded_takes_the_most_free_warps(block):
    # SM 0 holds four warps and SM 1 two. The first block goes to SM 1, the next one to SM 0, as
    # SM 1's room is known again six cycles after its pick; then SM 1 has 12 free, and SM 0 10.
    config = machine("least_loaded", 2)
    sent = {0: start(0, warps=4), 30: start(1, warps=2), 70: start(2, gx=3, warps=2)}
    levels = {"enable": lambda now: 1 if now < 30 else 2 if now < 60 else 3}
    recording = drive(block, sent, 120, config, **levels)
    assert given(recording)[:2] == [(15, 0), (45, 1)]
    assert given(recording)[2:] == [(85, 1), (86, 0), (91, 1)]


@pytest.mark.rule("block_dispatcher", 19)
def test_least_loaded_knows_what_came_back(block):
    # SM 0's block comes back: then all its 16 warps are free, and 14 of SM 1's.
    config = machine("least_loaded", 2)
    sent = {0: start(0, warps=4), 30: start(1, warps=2), 70: start(2, warps=2)}
    levels = {"enable": lambda now: 1 if now < 30 else 2 if now < 60 else 3}
    recording = drive(block, sent, 120, config, reports=[(50, 0, 0)], **levels)
    assert given(recording)[2:] == [(85, 0)]


@pytest.mark.rule("block_dispatcher", 19)
def test_least_loaded_sees_a_return_a_cycle_later(block):
    config = machine("least_loaded", 1)
    recording = drive(block, {0: start(gx=2, **WHOLE)}, 60, config, reports=[(20, 0, 0)])
    # Begun in 4, nothing to do in 6, known in 11.
    assert given(recording) == [(14, 0), (31, 0)]


# `freed_first`


@pytest.mark.rule("block_dispatcher", 20)
def test_freed_first_goes_over_the_table_and_waits_for_the_sm_at_the_pointer(block):
    # SM 3 has no room in 9, and the round is not known: it is looked at in 8, and picked in 12. In
    # 16 no SM has room, so the pointer stays at SM 3.
    recording = drive(block, {0: start(gx=8)}, config=FREED)
    first, second = (9, 10, 11, 15), (16, 17, 18, 20)
    assert given(recording) == [(c, n) for cs in (first, second) for n, c in enumerate(cs)]


@pytest.mark.rule("block_dispatcher", 20)
def test_freed_first_takes_sms_in_the_order_in_which_they_were_freed(block):
    # Books in 44 and 45, in the FIFO in 46 and 47, head in 49 and 50. In 47 the pointer leaves
    # SM 0, in 48 SM 1, which have no room while SM 2 has. SM 3 has room in 67, and would be head in
    # 69: the pointer comes to it in 68.
    sent = {0: start(gx=9, **WHOLE)}
    recording = drive(block, sent, 80, FREED, reports=[(40, 2, 0), (41, 0, 0), (60, 3, 0)])
    assert given(recording)[4:] == [(52, 2), (53, 0), (71, 3)]


@pytest.mark.rule("block_dispatcher", 20)
def test_freed_first_forgets_what_was_freed_when_no_block_is_out(block):
    # The pointer is at SM 1, which is looked at in 63.
    sent = {0: start(0), 60: start(1)}
    recording = drive(block, sent, 80, FREED, reports=[(20, 0, 0)])
    assert given(recording) == [(9, 0), (70, 1)]


@pytest.mark.rule("block_dispatcher", 20, 24)
def test_freed_first_drops_a_head_that_has_no_room_when_another_sm_has(block):
    # SM 0 was freed twice, and holds a third block. Begun in 54, nothing to do in 57, known in 61:
    # the head is dropped in 61. The next one is set aside: the table's SM is picked in 62.
    sent = {0: start(0, gx=3, barriers=1), 50: start(1, **WHOLE)}
    levels = {"enable": lambda now: 1 if now < 45 else 3}
    recording = drive(block, sent, 90, FREED_2, reports=[(40, 0, 0), (40, 0, 1)], **levels)
    assert given(recording) == [(9, 0), (15, 0), (21, 0), (65, 1)]


@pytest.mark.rule("block_dispatcher", 20)
def test_freed_first_in_order_frees_an_sm_when_its_block_retires(block):
    # SM 2 reports in 40 and SM 0 in 60; SM 0's block is the oldest. Books in 64, retired in 67 or
    # the next two, SM 1 later.
    config = machine("freed_first", reclaim="in_order")
    sent = {0: start(gx=9, **WHOLE)}
    recording = drive(block, sent, 120, config, reports=[(40, 2, 0), (60, 0, 0), (80, 1, 0)])
    assert [n for _, n in given(recording)][4:] == [0, 1, 2]


# The order table


def swap(config, first, second):
    """Return a packed swap."""
    return layouts.order_swap(config).pack({"first": first, "second": second})


def swapping(config, cycle, first, second, till=None):
    """Return the levels of a swap."""
    return {
        "order_swap__valid": at(cycle) if till is None else during(cycle, till),
        "order_swap__payload": swap(config, first, second),
    }


@pytest.mark.rule("block_dispatcher", 20)
def test_a_swap_changes_the_order_of_sms(block):
    # SM 3 is looked at in 8 and picked in 12.
    levels = swapping(FREED, 0, 0, 3)
    recording = drive(block, {5: start(gx=4)}, config=FREED, **levels)
    assert given(recording) == [(20, 3), (21, 1), (22, 2), (23, 0)]
    assert recording.port("order_swap__ready")[:7] == [1, 0, 0, 0, 0, 1, 1]
    assert errors(recording) == []


@pytest.mark.rule("block_dispatcher", 20)
@pytest.mark.parametrize(
    ("sent", "first", "second"), [(1, 9, 11), (2, 10, 11), (5, 13, 14), (6, 9, 14)]
)
def test_the_tables_sm_is_not_picked_while_a_swap_is_written(block, sent, first, second):
    # SM 0 has room from 6 on, SM 2 from 8 on.
    recording = drive(block, {0: start(gx=4)}, config=FREED, **swapping(FREED, sent, 1, 2))
    assert errors(recording) == []
    assert given(recording)[:2] == [(first, 0), (second, 2)]


@pytest.mark.rule("block_dispatcher", 20)
@pytest.mark.parametrize(("pair", "named"), [((3, 0), 3), ((0, 3), 3), ((3, 3), 3)], ids=str)
def test_a_swap_of_a_position_that_there_is_not_is_refused(block, pair, named):
    config = machine("freed_first", 3)
    recording = drive(block, {}, 20, config, **swapping(config, 4, *pair))
    assert errors(recording) == [(6, ErrorCode.ORDER_RANGE, named)]
    assert recording.port("order_swap__ready")[3:8] == [1, 1, 0, 1, 1]
    assert recording.port("error_count")[-1] == 1


@pytest.mark.rule("block_dispatcher", 20, 28)
def test_a_refusals_record_waits_for_an_error_of_a_report(block):
    reports = [(n, n, 0) for n in range(3)]
    recording = drive(block, {}, 20, FREED, reports=reports, **swapping(FREED, 4, 0, 1))
    assert errors(recording) == [(5 + n, ErrorCode.REPORT_NOT_RUNNING, n) for n in range(3)]
    config = machine("freed_first", 3)
    recording = drive(block, {}, 20, config, reports=reports, **swapping(config, 4, 3, 0))
    assert [code for _, code, _ in errors(recording)] == [
        *[ErrorCode.REPORT_NOT_RUNNING] * 3,
        ErrorCode.ORDER_RANGE,
    ]
    assert [cycle for cycle, *_ in errors(recording)] == [5, 6, 7, 8]
    assert recording.port("order_swap__ready")[3:11] == [1, 1, 0, 0, 0, 1, 1, 1]
    assert changes(recording, "error_count") == [(5, 1), (6, 2), (7, 3), (8, 4)]


@pytest.mark.rule("block_dispatcher", 20)
@pytest.mark.parametrize(("sent", "busy"), [(6, False), (7, True), (25, True), (26, False)])
def test_a_swap_is_refused_while_the_machine_is_not_quiet(block, sent, busy):
    # Picked in 6. Books of the only block in 24: busy until 24, so quiet in 26.
    levels = swapping(FREED, sent, 0, 3)
    recording = drive(block, {0: start()}, config=FREED, reports=[(20, 0, 0)], **levels)
    assert errors(recording) == [(sent + 2, ErrorCode.ORDER_BUSY, 0)] * busy
    assert [cycle for cycle, *_ in ends(recording)] == [26]


@pytest.mark.rule("block_dispatcher", 1, 20)
def test_swaps_are_taken_after_the_boot_and_a_restart_undoes_them(block):
    recording = drive(block, {}, 3, FREED, before=25)
    assert recording.cycles("order_swap__ready")[0] == 16
    levels = swapping(FREED, 0, 0, 3) | {"restart": at(10)}
    recording = drive(block, {60: start()}, 90, FREED, **levels)
    assert given(recording) == [(69, 0)]


@pytest.mark.rule("block_dispatcher", 1, 20)
@pytest.mark.parametrize("slots", [1, 4])
def test_a_swap_that_waits_for_the_boot_finds_the_table_filled(block, slots):
    # It is valid from the first cycle on, and transfers in the first one behind the boot. A boot
    # after a swap finds other rows in the table than one after power-on.
    config = machine("freed_first", block_slots=slots)
    boot = max(4 * slots, 1 << config.stream_bits)
    for restart in (-boot - 10, 30):
        waiting = during(restart + 1, restart + boot + 2)
        levels = swapping(config, 0, 0, 3) | {"restart": at(restart)}
        earlier = at(10) if restart > 10 else at(restart)
        levels["order_swap__valid"] = lambda now, a=waiting, b=earlier: a(now) or b(now)
        sent = {restart + 80: start(config=config, gx=4)}
        recording = drive(block, sent, 150, config, **levels)
    assert [sm for _, sm in given(recording)] == [3, 1, 2, 0]
