"""The cycles on BlockDispatcher's page: reports, room, scan, stalls, and reclaim in order."""

import pytest

from tb.support.block_dispatcher_rules import (
    FAULT,
    HALF,
    KILLED,
    MODEL_FIRST,
    ONE,
    TINY,
    WHOLE,
    at,
    blocks,
    changes,
    drive,
    during,
    ends,
    errors,
    given,
    ones,
    start,
)
from tb.support.dispatch_configs import config_of
from warploom_golden.dispatch.error_records import ErrorRecords
from warploom_golden.dispatch.stalls import RESIDENT_STALL_CAUSES
from warploom_spec import ErrorCode, Fate, timing

pytestmark = MODEL_FIRST

THREE = config_of("tiny,policy=first_fit,stream_bits=2,sms=3,kill_timeout=16")
SIXTEEN = config_of("tiny,policy=first_fit,stream_bits=2,sms=16,kill_timeout=16")
SIXTEEN_IN_ORDER = config_of(
    "tiny,policy=round_robin,stream_bits=2,sms=16,kill_timeout=16,reclaim=in_order"
)
IN_ORDER = config_of("tiny,policy=first_fit,stream_bits=2,kill_timeout=16,reclaim=in_order")
NOT_RUNNING = ErrorCode.REPORT_NOT_RUNNING


# Reports


@pytest.mark.rule("block_dispatcher", 22, 26)
def test_a_report_lets_the_next_block_be_offered_ten_cycles_later(block):
    found = timing(TINY)
    assert (found.resident_returns, found.resident_offer) == (7, 3)
    recording = drive(block, {0: start(gx=2, **WHOLE)}, config=ONE, reports=[(20, 0, 0)])
    assert given(recording) == [(9, 0), (30, 0)]


@pytest.mark.rule("block_dispatcher", 5, 29, 30)
def test_a_launch_ends_six_cycles_after_its_last_report(block):
    assert timing(TINY).resident_end == 6
    recording = drive(block, {0: start(gx=2)}, reports=[(20, 0, 0), (30, 1, 0)])
    assert ends(recording) == [(36, 0, Fate.FINISHED, 0)]
    assert ones(recording, "busy") == [(8, 34)]


@pytest.mark.rule("block_dispatcher", 2, 21, 26)
def test_a_block_gets_the_slot_that_has_been_free_longest(block):
    reports = [(40, 0, 2), (45, 0, 0), (50, 0, 3), (55, 0, 1), (90, 0, 2)]
    recording = drive(block, {0: start(gx=9)}, 110, reports=reports, enable=1)
    assert [b["slot"] for b in blocks(recording)] == [0, 1, 2, 3, 2, 0, 3, 1, 2]
    assert [cycle for cycle, _ in given(recording)][4:] == [50, 55, 60, 65, 100]


@pytest.mark.rule("block_dispatcher", 25)
def test_an_sm_reports_in_every_third_cycle(block):
    recording = drive(block, {0: start(gx=4)}, reports=[(40, 0, 0), (40, 0, 1)])
    assert recording.port("report__0__ready")[39:47] == [1, 1, 0, 0, 1, 0, 0, 1]
    assert [cycle for cycle, _ in recording.transfers("report__0")] == [40, 43]


@pytest.mark.rule("block_dispatcher", 25, 26, 28)
def test_reports_of_one_cycle_are_granted_in_turn(block):
    # None runs: each grant shows as an error three cycles after its turn at the books.
    assert timing(TINY).resident_error == 5
    together = [(30, n, 0) for n in range(3)]
    recording = drive(block, {}, config=THREE, reports=[(20, 1, 0), *together])
    assert errors(recording) == [
        (25, NOT_RUNNING, 1),
        (35, NOT_RUNNING, 2),
        (36, NOT_RUNNING, 0),
        (37, NOT_RUNNING, 1),
    ]
    assert changes(recording, "error_count") == [(25, 1), (35, 2), (36, 3), (37, 4)]
    # The last of three waits for two grants.
    assert recording.port("report__1__ready")[29:37] == [1, 1, 0, 0, 0, 0, 1, 1]


@pytest.mark.deep
@pytest.mark.rule("block_dispatcher", 28)
def test_errors_are_counted_up_to_the_highest_count(block):
    many = [(20, n % 3, 0) for n in range(0xFFFF + 3)]
    recording = drive(block, {}, len(many) + 60, config=THREE, reports=many)
    assert len(errors(recording)) == len(many)
    counts = [count for _, count in changes(recording, "error_count")]
    assert counts == [*range(1, 0x10000)]


@pytest.mark.rule("block_dispatcher", 26)
@pytest.mark.parametrize(("sent", "told", "over"), [(7, [12], []), (8, [], [14])])
def test_a_block_runs_for_books_three_cycles_after_its_offer(block, sent, told, over):
    # Offered in 9: books of 12 find it, those of 11 do not.
    recording = drive(block, {0: start()}, reports=[(sent, 0, 0)])
    assert errors(recording) == [(cycle, NOT_RUNNING, 0) for cycle in told]
    assert [cycle for cycle, *_ in ends(recording)] == over


@pytest.mark.rule("block_dispatcher", 26)
def test_a_slot_reports_once_and_one_that_there_is_not_never(block):
    config = config_of("tiny,policy=first_fit,stream_bits=2,block_slots=3,kill_timeout=16")
    reports = [(20, 0, 0), (25, 0, 0), (30, 1, 3)]
    recording = drive(block, {0: start(gx=2, config=config)}, config=config, reports=reports)
    assert errors(recording) == [(30, NOT_RUNNING, 0), (35, NOT_RUNNING, 1)]
    assert ends(recording) == []


@pytest.mark.rule("block_dispatcher", 28)
def test_the_count_of_errors_stays_at_its_highest_value(block):
    records = ErrorRecords(TINY)
    records.count = (1 << 16) - 2
    shown = []
    for _ in range(3):
        records.tick((NOT_RUNNING, 0))
        shown.append(records.count)
    assert shown == [0xFFFF] * 3


@pytest.mark.rule("block_dispatcher", 27)
@pytest.mark.parametrize("status", [FAULT, 3])
def test_a_fault_stops_its_launch(block, status):
    # Books in 24: killed and closed in 25.
    reports = [(20, 0, 0, status), (30, 1, 0)]
    recording = drive(block, {0: start(gx=9, barriers=3)}, reports=reports)
    assert given(recording) == [(9, 0), (10, 1)]
    assert ones(recording, "kill") == [(25, 36)]
    assert ones(recording, "open") == [(1, 24)]
    assert ends(recording) == [(36, 0, Fate.FAILED, ErrorCode.BLOCK_FAULT)]
    assert errors(recording) == []


@pytest.mark.rule("block_dispatcher", 27, 30)
@pytest.mark.parametrize(
    ("stopped", "told", "fate", "code"),
    [
        # Books in 24; a stop in 23 shows as a kill in 24.
        (23, [], Fate.KILLED, 0),
        (24, [(25, ErrorCode.KILL_NOT_ASKED, 0)], Fate.FAILED, ErrorCode.BLOCK_FAULT),
        (99, [(25, ErrorCode.KILL_NOT_ASKED, 0)], Fate.FAILED, ErrorCode.BLOCK_FAULT),
    ],
)
def test_a_kill_that_nobody_asked_for_is_a_fault(block, stopped, told, fate, code):
    recording = drive(block, {0: start()}, reports=[(20, 0, 0, KILLED)], stop=at(stopped))
    assert (errors(recording), ends(recording)) == (told, [(26, 0, fate, code)])


@pytest.mark.rule("block_dispatcher", 5)
@pytest.mark.parametrize(
    ("enabled", "busy"),
    [
        # Books of the first block in 24. The second is picked two cycles after `enable`.
        (20, [(8, 59)]),
        (21, [(8, 59)]),
        (22, [(8, 24), (26, 59)]),
        (23, [(8, 24), (27, 59)]),
    ],
)
def test_a_pick_in_the_cycle_before_the_books_keeps_a_stream_busy(block, enabled, busy):
    levels = {"enable": lambda now: int(now < 7 or now >= enabled)}
    recording = drive(block, {0: start(gx=2)}, config=ONE, reports=[(20, 0, 0)], **levels)
    assert [cycle for cycle, _ in given(recording)] == [9, enabled + 5]
    assert ones(recording, "busy") == busy


# Room and scan


@pytest.mark.rule("block_dispatcher", 17, 23)
@pytest.mark.parametrize("begins", [40, 41, 42, 43])
def test_first_fit_on_an_idle_machine_begins_at_sm_0_whatever_the_idle_time_was(block, begins):
    sent = {0: start(0), begins: start(1, gx=3)}
    recording = drive(block, sent, 90, THREE, reports=[(20, 0, 0)])
    assert given(recording)[1:] == [(begins + 9 + n, n) for n in range(3)]


@pytest.mark.rule("block_dispatcher", 16, 23)
def test_returns_in_every_cycle_do_not_keep_an_empty_sm_from_being_found(block):
    # SM 15 is empty, and all others report from 49 on. The change is made in 54. Books of 53 to 67
    # give room in 56 to 70, and so a pick in each cycle. From 57 on neither pipe looks for the
    # scan; idle is 7 in 64, so the scan takes the turn in 65.
    sent = {0: start(0, gx=16, **WHOLE), 50: start(1, priority=1, gx=60)}
    reports = [(49 + n, n, 0) for n in range(15)]
    recording = drive(block, sent, 90, SIXTEEN, reports=reports, enable=0x7FFF)
    urgent = [cycle for cycle, _ in given(recording)][15:]
    assert urgent[:13] == [*range(59, 68), *range(69, 73)]


# Stalls


@pytest.mark.rule("block_dispatcher", 33)
def test_a_stalled_cycle_counts_what_lacks_on_the_sm_that_is_judged(block):
    # Picked in 6. Looks of 4 to 6 and of 8 do not know it; the placement's own verdict, which lands
    # in 10, does. Books in 44: the look of 43 reads them in 45 and lands in 46. Picked again in 47.
    recording = drive(block, {0: start(gx=2, **WHOLE)}, config=ONE, reports=[(40, 0, 0)])
    assert timing(ONE).resident_stall == 2
    offer = changes(recording, "stall_offer")
    assert offer == [(9, 1), (10, 2), (11, 3), (13, 4), (48, 5)]
    barriers = changes(recording, "stall_barriers")
    assert barriers == [(12, 1), *((14 + n, 2 + n) for n in range(34))]
    for cause in ("slots", "warps", "registers", "shared"):
        assert changes(recording, f"stall_{cause}") == []


@pytest.mark.rule("block_dispatcher", 33)
@pytest.mark.parametrize("cause", HALF)
def test_each_resource_is_counted_by_itself(block, cause):
    recording = drive(block, {0: start(gx=3, **{cause: HALF[cause]})}, 40)
    # Picked in 6 and 7; the looks of 4 and 5 find room in 8, as they do not know of it.
    shown = {c: recording.port(f"stall_{c}")[-1] for c in RESIDENT_STALL_CAUSES}
    assert {c: count for c, count in shown.items() if count and c != "offer"} == {cause: 28}
    assert shown["offer"] == 2


@pytest.mark.rule("block_dispatcher", 33)
def test_the_first_resource_that_lacks_is_counted(block):
    config = config_of("tiny,policy=first_fit,stream_bits=2,sms=1,block_slots=1,kill_timeout=16")
    recording = drive(block, {0: start(config=config, gx=2, warps=16, **WHOLE)}, 40, config)
    assert recording.port("stall_slots")[-1] == 27
    assert not recording.cycles("stall_warps")


@pytest.mark.rule("block_dispatcher", 14, 33)
def test_a_held_launch_is_not_stalled(block):
    recording = drive(block, {0: start(gx=2, **WHOLE)}, config=ONE, hold=during(20, 99))
    # The last cycle with go is 21: the hold counts in the candidate of 21, and so in 22.
    assert recording.port("stall_barriers")[22:24] == [10, 11]
    assert recording.port("stall_barriers")[-1] == 11


# In order


@pytest.mark.rule("block_dispatcher", 26)
@pytest.mark.parametrize(
    ("sent", "offered"), [(20, 34), (21, 37), (22, 37), (23, 37), (24, 40)], ids=str
)
def test_in_order_a_block_retires_at_the_first_look_that_knows_its_report(block, sent, offered):
    # Offered in 9, looked at in 10, judged in 12 and every third cycle. A report of 20 has its
    # books in 24, retires in 27, is written back in 28 and gives room in 31.
    config = config_of("tiny,policy=first_fit,stream_bits=2,reclaim=in_order,sms=1")
    recording = drive(block, {0: start(gx=2, **WHOLE)}, config=config, reports=[(sent, 0, 0)])
    assert given(recording) == [(9, 0), (offered, 0)]
    assert ones(recording, "busy")[0][0] == 8


@pytest.mark.rule("block_dispatcher", 5, 29)
def test_in_order_a_streams_books_are_those_of_its_report(block):
    recording = drive(block, {0: start()}, config=IN_ORDER, reports=[(20, 0, 0)])
    assert ends(recording) == [(26, 0, Fate.FINISHED, 0)]


@pytest.mark.rule("block_dispatcher", 26)
def test_in_order_the_first_block_holds_the_others_back(block):
    # SM 1 has reported. The block on SM 0 reports in 50: books in 54, and it retires in 57, the
    # block behind it in 58; room in 61 and 62.
    sent = {0: start(gx=4, **WHOLE)}
    recording = drive(block, sent, 80, IN_ORDER, reports=[(20, 1, 0), (50, 0, 0)])
    assert given(recording) == [(9, 0), (10, 1), (64, 0), (65, 1)]


@pytest.mark.rule("block_dispatcher", 26)
def test_in_order_blocks_of_one_sm_retire_every_fourth_cycle(block):
    # The second one is judged in the cycle after the first one retired, and once more three later.
    # Books of the first in 44: it retires in 48, the second in 52. That is written back in 53, and
    # a launch that needs both parts has room in 56.
    sent = {0: start(0, gx=2, barriers=2), 1: start(1, **WHOLE)}
    reports = [(20, 0, 1), (40, 0, 0)]
    recording = drive(block, sent, 80, IN_ORDER, reports=reports, enable=1)
    assert given(recording) == [(9, 0), (14, 0), (59, 0)]
    assert [b["slot"] for b in blocks(recording)] == [0, 1, 2]


@pytest.mark.rule("block_dispatcher", 23)
def test_in_order_the_pipe_of_returns_looks_for_the_scan_where_no_look_is_judged(block):
    # Blocks are picked in 6 to 8 and from 11 on. Looks are judged in 12, 15, 18 and so on: the scan
    # stands still there. It is at SM 11 in 18 and in 19: room in 23, and its turn would be in 22.
    recording = drive(block, {0: start(gx=60)}, 40, SIXTEEN_IN_ORDER)
    began = [(9, 0), (10, 1), (11, 2)]
    assert given(recording)[:15] == [*began, *((14 + n, n) for n in range(11)), (25, 0)]
