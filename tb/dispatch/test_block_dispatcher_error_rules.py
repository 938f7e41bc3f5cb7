"""What `error_count` counts, and where it stops, of RTL and model alike."""

from tb.support.dispatch_rules import (
    RTL_AND_MODEL,
    TINY,
    at,
    completing,
    completion,
    drive,
    errors,
    stop,
)
from tb.support.planted import plant_timing
from warploom.dispatch import BlockDispatcher
from warploom_golden.dispatch import BlockDispatcher as Model
from warploom_spec import ErrorCode, timing

pytestmark = RTL_AND_MODEL


def test_several_errors_of_one_cycle_count_once(block):
    # What is at the SMs' ports in 10 is shown in 13, a stop from 11 as well.
    recording = drive(
        block,
        [],
        30,
        stop__valid=at(11),
        stop__payload=stop(7),
        **completing(0, (10, completion(0)), (20, completion(0))),
        **completing(1, (10, completion(0))),
    )
    shown = [(cycle, ErrorCode.COMPLETION_NOT_RUNNING, 0) for cycle in (13, 23)]
    assert errors(recording) == shown
    counts = recording.port("error_count")
    assert counts == [0] * 13 + [1] * 10 + [2] * 7


def test_the_count_stays_at_its_highest_value(block, monkeypatch):
    # Of 3 bits instead of 16. Completions of nothing in 10 to 19 are shown in 13 to 22.
    assert timing(TINY).error_counter_bits == 16
    plant_timing(monkeypatch, BlockDispatcher, Model, error_counter_bits=3)
    many = completing(0, *((cycle, completion(0)) for cycle in range(10, 20)))
    recording = drive(block, [], 40, **many)
    assert [cycle for cycle, _, _ in errors(recording)] == list(range(13, 23))
    counts = recording.port("error_count")
    assert counts[12:24] == [0, 1, 2, 3, 4, 5, 6, 7, 7, 7, 7, 7]
    assert counts[-1] == 7
