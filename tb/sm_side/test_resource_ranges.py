"""ResourceRanges beside its model; what a core and a dispatcher may rely on."""

import random
from collections import Counter

import pytest

from tb.support.deep_values import OTHER_SIMULATORS
from tb.support.dispatch_configs import config_of
from tb.support.hard_cases import run_until
from tb.support.planted import Change, plant
from tb.support.ranges_traffic import RangesHeld, RangesTraffic
from tb.support.record import record
from warploom.sm_side import ResourceRanges
from warploom.sm_side._cell_runs import CellRuns
from warploom_golden.sm_side import ResourceRanges as Model
from warploom_golden.sm_side import resource_ranges as model_file
from warploom_sim.cosim.lockstep import Case, LockstepError, run

#: Eight cells of each resource, and a usual one. The others are odd in one respect each.
EIGHT = "tiny,register_cell=4,shared_cell=8"
ODD = "tiny,block_slots=11,register_units=37,shared_units=100,register_cell=2,shared_cell=8"
CONFIGS = (EIGHT, ODD, f"{EIGHT},block_slots=1", "tiny,register_units=3,shared_units=2")
#: Hard cases that one slot cannot have.
OF_TWO = {"held back", "ranges of three sizes", "a range before others"}
NEVER = {CONFIGS[2]: OF_TWO}


def make(config):
    return ResourceRanges(config_of(config)), Model(config_of(config))


class Traffic(RangesTraffic):
    """The same for a lockstep run."""

    def __init__(self, context):
        config = config_of(context.params["config"])
        super().__init__(config, context.rng, **context.options)


class EightRanges(RangesHeld):
    """What holds of `EIGHT`'s ranges."""

    def __init__(self):
        super().__init__(config_of(EIGHT))


def case(config, seed, cycles=1500, **options):
    """Return a run; of `EIGHT` the ranges are looked at."""
    return Case(
        make=make,
        params={"config": config},
        seed=seed,
        cycles=cycles,
        stimulus=Traffic,
        options=options,
        events={"ranges": EightRanges} if config == EIGHT else {},
    )


def hurried_case(config, seed, cycles=1500):
    """Return a run in which blocks of many launches, of as many sizes, are out."""
    return case(config, seed, cycles, hurries=True)


def test_equals_its_model_and_hard_cases_happen(seed):
    names = set(EightRanges().counts())
    run_until(names, lambda n: [case(EIGHT, seed + n), hurried_case(EIGHT, seed + n)], "amaranth")


def test_equals_its_model_at_other_sizes(seed):
    run([case(ODD, seed, 1000), hurried_case(ODD, seed, 1500)], "amaranth")


@pytest.mark.thorough
def test_equals_its_model_with_a_cell_for_each_unit(seed):
    run([case("tiny", seed, 4000), hurried_case("tiny", seed, 4000)], "amaranth")


@pytest.mark.parametrize("simulator", OTHER_SIMULATORS)
def test_equals_its_model_on_other_simulators(simulator, seed):
    run([case(EIGHT, seed), hurried_case(EIGHT, seed)], simulator)


def stream(text, seed, cycles=1500, **options):
    """Run the model in a random stream; return what the observer counted."""
    config = config_of(text)
    traffic = RangesTraffic(config, random.Random(seed), **options)
    seen, held = record(Model(config), traffic, cycles), RangesHeld(config)
    for cycle, (inputs, outputs) in enumerate(zip(seen.inputs, seen.outputs, strict=True)):
        held.see(cycle, inputs, outputs)
    return held.counts()


@pytest.mark.parametrize("config", CONFIGS)
def test_ranges_never_overlap_and_hard_cases_happen(config, seed):
    """Also: no block of one size waits, and none waits for long beside an SM without ranges."""
    counts, never = Counter(), NEVER.get(config, set())
    for n in range(40):
        counts.update(stream(config, seed + n, hurries=n % 2 == 1))
        missing = {case for case, times in counts.items() if not times}
        if missing == never:
            return
    raise AssertionError(f"never happened: {missing - never}; happened: {never - missing}")


@pytest.mark.parametrize("config", CONFIGS)
def test_no_block_is_held_back_with_one_size(config, seed):
    """One launch alone, and its blocks end before the next one's come."""
    counts = stream(config, seed, 4000, resident=1)
    assert counts["blocks"] > 50
    assert counts["held back"] == 0


def shortens_runs(free, size):
    return real_first_run(free, max(size - 1, 0))


def loses_what_is_freed(model, runs, free):
    if not free:
        real_mark(model, runs, free)


def takes_nothing(model, runs, free):
    if free:
        real_mark(model, runs, free)


real_first_run = model_file._first_run
real_mark = Model._mark
WRONG_MODEL = {
    "a run is a cell too short": (model_file, "_first_run", shortens_runs),
    "freed cells are lost": (Model, "_mark", loses_what_is_freed),
    "cells that are given are not taken": (Model, "_mark", takes_nothing),
}


@pytest.mark.parametrize("name", WRONG_MODEL)
def test_the_observer_finds_a_wrong_rule(name, seed, monkeypatch):
    owner, method, wrong = WRONG_MODEL[name]
    monkeypatch.setattr(owner, method, wrong)
    with pytest.raises(AssertionError, match=r"overlaps|ends beyond|is held back|waits"):
        for n in range(40):
            stream(EIGHT, seed + n)


WRONG = {
    "a run is a cell too short": Change(
        CellRuns, "elaborate", "0, self.size - 1", "0, self.size - 2"
    ),
    "a run goes on beyond the last cell": Change(
        CellRuns, "elaborate", "starts & (starts >> 1)", "starts & Cat(starts[1:], 1)"
    ),
    "a freed cell is lost": Change(CellRuns, "elaborate", "& ~self.freed", "& ~self.freed | 1"),
    "the cells of a search are not taken": Change(
        CellRuns, "elaborate", "Mux(self.take, run, 0)", "0"
    ),
    "a killed block takes cells": Change(
        ResourceRanges, "elaborate", "takes.eq(found & ~killed)", "takes.eq(found)"
    ),
    "the warps do not count": Change(
        ResourceRanges, "_cells", "if resource.field.of_warp", "if False"
    ),
    "a size is rounded down": Change(ResourceRanges, "_cells", "+ (units - 1)", "+ 0"),
    "one resource is not asked": Change(
        ResourceRanges,
        "_search",
        "search.found for search in searches",
        "search.found for search in searches[:1]",
    ),
    "held_back stays when a run is found": Change(
        ResourceRanges, "_search", "self.held_back.eq(~finds)", "self.held_back.eq(1)"
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_lockstep_finds_a_wrong_rule(name, seed, monkeypatch):
    plant(monkeypatch, [WRONG[name]])
    with pytest.raises((LockstepError, AssertionError)):
        for n in range(0, 12, 3):
            cases = [hurried_case(EIGHT, seed + n + k) for k in range(3)] + [case(EIGHT, seed + n)]
            run(cases, "amaranth", waves=False)
