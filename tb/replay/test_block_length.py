"""Block lengths: literal words, range, and the same in plain Python."""

import random

import numpy as np
import pytest

from tb.support.replay_reference import block_length, mix
from warploom_golden.replay import block_length as golden


def words(*values: int) -> np.ndarray:
    return np.array(values, np.uint32)


def test_literal_words() -> None:
    # Pinned: Verilog, reference and model could be wrong together.
    assert mix(0) == 0
    assert golden.mix(words(1, 2, 0xFFFF_FFFF)).tolist() == [1753845952, 3507691905, 1734902346]
    places = (words(0, 1, 12, 1567), words(0, 0, 3, 0), words(0, 0, 2, 7))
    assert golden.block_lengths(1, 0, 99, *places).tolist() == [94, 93, 92, 103]
    assert golden.block_lengths(0xFFFF_FFFF, 231, 5000, *places).tolist() == [
        4833,
        4633,
        5424,
        5302,
    ]


def test_mix_is_a_bijection_where_it_was_looked_at() -> None:
    assert len(np.unique(golden.mix(np.arange(1 << 20, dtype=np.uint32)))) == 1 << 20


@pytest.mark.parametrize("base", [0, 1, 4, 5, 99, 5000, 2**26 - 1, 2**32 - 1])
def test_the_same_in_plain_python(base: int, seed: int) -> None:
    rng = random.Random(seed)
    places = [tuple(rng.randrange(1 << bits) for bits in (31, 16, 16)) for _ in range(200)]
    columns = np.array(places, np.uint32).T
    replay_seed, launch = rng.randrange(1 << 32), rng.randrange(1 << 32)
    expected = [block_length(replay_seed, launch, base, place) for place in places]
    assert golden.block_lengths(replay_seed, launch, base, *columns).tolist() == expected


@pytest.mark.parametrize("base", [4, 40, 1000, 2**26 - 1])
def test_lengths_lie_within_an_eighth_around_the_base(base: int, seed: int) -> None:
    lengths = golden.block_lengths(seed, 3, base, *golden.grid_places((1000, 2, 2)))
    assert lengths.min() >= max(4, base * 7 // 8)
    assert lengths.max() <= base + base // 8
    if base >= 1000:
        assert lengths.max() - lengths.min() > base // 5


def test_places_are_in_order_of_the_block_id() -> None:
    bx, by, bz = golden.grid_places((3, 2, 2))
    assert list(zip(bx.tolist(), by.tolist(), bz.tolist(), strict=True)) == [
        (x, y, z) for z in range(2) for y in range(2) for x in range(3)
    ]
