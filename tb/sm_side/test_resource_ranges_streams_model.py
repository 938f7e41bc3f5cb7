"""ResourceRanges' model in random streams: what a core and a dispatcher may rely on."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from tb.support.ranges_traffic import RangesHeld, RangesTraffic
from tb.support.record import record
from warploom_golden.sm_side import ResourceRanges
from warploom_golden.sm_side.resource_ranges import NOTHING, Rows
from warploom_spec import PRESETS

TINY = PRESETS["tiny"]
CONFIGS = {
    "tiny": TINY,
    "eleven slots": replace(TINY, block_slots=11, register_units=37, shared_units=100),
    "one slot": replace(TINY, block_slots=1),
    "few units": replace(TINY, register_units=3, shared_units=2),
}


def stream(config, seed, cycles=1500, **options):
    """Run the model in a random stream; return what the observer counted."""
    traffic = RangesTraffic(config, random.Random(seed), **options)
    seen, held = record(ResourceRanges(config), traffic, cycles), RangesHeld(config)
    for cycle, (inputs, outputs) in enumerate(zip(seen.inputs, seen.outputs, strict=True)):
        held.see(cycle, inputs, outputs)
    return held.counts()


@pytest.mark.parametrize("name", CONFIGS)
def test_ranges_never_overlap_and_hard_cases_happen(name, seed):
    config, counts = CONFIGS[name], Counter()
    never = {
        "one slot": {"held back", "ranges of two sizes", "a range from the last unit down"},
    }.get(name, set())
    for n in range(20):
        counts.update(stream(config, seed + n))
        missing = {case for case, times in counts.items() if not times}
        if missing == never:
            return
    raise AssertionError(f"never happened: {missing - never}; happened: {never - missing}")


@pytest.mark.parametrize("name", CONFIGS)
def test_no_block_is_held_back_with_one_launch_resident(name, seed):
    counts = stream(CONFIGS[name], seed, resident=1)
    assert counts["blocks"] > 100
    assert counts["held back"] == 0


def grows_into_the_other_row(rows):
    row = rows._rows[rows._current]
    return all(
        reach + size <= units
        for reach, size, units in zip(row.reach, rows._size, rows._capacity, strict=True)
    )


def loses_what_is_freed(rows, freed):
    rows._rows[freed.row].live -= 1


def keeps_the_stack_of_the_other_row(rows, freed):
    rows._rows[freed.row].live -= 1
    rows._stack.append(freed.first)


def changes_a_row_with_blocks(rows, size):
    rows._rows[rows._current].reach = NOTHING
    rows._size, rows._stack = size, []


WRONG = {
    "the other row is not looked at": ("_can_grow", grows_into_the_other_row),
    "a freed range is lost": ("free", loses_what_is_freed),
    "a range of the row before is pushed": ("free", keeps_the_stack_of_the_other_row),
    "a row with blocks begins anew": ("change", changes_a_row_with_blocks),
    "a row without blocks keeps its reach": ("forget_reach", lambda rows: None),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_rule_is_found(name, seed, monkeypatch):
    method, wrong = WRONG[name]
    monkeypatch.setattr(Rows, method, wrong)
    with pytest.raises(AssertionError, match=r"overlaps|ends beyond|is held back"):
        for n in range(40):
            stream(TINY, seed + n)
