"""Times finer than the GPU's timer, from the SMs' clocks."""

import numpy as np
import pytest

from warploom_sim.methods.silicon.clocks import by_clocks

GRAIN, GHZ, SMS, GPCS = 32, 1.98, 12, 3


def events(seed, count=3000):
    """Return SM, true time, the timer's stamp and the SM's clock of events."""
    draws = np.random.default_rng(seed)
    times = np.sort(draws.uniform(0, 200_000, count))
    sm = draws.integers(0, SMS, count)
    begun = draws.integers(10**9, 10**12, GPCS)[sm % GPCS]
    stamps = (times // GRAIN * GRAIN).astype(np.int64)
    return sm, times, stamps, (begun + times * GHZ).astype(np.int64)


def error(found, times):
    return np.abs(found - times - np.median(found - times))


def test_times_are_finer_than_the_timer(seed):
    sm, times, stamps, clocks = events(seed)
    assert np.percentile(error(stamps, times), 95) > 12
    assert np.percentile(error(by_clocks(sm, stamps, clocks), times), 95) < 5


def test_the_order_of_events_does_not_matter(seed):
    sm, _, stamps, clocks = events(seed)
    order = np.random.default_rng(seed).permutation(len(sm))
    found = by_clocks(sm[order], stamps[order], clocks[order])
    assert found == pytest.approx(by_clocks(sm, stamps, clocks)[order], abs=1)


@pytest.mark.parametrize("broken", ["zero", "drawn", "stopped"])
def test_clocks_that_contradict_the_timer_are_not_believed(seed, broken):
    sm, _, stamps, clocks = events(seed)
    draws = np.random.default_rng(seed)
    wrong = {
        "zero": np.zeros_like(clocks),
        "drawn": draws.integers(0, 2**40, len(sm)),
        "stopped": np.where(stamps > 100_000, clocks[len(sm) // 2], clocks),
    }[broken]
    found = by_clocks(sm, stamps, wrong)
    assert np.ptp(found - stamps) <= GRAIN


def test_a_timer_that_is_exact_is_believed():
    stamps = np.array([5, 6, 8, 100])
    found = by_clocks(np.zeros(4, np.int64), stamps, np.array([7, 1, 9, 3]))
    assert found == pytest.approx(stamps - 5, abs=1)
