"""The law, the ledger and the figures, from the events at the ports: what holds, what is found."""

from collections import Counter

import numpy as np
import pytest

from tb.preemption.rtl_runs import TINY, model_events, setting, small_workload, workload
from tb.support.deep_values import thorough_but
from warploom_golden.replay.event_tables import columns
from warploom_sim.methods.preempt import measure
from warploom_sim.methods.preempt.rtl_measurement import judge
from warploom_sim.methods.preempt.stream_law import StreamLaw
from warploom_sim.methods.preempt.workload import MODES
from warploom_spec import preset

COUNT = 25
#: Terms that urgent launches are bound by, and the modes that show it.
BINDS = {"idle_launch": "reset", "report_to_offer": "drain", "last_block": "wait"}


def judged(mode, seed, time=5, law=None, change=lambda events: events, count=COUNT):
    sets = setting(count, seed, time)
    load = small_workload(mode)
    return judge(change(model_events(load, sets)), load, sets, law)


def test_the_law_is_the_sum_that_the_page_has():
    found = {name: measure.bounds(preset(name)) for name in ("tiny", "default", "large")}
    assert found["tiny"] == {
        "last_low": 16,
        "kill": 13,
        "idle_launch": 36,
        "next_start": 19,
        "indices_made": 17,
        "last_block": 13,
        "report_to_offer": 11,
    }
    assert list(found["default"].values()) == [16, 13, 42, 25, 23, 19, 17]
    assert list(found["large"].values()) == [18, 13, 173, 156, 154, 150, 64]


@pytest.mark.parametrize("mode", thorough_but(["reset", "yield"], list(MODES)))
def test_the_law_holds_in_each_mode(mode, seed):
    run, verdict = judged(mode, seed)
    assert verdict.violations == [], f"seed {seed}"
    # The first launch of each shape misses.
    assert verdict.checked >= COUNT - 6
    assert len(run.latencies) == COUNT
    killed = mode in ("reset", "auto")
    assert bool(run.killed) == killed
    assert verdict.slack.keys() >= (
        {"kill", "idle_launch", "last_low"} if killed else {"idle_launch"}
    )
    if mode in ("drain", "yield"):
        assert run.went_on


@pytest.mark.thorough
def test_each_term_binds_some_launch(seed):
    bound = Counter()
    for mode in set(BINDS.values()):
        bound += judged(mode, seed, count=100)[1].reached
    assert bound.keys() >= BINDS.keys(), f"seed {seed}"


@pytest.mark.parametrize("term", ["last_low", "kill"])
def test_a_law_that_asks_for_more_is_broken(term, seed):
    """The law's slack is known: one that is stricter by one cycle more finds a violation."""
    slack = judged("reset", seed)[1].slack[term]
    least = getattr(StreamLaw(TINY), term) - slack - 1
    strict = type("Strict", (StreamLaw,), {term: least})(TINY)
    said = judged("reset", seed, law=strict)[1].violations
    assert said and all("the law allows" in each for each in said), f"seed {seed}"


def test_no_urgent_launch_is_offered_sooner_than_the_latencies_say(seed):
    rest = ("next_start", "last_block", "report_to_offer", "indices_made")
    least = dict.fromkeys(rest, 0) | {"idle_launch": 20}
    run, verdict = judged("reset", seed, law=type("Strict", (StreamLaw,), least)(TINY))
    assert min(run.latencies) in (21, 22), f"seed {seed}"
    assert len(verdict.violations) >= verdict.checked > 0, f"seed {seed}"


@pytest.mark.thorough
def test_what_is_not_idempotent_is_never_killed(seed):
    sets = setting(COUNT, seed)
    load = small_workload("reset", 0)
    run, verdict = judge(model_events(load, sets), load, sets)
    assert (verdict.violations, run.killed) == ([], ())


def test_costs_count_what_was_lost(seed):
    """By hand: one run with two blocks is killed, and runs again; an urgent block comes between."""
    sent = columns([(1, 0), (2, 1)], ("cycle", "urgent"))
    offers = [(30, 0, 0, 1, 0), (31, 1, 0, 1, 1), (60, 0, 1, 2, 0), (80, 0, 0, 1, 0)]
    offers.append((81, 1, 0, 1, 1))
    names = ("cycle", "sm", "slot", "ticket", "block_number")
    reports = [(50, 0, 0, 2), (51, 1, 0, 2), (70, 0, 1, 0), (90, 0, 0, 0), (91, 1, 0, 0)]
    ended = [(78, 2, 3, 35, 0, 0), (100, 1, 0, 8, 0, 0)]
    events = {
        "sent": sent,
        "offers": columns(offers, names),
        "reports": columns(reports, ("cycle", "sm", "slot", "status")),
        "ended": columns(ended, ("cycle", "ticket", "stream", "accepted", "fate", "code")),
        "killed": columns([(57, 0)], ("cycle", "stream")),
        "starts": columns([(20, 0), (50, 3), (70, 0)], ("cycle", "stream")),
        "decisions": columns([(19, 1, 0, 0), (49, 2, 1, 0)], ("cycle", "ticket", "hit", "entry")),
        "kills": columns([(44, 0)], ("cycle", "stream")),
        "cancels": columns([], ("cycle", "stream")),
        "warps": columns([(25, 1)], ("cycle", "last")),
        "done": columns([], ("cycle", "entry")),
    }
    run, verdict = judge(events, workload("reset", ((2, 1, 10),)), setting(1, seed))
    assert (run.latencies, run.cycles, run.killed) == ((25,), 100, ((57, 2, 40),))
    assert (run.urgent_starts, run.low_ends, run.went_on) == ((60,), (100,), ())
    assert verdict.violations == []
    before = measure.costs(run, 59)
    assert (before["kills"], before["blocks_run_again"], before["urgent_started"]) == (1, 2, 0)
    assert measure.costs(run, 56)["kills"] == 0
    whole = measure.costs(run, run.cycles)
    assert (whole["cycles_thrown_away"], whole["low_finished_in_the_same_cycles"]) == (40, 1)
    assert (whole["index_hits"], whole["index_misses"]) == (1, 1)


# --- the ledger ----------------------------------------------------------------------------------


def changed(events, kind, name, change):
    column = events[kind][name].copy()
    change(column)
    return events | {kind: events[kind] | {name: column}}


def one(value):
    return np.uint64(value)


def put(row, value):
    def change(column):
        column[row] = value

    return change


def last_low(events):
    """Return the row of the last low block's offer."""
    low = 1 + np.flatnonzero(events["sent"]["urgent"] == 0)
    return int(np.flatnonzero(np.isin(events["offers"]["ticket"], low))[-1])


LEDGER = {
    "has 2 final records": lambda e: changed(
        e, "ended", "ticket", put(-1, e["ended"]["ticket"][-2])
    ),
    "has not each block": lambda e: changed(e, "offers", "block_number", put(last_low(e), 77)),
    "not every block of its last run is ok": lambda e: changed(
        e, "reports", "status", lambda column: column.fill(1)
    ),
    ", of its stream": lambda e: changed(e, "ended", "cycle", lambda c: c.__iadd__(one(200))),
    " of 4 slots": lambda e: changed(e, "reports", "cycle", lambda c: c.__iadd__(one(100))),
}


@pytest.mark.parametrize("said", LEDGER)
def test_the_ledger_finds(said):
    found = judged("drain", 1, change=LEDGER[said])[1].violations
    assert any(said in each for each in found), found[:5]
