"""Merged launches on any machine: same blocks, in order, no deadlock; deadlocks reported."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb.merging.graphs import LIMITS, SHAPES, cases, config, random_tasks, task, whole_tasks
from tb.merging.merged_ledger import judge, ran
from tb.replay.test_event_model import random_launches
from warploom_golden.merging.deadlock import Deadlock
from warploom_golden.merging.dependency_tracker import DependencyTracker
from warploom_golden.merging.mapping_table import MappingTable
from warploom_golden.merging.merge_planner import MergePlanner
from warploom_golden.merging.merged_dispatcher import MODES, MergedDispatcher
from warploom_golden.merging.merged_indices import MergedIndices
from warploom_golden.merging.merged_replay import MergedRun, MergeRules, run_merged
from warploom_golden.merging.merged_work import CHARGES, MergedWork, merged_work
from warploom_golden.merging.table_check import TableError
from warploom_golden.merging.tags_and_marks import permuted
from warploom_golden.replay import event_model
from warploom_golden.replay.event_constants import NEVER, PREDICTED_POLICIES
from warploom_golden.replay.gains import Workload, run_queue
from warploom_golden.replay.machine import Machine
from warploom_spec import Config, LaunchDescriptor, WarploomError, preset, timing
from warploom_spec.config import RECLAIMS

#: What the small machines of these tests have.
LATENCY = timing(config())


def run(table: MappingTable, machine: Config, mode: str, seed: int = 0, **rules: str) -> MergedRun:
    return run_merged([table], machine, seed, MergeRules(mode=mode, **rules))


def both_modes(case: tuple[Config, MappingTable], seed: int) -> None:
    machine, table = case
    done = {mode: run(table, machine, mode, seed).works[0] for mode in MODES}
    for mode, work in done.items():
        judge(table, work, machine, mode)
    assert ran(done["spin"]) == ran(done["gate"])


@settings(max_examples=40)
@given(case=cases())
def test_random_graphs_run_in_order_in_both_modes(case: tuple[Config, MappingTable]) -> None:
    both_modes(case, 1)


@pytest.mark.deep
@settings(max_examples=2000)
@given(case=cases())
def test_many_random_graphs(case: tuple[Config, MappingTable]) -> None:
    both_modes(case, 1)


@settings(max_examples=20)
@given(case=cases(16))
def test_a_blocks_own_need_can_be_charged_alone(case: tuple[Config, MappingTable]) -> None:
    machine, table = case
    for mode in MODES:
        judge(table, run(table, machine, mode, charge="task").works[0], machine, mode)


@pytest.mark.parametrize("policy", PREDICTED_POLICIES)
@pytest.mark.parametrize("reclaim", RECLAIMS)
def test_plain_launches_run_as_in_the_replay(policy: str, reclaim: str, seed: int) -> None:
    """Equal to the cycle: every offer's cycle, SM and slot, and the run's cycles."""
    machine = replace(preset("tiny"), policy=policy, reclaim=reclaim)
    refused = 0
    for k in range(4):
        rng = random.Random(f"{seed}-{k}-{policy}-{reclaim}")
        drawn = random_launches(rng, machine, 12)
        launches = [replace(one, stream=0, priority=0, mode=0) for one in drawn]
        offers = event_model.run(launches, machine, k).tables["offers"]
        merged = run_merged(launches, machine, k)
        expected = zip(*(offers[name].tolist() for name in ("cycle", "sm", "slot")), strict=True)
        assert sorted(expected) == sorted(
            block
            for w in merged.works
            for block in zip(w.log.offered, w.log.sm, w.log.slot, strict=True)
        )
        assert merged.cycles == run_queue(Workload(launches, machine, k), Machine.of(machine))
        refused += merged.refused
    assert refused > 0


# --- timing --------------------------------------------------------------------------------------
def one_after_the_other(mode: str) -> MergedRun:
    """Two tasks of two blocks each, the second needs the first, on a machine with room for all."""
    machine = config(sms=4)
    tasks = [task(2, length=20), task(2, (0,), length=20)]
    return run(MergePlanner(machine).plan(tasks), machine, mode)


def test_a_gate_opens_when_the_slot_of_the_last_report_is_free() -> None:
    """The mark stands, and a block is picked, `resident_returns` after the last report."""
    (work,) = one_after_the_other("gate").works
    offer = max(work.log.reported[:2]) + LATENCY.resident_returns + LATENCY.resident_offer
    assert work.log.offered[2:] == [offer, offer + 1]
    assert work.log.started == work.log.offered


def test_a_spinning_block_begins_in_the_cycle_of_the_mark() -> None:
    done = one_after_the_other("spin")
    (work,) = done.works
    # Offered at once; they wait in their slots.
    first = work.log.offered[0]
    assert work.log.offered == [first, first + 1, first + 2, first + 5]
    mark = max(work.log.reported[:2]) + LATENCY.resident_returns
    assert work.log.started[2:] == [mark, mark]
    # The last block of each task waits for the tag of the other one.
    held = [work.log.due[n] - work.log.started[n] - work.lengths[n] for n in (1, 3)]
    assert done.spin_slot_cycles == 2 * mark - sum(work.log.offered[2:]) + sum(held)
    for n in (1, 3):
        tagged = work.log.reported[n - 1] + LATENCY.resident_returns
        assert work.log.due[n] == max(work.log.started[n] + work.lengths[n], tagged)


def test_the_pages_worked_example_to_the_cycle() -> None:
    machine = config(sms=4)
    table = MergePlanner(machine).plan([task(2, length=6), task(2, (0,), length=6)])
    logs = {
        mode: run_merged([table], machine, 0, MergeRules(mode=mode, jitter=False)).works[0].log
        for mode in MODES
    }
    gate, spin = logs["gate"], logs["spin"]
    first = gate.offered[0]
    assert spin.offered[0] == first
    for log in (gate, spin):
        for cycles in (log.offered, log.started, log.reported):
            cycles[:] = [cycle - first for cycle in cycles]
    # Tags of 6 and 7 are counted in 12 and 13 (`resident_returns` - 1 = 6 cycles later); the mark
    # stands in 14; a pick in 14 is offered in 17 (`resident_offer` = 3).
    assert gate.offered == gate.started == [0, 1, 17, 18]
    assert gate.reported == [6, 7, 23, 24]
    # A start in -9 is active in -4, first picked in -3. The scan looks at SM 0, 1 and 2 in -7 to
    # -5, so they have room in -3 to -1: picks in -3, -2, -1. The change made in -5 lets the scan
    # begin anew: SM 3 is looked at in -1 and has room in 3. SM 0 was picked in -3; its own verdict
    # lands in 1. It has room in 2, a cycle before SM 3: a pick in 2, an offer in 5.
    assert spin.offered == [0, 1, 2, 5] and spin.sm == [0, 1, 2, 0]
    # The tag of a is counted in 12: b is due from 13 on. Its own tag is counted in 19.
    # Two blocks begin with the mark in 20. The tag of c, reported in 26, is counted in 32.
    assert spin.started == [0, 1, 20, 20]
    assert spin.reported == [6, 13, 26, 33]


def test_tags_of_several_sms_are_counted_one_a_cycle_in_turn() -> None:
    tracker = DependencyTracker([3, 3], sms=4)
    for sm, number in ((2, 0), (2, 1), (0, 0), (3, 1), (0, 1), (2, 0)):
        tracker.enter(sm, number)
    counted = []
    while tracker.waiting:
        marks = tracker.marks
        counted.append((tracker.count(), marks))
    # SM 0, 2, 3, 0, 2, 2: from one past the SM counted last. Task 1's mark stands after its third.
    assert counted == [(0, 0), (0, 0), (1, 0), (1, 0), (1, 0), (0, 2)]
    assert tracker.marks == 3 and tracker.done and tracker.count() is None


def dispatched(work: MergedWork, machine: Config, mode: str, step: int = NEVER) -> tuple[int, ...]:
    """Run one launch on the dispatcher alone, at most some cycles at once.

    Returns the cycle in which it is at `ended` first, cycles that the gate held, and slot-cycles.
    """
    dispatcher = MergedDispatcher(machine, lambda launch: work, mode)
    cycle = timing(machine).resident_boot
    dispatcher.start(cycle, 0, LaunchDescriptor(grid=(1, 1, 1), block=(1, 1, 1)), 1)
    while dispatcher.ended is None:
        cycle = dispatcher.advance(cycle, min(cycle + step, NEVER))
    dispatcher.take_end()
    return cycle, dispatcher.gate_cycles, dispatcher.spin_slot_cycles


def due_at_once(table: MappingTable, machine: Config, blocks: int) -> MergedWork:
    """Return the work of a table of which so many blocks are first due in one cycle."""
    learnt = merged_work(table, machine, 0)
    learnt.lengths[:] = [1000] * len(learnt.lengths)
    dispatched(learnt, machine, "gate")
    work = merged_work(table, machine, 0)
    work.lengths[:blocks] = [500 - cycle for cycle in learnt.log.offered[:blocks]]
    return work


def test_a_burst_of_reports_delays_the_mark_by_one_cycle_a_tag() -> None:
    """Sixteen blocks on sixteen SMs, all reported in one cycle."""
    machine = config(sms=16, block_slots=1)
    table = MergePlanner(machine).plan([task(16), task(1, (0,))])
    work = due_at_once(table, machine, 16)
    dispatched(work, machine, "gate")
    assert set(work.log.reported[:16]) == {500}
    # The first tag's counting, sixteen tags, then the mark and the pick, the offer.
    counted = 500 + LATENCY.resident_returns - 1
    assert work.log.offered[16] == counted + 16 + LATENCY.resident_offer


def test_a_launch_is_gone_only_when_its_tags_are_counted() -> None:
    machine = config(sms=16, block_slots=2)
    work = due_at_once(MergePlanner(machine).plan([task(16), task(16)]), machine, 32)
    end, _, _ = dispatched(work, machine, "gate")
    # The ports grant one report a cycle, from the first SM's in 501 on. An SM whose first report is
    # granted in g sends its second in g + 2: none of the 32 grants in 501 to 532 falls out.
    assert sorted(work.log.reported) == [500] * 16 + [*range(503, 519)]
    # One tag a cycle. What is counted in c lets the launch be at `ended` in c + 2.
    assert end == 500 + LATENCY.resident_returns - 1 + 31 + 2


# --- a drained launch goes on --------------------------------------------------------------------
def test_a_launch_that_goes_on_keeps_the_marks_of_the_tasks_it_left_behind() -> None:
    machine = config(sms=2)
    tasks = [task(3), task(4, (0,)), task(2, (1,))]
    table = MergePlanner(machine).plan(tasks)
    for mode in MODES:
        for start in range(9):
            work = merged_work(table, machine, 0, start=start)
            dispatched(work, machine, mode)
            assert [cycle >= 0 for cycle in work.log.reported] == [n >= start for n in range(9)]


# --- deadlocks -----------------------------------------------------------------------------------
def test_an_illegal_table_forced_in_is_reported_with_who_waits_for_what() -> None:
    """Two SMs of four slots hold the ten blocks' first eight, whose marks come behind them."""
    machine = config(sms=2, block_slots=2)
    tasks = [task(3), task(10, (0,))]
    table = whole_tasks(MergePlanner(machine).plan(tasks), [1, 0])
    with pytest.raises(Deadlock) as gate:
        run(table, machine, "gate")
    assert str(gate.value) == (
        "deadlock: block (0, 0, 0) of task 1 at the dispatcher waits for the mark of task 0"
    )
    with pytest.raises(Deadlock) as spin:
        run(table, machine, "spin")
    assert [w.merged_id for w in spin.value.waiters] == [0, 1, 2, 3, 4]
    assert {w.where for w in spin.value.waiters[:4]} == {"on SM 0", "on SM 1"}
    assert spin.value.waiters[4].cause == "room on an SM"
    assert str(spin.value).startswith(
        "deadlock: block (0, 0, 0) of task 1 on SM 0 waits for the mark of task 0; "
    )


def test_an_illegal_table_may_run_where_everything_has_room() -> None:
    """Why a test of a table by running it proves nothing."""
    machine = config(sms=8)
    table = whole_tasks(MergePlanner(machine).plan([task(3), task(10, (0,))]), [1, 0])
    judge(table, run(table, machine, "spin").works[0], machine, "spin")
    with pytest.raises(Deadlock):
        run(table, machine, "gate")


def deadlocks_by_block_id(rng: random.Random) -> bool:
    """Run a permuted table with the last block by merged id, then by block id."""
    machine = config(sms=rng.randint(1, 4), block_slots=rng.randint(1, 2))
    tasks = random_tasks(rng, rng.randint(1, 6))
    table = MergePlanner(machine, LIMITS).plan(tasks)
    table = permuted(table, range(len(tasks)), rng)
    judge(table, run(table, machine, "spin").works[0], machine, "spin")
    try:
        run(table, machine, "spin", last="block_id")
    except Deadlock as error:
        assert "tags of its own task" in str(error)
        return True
    return False


@pytest.mark.thorough
def test_who_is_last_by_block_id_deadlocks_and_by_merged_id_never_does(seed: int) -> None:
    """CN102708009A's last block loops over the tags: in a permuted table it must be the last.

    By block id it may be dispatched early, and hold the slot that a block whose tag it waits for
    needs.
    """
    # Of 200 draws 47 on average, six more or less.
    assert sum(deadlocks_by_block_id(random.Random(f"{seed}-{k}")) for k in range(200)) > 20


@pytest.mark.deep
def test_the_page_says_how_many_of_two_thousand_deadlock() -> None:
    page = Path(__file__).parents[2] / "docs" / "merging" / "merged_kernels.md"
    stuck = sum(deadlocks_by_block_id(random.Random(k)) for k in range(2000))
    assert f": {stuck} of 2,000 random runs deadlock" in page.read_text()


# --- what CN102708009A does otherwise ------------------------------------------------------------
def test_a_last_block_that_reads_the_tags_itself_costs_cycles_a_tag() -> None:
    machine = config(sms=4)
    table = MergePlanner(machine).plan([task(9), task(1, (0,))])
    quick = run_merged([table], machine, 0, MergeRules(mode="spin")).works[0]
    slow = run_merged([table], machine, 0, MergeRules(mode="spin", walk=100)).works[0]
    assert max(slow.log.reported[:9]) >= max(quick.log.reported[:9]) + 8 * 100 - 20
    judge(table, slow, machine, "spin")


def test_the_maximum_leaves_room_unused_that_each_blocks_own_need_would_not() -> None:
    machine = config(sms=2, block_slots=4)
    # A task of many small blocks beside one block that takes a whole SM.
    tasks = [task(40, length=50), task(1, block=(32, 1, 1), warp_registers=8, length=50)]
    table = MergePlanner(machine).plan(tasks)
    done = {charge: run(table, machine, "gate", charge=charge) for charge in CHARGES}
    for one in done.values():
        judge(table, one.works[0], machine, "gate")
    assert done["maximum"].cycles > 3 * done["task"].cycles
    with pytest.raises(WarploomError, match="charge is 'own'; legal: maximum, task"):
        run(table, machine, "gate", charge="own")
    with pytest.raises(WarploomError, match="mode is 'wait'; legal: spin, gate"):
        run(table, machine, "wait")


# --- time ----------------------------------------------------------------------------------------
@settings(max_examples=25)
@given(case=cases(10))
def test_no_event_is_jumped_over(case: tuple[Config, MappingTable]) -> None:
    """Stepped through every cycle, the dispatcher does the same in the same cycles."""
    machine, table = case
    for mode in MODES:
        jumped, stepped = (merged_work(table, machine, 3) for _ in range(2))
        assert dispatched(jumped, machine, mode) == dispatched(stepped, machine, mode, step=1)
        assert jumped.log == stepped.log


# --- index configurations ------------------------------------------------------------------------
def test_each_shape_is_presented_once_in_order_of_task_number() -> None:
    machine = config(history_entries=2)
    tasks = [task(1, block=SHAPES[n]) for n in (3, 0, 3)]
    table = MergePlanner(machine).plan(tasks)
    indices = MergedIndices(machine, lambda launch: table.shapes())
    indices.ask(0, table.launch(machine))
    accepted, decided = [], {}
    for cycle in range(60):
        found = indices.look_up(cycle)
        accepted += [] if found is None else [found]
        decision = indices.decision(cycle)
        if decision is not None:
            decided[cycle] = decision
    # The launch is decided once, with its last shape.
    assert [one.entry for one in accepted] == [0, 1]
    assert decided == {accepted[1].decision: accepted[1]}
    # The second shape is presented in the cycle after the first one's decision.
    assert accepted[1].decision > accepted[0].decision + LATENCY.filter_lookup


def test_merged_launches_follow_each_other_though_each_needs_the_whole_history() -> None:
    """A launch's entries are all released at its end; else the next one would wait for ever."""
    machine = config(history_entries=2)
    pairs = [(0, 1), (2, 3), (4, 5), (0, 2)]
    tables = [
        MergePlanner(machine).plan([task(2, block=SHAPES[n]) for n in pair]) for pair in pairs
    ]
    done = run_merged(tables, machine, 0)
    assert len(done.works) == 4
    for table, work in zip(tables, done.works, strict=True):
        judge(table, work, machine, "gate")


def test_a_launch_begins_after_the_one_before_it_has_ended() -> None:
    machine = config()
    table = MergePlanner(machine).plan([task(3), task(3, (0,))])
    plain = task(4).launch
    for mode in MODES:
        done = run_merged([table, plain, table], machine, 0, MergeRules(mode=mode))
        for earlier, later in zip(done.works, done.works[1:], strict=False):
            # A stream is free for so long between two launches.
            least = LATENCY.resident_end + 8 + LATENCY.resident_first_offer
            assert min(later.log.offered) >= max(earlier.log.reported) + least


# --- illegal tables, forced in -------------------------------------------------------------------
@settings(max_examples=60)
@given(case=cases(8), rng=st.randoms(use_true_random=False))
def test_a_table_out_of_order_is_refused_and_forced_in_its_deadlock_is_reported(
    case: tuple[Config, MappingTable], rng: random.Random
) -> None:
    """Under ``gate`` it always stands still; under ``spin`` it may find room, and then is right."""
    machine, table = case
    drawn = list(table.entries)
    rng.shuffle(drawn)
    forced = replace(table, entries=tuple(drawn))
    tasks, _ = forced.expanded()
    order = tasks.tolist()
    first_wrong = next(
        (
            n
            for n, number in enumerate(order)
            if any(other in order[n:] for other in forced.tasks[number].depends)
        ),
        None,
    )
    if first_wrong is None:
        judge(forced, run(forced, machine, "gate").works[0], machine, "gate")
        return
    with pytest.raises(TableError):
        MergePlanner(machine, LIMITS).check(forced)
    with pytest.raises(Deadlock) as gate:
        run(forced, machine, "gate")
    (waiter,) = gate.value.waiters
    missing = {d for d in forced.tasks[order[first_wrong]].depends if d in order[first_wrong:]}
    assert (waiter.merged_id, waiter.task) == (first_wrong, order[first_wrong])
    assert waiter.cause == f"the mark of task {', '.join(map(str, sorted(missing)))}"
    try:
        work = run(forced, machine, "spin").works[0]
    except Deadlock as spin:
        assert len(spin.waiters) > 1 and spin.waiters[-1].cause == "room on an SM"
        assert any("the mark of task" in waiter.cause for waiter in spin.waiters)
    else:
        judge(forced, work, machine, "spin")
