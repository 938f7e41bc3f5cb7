"""A measured workload through the event model with streams as queues, in all modes."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from warploom_golden.preemption.streams.stream_law import StreamLaw
from warploom_sim.methods.preempt.measure import Setting, run, summary
from warploom_sim.methods.preempt.workload import make_workload, select
from warploom_sim.traces import trace_reader
from warploom_spec import Fate, preset
from warploom_spec.queue import Mode

TRACE = Path(__file__).parents[2] / "traces" / "two_streams_priority.json.gz"
CONFIG = preset("default")
SETTING = Setting(config=CONFIG, count=60, distance=4000, seed=1, report_time=5)
FATES = {Mode.RESET: Fate.KILLED, Mode.DRAIN: Fate.DRAINED}


@pytest.fixture(scope="module")
def workload():
    trace = trace_reader.load(TRACE, strict=False)
    sides = [select(trace, 31, urgent) for urgent in (False, True)]
    return make_workload(*sides, CONFIG, Fraction(1, 32))


@pytest.fixture(scope="module")
def runs(workload):
    def in_mode(mode):
        low = tuple(replace(each, mode=int(mode)) for each in workload.low)
        return run(replace(workload, low=low), SETTING)

    return {mode: in_mode(mode) for mode in (Mode.RESET, Mode.DRAIN, Mode.WAIT, Mode.YIELD)}


def median(done):
    return summary(done.latencies)["median"]


def test_every_urgent_launch_starts_and_none_before_the_law(runs):
    for done in runs.values():
        assert len(done.latencies) == SETTING.count
        assert min(done.latencies) >= StreamLaw(CONFIG).idle_launch


def test_kills_are_quicker_than_drains_and_these_than_waiting(runs):
    assert median(runs[Mode.RESET]) <= median(runs[Mode.DRAIN]) <= median(runs[Mode.WAIT])
    assert median(runs[Mode.YIELD]) <= median(runs[Mode.WAIT])


def test_each_mode_puts_back_in_its_own_way(runs):
    for mode, done in runs.items():
        fates = {each.fate for each in done.put_back}
        if mode in FATES:
            assert FATES[mode] in fates
        else:
            assert fates == {Fate.SKIPPED}


def test_who_yields_finishes_as_many_low_launches_as_who_drains(runs):
    until = min(runs[mode].cycles for mode in (Mode.DRAIN, Mode.YIELD))
    finished = {mode: sum(end <= until for end in runs[mode].low_ends) for mode in runs}
    assert finished[Mode.YIELD] >= finished[Mode.DRAIN] > finished[Mode.RESET]


def test_only_who_yields_goes_on_after_it_has_yielded(runs):
    assert [mode for mode, done in runs.items() if done.went_on] == [Mode.YIELD]
    assert len(runs[Mode.YIELD].went_on) <= SETTING.count
