"""Tables that MergePlanner makes, and what its check refuses."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb.merging.graphs import LIMITS, SHAPES, cases, config, random_tasks, task, whole_tasks
from warploom_golden.merging.mapping_table import MappingTable, TableEntry, block_id, block_place
from warploom_golden.merging.merge_planner import ORDERS, MergePlanner
from warploom_golden.merging.table_check import TableError, check_launch
from warploom_golden.merging.tags_and_marks import permuted
from warploom_golden.merging.task import MergeLimits, Task
from warploom_spec import Config, ErrorCode, WarploomError
from warploom_spec.table_errors import TABLE_EXPLANATIONS, TableCode

MACHINE = config()
PLANNER = MergePlanner(MACHINE)


def order_of(table: MappingTable) -> list[int]:
    """Return the tasks of the entries."""
    return [entry.task for entry in table.entries]


# --- orders --------------------------------------------------------------------------------------
def test_the_worked_example_three_tasks_of_which_one_needs_another() -> None:
    """Tables (0, 2, 1) and (0, 1, 2) are legal, (1, 0, 2) is not."""
    tasks = [task(5), task(5, (0,)), task(5)]
    table = PLANNER.plan(tasks)
    assert order_of(table) == [0, 1, 2]
    PLANNER.check(whole_tasks(table, [0, 2, 1]))
    with pytest.raises(TableError) as refused:
        PLANNER.check(whole_tasks(table, [1, 0, 2]))
    error = refused.value
    assert (error.code, error.entry, error.task, error.block) == (
        TableCode.TABLE_ORDER,
        0,
        1,
        (0, 0, 0),
    )
    assert str(error) == (
        "TABLE_ORDER: entry 0, task 1, block (0, 0, 0): task 0, which it needs, is not complete"
    )


def test_topological_takes_the_lowest_number_that_may_come() -> None:
    tasks = [task(1, (2,)), task(1), task(1), task(1, (0, 1))]
    assert order_of(PLANNER.plan(tasks)) == [1, 2, 0, 3]


def test_longest_first_takes_the_largest_weight_ties_to_the_lowest_number() -> None:
    tasks = [task(4), task(8), task(2, block=(16, 1, 1)), task(40, (0,)), task(1)]
    # Blocks times threads: 32, 64, 32, 320 (once 0 is placed), 8.
    assert order_of(PLANNER.plan(tasks, "longest_first")) == [1, 0, 3, 2, 4]
    tasks[4] = replace(tasks[4], weight=1000)
    assert order_of(PLANNER.plan(tasks, "longest_first")) == [4, 1, 0, 3, 2]


def test_interleaved_lets_independent_tasks_take_turns() -> None:
    tasks = [task(4), task(8), task(3, (0,))]
    few = MergePlanner(MACHINE, MergeLimits(max_table_entries=6))
    # Two turns: 2 and 4 blocks; after task 0 comes task 2, with turns of 2 blocks.
    table = few.plan(tasks, "interleaved")
    assert [(r.task, r.first[0], r.last[0]) for r in table.entries] == [
        (0, 0, 1),
        (1, 0, 3),
        (0, 2, 3),
        (1, 4, 7),
        (2, 0, 2),
    ]


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), entries=st.integers(1, 40), count=st.integers(1, 12))
def test_interleaved_takes_the_most_turns_that_fit(seed: int, entries: int, count: int) -> None:
    """Against a reading of the rule that tries every power of two from 1 up."""
    rng = random.Random(seed)
    tasks = random_tasks(rng, count)
    planner = MergePlanner(MACHINE, MergeLimits(max_tasks=64, max_table_entries=entries))
    fitting = [made for k in range(9) if len(made := by_turns(tasks, 1 << k)) <= entries]
    if not fitting:
        with pytest.raises(TableError, match="^TABLE_SIZE"):
            planner.plan(tasks, "interleaved")
        return
    # Of equal tables any power does; the largest fitting one is the rule.
    assert list(planner.plan(tasks, "interleaved").entries) == fitting[-1]


def by_turns(tasks: list[Task], turns: int) -> list[TableEntry]:
    """Deal blocks out one by one, round after round, then join neighbours."""
    left = {n: list(range(t.blocks)) for n, t in enumerate(tasks)}
    dealt: list[tuple[int, int]] = []
    while any(left.values()):
        ready = [n for n, t in enumerate(tasks) if left[n] and not any(left[d] for d in t.depends)]
        for n in ready:
            for _ in range(-(-tasks[n].blocks // turns)):
                if left[n]:
                    dealt.append((n, left[n].pop(0)))
    joined: list[list[int]] = []
    for n, block in dealt:
        if joined and joined[-1][0] == n and joined[-1][2] + 1 == block:
            joined[-1][2] = block
        else:
            joined.append([n, block, block])
    return [
        TableEntry(n, *(block_place(b, tasks[n].launch.grid) for b in (first, last)))
        for n, first, last in joined
    ]


@settings(max_examples=50)
@given(case=cases())
def test_every_planned_table_is_legal_by_the_rule_itself(case: tuple[Config, MappingTable]) -> None:
    """Every block once; every block of a task behind all blocks of the tasks that it needs."""
    _, table = case
    tasks, blocks = (column.tolist() for column in table.expanded())
    assert sorted(zip(tasks, blocks, strict=True)) == [
        (n, b) for n, one in enumerate(table.tasks) for b in range(one.blocks)
    ]
    place = {pair: n for n, pair in enumerate(zip(tasks, blocks, strict=True))}
    for n, one in enumerate(table.tasks):
        first = min(place[n, b] for b in range(one.blocks))
        for other in one.depends:
            assert max(place[other, b] for b in range(table.tasks[other].blocks)) < first
    if not table.permuted:
        for a, b in zip(table.entries, table.entries[1:], strict=False):
            grid = table.tasks[a.task].launch.grid
            joined = a.task == b.task and block_id(a.last, grid) + 1 == block_id(b.first, grid)
            assert not joined


def test_a_circle_is_refused_with_its_tasks() -> None:
    tasks = [
        replace(task(1, (2,)), name="a"),
        replace(task(1, (0,)), name="b"),
        replace(task(1, (1,)), name="c"),
        task(1),
    ]
    with pytest.raises(WarploomError) as refused:
        PLANNER.plan(tasks)
    said = str(refused.value)
    assert said.startswith("tasks depend on each other in a circle: ")
    named = said.removeprefix("tasks depend on each other in a circle: ").split(" needs ")
    assert named[0] == named[-1] and sorted(named[:-1]) == ["a", "b", "c"]
    for one, other in zip(named, named[1:], strict=False):
        assert (one, other) in {("a", "c"), ("b", "a"), ("c", "b")}


def test_an_unknown_order_is_refused() -> None:
    with pytest.raises(WarploomError) as refused:
        PLANNER.plan([task()], "random")
    assert str(refused.value) == (
        "order is 'random'; legal: topological, interleaved, longest_first"
    )
    assert tuple(ORDERS) == ("topological", "interleaved", "longest_first")


@pytest.mark.parametrize(
    ("name", "value", "legal"),
    [
        ("max_tasks", 0, "1 to 64"),
        ("max_tasks", 65, "1 to 64"),
        ("max_table_entries", 0, "1 to 65536"),
        ("max_table_entries", True, "1 to 65536"),
    ],
)
def test_limits_out_of_their_range_are_refused(name: str, value: int, legal: str) -> None:
    with pytest.raises(WarploomError) as refused:
        MergeLimits(**{name: value})
    assert str(refused.value) == f"{name} is {value!r}; legal: {legal}"


# --- what is refused -----------------------------------------------------------------------------
TWO = PLANNER.plan([task((3, 2, 1)), task(4, (0,))])
FIRST, SECOND = TWO.entries
SHUFFLED = permuted(TWO, [0], random.Random(1))


def tasks_changed(number: int, **fields: object) -> MappingTable:
    """Return the table of two tasks with one's launch changed."""
    tasks = list(TWO.tasks)
    tasks[number] = replace(tasks[number], launch=replace(tasks[number].launch, **fields))
    return replace(TWO, tasks=tuple(tasks))


def entries(*made: TableEntry) -> MappingTable:
    return replace(TWO, entries=made)


@pytest.mark.parametrize(
    ("table", "code", "entry", "number", "block"),
    [
        (replace(TWO, tasks=(), entries=()), TableCode.TABLE_SIZE, None, None, None),
        (replace(TWO, tasks=(TWO.tasks[0],) * 17), TableCode.TABLE_SIZE, None, None, None),
        (entries(*[FIRST] * 1025), TableCode.TABLE_SIZE, None, None, None),
        (tasks_changed(1, grid=(0, 1, 1)), ErrorCode.GRID_ZERO, None, 1, None),
        (tasks_changed(0, block=(1025, 1, 1)), ErrorCode.BLOCK_RANGE, None, 0, None),
        (
            replace(TWO, tasks=(TWO.tasks[0], replace(TWO.tasks[1], depends=frozenset({2})))),
            TableCode.TABLE_DEPENDS,
            None,
            1,
            None,
        ),
        (
            replace(TWO, tasks=(TWO.tasks[0], replace(TWO.tasks[1], depends=frozenset({1})))),
            TableCode.TABLE_DEPENDS,
            None,
            1,
            None,
        ),
        # Same address, another shape; and an address inside the other's two warps.
        (tasks_changed(1, block=(3, 2, 1)), TableCode.TABLE_REGION, None, 1, None),
        (
            tasks_changed(1, block=(16, 1, 1), index_address=0),
            TableCode.TABLE_REGION,
            None,
            1,
            None,
        ),
        (
            entries(FIRST, TableEntry(2, (0, 0, 0), (0, 0, 0))),
            TableCode.TABLE_TASK,
            1,
            2,
            (0, 0, 0),
        ),
        (entries(SECOND, FIRST), TableCode.TABLE_ORDER, 0, 1, (0, 0, 0)),
        (
            entries(TableEntry(0, (0, 0, 0), (2, 0, 0)), SECOND),
            TableCode.TABLE_ORDER,
            1,
            1,
            (0, 0, 0),
        ),
        (entries(TableEntry(0, (0, 0, 0), (3, 1, 0))), TableCode.TABLE_RANGE, 0, 0, (3, 1, 0)),
        (
            entries(FIRST, TableEntry(1, (0, 0, 0), (3, 1, 0))),
            TableCode.TABLE_RANGE,
            1,
            1,
            (3, 1, 0),
        ),
        # A block repeated, missed, an entry backwards, one too many.
        (
            entries(
                TableEntry(0, (0, 0, 0), (1, 0, 0)), TableEntry(0, (1, 0, 0), (2, 1, 0)), SECOND
            ),
            TableCode.TABLE_CHAIN,
            1,
            0,
            (1, 0, 0),
        ),
        (
            entries(
                TableEntry(0, (0, 0, 0), (1, 0, 0)), TableEntry(0, (0, 1, 0), (2, 1, 0)), SECOND
            ),
            TableCode.TABLE_CHAIN,
            1,
            0,
            (0, 1, 0),
        ),
        (entries(TableEntry(0, (0, 1, 0), (2, 0, 0))), TableCode.TABLE_CHAIN, 0, 0, (0, 1, 0)),
        (entries(FIRST, FIRST), TableCode.TABLE_CHAIN, 1, 0, (0, 0, 0)),
        (entries(FIRST), TableCode.TABLE_MISSING, 1, 1, (0, 0, 0)),
        (entries(TableEntry(0, (0, 0, 0), (1, 1, 0))), TableCode.TABLE_MISSING, 1, 0, (2, 1, 0)),
        # A permuted task: an entry of several blocks, one too many, one too few, a wrong number.
        (
            replace(SHUFFLED, entries=(FIRST, *SHUFFLED.entries[6:])),
            TableCode.TABLE_ENTRIES,
            0,
            0,
            (0, 0, 0),
        ),
        (
            replace(SHUFFLED, entries=(*SHUFFLED.entries[:6], SHUFFLED.entries[0])),
            TableCode.TABLE_ENTRIES,
            6,
            0,
            SHUFFLED.entries[0].first,
        ),
        (
            replace(SHUFFLED, entries=SHUFFLED.entries[1:6]),
            TableCode.TABLE_MISSING,
            5,
            0,
            SHUFFLED.entries[0].first,
        ),
        (
            replace(SHUFFLED, permuted={0: 7}, entries=SHUFFLED.entries[:6]),
            TableCode.TABLE_ENTRIES,
            6,
            0,
            None,
        ),
        # What hardware does not see: a block twice, so that another one is missing.
        (
            replace(
                SHUFFLED,
                entries=(SHUFFLED.entries[0], *SHUFFLED.entries[:5], *SHUFFLED.entries[6:]),
            ),
            TableCode.TABLE_REPEATED,
            1,
            0,
            SHUFFLED.entries[0].first,
        ),
    ],
)
def test_an_illegal_table_is_refused_with_entry_task_and_block(
    table: MappingTable,
    code: TableCode | ErrorCode,
    entry: int | None,
    number: int | None,
    block: tuple[int, int, int] | None,
) -> None:
    with pytest.raises(TableError) as refused:
        PLANNER.check(table)
    error = refused.value
    assert (error.code, error.entry, error.task, error.block) == (code, entry, number, block)
    assert str(error).startswith(code.name)


@settings(max_examples=200)
@given(case=cases(5), rng=st.randoms(use_true_random=False))
def test_the_check_refuses_what_the_definition_does_and_nothing_else(
    case: tuple[Config, MappingTable], rng: random.Random
) -> None:
    """Entries dropped, doubled, swapped, moved: legal or not by counting blocks and places."""
    machine, table = case
    made = list(table.entries)
    for _ in range(rng.randint(0, 2)):
        n = rng.randrange(len(made))
        change = rng.randrange(4)
        if change == 0:
            del made[n]
        elif change == 1:
            made.insert(rng.randrange(len(made)), made[n])
        elif change == 2:
            m = rng.randrange(len(made))
            made[n], made[m] = made[m], made[n]
        else:
            gx, gy, gz = table.tasks[made[n].task].launch.grid
            made[n] = replace(
                made[n], last=(rng.randrange(gx), rng.randrange(gy), rng.randrange(gz))
            )
        if not made:
            return
    changed = replace(table, entries=tuple(made))
    if is_legal(changed):
        MergePlanner(machine, LIMITS).check(changed)
        return
    with pytest.raises(TableError) as refused:
        MergePlanner(machine, LIMITS).check(changed)
    error = refused.value
    assert error.entry is not None and error.task is not None and error.block is not None
    if error.entry < len(made):
        # What stands before the entry could begin a legal table.
        assert error.task == made[error.entry].task
        assert order_is_kept(replace(changed, entries=tuple(made[: error.entry])))


def is_legal(table: MappingTable) -> bool:
    """Every block once, in order within a task that is not permuted, behind what it needs."""
    tasks, blocks = (column.tolist() for column in table.expanded())
    pairs = list(zip(tasks, blocks, strict=True))
    demanded = [(n, b) for n, one in enumerate(table.tasks) for b in range(one.blocks)]
    if sorted(pairs) != demanded or not order_is_kept(table):
        return False
    for entry in table.entries:
        grid = table.tasks[entry.task].launch.grid
        if entry.task in table.permuted and entry.first != entry.last:
            return False
        if block_id(entry.last, grid) < block_id(entry.first, grid):
            return False
    return all(
        [b for n, b in pairs if n == number] == list(range(one.blocks))
        for number, one in enumerate(table.tasks)
        if number not in table.permuted
    )


def order_is_kept(table: MappingTable) -> bool:
    """Every block stands behind all blocks of the tasks that its task needs."""
    tasks, blocks = (column.tolist() for column in table.expanded())
    seen: list[set[int]] = [set() for _ in table.tasks]
    for n, b in zip(tasks, blocks, strict=True):
        if any(len(seen[d]) < table.tasks[d].blocks for d in table.tasks[n].depends):
            return False
        seen[n].add(b)
    return True


def test_the_tables_that_were_changed_are_legal() -> None:
    PLANNER.check(TWO)
    PLANNER.check(SHUFFLED)


def test_more_shapes_than_the_history_has_entries_are_refused() -> None:
    machine = config(history_entries=2)
    two, three = ([task(1, block=block) for block in SHAPES[:count]] for count in (2, 3))
    MergePlanner(machine).plan(two)
    with pytest.raises(TableError, match="^TABLE_SHAPES: 3 index configurations; legal: 1 to 2"):
        MergePlanner(machine).plan(three)


def test_the_merged_launch_has_the_maxima_and_the_largest_tasks_threads() -> None:
    tasks = [
        task(1, block=(7, 5, 1), shared=3, barriers=2),
        task(1, block=(32, 1, 1), warp_registers=5, shared=9),
    ]
    launch = PLANNER.plan(tasks).launch(MACHINE, handle=3)
    assert (launch.grid, launch.block, launch.index_address) == ((1, 1, 1), (35, 1, 1), 0)
    assert (launch.warp_registers, launch.shared, launch.barriers, launch.table) == (5, 9, 2, 3)


def test_the_maxima_of_two_tasks_may_fit_no_sm() -> None:
    """One has many warps, the other many registers a warp: each fits, both together do not."""
    tasks = [task(1, block=(2, 2, 9), warp_registers=1), task(1, warp_registers=32)]
    for one in tasks:
        PLANNER.plan([one])
    with pytest.raises(TableError, match="^BLOCK_REGISTERS: LaunchCheck refuses the merged"):
        PLANNER.plan(tasks)


def test_a_launch_of_fewer_warps_than_the_widest_task_is_refused() -> None:
    table = PLANNER.plan([task(1, block=(32, 1, 1)), task(1)])
    launch = table.launch(MACHINE)
    check_launch(launch, table, MACHINE)
    with pytest.raises(TableError, match="^TABLE_BLOCK: 3 warps; the widest task has 4"):
        check_launch(replace(launch, block=(24, 1, 1)), table, MACHINE)


def test_every_code_has_its_number_and_an_explanation() -> None:
    assert [int(code) for code in TableCode] == list(range(33, 45))
    assert TABLE_EXPLANATIONS.keys() == set(TableCode)
    assert not set(map(int, TableCode)) & set(map(int, ErrorCode))
    assert LIMITS.max_tasks == 64
