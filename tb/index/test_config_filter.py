"""ConfigFilter: history, references and answers."""

from dataclasses import replace

import pytest

from tb.support.deep_values import deep_but, thorough_but
from tb.support.error_events import UNCOUNTED, ErrorRecords
from tb.support.history_monitor import EVENTS, HISTORY_MONITORS
from tb.support.index_cases import (
    CONFIGS,
    TimelyReleases,
    built,
    config_of,
    few_configurations,
    index_config,
    longest_configurations,
    rarely,
)
from tb.support.planted import plant
from tb.support.seeded_faults import CONFIG_FILTER
from warploom.index import ConfigFilter
from warploom_golden.index import ConfigFilter as Model
from warploom_sim.cosim.lockstep import Case, LockstepError, events, run
from warploom_spec import layouts

TINY = CONFIGS["tiny"]


def make(config, **params):
    return built(ConfigFilter, Model, config, **params)


def any_entry(context):
    """Yield entry numbers, those that do not exist included."""
    bits = config_of(context).entry_bits
    while True:
        yield context.rng.randrange(1 << bits)


def case(config, seed, **params):
    return Case(
        make=make,
        params={"config": config, **params},
        seed=seed,
        cycles=3000,
        stimulus=LongReferences,
        sources={"i": few_configurations, "release": any_entry, "cancel": rarely},
        withdrawable={"o": "cancel takes a miss back that the iterator has not taken"},
        events={"history": HISTORY_MONITORS[config]},
    )


class LongReferences(TimelyReleases):
    """In turns of 150 cycles, one entry or none is not released."""

    def __init__(self, context):
        super().__init__(context)
        self._cycle, self._kept = 0, None

    def next(self, outputs):
        inputs = super().next(outputs)
        if self._cycle % 150 == 0:
            self._kept = self._rng.randrange(self._config.history_entries + 1)
        self._cycle += 1
        if inputs["release__payload"] == self._kept:
            inputs["release__valid"] = 0
        return inputs


class WrongReleases(TimelyReleases):
    """In every cycle a release of an entry that does not exist."""

    def next(self, outputs):
        return super().next(outputs) | {
            "release__valid": 1,
            "release__payload": self._config.history_entries,
        }


def longest_case(config, seed):
    """Return a case of configurations with the largest sizes, that hit what is there."""
    usual = case(config, seed)
    sources = {**usual.sources, "i": longest_configurations}
    return replace(usual, cycles=12_000, sources=sources, stimulus=TimelyReleases)


def error_case(config, seed):
    """Return a case with more errors than are counted."""
    usual = case(config, seed)
    return replace(
        usual,
        cycles=66_000,
        resets=0,
        stimulus=WrongReleases,
        events={**usual.events, "errors": ErrorRecords},
    )


# Lockstep


@pytest.mark.parametrize("config", thorough_but(["three_entries"], CONFIGS))
def test_equals_its_model(config, seed):
    results = run([case(config, seed + k) for k in range(3)], "amaranth")
    assert sum(result.counts["transfers of decision"] for result in results) > 100


@pytest.mark.thorough
def test_the_largest_sizes_equal_their_model(seed):
    (result,) = run([longest_case("three_entries", seed)], "verilator")
    assert result.counts["transfers of decision"] > 100


@pytest.mark.parametrize("more", deep_but([0], range(3)))
@pytest.mark.parametrize(
    ("simulator", "config"),
    deep_but(
        [],
        [("icarus", "three_entries"), ("verilator", "default")],
        thorough=[("icarus", "three_entries")],
    ),
)
def test_equals_its_model_on_other_simulators(simulator, config, more, seed):
    run([case(config, seed + more)], simulator)


# A counter of 3 bits does so among the rules, in RTL and model.
@pytest.mark.deep
def test_the_count_of_errors_stops_at_its_highest(seed):
    run([error_case("three_entries", seed)], "verilator")[0].require(UNCOUNTED)


@pytest.mark.thorough
def test_rare_events_happen_in_compared_runs():
    results = run([case("three_entries", seed) for seed in range(1, 5)], "amaranth")
    events.require(EVENTS, events.total(result.counts for result in results))


@pytest.mark.parametrize("fault", CONFIG_FILTER)
def test_lockstep_finds_a_fault(fault, seed, monkeypatch):
    plant(monkeypatch, [CONFIG_FILTER[fault]])
    with pytest.raises(LockstepError):
        run([case("three_entries", seed + k) for k in range(24)], "amaranth")


def test_words_pinned():
    """Shared layouts can be wrong together: literal words of one packet each."""
    assert index_config(TINY, 3, (8, 4, 1)) == 3 | 8 << 6 | 4 << 17 | 1 << 28 | 4 << 35
    assert layouts.index_decision(TINY).pack({"hit": 1, "entry": 1}) == 0b11
    assert layouts.index_region(TINY).pack({"valid": 1, "address": 5, "warps": 2}) == 1 | 5 << 1 | (
        2 << 7
    )
