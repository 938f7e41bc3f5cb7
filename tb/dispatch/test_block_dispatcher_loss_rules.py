"""Lost SMs, one rule after the other as the page has them; RTL and model alike."""

import pytest

from tb.support.dispatch_rules import (
    FAULT,
    IN_ORDER,
    KILLED,
    OK,
    RTL_AND_MODEL,
    TINY,
    at,
    begun,
    drive,
    errors,
    fates,
    in_cycles,
    launch,
    levels_of,
    offers,
    reporting,
    stop,
)
from warploom_spec import ErrorCode, Fate, timing

pytestmark = RTL_AND_MODEL

LOST = Fate.FAILED, ErrorCode.SM_LOST
ASKED = (Fate.KILLED, ErrorCode.OK)


# Lost SMs. The stop is in 20, the kill rises in 22: the last report that is in time is in 38. L is
# 41, and the SM is lost from 42 on.


@pytest.mark.rule("block_dispatcher", 23, 31, 32)
@pytest.mark.parametrize(
    ("sent", "lost", "told"),
    [
        (38, [], (44, *ASKED, 32)),
        (39, [42], (45, *ASKED, 33)),
        (40, [42], (46, *ASKED, 34)),
        (41, [42], (47, *LOST, 0)),
    ],
)
def test_an_sm_that_reports_one_cycle_too_late_is_lost(block, sent, lost, told):
    assert (timing(TINY).loss, timing(TINY).loss_kill) == (4, 3)
    recording = drive(
        block, [launch()], enable=2, stop=at(20, stop()), **reporting(1, (sent, 0, KILLED))
    )
    assert recording.cycles("lost")[:1] == lost
    cycle, *rest = told
    assert fates(recording) == [(cycle, 1, *rest)]
    # Looked up in 42, in which the SM is lost.
    want = [(45, ErrorCode.LOST_SM_SIGNAL, 1)] if sent == 41 else []
    assert errors(recording) == want


@pytest.mark.rule("block_dispatcher", 31)
def test_an_sm_that_does_not_take_a_killed_launch_s_offer_is_lost(block):
    recording = drive(block, [launch()], enable=1, stop=at(20, stop()), offer__0__ready=0)
    assert recording.cycles("lost")[0] == 42
    assert recording.port("offer__0__valid")[-1] == 1
    assert fates(recording) == [(47, 1, *LOST, 0)]


@pytest.mark.rule("block_dispatcher", 30, 31)
def test_a_further_reason_for_a_kill_does_not_start_the_time_anew(block):
    recording = drive(
        block,
        [launch(gx=2)],
        enable=1,
        stop=in_cycles({20: stop(), 30: stop()}),
        **reporting(0, (25, 0, FAULT)),
    )
    assert recording.cycles("lost")[0] == 42


@pytest.mark.rule("block_dispatcher", 13, 31)
def test_a_lost_sm_stays_lost_and_gets_nothing_more(block):
    sent = [launch(1), launch(2, stream=1, gx=9)]
    recording = drive(
        block,
        sent,
        120,
        stop=at(20, stop()),
        launch__hold=lambda cycle: int(0 < cycle < 50),
        enable=lambda cycle: 1 if cycle < 50 else 3,
    )
    assert recording.cycles("lost") == list(range(42, 120))
    assert recording.cycles("offer__0__valid") == [6]
    assert recording.cycles("offer__1__valid")[0] == 56


@pytest.mark.rule("block_dispatcher", 32, 37)
def test_every_launch_with_a_block_on_the_lost_sm_is_killed_and_fails(block):
    # The second launch's blocks: one on SM 1, then one on SM 0, when the fit is known. It is killed
    # from L + 4 on, and ends when SM 1 has reported.
    sent = [launch(1), launch(2, stream=1, gx=2, barriers=3)]
    recording = drive(block, sent, 80, stop=at(20, stop()), **reporting(1, (60, 0, KILLED)))
    assert [offer["place"] for offer in offers(recording, 0)] == [0, 1]
    assert recording.port("lost")[41:43] == [0, 1]
    assert levels_of(recording, "kill") == {0: (22, 46), 1: (45, 65)}
    assert fates(recording) == [(47, 1, *LOST, 0), (66, 2, *LOST, 60 - 9)]


@pytest.mark.rule("block_dispatcher", 32)
def test_a_launch_without_a_block_on_the_lost_sm_goes_on(block):
    # The second launch's first block goes to SM 1 before the fit is known.
    sent = [launch(1), launch(2, stream=1)]
    recording = drive(block, sent, 80, stop=at(20, stop()), **reporting(1, (60, 0)))
    assert [offer["place"] for offer in offers(recording, 1)] == [1]
    fine = (66, 2, Fate.FINISHED, ErrorCode.OK, 60 - 9)
    assert fates(recording) == [(47, 1, *LOST, 0), fine]


@pytest.mark.rule("block_dispatcher", 31, 32)
def test_an_sm_lost_for_one_launch_may_have_reported_all_of_it_in_the_end(block):
    # Reported in 39: too late for the SM, in time for the block. The other launch's block is not.
    sent = [launch(1), launch(2, stream=1)]
    levels = {"enable": 1, "stop": at(30, stop(0))}
    recording = drive(block, sent, 80, **levels, **reporting(0, (49, 0, KILLED)))
    # The fit is known from 22 on. The kill rises in 32, L is 51.
    assert [offer["place"] for offer in offers(recording)] == [0, 1]
    assert recording.cycles("lost")[0] == 52
    assert fates(recording) == [(55, 1, *ASKED, 49 - 6), (57, 2, *LOST, 0)]


def lost_in_the_cycle_of_a_decision(block, cycles=80, **changes):
    """Run a launch whose first block is decided for SM 0 in L = 41, in which SM 0 is lost."""
    sent = [launch(1), launch(2, stream=1, **changes)]
    return drive(
        block,
        sent,
        cycles,
        stop=at(20, stop()),
        # Transferred in 20, the second launch's fit is known from 20 + 9 + 8 + 4 = 41 on.
        launch__hold=lambda cycle: int(0 < cycle < 20),
        enable=lambda cycle: 1 if cycle < 30 or cycle == 40 else 2 if cycle > 40 else 0,
        **reporting(1, (60, 0, KILLED)),
    )


@pytest.mark.rule("block_dispatcher", 31, 32, 33, 35)
def test_a_block_decided_in_the_cycle_of_the_loss_is_offered_and_lost_too(block):
    recording = lost_in_the_cycle_of_a_decision(block)
    assert begun(recording) == [6, 43]
    # Exhausted, and out up to 43; both are loaded one after the other.
    assert fates(recording) == [(47, 1, *LOST, 0), (48, 2, *LOST, 0)]


@pytest.mark.rule("block_dispatcher", 32)
def test_the_launch_of_that_block_goes_on_until_it_is_killed(block):
    recording = lost_in_the_cycle_of_a_decision(block, gx=9)
    assert begun(recording) == [6, 43]
    # Decided for SM 1 in 42 and in 45, the first cycle of the stop.
    assert recording.cycles("offer__1__valid") == [44, 47]
    assert levels_of(recording, "kill")[1][0] == 45


@pytest.mark.rule("block_dispatcher", 34, 37)
def test_a_launch_with_blocks_left_when_every_sm_is_lost_fails_for_that(block):
    sent = [launch(1, gx=2, barriers=4), launch(2, stream=1, barriers=4)]
    recording = drive(block, sent, stop=at(20, stop()))
    assert recording.port("lost")[41:43] == [0, 0b11]
    # The second launch's block is the head. It is drained from 43 on, forgotten at the end of 45.
    none = (Fate.FAILED, ErrorCode.NO_SM)
    assert fates(recording) == [(47, 1, *LOST, 0), (49, 2, *none, 0)]


@pytest.mark.rule("block_dispatcher", 34, 37)
def test_with_no_sm_left_a_new_launch_fails_for_that(block):
    sent = [launch(1, gx=2, barriers=4), launch(2)]
    hold = {"launch__hold": lambda cycle: int(0 < cycle < 50)}
    recording = drive(block, sent, stop=at(20, stop()), **hold)
    # Occupied from 51 on, drained from 52 on, gone in 52.
    assert fates(recording)[1:] == [(55, 2, Fate.FAILED, ErrorCode.NO_SM, 0)]


@pytest.mark.rule("block_dispatcher", 34, 37)
@pytest.mark.parametrize(
    ("status", "code"), [(FAULT, ErrorCode.BLOCK_FAULT), (OK, ErrorCode.NO_SM)]
)
def test_a_fault_is_told_before_that_no_sm_is_left(block, status, code):
    # Both launches have a block on each SM; both SMs are lost from 42 on with the first launch's.
    # The second one's are reported by then, and it has blocks left: it is drained from 43 on.
    sent = [launch(1, gx=2, barriers=2), launch(2, gx=9, stream=1, barriers=2)]
    recording = drive(
        block,
        sent,
        stop=at(20, stop()),
        enable=lambda cycle: 3 if cycle < 17 else 0,
        **reporting(0, (30, 1)),
        **reporting(1, (40, 1, status)),
    )
    assert recording.port("lost")[41:43] == [0, 3]
    assert [offer["place"] for n in (0, 1) for offer in offers(recording, n)] == [0, 1, 0, 1]
    assert fates(recording)[1] == (49, 2, Fate.FAILED, code, 40 - 18)


@pytest.mark.rule("block_dispatcher", 27)
def test_in_order_a_lost_sm_s_blocks_hold_nobody_back(block):
    # Decided in turn: SM 0's first block is the oldest. The second launch's one on SM 1 was
    # reported in 30 and retires when SM 0 is lost.
    sent = [launch(1, IN_ORDER), launch(2, IN_ORDER, stream=1)]
    recording = drive(block, sent, 80, IN_ORDER, stop=at(20, stop()), **reporting(1, (30, 0)))
    assert [offer["place"] for offer in offers(recording, 1)] == [1]
    # Lost from 42 on: SM 0's block retires in 42, SM 1's in 43, gone in 46.
    fine = (49, 2, Fate.FINISHED, ErrorCode.OK, 30 - 9)
    assert fates(recording) == [(47, 1, *LOST, 0), fine]
