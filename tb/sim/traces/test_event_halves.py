"""Begin and end events of a trace are read as complete ones."""

import random
from pathlib import Path
from typing import Any

import pytest

from tb.sim.traces.test_time_faults import faults, lines, program, trace_of
from tb.support.trace_files import call, kernel, write
from warploom_sim.replay import recount
from warploom_sim.traces import trace_reader
from warploom_spec import WarploomError


def halved(events: list[dict[str, Any]], *, named: bool) -> list[dict[str, Any]]:
    """Return each event as a begin and an end, around what its thread does meanwhile."""
    result = []
    for event in events:
        thread = {"pid": 0, "tid": event["cat"]}
        begin = {name: value for name, value in event.items() if name != "dur"}
        inner = {"name": "operator", "cat": "cpu_op", "ts": event["ts"] + 0.25, "ph": "B"}
        ends = {"ph": "E", "ts": event["ts"] + event["dur"]}, {"ph": "E", "ts": event["ts"] + 0.5}
        last = {"name": event["name"]} if named else {}
        result += [begin | thread | {"ph": "B"}, inner | thread]
        result += [ends[0] | thread | last, ends[1] | thread]
    return result


@pytest.mark.parametrize("named", [False, True])
def test_begin_and_end_events_are_read_as_complete_ones(
    tmp_path: Path, seed: int, named: bool
) -> None:
    whole = trace_reader.load(write(tmp_path, trace_of(*program(9))))
    events = halved(program(9), named=named)
    random.Random(seed).shuffle(events)
    path = write(tmp_path, trace_of(*events))
    halves = trace_reader.load(path)
    figures = [
        [(one.name, one.start, one.duration, one.grid) for one in trace.launches]
        for trace in (whole, halves)
    ]
    assert figures[0] == figures[1] and halves.calls == whole.calls
    assert [one.event for one in recount.read(path)] == [one.event for one in halves.launches]
    assert lines(path) == []


def test_an_end_with_a_name_ends_the_begin_of_this_name(tmp_path: Path) -> None:
    first, second = (kernel(n, 100.0 + n, stream=n) | {"tid": 1} for n in (1, 2))
    events = [call(1, 10.0), call(2, 20.0)]
    events += [one | {"ph": "B"} for one in (first, second)]
    events += [{"ph": "E", "tid": 1, "name": "kernel1", "ts": 150.0}]
    events += [{"ph": "E", "tid": 1, "name": "kernel2", "ts": 170.0, "args": {"more": 1}}]
    path = write(tmp_path, trace_of(*events))
    assert [one.duration for one in trace_reader.load(path).launches] == [49.0, 68.0]
    assert len(recount.read(path)) == 2


def test_a_begin_without_an_end_has_no_time(tmp_path: Path) -> None:
    events = halved(program(3), named=True)
    del events[6]  # the end of kernel 0
    path = write(tmp_path, trace_of(*events))
    assert faults(path) == {"without_time": 1}
    assert len(trace_reader.load(path).launches) == len(recount.read(path)) == 2


def test_arguments_of_a_begin_that_are_no_object_are_refused(tmp_path: Path) -> None:
    events = halved(program(1), named=True)
    events[4]["args"] = [1]
    with pytest.raises(WarploomError, match=r"event 4 .*: 'args' is \[1\]; legal: an object$"):
        trace_reader.load(write(tmp_path, trace_of(*events)))


def test_arguments_of_an_end_that_are_no_object_are_passed_over(tmp_path: Path) -> None:
    events = halved(program(1), named=True)
    events[6]["args"] = [1]
    path = write(tmp_path, trace_of(*events))
    assert len(trace_reader.load(path).launches) == len(recount.read(path)) == 1
