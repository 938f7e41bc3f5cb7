"""Who gets which units: even shares, and what the published rule cannot do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom_golden.stealing.start_up import assignments, patent_counts
from warploom_spec import WarploomError


@given(st.integers(1, 40), st.integers(0, 60))
def test_units_are_shared_evenly_and_once(workers, spare):
    units = workers + spare
    found = assignments(workers, units, "one_to_many")
    counts = [len(each.units) for each in found]
    assert [unit for assignment in found for unit in assignment.units] == list(range(units))
    assert max(counts) - min(counts) <= 1
    assert counts == sorted(counts, reverse=True)
    assert len({assignment.cpu_core for assignment in found}) == workers


def test_one_to_one_uses_the_first_unit_of_each_share():
    assert [each.units for each in assignments(3, 7, "one_to_one")] == [
        (0,),
        (3,),
        (5,),
    ]


def test_the_published_share_does_not_exist_for_five_units_on_four_workers():
    """Correction: the method says that one worker has fewer units than the others."""
    assert patent_counts(4, 5) is None
    assert [len(each.units) for each in assignments(4, 5, "one_to_many")] == [
        2,
        1,
        1,
        1,
    ]
    assert patent_counts(4, 7) == [2, 2, 2, 1]


def test_each_worker_needs_a_core_of_its_own():
    with pytest.raises(WarploomError, match="workers is 3 on 2 CPU cores; legal: 1 to 2"):
        assignments(3, 3, "one_to_one", cpu_cores=2)
