"""Directed workloads that reach the law's rarer terms, by the events of model and RTL.

An urgent launch reaches a term if its first block is offered in the last cycle that the law allows
it, and this term is the one that allows so much.
"""

import numpy as np
import pytest

from tb.preemption.rtl_runs import TINY, model_events, setting, workload
from tb.preemption.test_port_law import sooner
from warploom_golden.preemption.streams.stream_law import StreamLaw
from warploom_sim.methods.preempt.rtl_measurement import judge, measure_rtl

COUNT, SEED = 60, 2
LAW = StreamLaw(TINY)
#: Two streams of short launches: one is often in the line, or waits in a place, or none is there.
SHORT = ((2, 1, 8), (2, 1, 8))
#: A block takes a whole SM. The third one is placed when one SM is empty, or will soon be.
WHOLE = ((3, 16, 20),)
#: Mode, workload, and the terms that must be reached.
RUNS = {
    "short": (
        workload("reset", SHORT, streams=(0, 1)),
        {"kill", "idle_launch", "in_flight", "idle_place", "next_launch"},
    ),
    "whole": (workload("wait", WHOLE), {"last_block", "idle_launch"}),
}
SETS = setting(COUNT, SEED, 0, distance=50.0)


@pytest.mark.parametrize("name", RUNS)
def test_each_term_is_reached(name):
    load, terms = RUNS[name]
    _, verdict = judge(model_events(load, SETS), load, SETS)
    assert verdict.violations == []
    assert terms <= {term for term, count in verdict.reached.items() if count}


@pytest.mark.parametrize("number", ["idle_launch", "in_flight", "idle_place"])
def test_a_law_that_asks_for_one_cycle_less_is_broken(number):
    load, _ = RUNS["short"]
    said = judge(model_events(load, SETS), load, SETS, sooner(number))[1].violations
    assert said
    assert all("the law allows" in each for each in said)


@pytest.mark.thorough
def test_each_term_is_reached_on_the_rtl():
    figures, _, problems = measure_rtl({name: load for name, (load, _) in RUNS.items()}, SETS)
    assert problems == []
    assert (figures["mismatches"], figures["law"]["violations"]) == (0, 0)
    wanted = set().union(*(terms for _, terms in RUNS.values()))
    assert wanted <= {term for term, count in figures["law"]["reached"].items() if count}


def first_offers(events):
    """Return the cycle of each launch's first offer, by its ticket."""
    offers = events["offers"]
    tickets, nth = np.unique(offers["ticket"], return_index=True)
    return dict(zip(tickets.tolist(), offers["cycle"][nth].tolist(), strict=True))


def test_behind_a_launch_that_waits_the_first_offer_comes_three_cycles_after_its_last_one():
    """The other SM is empty by then. Often it is not: then its report makes the room."""
    load, _ = RUNS["whole"]
    events = model_events(load, SETS)
    offers, first = events["offers"], first_offers(events)
    found = []
    for ticket in (1 + np.flatnonzero(events["sent"]["urgent"])).tolist():
        before = offers["cycle"][offers["cycle"] < first[ticket]]
        found.append(first[ticket] - int(before.max(initial=0)))
    assert min(found) == 3
    assert found.count(3) > 5


def events_around(events, kind, ticket):
    """Return the cycles of one kind of events of a launch."""
    return events[kind]["cycle"][events[kind]["ticket"] == ticket].tolist()


def test_the_kill_of_a_launch_handed_over_in_the_flag_s_first_cycle_comes_a_cycle_later():
    load, _ = RUNS["short"]
    events = model_events(load, SETS)
    accepted = events_around(events, "answers", 209)[0] - 1
    assert events_around(events, "handed", 208)[0] == accepted + 1
    kills = events["kills"]["cycle"]
    assert int(kills[kills > accepted].min()) == accepted + LAW.kill + 1
