"""The static check: whether a kernel may be run again from its start."""

import pytest

from warploom_golden.preemption import is_idempotent


@pytest.mark.parametrize(
    ("reads", "writes", "idempotent"),
    [
        ([(0, 64)], [(64, 128)], True),
        ([(0, 65)], [(64, 128)], False),
        ([(0, 64), (200, 201)], [(64, 128), (128, 200)], True),
        ([(100, 110)], [(0, 300)], False),
        ([(0, 0)], [(0, 10)], True),
        ([], [], True),
        (None, [], False),
        ([], None, False),
    ],
)
def test_idempotent_is_what_reads_nothing_that_it_writes(reads, writes, idempotent):
    assert is_idempotent(reads, writes) is idempotent


def test_a_range_that_ends_before_it_begins_is_refused():
    with pytest.raises(ValueError, match=r"range is \(4, 2\); legal: an end from 4 up"):
        is_idempotent([(4, 2)], [])
