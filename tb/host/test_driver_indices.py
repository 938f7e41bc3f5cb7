"""Rows of the index memory for block shapes: C and Python alike, addresses as literal numbers."""

import ctypes
import functools
import re
import tempfile
from pathlib import Path

import pytest

from simt_host.c_calls import Launch, shapes_of
from tb.host import c_driver
from tb.host.c_driver import HOST
from tb.support.dispatch_configs import config_of
from tb.support.planted import plant
from warploom_dev.rewrite import Rewrite
from warploom_host import IndexShapes
from warploom_sim.verilog.register_map import c_header
from warploom_spec import LaunchDescriptor, WarploomError, preset

#: 64 rows; a warp has 8 threads.
TINY = preset("tiny")
RANGE = -7
A, B, C, D = (96, 1, 1), (7, 5, 3), (32, 1, 1), (1, 17, 2)


@functools.cache
def library(config, source=None):
    """Return the driver in C; ``source`` stands in for ``warploom_shapes.c``."""
    texts = {"warploom_shapes.c": source} if source else {}
    with tempfile.TemporaryDirectory() as folder:
        return ctypes.CDLL(str(c_driver.build(Path(folder), c_header(config, "bench"), texts)))


def in_c(config=TINY, size=16, source=None, shapes=None):
    """Return a function that returns a block shape's address, or the driver's code."""
    shapes = shapes or shapes_of(size)

    def place(block):
        launch = Launch(**dict(zip(("dx", "dy", "dz"), block, strict=True)), index_address=9)
        code = library(config, source).warploom_place_indices(
            ctypes.byref(shapes), ctypes.byref(launch)
        )
        return code or launch.index_address

    return place


def in_python(config=TINY, size=16):
    """Return the same of the Python driver."""
    shapes = IndexShapes(config, size)

    def place(block):
        try:
            launch = LaunchDescriptor(grid=(1, 1, 1), block=block, index_address=9)
            return shapes.place(launch).index_address
        except WarploomError:
            return RANGE

    return place


@pytest.fixture(params=[in_c, in_python], ids=["c", "python"])
def placing(request):
    return request.param


def addresses(place, *blocks):
    return [place(block) for block in blocks]


def test_each_shape_has_rows_of_its_own_and_keeps_them(placing):
    """12, 14, 4 and 5 warps."""
    assert addresses(placing(), A, B, A, C, D, B, D, A) == [0, 12, 0, 26, 30, 12, 30, 0]


def test_shapes_of_as_many_threads_are_different_shapes(placing):
    place = placing()
    assert addresses(place, (8, 2, 1), (2, 8, 1), (8, 1, 2), (2, 8, 1)) == [0, 2, 4, 2]


def test_without_room_the_shape_that_was_asked_for_longest_ago_gives_up_its_rows(placing):
    """16 rows each: four shapes fill the memory."""
    a, b, c, d, e = ((128, 1, 1), (64, 2, 1), (32, 4, 1), (16, 8, 1), (8, 8, 2))
    place = placing()
    assert addresses(place, a, b, c, d) == [0, 16, 32, 48]
    # b is the oldest one, then c.
    assert addresses(place, a, e, a, b) == [0, 16, 0, 32]
    # d, e and a: 28 rows do not fit into those of d, nor into those of d and e.
    assert addresses(place, (217, 1, 1), b, d) == [0, 32, 48]


def demand_age_past_32_bits(source=None):
    """Hold that in C the oldest shape is the oldest one when the count of launches has wrapped."""
    shapes = shapes_of(2)
    shapes.asked = 0xFFFFFFFE
    place = in_c(source=source, shapes=shapes)
    # A has 0xFFFFFFFF, B 0: A is older; C then takes A's entry and rows.
    assert addresses(place, A, B, C, B) == [0, 12, 0, 12]


def test_in_c_the_oldest_shape_is_known_past_2_to_the_32_launches():
    demand_age_past_32_bits()


def test_the_lowest_free_rows_are_taken_that_are_large_enough(placing):
    """Three shapes at most: B gives up rows 12 to 25, later A gives up rows 0 to 11."""
    place = placing(size=3)
    assert addresses(place, A, B, A, C, D) == [0, 12, 0, 26, 12]
    # 14 rows fit neither below row 12 nor below row 26.
    assert addresses(place, B, (8, 1, 1)) == [30, 0]


def test_the_last_row_is_used(placing):
    assert addresses(placing(), (504, 1, 1), (8, 1, 1), (7, 1, 1)) == [0, 63, 0]


def test_a_shape_may_have_the_whole_memory(placing):
    place = placing()
    assert addresses(place, (8, 8, 8), (8, 1, 1), (8, 8, 8), (8, 1, 1)) == [0, 0, 0, 0]


def test_a_block_of_more_warps_than_the_memory_has_rows_is_refused(placing):
    place = placing()
    assert addresses(place, A, (513, 1, 1), (512, 1, 1), A) == [0, RANGE, 0, 0]


def test_the_python_driver_names_what_is_wrong():
    message = r"block \(513, 1, 1\) has 65 warps; legal: 1 to 64"
    with pytest.raises(WarploomError, match=message):
        IndexShapes(TINY).place(LaunchDescriptor(grid=(1, 1, 1), block=(513, 1, 1)))
    with pytest.raises(WarploomError, match="size is 0; legal: 1 or more"):
        IndexShapes(TINY, 0)


def test_the_c_driver_refuses_what_fits_no_field_and_a_place_for_no_shape():
    assert addresses(in_c(), (2048, 1, 1), (1, 2048, 1), (1, 1, 128)) == [RANGE] * 3
    assert in_c(size=0)(A) == RANGE


def test_a_block_without_threads_is_left_to_the_core(placing):
    place = placing()
    assert addresses(place, A, (0, 1, 1), (1, 0, 1), B) == [0, 0, 0, 12]


def test_without_an_index_memory_the_address_is_0(placing):
    place = placing(config_of("tiny,index_memory_warps=0"))
    assert addresses(place, A, B, (1024, 1, 1)) == [0, 0, 0]


#: Rule -> the test that finds it, the C driver's text and what stands there instead, the Python
#: driver's change.
WRONG = {
    "the newest shape gives up its rows": (
        test_without_room_the_shape_that_was_asked_for_longest_ago_gives_up_its_rows,
        r"(\w+->asked - \w+->asked) > ",
        r"\1 < ",
        Rewrite(IndexShapes, "_new", "next(iter(self._rows))", "list(self._rows)[-1]"),
    ),
    "a shape that is asked for again stays old": (
        test_without_room_the_shape_that_was_asked_for_longest_ago_gives_up_its_rows,
        r"(\w+->asked) = (\+\+\w+->asked);",
        r"if (!\1) \1 = \2;",
        Rewrite(
            IndexShapes,
            "place",
            "self._rows.pop(launch.block, None)",
            "self._rows.get(launch.block)",
        ),
    ),
    "a gap of one row less is large enough": (
        test_the_lowest_free_rows_are_taken_that_are_large_enough,
        r"< (\w+) \+ (\w+) && \1 <",
        r"< \1 + \2 - 3 && \1 <",
        Rewrite(
            IndexShapes,
            "_new",
            "rows.first >= first + warps",
            "rows.first >= first + warps - 3",
        ),
    ),
    "the last row is never used": (
        test_the_last_row_is_used,
        r"(\w+ \+ \w+) <= WARPLOOM_INDEX_MEMORY_WARPS",
        r"\1 < WARPLOOM_INDEX_MEMORY_WARPS",
        Rewrite(
            IndexShapes,
            "_new",
            "first + warps <= self._config.index_memory_warps",
            "first + warps < self._config.index_memory_warps",
        ),
    ),
}


def test_that_the_lowest_count_is_not_the_oldest_shape_is_found_in_c():
    pattern = r"\w+->asked - (\w+->asked) > \w+->asked - (\w+->asked)"
    text, count = re.subn(pattern, r"\1 < \2", (HOST / "warploom_shapes.c").read_text())
    assert count == 1
    with pytest.raises(AssertionError):
        demand_age_past_32_bits(text)


@pytest.mark.parametrize("rule", WRONG)
def test_a_wrong_rule_is_found_in_both_drivers(rule, monkeypatch):
    finder, pattern, instead, change = WRONG[rule]
    text, count = re.subn(pattern, instead, (HOST / "warploom_shapes.c").read_text())
    assert count == 1, f"{rule}: {pattern} stands there {count} times"
    with pytest.raises(AssertionError):
        finder(functools.partial(in_c, source=text))
    plant(monkeypatch, [change])
    with pytest.raises(AssertionError):
        finder(in_python)
