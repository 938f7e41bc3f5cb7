"""The merged kernel on the RTL: SimtCores behind FrontEnd, launched by the C driver.

The runs that need no other hardware share one simulation of ``tiny``.
"""

import random
from dataclasses import replace

import pytest

from simt_gpu import SimtGpu
from simt_host import gpu_run
from simt_host.merged_case import MergedCase, merged_case
from simt_host.merged_run import planning, run_all, run_beside, run_merged_kernels
from tb.examples.kernel_cases import kernel
from tb.examples.merged_rows import ALL, merged_rows
from tb.examples.merged_tables import random_table, task_of, usual_table
from tb.merging.graphs import whole_tasks
from tb.support.planted import plant
from warploom_dev.rewrite import Rewrite
from warploom_golden.merging import Deadlock, MappingTable, MergePlanner, MergeRules, run_merged
from warploom_golden.merging.tags_and_marks import permuted
from warploom_spec import preset
from warploom_spec.queue import FinalFate, Mode, QueueCode

TINY = preset("tiny")
#: Cycles of one residence: a kernel of these tests that ends takes less.
TIMEOUT = 12_000
FINISHED = (FinalFate.FINISHED, 0)
TIMED_OUT = (FinalFate.FAILED, QueueCode.TIMEOUT)
GRAPHS, ALL_GRAPHS = 30, 200
PLACES = 50
pytestmark = pytest.mark.deep


def small_table(order: list[int] | None = None) -> MappingTable:
    """Return tasks of four, two and two blocks of a warp; the third needs the first."""
    shapes = (((4, 1, 1), ()), ((1, 2, 1), ()), ((2, 1, 1), (0,)))
    tasks = [task_of(n, grid, (4, 2, 1), needs) for n, (grid, needs) in enumerate(shapes)]
    table = MergePlanner(planning(TINY)).plan(tasks)
    return whole_tasks(table, order) if order else table


def first_permuted(table: MappingTable) -> MappingTable:
    """Return a legal table in which task 0's blocks stand in the order of falling block id."""
    made = permuted(table, [0], random.Random(1))
    count = table.tasks[0].blocks
    entries = sorted(made.entries[:count], key=lambda entry: -entry.first[0])
    made = replace(made, entries=(*entries, *made.entries[count:]))
    MergePlanner(planning(TINY)).check(made)
    return made


def run(*cases: MergedCase, each=(), **settings):
    usual = {"sms": 1, "launch_timeout": TIMEOUT, "waits": ()}
    return run_merged_kernels(cases, TINY, "verilator", each, **(usual | settings))


@pytest.mark.parametrize("config", ALL)
def test_legal_tables_equal_numpy_and_are_offered_in_order(config: str) -> None:
    made = merged_rows(config, "verilator")
    assert len(made) == 4 * len(ALL[config])
    assert all(row["equal"] and row["order"] for row in made)


def test_what_never_ends_is_ended_and_the_next_launch_is_right(seed: int) -> None:
    legal, illegal = small_table(), small_table([2, 1, 0])
    right, wrong = merged_case(legal, seed), merged_case(illegal, seed)
    abort = {"abort_after": TIMEOUT // 3}
    table = first_permuted(small_table([0, 1, 2]))
    by_id = merged_case(table, seed, kernel=kernel("merged_by_block_id"))
    cases = [wrong, right, wrong, right, by_id, merged_case(table, seed)]
    outcomes = run(*cases, each=[{}, {}, abort, {}, {}, {}])
    assert [one.fates for one in outcomes] == [
        [TIMED_OUT],
        [FINISHED],
        [(FinalFate.ABORTED, 0)],
        [FINISHED],
        [TIMED_OUT],
        [FINISHED],
    ]
    assert [one.equal for one in outcomes] == [False, True] * 3
    # Four blocks hold the slots: those of the third task and of the second one.
    assert [len(one.offers) for one in outcomes[:4:2]] == [4 + 2] * 2
    assert all(one.ordered for one in outcomes[1::2])


def test_without_the_wait_the_result_is_wrong(seed: int) -> None:
    (outcome,) = run(
        merged_case(usual_table(TINY), seed, rounds=3, kernel=kernel("merged_no_wait")), sms=2
    )
    assert outcome.fates == [FINISHED]
    assert not outcome.equal


def test_two_launches_with_epochs_of_their_own_need_nothing_cleared(seed: int) -> None:
    (outcome,) = run(merged_case(small_table(), seed, epochs=(5, 6)), sms=2)
    assert (outcome.fates, outcome.ordered) == ([FINISHED] * 2, True)
    assert outcome.equal


@pytest.mark.parametrize("graphs", [GRAPHS, ALL_GRAPHS])
def test_random_tables_end_as_the_golden_model_says(graphs: int, seed: int) -> None:
    rng = random.Random(seed)
    tables = [random_table(TINY, rng, blocks=3) for _ in range(graphs)]
    sms = [rng.choice((1, 2)) for _ in tables]
    cases = [merged_case(table, seed + n) for n, table in enumerate(tables)]
    outcomes = run(*cases, each=[{"sms": count} for count in sms])
    ended = [golden_ends(table, count) for table, count in zip(tables, sms, strict=True)]
    assert {*ended} == {True, False}
    for table, ends, outcome in zip(tables, ended, outcomes, strict=True):
        assert outcome.fates == [FINISHED if ends else TIMED_OUT], table
        assert outcome.equal == ends, table


def golden_ends(table: MappingTable, sms: int) -> bool:
    """Tell whether the golden model's run of a table, taken unchecked, ends."""
    config = replace(planning(TINY), sms=sms)
    try:
        run_merged([table], config, seed=1, rules=MergeRules(mode="spin", jitter=False))
    except Deadlock:
        return False
    return True


def beside(table: MappingTable, seed: int, reuse=None) -> tuple[MergedCase, MergedCase]:
    """Return a case, and an urgent one of one block behind it."""
    case = merged_case(table, seed, rounds=2, reuse=reuse)
    tasks = [task_of(0, (1, 1, 1), (4, 1, 1), ())]
    urgent = MergePlanner(planning(TINY)).plan(tasks)
    return case, merged_case(urgent, seed, behind=case)


def preempted(mode: Mode, places: list[int], seed: int, table, reuse=None):
    """Run a case with an urgent launch after each number of cycles; return records and verdicts."""
    case, urgent = beside(table, seed, reuse)
    runs = [run_beside(case, urgent, mode, after) for after in places]
    outcomes = run_all([replace(one, sms=1) for one in runs], TINY, "verilator")
    for outcome in outcomes:
        assert urgent.equal(outcome.memory)
        assert [(one["fate"], one["code"]) for one in outcome.records] == [FINISHED] * 2
    low = [next(r for r in one.records if r["launch"] == 0) for one in outcomes]
    return low, [case.equal(one.memory) for one in outcomes]


@pytest.mark.parametrize("mode", [Mode.DRAIN, Mode.WAIT])
def test_a_merged_kernel_that_makes_way_without_a_kill_is_right(mode: Mode, seed: int) -> None:
    table = small_table()
    low, equal = preempted(mode, [*range(10, 10 + PLACES * 80, 80)], seed, table)
    assert equal == [True] * PLACES
    assert not any(record["kills"] for record in low)
    assert any(record["drained"] for record in low) == (mode == Mode.DRAIN)


def test_a_merged_kernel_that_is_killed_and_run_again_in_its_epoch_is_wrong(seed: int) -> None:
    """The second task writes where the first did, when the third has read that.

    In the second run the marks of the first stand: the third task begins at once, and reads what
    the second has left there.
    """
    shapes = (((4, 1, 1), ()), ((2, 2, 1), (2,)), ((2, 1, 1), (0,)))
    tasks = [task_of(n, grid, (4, 2, 1), needs) for n, (grid, needs) in enumerate(shapes)]
    table = MergePlanner(planning(TINY)).plan(tasks)
    low, equal = preempted(Mode.RESET, [*range(3000, 7000, 400)], seed, table, {1: 0})
    assert any(record["kills"] for record in low)
    assert all(right for record, right in zip(low, equal, strict=True) if not record["kills"])
    assert not all(equal)


#: A dispatcher that offers the highest id first.
HIGHEST_FIRST = [
    Rewrite(
        SimtGpu, "elaborate", right, f"{right}, {name}.bx.eq(front.words.gx - 1 - front.block.bx)"
    )
    for name in ("queue.block", "self.offered_block")
    for right in [f"{name}.eq(front.block)"]
]


def test_if_the_highest_id_comes_first_a_legal_table_does_not_end(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, HIGHEST_FIRST)
    monkeypatch.setattr(gpu_run, "_simulation", gpu_run._simulation.__wrapped__)
    case = merged_case(small_table([0, 1, 2]), seed)
    (outcome,) = run_merged_kernels([case], TINY, "icarus", sms=1, launch_timeout=4000, waits=())
    assert outcome.fates == [TIMED_OUT]
    assert [offer["block"] for offer in outcome.offers] == [7, 6, 5, 4, 3, 2][: len(outcome.offers)]
