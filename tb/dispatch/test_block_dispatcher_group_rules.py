"""More SMs than one vector of room holds: the rules of groups on BlockDispatcher's page."""

import re
from collections import Counter

import pytest

from tb.support.block_dispatcher_rules import (
    MODEL_FIRST,
    WHOLE,
    blocks,
    drive,
    ends,
    errors,
    given,
    start,
)
from tb.support.dispatch_configs import config_of
from warploom.dispatch import BlockDispatcher
from warploom_golden.dispatch import BlockDispatcher as Model
from warploom_spec import ErrorCode, Fate, WarploomError, timing


def machine(policy, fields="sms=18,kill_timeout=16"):
    """Return a machine with a policy; of two groups."""
    return config_of(f"tiny,policy={policy},stream_bits=2,{fields}")


ROUND = machine("round_robin")
FREED = machine("freed_first")
NOT_RUNNING = ErrorCode.REPORT_NOT_RUNNING


@MODEL_FIRST
@pytest.mark.rule("block_dispatcher", 35)
@pytest.mark.parametrize(("config", "first"), [(ROUND, 13), (FREED, 12)], ids=["round", "freed"])
def test_blocks_go_over_a_group_as_the_scan_finds_it(block, config, first):
    assert timing(config).resident_first_offer == first
    # Before the change SMs 0, 1 and 2 were looked at in 2, 3 and 4, and SM 0 in idle cycles; after
    # it SM 3 in 8. Verdicts land seven cycles later.
    recording = drive(block, {0: start(0, config, gx=4, entry=5)}, config=config)
    assert given(recording) == [(first, 0), (first + 4, 1), (first + 5, 2), (first + 9, 3)]
    assert recording.port("fetch")[first - 2] == 5


@MODEL_FIRST
@pytest.mark.rule("block_dispatcher", 35)
def test_an_sm_is_picked_again_ten_cycles_later(block):
    recording = drive(block, {0: start(0, ROUND, gx=5)}, config=ROUND, enable=1)
    assert timing(ROUND).resident_again == 10
    assert given(recording) == [(13, 0), (23, 0), (33, 0), (43, 0)]


@MODEL_FIRST
@pytest.mark.rule("block_dispatcher", 35)
def test_each_sm_gets_its_share(block):
    # Three groups of 12. With groups of 16, 16 and 4 the last four SMs would be full, with 8 each.
    config = machine("round_robin", "sms=36,block_slots=8")
    recording = drive(block, {0: start(0, config, gx=36, gy=4)}, 200, config)
    shares = Counter(sm for _, sm in given(recording))
    assert shares.total() == 36 * 4
    assert {shares[sm] for sm in range(36)} <= {3, 4, 5}


# With no block out the queue of `freed_first` is empty: the table goes over the 17 others.
@MODEL_FIRST
@pytest.mark.rule("block_dispatcher", 35)
@pytest.mark.parametrize(("config", "others"), [(ROUND, 0), (FREED, 17)], ids=["round", "freed"])
def test_a_report_gives_room_and_an_end(block, config, others):
    launches = {0: start(0, config, **WHOLE), 1: start(1, config, **WHOLE)}
    recording = drive(block, launches, 80, config, reports=[(40, 0, 0)], enable=1)
    first, returns = timing(config).resident_first_offer, timing(config).resident_returns
    assert given(recording) == [(first, 0), (40 + returns + others + 5, 0)]
    assert ends(recording, config) == [(47, 0, Fate.FINISHED, 0)]


@MODEL_FIRST
@pytest.mark.rule("block_dispatcher", 35)
def test_a_group_gives_a_report_every_third_cycle(block):
    reports = [(5, 0, 0), (5, 1, 0), (5, 2, 0)]
    recording = drive(block, {}, 30, ROUND, reports=reports)
    assert errors(recording) == [(11, NOT_RUNNING, 0), (12, NOT_RUNNING, 1), (14, NOT_RUNNING, 2)]


@MODEL_FIRST
@pytest.mark.rule("block_dispatcher", 35)
def test_a_group_takes_reports_from_its_pointer_on(block):
    # After SM 2's report the group looks from SM 4 on: SM 6 comes before SM 0. Behind SM 6 it finds
    # none in 12, and begins at SM 0 in 13.
    reports = [(5, 2, 0), (6, 0, 0), (6, 6, 0)]
    recording = drive(block, {}, 30, ROUND, reports=reports)
    assert errors(recording) == [(11, NOT_RUNNING, 2), (14, NOT_RUNNING, 6), (18, NOT_RUNNING, 0)]


@MODEL_FIRST
@pytest.mark.rule("block_dispatcher", 35)
def test_an_sm_that_is_switched_off_is_no_candidate(block):
    # Off in 6, SM 0 is not used in 7. A verdict that lands in 8 gives it room again in 9.
    off = {"enable": lambda now: 0x3FFFE if now == 6 else 0x3FFFF}
    recording = drive(block, {0: start(0, ROUND)}, config=ROUND, **off)
    assert given(recording) == [(13 + 2, 0)]


@MODEL_FIRST
@pytest.mark.rule("block_dispatcher", 35)
def test_a_verdict_for_the_launch_of_before_gives_no_room_after_a_change(block):
    # SM 0 has room for a low block all the time, and none for the urgent one.
    low = start(0, ROUND, gx=4, barriers=1)
    for begins in range(18, 22):
        launches = {0: low, begins: start(1, ROUND, priority=1, **WHOLE)}
        recording = drive(block, launches, begins + 30, ROUND, enable=1)
        assert {said["stream"] for said in blocks(recording, ROUND)} == {0}, begins


@pytest.mark.rule("block_dispatcher", 35)
@pytest.mark.parametrize(
    ("policy", "reclaim"), [("least_loaded", "out_of_order"), ("freed_first", "in_order")]
)
def test_what_groups_do_not_have_is_refused_in_hardware_alone(policy, reclaim):
    config = config_of(f"tiny,sms=32,policy={policy},reclaim={reclaim}")
    message = (
        f"policy is {policy}, reclaim is {reclaim}, sms is 32; legal for BlockDispatcher above "
        "16 SMs: round_robin or freed_first with out_of_order"
    )
    with pytest.raises(WarploomError, match=f"^{re.escape(message)}$"):
        BlockDispatcher(config)
    # Stages as without groups.
    assert timing(config).resident_first_offer == 9
    recording = drive(Model, {0: start(0, config)}, 80, config)
    assert [sm for _, sm in given(recording)] == [0]
