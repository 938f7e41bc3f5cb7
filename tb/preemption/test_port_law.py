"""The law, and the figures, from the events at the ports: what holds, and what is found."""

from collections import Counter

import numpy as np
import pytest

from tb.preemption.rtl_runs import TINY, model_events, setting, small_workload
from warploom_golden.preemption.streams.stream_law import StreamLaw
from warploom_sim.methods.preempt import measure
from warploom_sim.methods.preempt.port_figures import Blocks
from warploom_sim.methods.preempt.rtl_measurement import judge
from warploom_sim.methods.preempt.workload import MODES

COUNT = 60


@pytest.fixture(scope="module")
def runs(seed):
    """Events of each mode, with report times of 0 and 5 cycles."""
    return {
        (mode, time): model_events(small_workload(mode), setting(COUNT, seed, time))
        for mode in MODES
        for time in (0, 5)
    }


@pytest.mark.thorough
def test_the_figures_at_the_ports_are_those_of_the_model(runs, seed):
    for (mode, time), events in runs.items():
        sets = setting(COUNT, seed, time)
        found, _ = judge(events, small_workload(mode), sets)
        expected = measure.run(small_workload(mode), sets)
        assert found.latencies == expected.latencies, mode
        assert measure.costs(found, found.cycles) == measure.costs(expected, expected.cycles)
        assert found.went_on == expected.went_on
        assert (found.cycles, found.low_ends) == (expected.cycles, expected.low_ends)


@pytest.mark.thorough
def test_the_law_holds_and_its_terms_are_reached(runs, seed):
    reached = Counter()
    for (mode, time), events in runs.items():
        _, verdict = judge(events, small_workload(mode), setting(COUNT, seed, time))
        assert verdict.violations == [], f"seed {seed}, {mode}, report time {time}"
        # The first launch of each shape misses.
        assert verdict.checked >= COUNT - 6
        assert sum(verdict.outside.values()) == COUNT - verdict.checked
        reached += verdict.reached
    # The others are rare.
    wanted = {"kill", "report_to_offer", "next_launch", "room", "fit"}
    assert wanted <= {name for name, count in reached.items() if count}


def test_a_launch_that_is_handed_over_in_the_flag_s_first_cycle_leaves_its_place_a_cycle_later():
    """Its stop stands in A + 3. The urgent launch of ticket 65 takes its place, in A + 17."""
    workload, sets = small_workload("reset"), setting(COUNT, 741361655, 0)
    events = model_events(workload, sets)
    accepted = int(events["answers"]["cycle"][64]) - 1
    handed = events["handed"]
    assert accepted + 1 in handed["cycle"][handed["ticket"] == 64]
    offers = events["offers"]
    assert offers["cycle"][offers["ticket"] == 65][0] == accepted + StreamLaw(TINY).idle_place + 1
    _, verdict = judge(events, workload, sets)
    assert verdict.violations == []


def test_a_launch_whose_indices_are_still_being_made_waits_for_them():
    """The first low launch of 2 warps misses, and is killed; the urgent one has its indices."""
    workload, sets = small_workload("reset"), setting(1, 683674209, 0)
    events = model_events(workload, sets)
    answers, decisions, warps = events["answers"], events["decisions"], events["warps"]
    assert answers["cycle"][answers["ticket"] == 5] == 15 + 1
    made = warps["cycle"][warps["last"] == 1]
    assert made[0] == 24
    # Without the wait it would be decided in cycle 24 at the latest.
    own = np.flatnonzero(decisions["ticket"] == 5)
    assert (decisions["cycle"][own], decisions["hit"][own]) == (27, 1)
    offers = events["offers"]
    assert offers["cycle"][offers["ticket"] == 5][0] == 34
    _, verdict = judge(events, workload, sets)
    assert (verdict.checked, verdict.violations) == (1, [])
    assert verdict.reached["indices_made"] == 1
    law = sooner("indices_made")
    (said,) = judge(events, workload, sets, law)[1].violations
    assert said.startswith("launch 4 was accepted in cycle 15 and offered 19 cycles later; the law")
    # Indices that stand in the memory when the launch is accepted excuse nothing.
    early = warps | {"cycle": np.where(warps["cycle"] <= 24, np.uint64(15), warps["cycle"])}
    (said,) = judge(events | {"warps": early}, workload, sets)[1].violations
    assert "offered 19 cycles later; the law allows 16" in said


class Sooner(StreamLaw):
    """A law with one number that is lower by one."""

    number = ""

    def __getattribute__(self, name):
        value = super().__getattribute__(name)
        return value - 1 if name == type(self).number else value


def sooner(number):
    """Return a law with this number lower by one."""
    return type("Law", (Sooner,), {"number": number})(TINY)


@pytest.mark.parametrize("number", ["kill", "report_to_offer", "next_launch"])
@pytest.mark.thorough
def test_a_law_that_asks_for_one_cycle_less_is_broken(runs, seed, number):
    law = sooner(number)
    broken = []
    for (mode, time), events in runs.items():
        broken += judge(events, small_workload(mode), setting(COUNT, seed, time), law)[1].violations
    assert broken
    assert all("the law allows" in each for each in broken)


def test_an_offer_that_comes_late_breaks_the_law(runs, seed):
    """The first block of an urgent launch is offered, and reported, 40 cycles later."""
    events = dict(runs["reset", 5])
    workload, sets = small_workload("reset"), setting(COUNT, seed)
    urgent = 1 + np.flatnonzero(events["sent"]["urgent"])
    ticket = urgent[len(urgent) // 2]
    late = {name: column.copy() for name, column in events["offers"].items()}
    own = np.flatnonzero(late["ticket"] == ticket)
    late["cycle"][own] += np.uint64(40)
    reports = {name: column.copy() for name, column in events["reports"].items()}
    for n in own:
        where = (reports["sm"] == late["sm"][n]) & (reports["slot"] == late["slot"][n])
        after = np.flatnonzero(where & (reports["cycle"] >= late["cycle"][n] - np.uint64(40)))
        reports["cycle"][after[0]] += np.uint64(40)
    _, verdict = judge(events | {"offers": late, "reports": reports}, workload, sets)
    assert [each for each in verdict.violations if each.startswith(f"launch {ticket - 1} ")]


def test_in_order_is_outside_the_law(seed):
    from dataclasses import replace

    sets = setting(10, seed, config=replace(TINY, reclaim="in_order"))
    _, verdict = judge(model_events(small_workload("drain"), sets), small_workload("drain"), sets)
    assert (verdict.checked, verdict.outside) == (0, {"in_order": 10})


def test_reports_that_do_not_follow_offers_are_refused(runs):
    events = runs["reset", 5]
    short = {name: column[:-1] for name, column in events["reports"].items()}
    with pytest.raises(ValueError, match="do not belong together"):
        Blocks(events | {"reports": short})
