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
from tb.examples.merged_tables import random_table, task_of
from tb.merging.graphs import whole_tasks
from tb.support.planted import plant
from warploom_dev.rewrite import Rewrite
from warploom_golden.merging import Deadlock, MappingTable, MergePlanner, MergeRules, run_merged
from warploom_golden.merging.tags_and_marks import permuted
from warploom_spec import preset
from warploom_spec.queue import FinalFate, Mode, QueueCode

TINY = preset("tiny")
#: Cycles of one residence: a kernel of these tests that ends takes less.
TIMEOUT = 9_000
FINISHED = (FinalFate.FINISHED, 0)
TIMED_OUT = (FinalFate.FAILED, QueueCode.TIMEOUT)
GRAPHS, ALL_GRAPHS = 30, 200
#: Arrivals of the urgent launch, in each of two modes.
PLACES, STEP = 25, 250
#: Arrivals of an urgent launch that kills: the second task has begun.
KILLED_AFTER = [6000, 7500, 9000]
pytestmark = pytest.mark.deep


def small_table(order: list[int] | None = None, first: int = 4, third: int = 2) -> MappingTable:
    """Return tasks of so many blocks of a warp, the second of two; the third needs the first."""
    shapes = (((first, 1, 1), ()), ((1, 2, 1), ()), ((third, 1, 1), (0,)))
    tasks = [task_of(n, grid, (4, 2, 1), needs) for n, (grid, needs) in enumerate(shapes)]
    table = MergePlanner(planning(TINY)).plan(tasks)
    return whole_tasks(table, order) if order else table


def chain() -> MappingTable:
    """Return tasks whose first reads early what the third writes late; the second is last."""
    shapes = (
        ((1, 1, 1), (5, 1, 1), (2,)),
        ((6, 1, 1), (4, 2, 1), (0,)),
        ((2, 1, 1), (4, 2, 1), ()),
    )
    tasks = [task_of(number, *shape) for number, shape in enumerate(shapes)]
    return MergePlanner(planning(TINY)).plan(tasks)


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
    legal, illegal = small_table(), small_table([2, 1, 0], third=5)
    right, wrong = merged_case(legal, seed), merged_case(illegal, seed)
    abort = {"abort_after": TIMEOUT // 3}
    # An SM holds one block: that of the highest id waits for the tags of blocks that find no slot.
    shapes = ((2, 1, 1), (8, 1, 1)), ((1, 1, 1), (5, 13, 1))
    wide = [task_of(number, *shape, ()) for number, shape in enumerate(shapes)]
    table = first_permuted(MergePlanner(planning(TINY)).plan(wide))
    by_id = merged_case(table, seed, kernel=kernel("merged_by_block_id"))
    cases = [wrong, right, wrong, right, by_id, merged_case(table, seed)]
    patient = {"launch_timeout": 4 * TIMEOUT}
    outcomes = run(*cases, each=[{}, {}, abort, {}, {}, patient])
    assert [one.fates for one in outcomes] == [
        [TIMED_OUT],
        [FINISHED],
        [(FinalFate.ABORTED, 0)],
        [FINISHED],
        [TIMED_OUT],
        [FINISHED],
    ]
    assert [one.equal for one in outcomes] == [False, True] * 3
    # Four blocks of the third task hold all slots.
    assert [len(one.offers) for one in outcomes[::2]] == [4, 4, 1]
    assert all(one.ordered for one in outcomes[1::2])


def test_without_the_wait_the_result_is_wrong(seed: int) -> None:
    case = merged_case(chain(), seed, kernel=kernel("merged_no_wait"))
    (outcome,) = run(case, sms=2)
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
    sms = [rng.choice((1, 1, 2)) for _ in tables]
    cases = [merged_case(table, seed + n) for n, table in enumerate(tables)]
    # The longest of them that ends takes some 37,000 cycles.
    outcomes = run(*cases, each=[{"sms": count} for count in sms], launch_timeout=6 * TIMEOUT)
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
    case = merged_case(table, seed, reuse=reuse)
    tasks = [task_of(0, (1, 1, 1), (4, 1, 1), ())]
    urgent = MergePlanner(planning(TINY)).plan(tasks)
    return case, merged_case(urgent, seed, behind=case)


def preempted(mode: Mode, places: list[int], seed: int, table, reuse=None):
    """Run a case with an urgent launch after each number of cycles.

    Return the first launch's records, whether it had the last block, and whether it is right.
    """
    case, urgent = beside(table, seed, reuse)
    runs = [run_beside(case, urgent, mode, after) for after in places]
    outcomes = run_all([replace(one, sms=1) for one in runs], TINY, "verilator")
    for outcome in outcomes:
        assert urgent.equal(outcome.memory)
        assert [(one["fate"], one["code"]) for one in outcome.records] == [FINISHED] * 2
    low = [next(r for r in one.records if r["launch"] == 0) for one in outcomes]
    behind = [one.offers[-1]["stream"] == 0 for one in outcomes]
    return low, behind, [case.equal(one.memory) for one in outcomes]


@pytest.mark.parametrize("mode", [Mode.DRAIN, Mode.WAIT])
def test_a_merged_kernel_that_makes_way_without_a_kill_is_right(mode: Mode, seed: int) -> None:
    places = [*range(900, 900 + PLACES * STEP, STEP)]
    low, behind, equal = preempted(mode, places, seed, small_table())
    assert equal == [True] * PLACES
    assert not any(record["kills"] for record in low)
    # A launch that makes way has blocks left when the urgent one has begun.
    assert any(behind) == (mode == Mode.DRAIN)


def test_a_merged_kernel_that_is_killed_and_run_again_in_its_epoch_is_wrong(seed: int) -> None:
    """The sums are read by the first task; then the second task writes where they stood.

    In the second run all marks of the first may stand. Then the first task begins at once, and
    reads what the second has left there.
    """
    table = chain()
    low, _, equal = preempted(Mode.RESET, KILLED_AFTER, seed, table, {1: 2})
    assert any(record["kills"] for record in low)
    assert not all(equal)


#: A dispatcher that offers the highest id first.
HIGHEST_FIRST = [
    Rewrite(
        SimtGpu,
        "elaborate",
        f"{name}.eq(front.block)",
        f"({name}.eq(front.block), {name}.bx.eq(front.words.gx - 1 - front.block.bx))",
    )
    for name in ("queue.block", "self.offered_block")
]


def test_if_the_highest_id_comes_first_a_legal_table_does_not_end(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, HIGHEST_FIRST)
    monkeypatch.setattr(gpu_run, "_simulation", gpu_run._simulation.__wrapped__)
    case = merged_case(small_table([0, 1, 2], first=2, third=5), seed)
    (outcome,) = run_merged_kernels([case], TINY, "icarus", sms=1, launch_timeout=4000)
    assert outcome.fates == [TIMED_OUT]
    # Blocks of the third task hold all slots, and wait for the first.
    assert [offer["block"] for offer in outcome.offers] == [8, 7, 6, 5]
    assert all(offer["waited"] > 1000 for offer in outcome.offers)
