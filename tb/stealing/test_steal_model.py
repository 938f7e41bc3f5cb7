"""The work-stealing model: right answers, each task once, no deadlock, the bound, the options."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb.stealing.random_tree import RandomTree
from tb.support.deep_values import deep_but
from warploom_golden.stealing import (
    ALGORITHMS,
    Costs,
    StealModel,
    StealOptions,
    bounds,
    make_algorithm,
    static_makespan,
)
from warploom_golden.stealing.start_up import MAPPINGS
from warploom_golden.stealing.steal_model import STEALS
from warploom_golden.stealing.victims import VICTIMS
from warploom_spec import WarploomError

#: Quick sizes of the four algorithms.
SMALL = {"merge_sort": 5000, "matrix_product": 60, "n_queens": 7, "quadrature": 1000}


def run(algorithm, **options):
    options.setdefault("units", options.get("workers", 4))
    return StealModel(algorithm, StealOptions(**options)).run()


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("workers", [1, 2, 3, 8, 64])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_answer_is_right_on_any_number_of_workers(name, workers, mapping, seed):
    algorithm = make_algorithm(name, seed, SMALL[name])
    units = workers if mapping == "one_to_one" else 2 * workers + 1
    done = run(algorithm, workers=workers, units=units, mapping=mapping, seed=seed)
    assert done.code == 0
    assert algorithm.correct(done.result)
    assert done.leaves == bounds(algorithm, Costs()).leaves


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_smallest_problems_have_the_right_answer(name, size, seed):
    algorithm = make_algorithm(name, seed, size)
    assert algorithm.correct(run(algorithm, workers=3).result)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_one_worker_takes_exactly_the_work(name):
    """T1, from a walk of the tree, is the makespan of one worker less the start-up."""
    algorithm = make_algorithm(name, 0, SMALL[name])
    costs = Costs(start_up=0)
    assert run(algorithm, workers=1, costs=costs).makespan == bounds(algorithm, costs).work


@pytest.mark.parametrize("drawn", deep_but(range(2), range(10)))
@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_makespan_keeps_to_the_bound(name, drawn):
    """T1/P + 4 Tinf with the default costs, one to one, seeds 0 to 9."""
    algorithm = make_algorithm(name, drawn)
    work = bounds(algorithm, Costs())
    for workers in (2, 8, 64):
        done = run(algorithm, workers=workers, seed=drawn)
        least = work.makespan(workers)
        assert least <= done.makespan <= work.work / workers + 4 * work.span, workers


@pytest.mark.thorough
def test_a_hundred_thousand_random_tasks_run_once_each(seed):
    algorithm = RandomTree(100_000, seed)
    done = run(algorithm, workers=16, units=16, queue=8, steal="half", seed=seed)
    assert algorithm.correct(done.result)
    assert algorithm.each_leaf_ran_once()
    assert done.leaves + done.splits == 100_000


@settings(max_examples=60)
@given(
    tasks=st.integers(1, 400),
    workers=st.integers(1, 9),
    spare=st.integers(0, 9),
    mapping=st.sampled_from(MAPPINGS),
    victims=st.sampled_from(sorted(VICTIMS)),
    steal=st.sampled_from(STEALS),
    queue=st.integers(1, 4),
    max_nesting=st.integers(0, 3),
    draw=st.integers(0, 2**32),
)
def test_small_queues_and_nesting_never_deadlock(
    tasks, workers, spare, mapping, victims, steal, queue, max_nesting, draw
):
    algorithm = RandomTree(tasks, draw)
    done = run(
        algorithm,
        workers=workers,
        units=workers + spare,
        mapping=mapping,
        victims=victims,
        steal=steal,
        queue=queue,
        max_nesting=max_nesting,
        seed=draw,
    )
    assert algorithm.correct(done.result)
    assert algorithm.each_leaf_ran_once()
    assert done.deepest <= max_nesting


def test_nesting_is_used_up_to_its_limit():
    """The limit is what holds the depth: without it the same run nests deeper."""
    deep = run(RandomTree(3000, 5), workers=8, max_nesting=64).deepest
    assert deep > 2
    assert run(RandomTree(3000, 5), workers=8, max_nesting=2).deepest == 2


# --- failures -------------------------------------------------------------------------------------


def test_a_failed_leaf_reaches_the_root_and_the_others_finish():
    algorithm = RandomTree(500, 3)
    bad = algorithm.leaves[len(algorithm.leaves) // 2]
    model = StealModel(
        algorithm, StealOptions(workers=4, units=4), fails=lambda item: 7 * (item[0] == bad)
    )
    done = model.run()
    assert (done.code, done.result) == (7, None)
    assert done.leaves == len(algorithm.leaves)
    ran = {leaf for leaf, share in algorithm.runs.items() if share == algorithm.UNIT}
    assert ran == set(algorithm.leaves) - {bad}


def test_the_lowest_failed_part_names_the_code():
    """Of the parts of one task the first in serial order, of a leaf's units the lowest."""
    algorithm = make_algorithm("merge_sort", 0, 1024)
    fails = {(512, 768): 5, (768, 1024): 6}

    def code_of(item):
        return fails.get(item, 0)

    options = StealOptions(workers=1, units=2, mapping="one_to_many")
    assert StealModel(algorithm, options, fails=code_of).run().code == 5
    del fails[512, 768]
    assert StealModel(algorithm, options, fails=code_of).run().code == 6


# --- options that must matter ---------------------------------------------------------------------


def test_victim_policies_choose_differently():
    spans = {
        victims: run(RandomTree(2000, 1), workers=8, victims=victims).makespan
        for victims in VICTIMS
    }
    assert len(set(spans.values())) == len(VICTIMS), spans


def test_stealing_half_takes_several_tasks_at_once():
    one = run(RandomTree(2000, 1), workers=8, steal="one")
    half = run(RandomTree(2000, 1), workers=8, steal="half")
    assert half.steals != one.steals


def test_atomics_cost_more_than_fences():
    algorithm = make_algorithm("n_queens", 0, 7)
    fence = run(algorithm, workers=4, costs=Costs(sync="fence"))
    atomic = run(algorithm, workers=4, costs=Costs(sync="atomic"))
    assert atomic.makespan > fence.makespan
    # One worker meets every round in turn: four points a round, 22 cycles more each.
    single = [
        run(algorithm, workers=1, costs=Costs(sync=sync)).makespan for sync in ("fence", "atomic")
    ]
    assert single[1] - single[0] == 4 * 22 * fence.leaves


def test_one_to_many_shortens_leaves():
    algorithm = make_algorithm("matrix_product", 0, 64)
    one = run(algorithm, workers=2, units=8, mapping="one_to_one")
    many = run(algorithm, workers=2, units=8, mapping="one_to_many")
    assert many.makespan < one.makespan
    assert many.rounds == 4 * many.leaves


def test_stealing_beats_a_static_partition_of_an_uneven_tree():
    algorithm = make_algorithm("quadrature", 0)
    static = static_makespan(algorithm, Costs(), 8)
    assert run(algorithm, workers=8).makespan < static / 2


def test_a_static_partition_of_one_worker_is_the_work():
    algorithm = make_algorithm("n_queens", 0, 6)
    assert (
        static_makespan(algorithm, Costs(), 1) == Costs().start_up + bounds(algorithm, Costs()).work
    )


def test_the_same_seed_gives_the_same_run():
    first, second = (run(RandomTree(2000, 1), workers=8, seed=4) for _ in range(2))
    assert first == second
    assert first.makespan != run(RandomTree(2000, 1), workers=8, seed=5).makespan


def test_slices_fill_each_workers_time_without_overlap():
    done = run(RandomTree(2000, 1), workers=5, costs=Costs(start_up=7))
    for worker in range(5):
        slices = sorted((one.start, one.end) for one in done.slices if one.worker == worker)
        assert slices[0][0] == 7
        assert all(a[1] == b[0] for a, b in zip(slices, slices[1:], strict=False))
        assert slices[-1][1] >= done.makespan
    idle = sum(one.end - one.start for one in done.slices if one.on == "idle")
    assert done.idle == idle > 0


# --- corrections ----------------------------------------------------------------------------------


def test_the_published_branches_hand_the_whole_problem_to_one_unit():
    """Correction: a task that does not meet the cut-off is split; the flow chart says it is not."""
    algorithm = make_algorithm("matrix_product", 0, 64)
    published = run(algorithm, workers=8, source_cutoff=True)
    assert (published.leaves, published.splits) == (1, 0)
    corrected = run(algorithm, workers=8)
    assert corrected.leaves > 1
    assert corrected.makespan < published.makespan


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"workers": 0}, "workers is 0; legal: 1 or more"),
        ({"workers": 5}, "workers is 5 with 4 units; legal: 1 to 4"),
        ({"victims": "rich"}, "victims is 'rich'; legal: random, round_robin, most_loaded"),
        ({"steal": "all"}, "steal is 'all'; legal: one, half"),
        ({"queue": 0}, "queue is 0; legal: 1 or more entries"),
        ({"max_nesting": -1}, "nesting is -1; legal: 0 or more"),
        ({"mapping": "many"}, "mapping is 'many'; legal: one_to_one, one_to_many"),
    ],
)
def test_an_illegal_option_is_refused(change, text):
    with pytest.raises(WarploomError, match=text):
        StealOptions(**change)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"sync": "none"}, "sync is 'none'; legal: fence, atomic"),
        ({"push": -1}, "push is -1; legal: 0 or more cycles"),
    ],
)
def test_an_illegal_cost_is_refused(change, text):
    with pytest.raises(WarploomError, match=text):
        dataclasses.replace(Costs(), **change)


@pytest.mark.parametrize(
    ("name", "size", "text"),
    [
        ("bubble_sort", None, "algorithm is 'bubble_sort'; legal: merge_sort, matrix_product"),
        ("n_queens", 13, "size is 13 for n_queens; legal: 1 to 12"),
    ],
)
def test_an_unknown_algorithm_or_size_is_refused(name, size, text):
    with pytest.raises(WarploomError, match=text):
        make_algorithm(name, 0, size)
