"""Which error of a cycle is told, what `error_count` counts, and where it stops; RTL and model."""

import pytest

from tb.support.dispatch_configs import config_of
from tb.support.dispatch_rules import (
    RTL_AND_MODEL,
    TINY,
    at,
    drive,
    errors,
    in_cycles,
    launch,
    reporting,
    stop,
)
from tb.support.planted import plant_timing
from warploom.dispatch import BlockDispatcher
from warploom_golden.dispatch import BlockDispatcher as Model
from warploom_spec import ErrorCode, layouts, timing

pytestmark = RTL_AND_MODEL


@pytest.mark.rule("block_dispatcher", 45)
def test_several_errors_of_one_cycle_count_once(block):
    reports = reporting(0, (10, 0), (20, 0)) | reporting(1, (10, 0))
    recording = drive(block, [], 30, **reports)
    shown = [(cycle, ErrorCode.REPORT_NOT_RUNNING, 0) for cycle in (14, 24)]
    assert errors(recording) == shown
    assert recording.port("error_count") == [0] * 14 + [1] * 10 + [2] * 6


@pytest.mark.rule("block_dispatcher", 22, 23, 45)
def test_of_several_errors_of_a_cycle_the_lowest_code_then_the_lowest_sm_is_told(block):
    # In 44 SM 0, which is lost from 42 on, and SMs 1 and 2, which run nothing, report; in 45 SMs 1
    # and 0, and in 46 SM 0 alone.
    config = config_of("tiny,sms=3,policy=freed_first,kill_timeout=16")
    swap = layouts.order_swap(config).pack({"first": 3, "second": 3})
    recording = drive(
        block,
        [launch(config=config)],
        config=config,
        stop=at(20, stop()),
        order_table__valid=lambda cycle: int(cycle in (44, 46, 47)),
        order_table__payload=in_cycles(dict.fromkeys((44, 46, 47), swap)),
        **reporting(0, (44, 0), (45, 0), (46, 0)),
        **reporting(1, (44, 1), (45, 1)),
        **reporting(2, (44, 1)),
    )
    assert errors(recording) == [
        (48, ErrorCode.REPORT_NOT_RUNNING, 1),
        (49, ErrorCode.REPORT_NOT_RUNNING, 1),
        (50, ErrorCode.LOST_SM_SIGNAL, 0),
        (51, ErrorCode.ORDER_RANGE, 3),
    ]


@pytest.mark.rule("block_dispatcher", 45)
def test_not_running_is_told_before_not_asked(block):
    # SM 0's block is reported `KILLED`, SM 1 runs nothing.
    recording = drive(block, [launch()], **reporting(0, (20, 0, 2)), **reporting(1, (20, 3)))
    assert errors(recording) == [(24, ErrorCode.REPORT_NOT_RUNNING, 1)]


@pytest.mark.rule("block_dispatcher", 24)
def test_a_slot_that_does_not_exist_runs_no_block(block):
    config = config_of("tiny,block_slots=3")
    recording = drive(block, [launch(config=config, gx=9)], config=config, **reporting(1, (20, 3)))
    assert errors(recording) == [(24, ErrorCode.REPORT_NOT_RUNNING, 1)]


@pytest.mark.rule("block_dispatcher", 45)
def test_the_count_stays_at_its_highest_value(block, monkeypatch):
    # Of 3 bits instead of 16. Reports of nothing in 10 to 19 are shown in 14 to 23.
    assert timing(TINY).error_counter_bits == 16
    plant_timing(monkeypatch, BlockDispatcher, Model, error_counter_bits=3)
    recording = drive(block, [], 40, **reporting(0, *((cycle, 0) for cycle in range(10, 20))))
    assert [cycle for cycle, _, _ in errors(recording)] == list(range(14, 24))
    counts = recording.port("error_count")
    assert counts[13:25] == [0, 1, 2, 3, 4, 5, 6, 7, 7, 7, 7, 7]
    assert counts[-1] == 7
