"""Recorded times that cannot be: each is said in one line, refused with ``--strict``, counted."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tb.support.trace_files import call, document, kernel, write
from warploom_sim import cli
from warploom_sim.replay import recount
from warploom_sim.traces import trace_reader
from warploom_sim.traces.time_faults import FAULTS

RECORDED = Path(__file__).parent / "recorded"
ONE_BY_ONE = "the replay runs the kernels of a stream one after the other"


def trace_of(*events: dict[str, Any]) -> dict[str, Any]:
    return document() | {"traceEvents": list(events)}


def program(count: int, every: float = 20.0, takes: float = 10.0) -> list[dict[str, Any]]:
    """Return calls of 2 us that launch a kernel of one stream each, 5 us later."""
    events = []
    for n in range(count):
        began = 1e6 + n * every
        events += [call(n, began) | {"dur": 2.0}, kernel(n, began + 5) | {"dur": takes}]
    return events


def faults(path: Path) -> dict[str, int]:
    return trace_reader.load(path, strict=False).times.counts()


def lines(path: Path) -> list[str]:
    """Return what is said of a trace's times, without its name."""
    return [
        said.removeprefix(f"{path}: ")
        for said in trace_reader.load(path, strict=False).reading_notes()
    ]


# --- recordings with a fault each ----------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "counts", "said"),
    [
        (
            "zero_ts",
            {"without_time": 5},
            "5 of 10 kernels left out: no time is recorded for them ('ts' is 0, or 'ts' or 'dur' is"
            ' missing); the first is event 11 ("k")',
        ),
        (
            "zero_ts_calls",
            {"without_time": 5},
            "5 of 10 kernels left out: no time is recorded for them ('ts' is 0, or 'ts' or 'dur' is"
            ' missing); the first is event 11 ("k")',
        ),
        (
            "overrun",
            {"overlaps": 5},
            "5 of 10 kernels began before an earlier one of their stream had ended, by up to"
            ' 19,980.0 us (event 9, 20,000.0 us long); the first is event 11 ("k");'
            f" {ONE_BY_ONE}",
        ),
        (
            "pdl",
            {"overlaps": 9},
            "9 of 10 kernels began before an earlier one of their stream had ended, by up to 4.0 us"
            f' (event 1, 14.0 us long); the first is event 3 ("k"); {ONE_BY_ONE}',
        ),
    ],
)
def test_a_recording_is_named_in_one_line_counted_and_refused_with_strict(
    tmp_path: Path, name: str, counts: dict[str, int], said: str
) -> None:
    path, out = RECORDED / f"{name}.json", tmp_path / "out.json"
    found = CliRunner().invoke(cli.main, ["trace", "info", str(path), "--json", str(out)])
    assert (found.exit_code, found.stderr) == (0, f"{path}: {said}\n")
    figures = json.loads(out.read_text())
    assert {fault: figures[fault] for fault in FAULTS} == dict.fromkeys(FAULTS, 0) | counts
    strict = CliRunner().invoke(cli.main, ["trace", "info", str(path), "--strict"])
    assert strict.exit_code == 2 and strict.stdout == ""
    assert strict.stderr == f"Error: {path}: {said}; legal with --strict: none\n"


@pytest.mark.parametrize("name", ["zero_ts", "zero_ts_calls"])
def test_kernels_without_a_time_are_not_among_the_launches(name: str) -> None:
    path = RECORDED / f"{name}.json"
    trace = trace_reader.load(path)
    assert len(trace.launches) == len(recount.read(path)) == 5
    assert trace.summary()["span_us"] == 90.0


@pytest.mark.parametrize(
    "command",
    [
        ["defer"],
        ["merge", "--config", "tiny"],
        ["preempt", "LOW", "--arrivals", "1"],
        ["compare", "--seeds", "1"],
    ],
    ids=lambda command: command[0],
)
def test_every_command_that_replays_says_the_same_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path, out = write(tmp_path, trace_of(*program(3, takes=30.0))), tmp_path / "out.json"
    (said,) = trace_reader.load(path).reading_notes()
    given = [str(path) if word == "LOW" else word for word in command]
    done = CliRunner().invoke(cli.main, [*given, str(path), "--json", str(out)])
    assert done.exit_code == 0, done.stderr
    assert set(done.stderr.splitlines()) >= {said}
    found = json.loads(out.read_text())
    figures = found[0] if isinstance(found, list) else found
    assert figures["overlaps"] == (4 if command[0] == "preempt" else 2)


# --- each fault, and what is none ----------------------------------------------------------------
def test_a_sound_trace_has_no_fault(tmp_path: Path) -> None:
    assert lines(write(tmp_path, trace_of(*program(12)))) == []


@pytest.mark.parametrize("field", ["ts", "dur"])
@pytest.mark.parametrize("missing", [True, False])
def test_a_kernel_without_a_time_is_left_out(tmp_path: Path, field: str, missing: bool) -> None:
    events = program(3)
    if missing:
        del events[3][field]
    else:
        events[3][field] = None
    path = write(tmp_path, trace_of(*events))
    assert faults(path) == {"without_time": 1}
    assert len(trace_reader.load(path).launches) == len(recount.read(path)) == 2


def test_no_kernel_with_a_time_is_refused(tmp_path: Path) -> None:
    events = program(2)
    del events[1]["dur"], events[3]["ts"]
    found = CliRunner().invoke(cli.main, ["trace", "info", str(write(tmp_path, trace_of(*events)))])
    assert found.exit_code == 2
    assert "no kernel can be launched: 2 of 2 kernels left out: no time is rec" in found.stderr


def test_a_trace_may_begin_at_0(tmp_path: Path) -> None:
    events = [call(1, 0.0), kernel(1, 0.0), call(2, 4.0), kernel(2, 8.0)]
    path = write(tmp_path, trace_of(*events))
    assert lines(path) == []
    assert len(trace_reader.load(path).launches) == len(recount.read(path)) == 2


def test_kernels_whose_launch_calls_have_no_time_are_left_out(tmp_path: Path) -> None:
    events = program(4)
    events[2]["ts"] = 0
    del events[4]["ts"]
    path = write(tmp_path, trace_of(*events))
    assert lines(path) == [
        "2 of 4 kernels left out: no time is recorded for their launch call ('ts' is 0 or missing);"
        ' the first is event 3 ("kernel1")'
    ]
    assert len(trace_reader.load(path).launches) == len(recount.read(path)) == 2


def test_a_negative_duration_leaves_its_kernel_out(tmp_path: Path) -> None:
    events = program(3)
    events[3]["dur"] = -7
    path = write(tmp_path, trace_of(*events))
    assert lines(path) == [
        "1 of 3 kernels left out: their 'dur' is negative; the first is event 3 (\"kernel1\")"
    ]
    assert len(trace_reader.load(path).launches) == len(recount.read(path)) == 2


def test_a_duration_of_0_is_replayed(tmp_path: Path) -> None:
    events = program(3)
    events[3]["dur"] = 0
    path = write(tmp_path, trace_of(*events))
    assert lines(path) == [
        "1 of 3 kernels have a 'dur' of 0; the first is event 3 (\"kernel1\"); the replay gives"
        " their blocks the shortest length"
    ]
    assert len(trace_reader.load(path).launches) == len(recount.read(path)) == 3


@pytest.mark.parametrize(("early", "count"), [(0.9, 0), (1.5, 1), (3.0, 1)])
def test_a_kernel_before_its_own_call(tmp_path: Path, early: float, count: int) -> None:
    events = program(3)
    events[3]["ts"] = events[2]["ts"] - early
    path = write(tmp_path, trace_of(*events))
    assert faults(path) == ({"before_call": 1} if count else {})
    if count:
        assert lines(path) == [
            f"1 of 3 kernels began before their own launch call, by up to {early} us; the first is"
            ' event 3 ("kernel1"); the replay launches them in the order of the calls, with the'
            " recorded lengths"
        ]


@pytest.mark.parametrize("with_calls", [False, True])
def test_a_kernel_that_the_file_has_twice_is_launched_once(
    tmp_path: Path, with_calls: bool
) -> None:
    events = program(3)
    path = write(tmp_path, trace_of(*events, *(events if with_calls else events[1::2])))
    first = 7 if with_calls else 6
    assert lines(path) == [
        "3 of 6 kernels left out: the file has them twice, with the same stream, times, name, shape"
        f' and call; the first is event {first} ("kernel0")'
    ]
    assert len(trace_reader.load(path).launches) == len(recount.read(path)) == 3


@pytest.mark.parametrize("change", ["stream", "correlation", "grid", "ts", "name"])
def test_a_kernel_that_differs_is_another_one(tmp_path: Path, change: str) -> None:
    events = program(3)
    other = json.loads(json.dumps(events[1]))
    values = {"stream": 8, "correlation": 1, "grid": [5, 2, 1], "ts": 5e5, "name": "other"}
    (other if change in other else other["args"])[change] = values[change]
    path = write(tmp_path, trace_of(*events, other))
    assert "twice" not in faults(path)
    assert len(trace_reader.load(path).launches) == len(recount.read(path)) == 4


# --- overlaps ------------------------------------------------------------------------------------
def branch(ts: float, dur: float, stream: int = 7, device: int = 0) -> dict[str, Any]:
    return kernel(1, ts, stream=stream, device=device) | {"dur": dur}


@pytest.mark.parametrize(
    ("kernels", "count"),
    [
        ([branch(100, 50), branch(150, 10)], 0),
        ([branch(100, 50), branch(149.999, 10)], 1),
        # Branches of a graph: the first runs across the others, which do not meet.
        ([branch(100, 90), branch(110, 10), branch(130, 10), branch(195, 10)], 2),
        ([branch(100, 50), branch(100, 40, stream=8), branch(120, 5, stream=8)], 1),
        ([branch(100, 50), branch(120, 5), branch(120, 5)], 2),
        # Not in the order of the file.
        ([branch(120, 5), branch(100, 50)], 1),
    ],
)
def test_kernels_that_overlap_in_a_stream(
    tmp_path: Path, kernels: list[dict[str, Any]], count: int
) -> None:
    for n, one in enumerate(kernels):
        one["name"] = f"node{n}"
    path = write(tmp_path, trace_of(call(1, 10.0) | {"dur": 60}, call(2, 80.0), *kernels))
    assert faults(path) == ({"overlaps": count} if count else {})


def test_two_gpus_have_their_own_streams(tmp_path: Path) -> None:
    content = trace_of(call(1, 10.0) | {"dur": 60}, call(2, 80), branch(100, 50), branch(110, 9))
    content["deviceProperties"].append(content["deviceProperties"][0] | {"id": 1})
    content["traceEvents"][3]["args"]["device"] = 1
    path = write(tmp_path, content)
    assert faults(path) == {}


@pytest.mark.parametrize("ts", [4346913351131.57, 1_700_000_000_000_000.25])
def test_a_time_that_a_double_rounds_is_no_overlap(tmp_path: Path, ts: float) -> None:
    dur = 3.337
    follows = branch(ts + dur, 1.0)
    follows["ts"] -= 0.125 if ts > 1e15 else 0.0
    path = write(tmp_path, trace_of(call(1, ts - 50), branch(ts, dur), follows))
    assert faults(path) == {}


def test_overlaps_are_those_that_a_count_of_all_pairs_finds(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    kernels = [
        kernel(1, float(rng.randrange(100, 900)), stream=rng.randrange(3)) | {"dur": dur}
        for dur in rng.choices((1.0, 5.0, 30.0, 200.0), k=60)
    ]
    for n, one in enumerate(kernels):
        one["name"] = f"node{n}"
    path = write(tmp_path, trace_of(call(1, 10.0) | {"dur": 500}, call(2, 600), *kernels))

    def meets(late: int, soon: int) -> bool:
        a, b = kernels[late], kernels[soon]
        same = a["args"]["stream"] == b["args"]["stream"]
        return same and (b["ts"], soon) < (a["ts"], late) and a["ts"] < b["ts"] + b["dur"]

    count = sum(any(meets(late, soon) for soon in range(60)) for late in range(60))
    assert faults(path) == {"overlaps": count} and count > 5


# --- nanoseconds ---------------------------------------------------------------------------------
def too_long(times: float) -> Callable[[list[dict[str, Any]]], None]:
    def spoil(events: list[dict[str, Any]]) -> None:
        events[-1]["dur"] = times * (events[-2]["ts"] + 2.0 - events[0]["ts"])

    return spoil


def all_in_nanoseconds(events: list[dict[str, Any]]) -> None:
    for event in events:
        event["ts"], event["dur"] = event["ts"] * 1000, event["dur"] * 1000


def kernels_in_nanoseconds(events: list[dict[str, Any]]) -> None:
    all_in_nanoseconds(events[1::2])


@pytest.mark.parametrize(
    ("spoil", "count", "why"),
    [
        (too_long(199), 0, ""),
        (too_long(500), 1, "200 times as long as all calls together (222.0 us), or longer"),
        (all_in_nanoseconds, 12, "the quickest launch call took 2,000 us, of 12"),
        (kernels_in_nanoseconds, 12, "they begin 500 times as late as their calls, or later"),
    ],
    ids=["long", "too long", "all", "kernels"],
)
def test_times_in_nanoseconds(
    tmp_path: Path, spoil: Callable[[list[dict[str, Any]]], None], count: int, why: str
) -> None:
    events = program(12)
    spoil(events)
    path = write(tmp_path, trace_of(*events))
    first = 23 if count == 1 else 1
    assert lines(path) == [
        f"{count} of 12 kernels seem to have their times in nanoseconds: {why}; the first is event"
        f' {first} ("kernel{first // 2}"); the replay takes them as microseconds'
    ] * bool(count)


@pytest.mark.parametrize("unit", [1e3, 1e6])
def test_times_in_milliseconds_or_seconds(tmp_path: Path, unit: float) -> None:
    events = program(12)
    for event in events:
        event["ts"], event["dur"] = event["ts"] / unit, event["dur"] / unit
    path = write(tmp_path, trace_of(*events))
    assert lines(path) == [
        "12 of 12 kernels seem to have their times in milliseconds or seconds: the longest took"
        f' {10 / unit:.2g} us; the first is event 1 ("kernel0"); the replay takes them as'
        " microseconds"
    ]


@pytest.mark.parametrize(("took", "count"), [(0.49, 12), (0.5, 0)])
def test_launch_calls_that_are_too_quick(tmp_path: Path, took: float, count: int) -> None:
    events = program(12)
    for event in events[::2]:
        event["dur"] = took
    path = write(tmp_path, trace_of(*events))
    assert faults(path) == ({"milliseconds": count} if count else {})
    assert all(f": the slowest launch call took {took} us, of 12;" in said for said in lines(path))


@pytest.mark.parametrize(("longest", "count"), [(0.19, 12), (0.2, 0)])
def test_kernels_that_are_too_short(tmp_path: Path, longest: float, count: int) -> None:
    events = program(12, takes=0.1)
    events[7]["dur"] = longest
    path = write(tmp_path, trace_of(*events))
    assert faults(path) == ({"milliseconds": count} if count else {})


# --- calls of one id -----------------------------------------------------------------------------
@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize(
    ("begins", "count"),
    # The first takes from 1,000,000 to 1,000,002 us. The driver's call is within it.
    [(1_000_001.0, 0), (1_000_000.0, 0), (1_000_002.5, 1), (1_000_300.0, 1)],
)
def test_a_later_call_of_the_same_id_is_said(
    tmp_path: Path, begins: float, count: int, shuffled: bool
) -> None:
    events = program(3)
    again = call(0, begins) | {"cat": "cuda_driver", "name": "cuLaunchKernel", "dur": 1.0}
    path = write(tmp_path, trace_of(*([again, *events] if shuffled else [*events, again])))
    first = 2 if shuffled else 1
    assert lines(path) == [
        "1 of 3 kernels have a launch call whose 'correlation' a later call has, too; the first is"
        f' event {first} ("kernel0"); the replay takes the first such call as theirs'
    ] * bool(count)
    assert trace_reader.load(path).calls[0] == 1e6


def test_files_of_two_processes_in_one_are_said(tmp_path: Path) -> None:
    """Their ids are the same: which call launched which kernel is not known."""
    other = program(3)
    for event in other:
        event["ts"] += 500.0
    assert faults(write(tmp_path, trace_of(*program(3), *other))) == {"repeated_call": 6}
