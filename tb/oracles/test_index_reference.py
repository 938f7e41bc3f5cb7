"""The reference by division, its packing and its add/compare rule, and what is claimed of them."""

from math import ceil, log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb.support.index_cases import CONFIGS
from warploom_golden.oracles.index_reference import (
    indices,
    is_legal,
    last_mask,
    pack,
    packed_warps,
    shapes,
    step,
    threads,
    unpack,
    warps,
    widths,
)
from warploom_spec import WarploomError

DIMS = st.tuples(st.integers(1, 1024), st.integers(1, 1024), st.integers(1, 64))
NO_LIMIT_ON_Z = (1024, 1024, 1024)
WARP_SIZES = (2, 4, 8, 16, 32, 64)


def _rows(max_threads):
    """Every (dx, dy) of a legal shape: x, y and z of a thread depend on no more."""
    return sorted({(dx, dy) for dx, dy, _ in shapes(max_threads, NO_LIMIT_ON_Z)})


def floor_log2_widths(dims):
    """The index patent's rule: the place of the highest 1 of the dimension itself."""
    return tuple(d.bit_length() - 1 for d in dims)


def step_without_carry_into_y(index, c_index, dims):
    """A faulty rule: y's carry into z is judged before x's carry came in."""
    dx, dy, _ = dims
    x, y, z = (a + c for a, c in zip(index, c_index, strict=True))
    carry_x, carry_y = x >= dx, y >= dy
    return x - dx * carry_x, y + carry_x - dy * carry_y, z + carry_y


def step_with_reduced_z(index, c_index, dims):
    """A faulty rule: z of the step is reduced by dz, as x and y are."""
    return step(index, (*c_index[:2], c_index[2] % dims[2]), dims)


def step_differs(rule, dims_of_rows, warp_size):
    """Count the rows in which a rule differs from division, over threads 0 to 1023."""
    n = np.arange(1024, dtype=np.uint16)
    wrong = 0
    for dims in dims_of_rows:
        stepped = rule(indices(n, dims), indices(warp_size, dims), dims)
        wrong += not np.array_equal(stepped, indices(n + np.uint16(warp_size), dims))
    return wrong


def test_literal_indices():
    assert indices(0, (100, 2, 2)) == (0, 0, 0)
    assert indices(99, (100, 2, 2)) == (99, 0, 0)
    assert indices(100, (100, 2, 2)) == (0, 1, 0)
    assert indices(399, (100, 2, 2)) == (99, 1, 1)
    assert indices(32, (1, 1, 1)) == (0, 0, 32)


@given(DIMS, st.integers(0, 2**32 - 1))
def test_the_index_is_the_place_in_the_nested_loops(dims, n):
    x, y, z = indices(n, dims)
    assert 0 <= x < dims[0] and 0 <= y < dims[1]
    assert x + dims[0] * (y + dims[1] * z) == n
    assert indices(np.array([n], dtype=np.uint64), dims) == (x, y, z)


@pytest.mark.parametrize("dims", [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_a_dimension_of_zero_is_refused(dims):
    with pytest.raises(WarploomError, match=r"dims is \(.*\); legal: at least 1"):
        indices(0, dims)


def test_threads_are_numbered_from_zero():
    """The index patent starts its worked example at thread 1 and loses index 0."""

    def codes(start):
        return set(zip(*indices(np.arange(start, start + 64), (4, 4, 4)), strict=True))

    assert (0, 0, 0) in codes(0) and max(z for _, _, z in codes(0)) == 3
    assert (0, 0, 0) not in codes(1) and max(z for _, _, z in codes(1)) == 4


@pytest.mark.parametrize("warp_size", WARP_SIZES)
def test_add_and_compare_equals_division_for_every_shape(warp_size):
    rows = _rows(1024)
    assert step_differs(step, [(dx, dy, 1) for dx, dy in rows], warp_size) == 0


@given(DIMS, st.integers(0, 2**20), st.integers(0, 2**20))
def test_add_and_compare_takes_any_thread_and_any_step(dims, n, c):
    assert step(indices(n, dims), indices(c, dims), dims) == indices(n + c, dims)


def test_the_carry_into_z_comes_from_y_with_its_carry():
    dims = [(dx, dy, 1) for dx, dy in _rows(256)]
    assert step_differs(step_without_carry_into_y, dims, 32) > 0
    assert step_differs(step, dims, 32) == 0


def test_z_of_the_step_is_not_reduced():
    dims = [(2, 2, 2), (5, 3, 1), (1, 1, 31)]
    assert step_differs(step_with_reduced_z, dims, 32) == 3
    assert step_differs(step, dims, 32) == 0


def test_one_row_or_one_column_needs_no_side_condition():
    """The index patent asks for dy >= 2; the rule is exact without it."""
    dims = [(dx, 1, 1) for dx in range(1, 1025)] + [(1, dy, 1) for dy in range(1, 1025)]
    for warp_size in WARP_SIZES:
        assert step_differs(step, dims, warp_size) == 0


def test_numbers_of_legal_shapes():
    assert len(shapes(1024)) == 25_670
    assert len(shapes(1024, NO_LIMIT_ON_Z)) == 30_343


def codes_shared(dims, rule):
    """Count the threads of a block whose packed index another thread has too."""
    n = np.arange(threads(dims), dtype=np.uint32)
    bits = rule(dims)
    cut = [part & (1 << width) - 1 for part, width in zip(indices(n, dims), bits, strict=True)]
    _, place, times = np.unique(pack(tuple(cut), bits), return_inverse=True, return_counts=True)
    return int((times[place] > 1).sum())


def test_widths_come_from_the_largest_index_not_from_the_dimension():
    assert floor_log2_widths((100, 2, 2)) == (6, 1, 1)
    assert codes_shared((100, 2, 2), floor_log2_widths) == 288
    assert widths((100, 2, 2)) == (7, 1, 1)
    assert codes_shared((100, 2, 2), widths) == 0


def test_too_few_codes_by_the_index_patents_rule():
    every = shapes(1024, NO_LIMIT_ON_Z)
    too_few = [dims for dims in every if 1 << sum(floor_log2_widths(dims)) < threads(dims)]
    assert len(too_few) == 30_057
    # The others are the shapes whose dimensions are powers of two.
    assert all(any(d & (d - 1) for d in dims) for dims in too_few)
    assert all(1 << sum(widths(dims)) >= threads(dims) for dims in every)


def test_widths_are_the_highest_set_bits_of_the_indices():
    for dims in [(1, 1, 1), (2, 3, 4), (17, 33, 33), (1024, 64, 1), (5, 7, 9)]:
        n = np.arange(threads(dims), dtype=np.uint32)
        assert widths(dims) == tuple(int(part.max()).bit_length() for part in indices(n, dims))


def test_unpack_undoes_pack_for_every_shape():
    n = np.arange(1024, dtype=np.uint16)
    for dims in shapes(1024):
        index = indices(n[: threads(dims)], dims)
        bits = widths(dims)
        assert np.array_equal(unpack(pack(index, bits), bits), index), dims


def _fewest_threads(bits):
    """The smallest shape that needs these widths."""
    return tuple((1 << width - 1) + 1 if width else 1 for width in bits)


def test_bits_needed():
    assert max(sum(widths(dims)) for dims in shapes(1024)) == 12
    for limit in (64, 100, 256, 700, 1024):
        assert max(sum(widths(d)) for d in shapes(limit, NO_LIMIT_ON_Z)) <= ceil(log2(limit)) + 2


@pytest.mark.parametrize(
    ("bits", "dims", "count"), [(17, (17, 33, 33), 18_513), (18, (33, 33, 33), 35_937)]
)
def test_smallest_shapes_of_17_and_18_bits(bits, dims, count):
    """16 bits do not always suffice below 64 K threads, as the index patent says, but to 18,512."""
    every = [(x, y, bits - x - y) for x in range(bits + 1) for y in range(bits + 1 - x)]
    smallest = min((_fewest_threads(split) for split in every), key=threads)
    assert tuple(sorted(smallest)) == dims
    assert threads(dims) == count and sum(widths(dims)) == bits
    assert count < 1 << 16


def test_a_word_of_16_bits_refuses_what_does_not_pack():
    wide = CONFIGS["many_threads"]
    assert is_legal((33, 33, 33), wide)
    assert not is_legal((17, 33, 33), CONFIGS["default"])


@given(
    DIMS.filter(lambda dims: threads(dims) <= 65536 and sum(widths(dims)) <= 18),
    st.sampled_from(["many_threads", "warp_64", "tiny"]),
)
def test_packed_warps_hold_every_thread_once(dims, name):
    config = CONFIGS[name]
    words, mask = packed_warps(dims, config)
    assert words.shape == mask.shape == (warps(dims, config.warp_size), config.warp_size)
    assert mask.sum() == threads(dims) and not words[~mask].any()
    assert len(np.unique(words[mask])) == threads(dims)
    assert mask.ravel()[: threads(dims)].all()
    assert last_mask(dims, config.warp_size) == sum(
        1 << k for k in np.flatnonzero(mask[-1]).tolist()
    )
