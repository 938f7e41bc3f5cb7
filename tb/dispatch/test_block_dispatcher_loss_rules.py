"""The cycles on BlockDispatcher's page: ends and their times, lost SMs, resets, no kills."""

import pytest

from tb.support.block_dispatcher_rules import (
    FAULT,
    KILLED,
    MODEL_FIRST,
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
from tb.support.resettable import resettable
from warploom_spec import ErrorCode, Fate

pytestmark = MODEL_FIRST

IN_ORDER = config_of("tiny,policy=first_fit,stream_bits=2,kill_timeout=16,reclaim=in_order")
NO_KILL = config_of("tiny,policy=first_fit,stream_bits=2,sm_kill=False,kill_timeout=16")


# Ends


@pytest.mark.rule("block_dispatcher", 30)
def test_first_and_cycles_come_two_and_three_cycles_after_the_end(block):
    # Offered in 9 and 10; the last return's books are written in 34. The clock wraps in 20.
    sent = {0: start(gx=2)}
    reports = [(20, 0, 0), (30, 1, 0)]
    clock = (1 << 32) - 20
    recording = drive(block, sent, reports=reports, clock=lambda now: (now + clock) % (1 << 32))
    assert ends(recording) == [(36, 0, Fate.FINISHED, 0)]
    assert recording.port("ended_first")[38] == clock + 9
    assert recording.port("ended_cycles")[39] == 34 - 9


@pytest.mark.rule("block_dispatcher", 29)
def test_ends_are_told_one_after_the_other_and_wait_at_the_port(block):
    # Streams 0 and 1 are over in 25 and 26. Turn 1 is in 28, 32, 36 and 40.
    sent = {0: start(0), 1: start(1)}
    reports = [(20, 0, 0), (20, 0, 1)]
    recording = drive(block, sent, reports=reports, ended__ready=during(39, 99))
    assert recording.cycles("ended__valid") == [*range(26, 40), 41]
    assert [(cycle, stream) for cycle, stream, *_ in ends(recording)] == [(39, 0), (41, 1)]
    assert (ones(recording, "resident", 0), ones(recording, "resident", 1)) == (
        [(1, 39)],
        [(2, 41)],
    )


@pytest.mark.rule("block_dispatcher", 29)
def test_an_end_is_valid_in_the_cycle_after_a_transfer(block):
    # Books in 24 and 27.
    sent = {0: start(0), 1: start(1)}
    reports = [(20, 0, 0), (20, 0, 1)]
    recording = drive(block, sent, reports=reports, ended__ready=during(28, 99))
    assert [(cycle, stream) for cycle, stream, *_ in ends(recording)] == [(28, 0), (29, 1)]


@pytest.mark.rule("block_dispatcher", 27, 30)
@pytest.mark.parametrize(
    ("status", "fate", "code"),
    [(KILLED, Fate.KILLED, 0), (FAULT, Fate.FAILED, ErrorCode.BLOCK_FAULT)],
)
def test_a_stop_after_the_last_pick_leaves_the_fate_to_the_reports(block, status, fate, code):
    reports = [(20, 0, 0), (20, 1, 0, status)]
    recording = drive(block, {0: start(gx=2)}, reports=reports, stop=at(15))
    assert ends(recording) == [(27, 0, fate, code)]


# Lost SMs


@pytest.mark.rule("block_dispatcher", 30, 31, 32)
def test_a_mute_sm_is_lost_after_its_visits_and_the_sweep_returns_its_blocks(block):
    # Killed from 11 on. Stream 0 is visited in 11, 15, 19 and so on. A return in 13: the silent
    # visits are those from 19 on, the sixth is in 39. The sweep is on from 41 on, its first row in
    # 44. SM 1's slot 0 is row 4, looked at in 60 and 92, at the books in 63 and 95.
    sent = {0: start(gx=2)}
    recording = drive(block, sent, 110, reports=[(9, 0, 0, KILLED)], stop=at(10))
    assert ones(recording, "kill") == [(11, 97)]
    assert ones(recording, "lost", 1) == [(64, 109)]
    assert ones(recording, "lost", 0) == []
    assert ones(recording, "busy") == [(8, 95)]
    assert ends(recording) == [(97, 0, Fate.FAILED, ErrorCode.SM_LOST)]


@pytest.mark.rule("block_dispatcher", 31)
@pytest.mark.parametrize(("sent", "lost"), [(14, 68), (15, 72), (18, 72), (19, 76)])
def test_a_return_since_the_last_visit_makes_it_not_silent(block, sent, lost):
    # Books four cycles later. Visits in 19, 23 and 27; a return in 19 counts for the one of 23.
    recording = drive(block, {0: start(gx=2)}, 90, reports=[(sent, 0, 0, KILLED)], stop=at(10))
    assert ones(recording, "lost", 1)[0][0] == lost


@pytest.mark.rule("block_dispatcher", 32)
@pytest.mark.parametrize(("sent", "lost"), [(28, [(56, 64)]), (29, []), (31, [])])
def test_a_report_while_the_sweep_is_on_loses_no_sm(block, sent, lost):
    # Silent in 11 to 31, on from 33 on: books of SM 0's report in 32, 33 or 35. Its row has its
    # turn at the books in 39, and SM 1's in 55.
    reports = [(sent, 0, 0, KILLED)]
    recording = drive(block, {0: start(gx=2)}, 65, reports=reports, stop=at(10))
    assert ones(recording, "lost", 1) == lost
    assert ones(recording, "lost", 0) == []


@pytest.mark.rule("block_dispatcher", 25)
def test_a_sweep_takes_every_fourth_cycle_from_the_reports(block):
    # Reports of slots in which nothing runs: the record of a grant in g comes in g + 4. The sweep
    # is on from 33 on, and looks at its rows in 36, 40 and so on, the sixteenth in 96.
    reports = [(20 + n, n % 2, 3) for n in range(40)]
    recording = drive(block, {0: start(gx=2)}, 120, reports=reports, stop=at(10))
    granted = [cycle - 4 for cycle, *_ in errors(recording)]
    assert [cycle for cycle in granted if cycle < 33 and cycle % 4 == 0]
    swept = [cycle for cycle in granted if 33 <= cycle < 96]
    assert swept
    assert not [cycle for cycle in swept if cycle % 4 == 0]


@pytest.mark.rule("block_dispatcher", 1, 16, 26, 32)
def test_a_lost_sm_gets_no_block_until_a_full_reset(block):
    def with_reset(config):
        return resettable(block(config))

    sent = {0: start(gx=2), 80: start(1, gx=3), 140: start(gx=3), 200: start(gx=3)}
    levels = {"stop": at(10), "restart": at(100), "reset_now": at(160)}
    reports = [(9, 0, 0, KILLED), (76, 1, 0)]
    recording = drive(with_reset, sent, 240, reports=reports, **levels)
    assert errors(recording) == [(81, ErrorCode.LOST_SM_SIGNAL, 1)]
    assert ones(recording, "lost", 1) == [(64, 160)]
    # One SM is left, then all again.
    one = [(first + n, 0) for first in (89, 149) for n in (0, 5, 10)]
    assert given(recording)[2:] == [*one, (209, 0), (210, 1), (214, 0)]


@pytest.mark.rule("block_dispatcher", 32)
def test_no_sm_is_told_a_cycle_after_the_last_one_was_lost(block):
    # SM 0's row is looked at in 36: lost in 40.
    recording = drive(block, {0: start(gx=2)}, 90, stop=at(10), restart=at(70))
    assert changes(recording, "lost") == [(40, 1), (56, 3)]
    assert ones(recording, "no_sm") == [(57, 70), (72, 89)]


@pytest.mark.rule("block_dispatcher", 32)
def test_blocks_of_other_streams_on_a_lost_sm_return_too(block):
    sent = {0: start(0, gx=2), 20: start(1, gx=2, priority=1)}
    recording = drive(block, sent, 110, reports=[(12, 0, 0, KILLED)], stop=at(10))
    # SM 1 is lost in 68 with blocks of both: rows 4 and 5, whose books are written in 99 and 103.
    assert ones(recording, "kill", 1)[0][0] == 104
    assert ones(recording, "lost", 1) == [(68, 109)]
    packed = [(stream, fate, code) for _, stream, fate, code in ends(recording)]
    assert packed == [(0, Fate.FAILED, ErrorCode.SM_LOST)]


@pytest.mark.rule("block_dispatcher", 26, 32)
def test_in_order_a_swept_block_retires_and_lets_those_behind_it_go(block):
    # SM 1 reports: books in 16. Stream 0 is silent in 23 to 43, SM 0 is lost in 52 by row 0, whose
    # second turn is in 83. It is judged every third cycle from 12 on and retires in 87. The other
    # block retires in 88, is written back in 89 and gives room in 92.
    sent = {0: start(0, gx=2, **WHOLE), 30: start(1, **WHOLE)}
    reports = [(12, 1, 0, KILLED)]
    recording = drive(block, sent, 110, IN_ORDER, reports=reports, stop=at(10))
    assert changes(recording, "lost") == [(52, 1)]
    assert ends(recording) == [(85, 0, Fate.FAILED, ErrorCode.SM_LOST)]
    assert given(recording) == [(9, 0), (10, 1), (95, 1)]


@pytest.mark.rule("block_dispatcher", 31)
def test_the_time_out_counts_in_visits(block):
    config = config_of("tiny,policy=first_fit,stream_bits=2,kill_timeout=40")
    # Twelve silent visits, in 19 to 63; row 4 is looked at in 84.
    recording = drive(block, {0: start(gx=2)}, 90, config, reports=[(9, 0, 0, KILLED)], stop=at(10))
    assert ones(recording, "lost", 1)[0][0] == 88


# Resets


@pytest.mark.rule("block_dispatcher", 1)
def test_a_restart_forgets_all_but_what_is_lost(block):
    # Two blocks are out, and an error was told. The boot is over 17 cycles after the restart's.
    sent = {0: start(gx=2), 48: start(3, gx=2)}
    recording = drive(block, sent, 90, reports=[(15, 0, 3), (60, 1, 3)], restart=at(30))
    assert changes(recording, "error_count") == [(20, 1), (31, 0), (65, 1)]
    assert ones(recording, "resident", 0) == [(1, 30)]
    assert [c for c in recording.cycles("start__ready") if c > 30][0] == 48
    assert given(recording)[2:] == [(57, 0), (58, 1)]
    assert [b["slot"] for b in blocks(recording)] == [0] * 4


@pytest.mark.rule("block_dispatcher", 1)
@pytest.mark.parametrize("cycle", range(5, 40, 3))
def test_work_after_a_restart_in_any_cycle_is_as_after_the_first_boot(block, cycle):
    sent = {0: start(0, gx=9), 3: start(1, gx=2, priority=1)}
    began = drive(block, sent, 60, length=7)
    later = {when + cycle + 18: word for when, word in sent.items()}
    recording = drive(block, sent | later, 60 + cycle + 18, length=7, restart=at(cycle))
    # Reports that were on their way are dropped in the boot, or not running.
    again = [(when - cycle - 18, sm) for when, sm in given(recording) if when > cycle + 1]
    assert again == given(began)


# Without kills


@pytest.mark.rule("block_dispatcher", 34)
def test_without_kills_a_stop_ends_the_placing_and_the_launch_ends_with_its_reports(block):
    reports = [(30, 0, 0), (30, 1, 0), (30, 0, 1)]
    recording = drive(block, {0: start(gx=8)}, 300, NO_KILL, reports=reports, stop=at(10))
    assert given(recording) == [(9, 0), (10, 1), (14, 0)]
    assert ones(recording, "kill") == []
    assert ends(recording) == [(39, 0, Fate.KILLED, 0)]


@pytest.mark.rule("block_dispatcher", 34)
def test_without_kills_no_sm_is_lost_and_a_killed_block_is_a_fault(block):
    recording = drive(
        block, {0: start(gx=2)}, 400, NO_KILL, reports=[(300, 0, 0, KILLED)], stop=at(7)
    )
    assert changes(recording, "lost") == []
    assert errors(recording) == [(305, ErrorCode.KILL_NOT_ASKED, 0)]
    assert ones(recording, "busy") == [(8, 399)]


@pytest.mark.rule("block_dispatcher", 31, 32)
def test_the_only_slot_of_a_machine_is_lost_and_returned_by_one_sweep(block):
    # On from 33 on, rows in 36 and 40.
    config = config_of("tiny,policy=first_fit,stream_bits=2,sms=1,block_slots=1,kill_timeout=16")
    recording = drive(block, {0: start(config=config)}, 90, config, stop=at(10))
    assert changes(recording, "lost") == [(40, 1)]
    assert ends(recording) == [(45, 0, Fate.FAILED, ErrorCode.SM_LOST)]
