"""``warploom preempt --rtl`` demands what was sent; the model's events stand in for the RTL's."""

import dataclasses
import functools
import re

import numpy as np
import pytest
from click.testing import CliRunner

from tb.preemption.rtl_runs import TINY, model_events, setting, small_workload, workload
from tb.support import trace_files
from warploom_sim.cli import main
from warploom_sim.cosim import simulators
from warploom_sim.methods.preempt import measurement, rtl_measurement
from warploom_sim.methods.preempt.rtl_run import RtlRun
from warploom_sim.methods.preempt.stream_law import StreamLaw
from warploom_sim.replay.event_comparison import Comparison
from warploom_sim.traces import trace_reader
from warploom_spec import STALL_CAUSES

COUNT, SEED = 6, 1
SENT = small_workload("drain")


@pytest.fixture
def problems(monkeypatch):
    """Return what gives the problems of a run whose events are changed, on both sides alike."""
    monkeypatch.setattr(rtl_measurement.preempt_bench_build, "build", lambda config: None)

    def measured(change=lambda events: events, count=COUNT, sent=SENT, **more):
        sets = setting(count, SEED, **more)
        events = change(dict(model_events(sent, sets)))
        compared = {kind: len(next(iter(table.values()))) for kind, table in events.items()}
        compared |= {f"stall_{cause}": 1 for cause in STALL_CAUSES}
        run = RtlRun(Comparison(compared, 0, None), events, "")
        monkeypatch.setattr(rtl_measurement, "run_all", lambda *_: [("drain", run)])
        wanted = dataclasses.replace(sets, count=COUNT) if count != 1 else sets
        return rtl_measurement.measure_rtl({"drain": sent}, wanted)[2]

    return measured


def without(events, kind, gone):
    """Return events without some of a kind."""
    return events | {kind: {name: column[~gone] for name, column in events[kind].items()}}


def last_of(table, name="ticket"):
    """Tell which row is the last one."""
    return np.arange(len(table[name])) == len(table[name]) - 1


def no_events(events):
    return {kind: {name: column[:0] for name, column in t.items()} for kind, t in events.items()}


def no_last(events, kind):
    return without(events, kind, last_of(events[kind], "cycle"))


def no_last_block(events):
    """Take away the last block's offer, and its report."""
    offers, reports = events["offers"], events["reports"]
    last = {name: column[-1] for name, column in offers.items()}
    same = (reports["sm"] == last["sm"]) & (reports["slot"] == last["slot"])
    gone = np.zeros(len(same), bool)
    gone[np.flatnonzero(same)[-1]] = True
    return without(no_last(events, "offers"), "reports", gone)


def twice(events, kind):
    """Give the last event of a kind the ticket of the one before."""
    table = {name: column.copy() for name, column in events[kind].items()}
    table["ticket"][-1] = table["ticket"][-2]
    return events | {kind: table}


def failed(events):
    fate = events["ended"]["fate"].copy()
    fate[0] = 2
    return events | {"ended": events["ended"] | {"fate": fate}}


def all_urgent(events):
    return events | {"sent": events["sent"] | {"urgent": np.ones_like(events["sent"]["urgent"])}}


def test_a_run_that_shows_what_was_sent_has_no_problem(problems):
    assert problems() == []
    assert problems(config=dataclasses.replace(TINY, reclaim="in_order")) == []


SHORT = {
    "nothing": (no_events, "drain: sent: 0 urgent launches, not 6"),
    "no low launch": (all_urgent, "drain: sent: no low launch"),
    "a block": (no_last_block, r"drain: ticket \d+: \d+ blocks offered; its launch alone demands"),
    "a launch that failed": (failed, r"drain: ended: ticket \d+ has fate 2, code 0"),
    **{
        f"one of {kind}": (functools.partial(no_last, kind=kind), rf"drain: {kind}: \d+ compared")
        for kind in ("answers", "timeline")
    },
    **{
        f"a {kind} ticket": (
            functools.partial(twice, kind=kind),
            rf"drain: {kind}: ticket \d+ comes \d times, not \d",
        )
        for kind in ("ended", "pops")
    },
}


@pytest.mark.parametrize("name", SHORT)
def test_what_is_missing_on_both_sides_is_told(problems, name):
    change, said = SHORT[name]
    found = problems(change)
    assert any(re.match(said, each) for each in found), found


def test_too_few_urgent_launches_are_told(problems):
    assert "drain: sent: 5 urgent launches, not 6" in problems(count=COUNT - 1)


def test_a_law_that_met_no_launch_is_told(problems):
    """The one urgent launch makes its indices anew, so the law says nothing of it."""
    sent = workload("drain", ((5, 2, 60),), urgent=((1, 4, 10),))
    said = "law: 0 urgent launches were checked; outside the law: 1 index_miss"
    assert problems(count=1, sent=sent) == [said]


@pytest.mark.parametrize("traces", [1, 2])
def test_kernels_that_the_reader_drops_are_told(traces, tmp_path, monkeypatch):
    events = []
    for n in range(4):
        kernel = trace_files.kernel(n, ts=1000.0 + n, grid=[3, 1, 1], stream=(7, 20)[n % 2])
        kernel["args"]["block"] = [8, 1, 1]
        events += [trace_files.call(n, float(n)), kernel]
    path = trace_files.write(tmp_path, trace_files.document() | {"traceEvents": events})
    law = dict.fromkeys(StreamLaw.TERMS, 0) | dict.fromkeys(("reached", "slack", "outside"), {})
    law |= {"checked": 1, "violations": 0}
    figures = {"simulator": "", "compared_events": 1, "mismatches": 0, "law": law}
    monkeypatch.setattr(simulators, "require", lambda name: None)
    monkeypatch.setattr(measurement, "measure_rtl", lambda *_: (figures, {}, []))
    words = [*[path] * traces, *(["--urgent", 20] if traces == 1 else []), "--config", "tiny"]
    words = ["preempt", *map(str, words), "--rtl"]
    assert CliRunner().invoke(main, words).exit_code == 0
    load = trace_reader.load

    def drops(path, **options):
        trace = load(path, **options)
        return dataclasses.replace(trace, launches=trace.launches[:3])

    monkeypatch.setattr(trace_reader, "load", drops)
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 1
    said = "holds 4 kernel events of 12 blocks, but 3 kernel events of 9 blocks were read"
    assert done.stderr.count(said) == traces
