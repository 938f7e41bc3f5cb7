"""A bit of a register flips while the core works: what becomes of records, and what mends it."""

from collections import Counter

import pytest

from tb.host.any_start import program
from tb.host.core_bench import bench
from tb.support.dispatch_configs import config_of

TINY = config_of("tiny,core_timeout=40,kill_timeout=40")
FLIPS = 5000
#: The flips of the page, whatever the seed of the other tests.
SEEDS = (1, 2)


def flipped(built, bits, count, seed):
    """Flip so many bits, one in each run of a program, whose registers have these bits.

    Returns
    -------
    found : dict
        How many runs ended in which way, and how many gave a wrong record or answer.
    stay : Counter
        The registers whose flips a soft reset does not mend, with what is wrong after it.
    """
    names = [register for register, width in bits for _ in range(width)]
    found = bench(built, "flips", seed=seed, flips=count, bits=len(names))
    stay = Counter()
    for key in [key for key in found if key.startswith("bit ")]:
        _, bit, why = key.split(" ", 2)
        stay[f"{names[int(bit)]} {why}"] += found.pop(key)
    return found, stay


def ended(found):
    """Return how many runs ended in one of the ways that there are."""
    return sum(n for end, n in found.items() if end.startswith(("works ", "needs ")))


@pytest.mark.deep
@pytest.mark.parametrize("seed", SEEDS)
def test_five_thousand_flips(seed, capsys):
    built, (*_, bits) = program(TINY)
    found, stay = flipped(built, bits, FLIPS, seed)
    with capsys.disabled():
        print()
        for name, count in (*found.items(), *sorted(stay.items())):
            print(f"{count:7} {name}")
    assert found["flips"] == ended(found) == FLIPS
    # Most bits hold data, or are written anew soon.
    assert found["works at once"] > 0.95 * FLIPS
    assert 0 < found["a record is wrong"] < 0.05 * FLIPS
