"""``warploom preempt`` keeps the event waits of its traces, in each repetition."""

import json
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from click.testing import CliRunner

from tb.preemption.rtl_runs import model_events, setting
from tb.support.trace_files import call, document, kernel, record, wait, waiting_document, write
from warploom_sim.cli import main
from warploom_sim.methods.preempt import rtl_measurement, workload
from warploom_sim.methods.preempt.early_starts import early_starts
from warploom_sim.methods.preempt.repeated_waits import RepeatedWaits, repeated_waits
from warploom_sim.methods.preempt.workload import MODES, dropped_waits, make_workload, select
from warploom_sim.traces import trace_reader
from warploom_sim.traces.event_waits import EventWaits
from warploom_spec import LaunchDescriptor, preset

TINY = preset("tiny")
#: Streams of the small trace: the first ones are low, of the last two one is urgent.
STREAMS, URGENT = 7, 13


def preempt(*arguments):
    return CliRunner().invoke(main, ["preempt", *map(str, arguments)])


@pytest.fixture
def trace(tmp_path):
    """Seven streams that wait for each other, more than two at a time; all blocks fit `tiny`."""
    content = waiting_document(random.Random(3), 40, STREAMS)
    for n, event in enumerate(each for each in content["traceEvents"] if each["cat"] == "kernel"):
        event["args"] |= {"block": [8 * (1 + n % 3), 1, 1], "registers per thread": 16}
        event["args"] |= {"grid": [2 + 3 * (n % 5), 1, 1], "shared memory": 0}
    return write(tmp_path, content)


def sides(trace, keeps_waits=True):
    loaded = trace_reader.load(trace)
    both = (select(loaded, URGENT, wanted) for wanted in (False, True))
    made = make_workload(*both, TINY, Fraction(1, 32), keeps_waits=keeps_waits)
    return made.with_mode(MODES["reset"], Fraction(1), 1)


def three_launches(tmp_path):
    """Launch 0 of stream 7; 1 of stream 8 waits for it; 2 of stream 9 waits for both."""
    events = [call(1, 10.0), kernel(1, ts=1000.0, stream=7), record(11, 11.0)]
    events += wait(21, 12.0, 8, wait_on_cuda_event_record_corr_id=11)
    events += [call(2, 20.0), kernel(2, ts=2000.0, stream=8), record(12, 21.0)]
    events += wait(22, 22.0, 9, wait_on_cuda_event_record_corr_id=12, wait_on_stream=8)
    events += wait(23, 23.0, 9, wait_on_cuda_event_record_corr_id=11, wait_on_stream=7)
    events += [call(3, 30.0), kernel(3, ts=3000.0, stream=9)]
    return write(tmp_path, document() | {"traceEvents": events})


# --- pairs ---------------------------------------------------------------------------------------


def test_a_later_repetition_counts_the_launches_of_those_before_it():
    streams = (0, 1, 0, 2, 3)
    low = [LaunchDescriptor(grid=(1, 1, 1), block=(8, 1, 1), stream=each) for each in streams]
    found = repeated_waits(EventWaits(pairs=((4, 1), (4, 2), (4, 3), (3, 0))), low, 2)
    assert found.pairs_of(4, 0) == ((0, 2), (2, 1))
    assert found.held_of(4, 0) == ((1, 1),)
    assert found.pairs_of(4, 3) == ((0, 8), (2, 4))
    assert found.held_of(4, 3) == ((1, 4),)
    assert found.pairs_of(3, 1) == ((0, 3),)
    assert found.pairs_of(3, 1 << 20) == ((0, (1 << 21) + 1),)
    assert found.pairs_of(0, 5) == found.held_of(0, 5) == ()


def test_waits_between_the_sides_are_dropped_and_those_behind_them_stay(tmp_path):
    loaded = trace_reader.load(three_launches(tmp_path))
    assert loaded.waits.pairs == ((1, 0), (2, 1))
    # Launch 2 waits for launch 0 through the urgent launch 1, and by itself.
    assert select(loaded, 8, False).waits.pairs == ((1, 0),)
    assert dropped_waits(loaded, 8) == 2
    assert select(loaded, 7, False).waits.pairs == ((1, 0),)
    assert dropped_waits(loaded, 7) == 2
    assert select(loaded, 9, False).waits.pairs == ((1, 0),)
    assert dropped_waits(loaded, 9) == 2
    for urgent in (7, 8, 9):
        assert select(loaded, urgent, True).waits.pairs == ()


def test_urgent_launches_have_no_pairs_and_one_queue_has_none(trace):
    made = sides(trace)
    assert made.low_waits.pairs and made.low_waits.held
    assert max(len(pairs) for pairs in made.low_waits.pairs.values()) == 2
    assert made.in_one_queue().low_waits == RepeatedWaits()
    assert sides(trace, keeps_waits=False).low_waits == RepeatedWaits()


# --- runs ----------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("mode", MODES)
def test_no_low_launch_begins_too_early_in_any_repetition(trace, seed, mode):
    """By the trace's file alone; without its waits many do."""
    for keeps_waits in (True, False):
        made = sides(trace, keeps_waits).with_mode(MODES[mode], Fraction(1), 1)
        events = model_events(made, replace(setting(30, seed), distance=800.0))
        repetitions = np.count_nonzero(events["sent"]["urgent"] == 0) / len(made.low)
        assert repetitions > 2, f"seed {seed}"
        early = early_starts(trace, URGENT, events)
        assert (early == []) == keeps_waits, f"seed {seed}: {early[:3]}"
    assert {each.split(":")[0] for each in early} >= {"repetition 0", "repetition 1"}


def test_waits_are_counted_said_and_change_the_run(trace, tmp_path):
    found = {}
    for events in ("keep", "ignore"):
        file = tmp_path / f"{events}.json"
        few = ("--arrivals", 2, "--mode", "reset", "--events", events)
        done = preempt(trace, "--urgent", URGENT, *few, "--json", file)
        assert done.exit_code == 0, done.output
        found[events] = json.loads(file.read_text()), done.stderr
    (kept, said), (ignored, said_then) = found.values()
    every = trace_reader.load(trace).waits.count
    dropped = kept["event_waits_dropped"]
    assert dropped == dropped_waits(trace_reader.load(trace), URGENT) > 0
    assert kept["event_waits_kept"] == every - dropped > 0
    assert f"{every - dropped} of {every} event waits kept" in said
    assert f"{dropped} event waits dropped: they are between urgent launches and others" in said
    assert "event_waits_ignored" not in kept
    assert ignored["event_waits_ignored"] == every
    assert "event_waits_kept" not in ignored and "event_waits_dropped" not in ignored
    assert f"{every} event waits ignored" in said_then
    assert (kept["events"], ignored["events"]) == ("keep", "ignore")
    assert kept["normal"]["cycles"] != ignored["normal"]["cycles"]
    # The order of all launches keeps them.
    same = "cycles_synchronous"
    assert kept["normal"][same] == ignored["normal"][same]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "waits"), [("googlenet_branches", 72), ("overlapped_training", 25)]
)
def test_the_waits_of_the_recordings_are_kept(tmp_path, name, waits):
    file = tmp_path / "f.json"
    low, urgent = (f"traces/{each}.json.gz" for each in (name, "two_streams_priority"))
    few = ("--arrivals", 1, "--mode", "wait", "--time-scale", "1/512")
    done = preempt(low, urgent, *few, "--json", file)
    assert done.exit_code == 0, done.output
    figures = json.loads(file.read_text())
    assert figures["event_waits_kept"] == waits
    assert "event_waits_dropped" not in figures
    assert f"{low}: {waits} event waits kept" in done.stderr


@pytest.mark.thorough
def test_the_rtl_keeps_the_waits_of_low_launches(trace, tmp_path, monkeypatch):
    file = tmp_path / "f.json"
    few = ("--arrivals", 12, "--mode", "reset", "--mode", "yield")
    options = ("--urgent", URGENT, "--rtl", "--config", "tiny", *few, "--json", file)
    done = preempt(trace, *options)
    assert done.exit_code == 0, done.output
    figures = json.loads(file.read_text())
    assert (figures["mismatches"], figures["law"]["violations"]) == (0, 0)
    assert figures["law"]["checked"] > 10
    assert figures["event_waits_kept"] > 0 < figures["event_waits_dropped"]
    # Neither side waits, and nobody but the check knows of the waits.
    monkeypatch.setattr(workload, "repeated_waits", lambda *given: RepeatedWaits())
    done = preempt(trace, *options)
    assert done.exit_code == 1
    assert json.loads(file.read_text())["mismatches"] == 0
    assert "reset: repetition 0: launch " in done.stderr
    assert ", for which it waits, had its record in cycle " in done.stderr


# --- longer ones ---------------------------------------------------------------------------------


@pytest.mark.deep
def test_every_mode_keeps_waits_on_the_rtl(trace, seed):
    for time in (0, 5):
        made = {
            mode: sides(trace).with_mode(number, Fraction(1), 1) for mode, number in MODES.items()
        }
        figures, _, problems = rtl_measurement.measure_rtl(
            made, setting(100, seed, time), lambda events: early_starts(trace, URGENT, events)
        )
        assert problems == [], f"seed {seed}, report time {time}"
        assert (figures["mismatches"], figures["law"]["violations"]) == (0, 0)


@pytest.mark.deep
def test_recorded_waits_on_the_rtl(tmp_path):
    file = tmp_path / "f.json"
    low, urgent = (f"traces/{n}.json.gz" for n in ("googlenet_branches", "two_streams_priority"))
    done = preempt(low, urgent, "--rtl", "--arrivals", 30, "--json", file)
    assert done.exit_code == 0, done.output
    figures = json.loads(file.read_text())
    assert figures["event_waits_kept"] == 72
    assert (figures["mismatches"], figures["law"]["violations"]) == (0, 0)
