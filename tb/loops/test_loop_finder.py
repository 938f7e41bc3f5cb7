"""LoopFinder on real programs: nothing false, nothing wrong, and nearly all that is there."""

import re
from collections import defaultdict
from functools import cache

import pytest

from tb.loops.loop_truth import BINARIES, Truth, at_each_level, faults, truths
from tb.support.deep_values import thorough_but
from warploom_loops.loop_finder import find_loops
from warploom_loops.marks import LoopMark

PROGRAMS = ("launches", "shapes", "copies", "refused", "unseen", "late", "stores", "entries")
#: The least share of the deferrable loops that is found at each level of optimisation.
FOUND = {0: 0.85, 1: 0.95, 2: 0.95, 3: 0.95}
pytestmark = at_each_level


@cache
def loops(program: str, level: int) -> dict[str, list[LoopMark]]:
    """Return a program's loops by function."""
    found = defaultdict(list)
    for loop in find_loops(BINARIES / "built" / f"{program}-O{level}").loops:
        found[loop.function].append(loop)
    return found


def deferrable(truth: Truth, level: int) -> list[LoopMark]:
    return [loop for loop in loops(truth.program, level)[truth.function] if loop.loop_class]


@pytest.mark.parametrize("program", thorough_but(["launches", "refused", "stores"], PROGRAMS))
def test_no_loop_is_called_deferrable_that_is_not_and_no_mark_is_wrong(
    program: str, level: int
) -> None:
    wrong = {
        truth.function: found
        for truth in truths(program)
        for loop in deferrable(truth, level)
        if (found := faults(truth, loop, level))
    }
    assert not wrong


def test_nearly_all_deferrable_loops_are_found(level: int) -> None:
    true = [t for program in PROGRAMS for t in truths(program) if t.loop_class is not None]
    missed = [truth.function for truth in true if not deferrable(truth, level)]
    assert len(true) >= 60
    assert len(missed) <= (1 - FOUND[level]) * len(true), missed


def test_every_loop_that_cannot_be_deferred_is_listed_with_its_reason(level: int) -> None:
    true = [t for program in PROGRAMS for t in truths(program) if t.loop_class is None]
    assert len(true) >= 40
    for truth in true:
        reasons = {loop.reason.value for loop in loops(truth.program, level)[truth.function]}
        assert reasons & set(truth.reasons), (truth, reasons)


def test_a_reason_names_an_instruction_of_the_function(level: int) -> None:
    for program in PROGRAMS:
        for listed in loops(program, level).values():
            for loop in listed:
                assert (loop.reason is None) == (loop.loop_class is not None)
                assert (loop.reason_address is None) == (loop.reason is None)


def test_of_a_nest_the_inner_loop_is_classed_and_the_outer_one_listed(level: int) -> None:
    outer, inner = sorted(loops("shapes", level)["nest"], key=lambda loop: loop.depth)
    assert (outer.depth, outer.loop_class, outer.reason.value) == (1, None, "INNER_LOOP")
    assert (inner.depth, inner.loop_class, inner.reason) == (2, 2, None)
    assert outer.reason_address == inner.header


def test_programs_hold_no_path_of_the_machine_that_built_them(level: int) -> None:
    paths = re.compile(rb"/(tmp|home|root|usr|work|opt|build)/|tmpxft")
    for program in PROGRAMS:
        assert not paths.search((BINARIES / "built" / f"{program}-O{level}").read_bytes())
