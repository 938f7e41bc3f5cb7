"""CN102708009A's tags and marks without time, its faults, and the event model against them."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb.merging.graphs import LIMITS, cases, config, random_tasks, task, whole_tasks
from warploom_golden.merging.deadlock import Deadlock
from warploom_golden.merging.mapping_table import MappingTable
from warploom_golden.merging.merge_planner import MergePlanner
from warploom_golden.merging.merged_dispatcher import MODES
from warploom_golden.merging.merged_replay import MergeRules, run_merged
from warploom_golden.merging.tags_and_marks import TagsAndMarks, permuted, run_untimed
from warploom_golden.merging.thread_forms import one_dimensional, shaped
from warploom_spec import Config

MACHINE = config()


@settings(max_examples=40)
@given(
    case=cases(12),
    slots=st.integers(1, 8),
    in_order=st.booleans(),
    rng=st.randoms(use_true_random=False),
)
def test_a_legal_table_never_stands_still(
    case: tuple[Config, MappingTable], slots: int, in_order: bool, rng: random.Random
) -> None:
    _, table = case
    events = run_untimed(table, slots, rng, in_order=in_order)
    blocks = sum(one.blocks for one in table.tasks)
    for what in ("place", "begin", "report"):
        assert sorted(n for kind, n in events if kind == what) == list(range(blocks))


@settings(max_examples=30)
@given(case=cases(16))
def test_the_event_models_order_is_one_that_tags_and_marks_allow(
    case: tuple[Config, MappingTable],
) -> None:
    """Every begin and report of the timed run, in order of its cycle, is legal when it happens."""
    machine, table = case
    for mode in MODES:
        (work,) = run_merged([table], machine, 0, MergeRules(mode=mode)).works
        state = TagsAndMarks(table)
        log = work.log
        events = [(cycle, 1, n) for n, cycle in enumerate(log.started)]
        events += [(cycle, 0, n) for n, cycle in enumerate(log.reported)]
        for _, begins, n in sorted(events):
            if begins:
                assert not state.missing_marks(n)
            else:
                assert mode == "gate" or not state.missing_tags(n)
                state.report(n)
        assert all(state.mark)


def test_a_tag_is_set_by_its_blocks_report_and_the_mark_by_the_last() -> None:
    table = MergePlanner(MACHINE).plan([task(3), task(1, (0,))])
    state = TagsAndMarks(table)
    assert state.missing_marks(3) == [0] and state.missing_tags(2) == 2
    state.report(1)
    assert state.tag[0] == [False, True, False] and state.mark == [False, False]
    state.report(0)
    assert state.missing_tags(2) == 0 and not state.mark[0]
    state.report(2)
    assert state.mark == [True, False] and state.missing_marks(3) == []


def test_by_block_id_a_permuted_table_deadlocks(seed: int) -> None:
    """Nobody who is last by merged id ever waits for a block that is dispatched later."""
    stuck = 0
    for k in range(500):
        rng = random.Random(f"{seed}-{k}")
        tasks = random_tasks(rng, rng.randint(1, 6))
        table = MergePlanner(MACHINE, LIMITS).plan(tasks)
        table = permuted(table, range(len(tasks)), rng)
        slots = rng.randint(1, 6)
        run_untimed(table, slots, rng)
        try:
            run_untimed(table, slots, rng, last="block_id")
        except Deadlock as error:
            assert "in a slot waits for" in str(error)
            stuck += 1
    # 78 on average, eight more or less.
    assert stuck > 30


def test_an_illegal_table_deadlocks_once_the_slots_are_full() -> None:
    table = whole_tasks(MergePlanner(MACHINE).plan([task(2), task(5, (0,))]), [1, 0])
    run_untimed(table, 6, random.Random(1))
    with pytest.raises(Deadlock) as stands:
        run_untimed(table, 5, random.Random(1))
    assert len(stands.value.waiters) == 5
    assert stands.value.waiters[0].cause == "the mark of task 0"
    assert str(stands.value).count("waits for") == 4 and "; 1 more blocks wait; " in str(
        stands.value
    )


# --- forms ---------------------------------------------------------------------------------------
@settings(max_examples=40)
@given(case=cases(6))
def test_the_patents_one_dimensional_form_gives_every_thread_the_same_index(
    case: tuple[Config, MappingTable],
) -> None:
    machine, table = case
    seen: set[tuple[object, ...]] = set()
    threads = sum(one.blocks * one.threads for one in table.tasks)
    for n in range(len(table.expanded()[0])):
        source, own = one_dimensional(table, n), shaped(table, n, machine)
        assert (source.task, source.block) == (own.task, own.block)
        assert np.array_equal(source.mask, own.mask)
        for axis, other in zip(source.index, own.index, strict=True):
            assert np.array_equal(axis, other)
        shape = table.tasks[own.task].launch.block
        for x, y, z in zip(*(axis[own.mask].tolist() for axis in own.index), strict=True):
            assert x < shape[0] and y < shape[1] and z < shape[2]
            seen.add((own.task, own.block, x, y, z))
    # Every thread of every task once.
    assert len(seen) == threads


def test_surplus_threads_of_a_smaller_task_are_empty_but_there() -> None:
    table = MergePlanner(MACHINE).plan([task(1, block=(32, 1, 1)), task(1, block=(7, 5, 1))])
    wide, narrow = shaped(table, 1, MACHINE), shaped(table, 0, MACHINE)
    assert len(wide.mask) == len(narrow.mask) == 35
    assert wide.mask.sum() == 35 and narrow.mask.sum() == 32
