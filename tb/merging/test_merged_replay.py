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
from tb.support.line_runs import run_line
from warploom_golden.merging.deadlock import Deadlock
from warploom_golden.merging.dependency_tracker import DependencyTracker
from warploom_golden.merging.mapping_table import MappingTable
from warploom_golden.merging.merge_planner import MergePlanner
from warploom_golden.merging.merged_dispatcher import MODES, MergedDispatcher
from warploom_golden.merging.merged_replay import MergedRun, MergeRules, run_merged
from warploom_golden.merging.merged_work import CHARGES, MergedWork, merged_work
from warploom_golden.merging.table_check import TableError
from warploom_golden.merging.tags_and_marks import permuted
from warploom_golden.replay.event_constants import PREDICTED_POLICIES
from warploom_golden.replay.event_front import EventFront
from warploom_spec import Config, WarploomError, preset, timing
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
@pytest.mark.parametrize("name", ["tiny", "default"])
def test_plain_launches_run_as_in_the_line_of_the_gains(
    name: str, policy: str, reclaim: str, seed: int
) -> None:
    """Equal to the cycle: every offer's cycle and SM, and the run's cycles."""
    machine = replace(preset(name), policy=policy, reclaim=reclaim)
    for k in range(6):
        rng = random.Random(f"{seed}-{k}-{name}-{policy}-{reclaim}")
        drawn = random_launches(rng, machine, 12)
        launches = [replace(one, stream=0) for one in drawn]
        line = run_line(launches, machine, k)
        merged = run_merged(launches, machine, k)
        assert sorted(zip(line.cycle.tolist(), line.sm.tolist(), strict=True)) == sorted(
            pair for w in merged.works for pair in zip(w.log.offered, w.log.sm, strict=True)
        )
        assert merged.cycles == line.cycles
        assert merged.refused == line.refused > 0


# --- timing --------------------------------------------------------------------------------------
def one_after_the_other(mode: str) -> MergedRun:
    """Two tasks of two blocks each, the second needs the first, on a machine with room for all."""
    machine = config(sms=4)
    tasks = [task(2, length=20), task(2, (0,), length=20)]
    return run(MergePlanner(machine).plan(tasks), machine, mode)


def test_a_gate_opens_when_the_slot_of_the_last_report_is_free() -> None:
    """The mark stands, and the decision is made, `returns` cycles after the last report."""
    (work,) = one_after_the_other("gate").works
    mark = max(work.log.reported[:2]) + LATENCY.returns
    assert work.log.offered[2:] == [mark + LATENCY.offer, mark + LATENCY.offer + 1]
    assert work.log.started == work.log.offered


def test_a_spinning_block_begins_in_the_cycle_of_the_mark() -> None:
    done = one_after_the_other("spin")
    (work,) = done.works
    # Offered at once, one a cycle; they wait in their slots.
    assert work.log.offered == list(range(work.log.offered[0], work.log.offered[0] + 4))
    mark = max(work.log.reported[:2]) + LATENCY.returns
    assert work.log.started[2:] == [mark, mark]
    # The last block of each task waits for the tag of the other one.
    held = [work.log.due[n] - work.log.started[n] - work.lengths[n] for n in (1, 3)]
    assert done.spin_slot_cycles == 2 * mark - sum(work.log.offered[2:]) + sum(held)
    for n in (1, 3):
        tagged = work.log.reported[n - 1] + LATENCY.returns
        assert work.log.due[n] == max(work.log.started[n] + work.lengths[n], tagged)


def test_the_pages_worked_example_to_the_cycle() -> None:
    machine = config(sms=4)
    table = MergePlanner(machine).plan([task(2, length=6), task(2, (0,), length=6)])
    logs = {
        mode: run_merged([table], machine, 0, MergeRules(mode=mode, jitter=False)).works[0].log
        for mode in MODES
    }
    gate, spin = logs["gate"], logs["spin"]
    assert gate.offered == gate.started == [18, 19, 31, 32]
    assert gate.reported == [24, 25, 37, 38]
    assert spin.offered == [18, 19, 20, 21] and spin.started == [18, 19, 32, 32]
    assert spin.reported == [24, 28, 38, 42]


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


def dispatched(work: MergedWork, machine: Config, mode: str) -> int:
    """Run one launch on the dispatcher alone; return the cycle in which its end is loaded."""
    dispatcher = MergedDispatcher(machine, mode)
    dispatcher.accept(work, 0)
    after, ended = dispatcher.advance(0, 1 << 40)
    assert ended is work
    return after - 1


def test_a_burst_of_reports_delays_the_mark_by_one_cycle_a_tag() -> None:
    """Sixteen blocks on sixteen SMs, all reported in one cycle."""
    machine = config(sms=16)
    table = MergePlanner(machine).plan([task(16), task(1, (0,))])
    work = merged_work(table, machine, 0)
    work.lengths[:] = [*range(40, 24, -1), 4]
    dispatched(work, machine, "gate")
    assert len(set(work.log.reported[:16])) == 1
    # The first tag's counting, sixteen tags, then the mark and the decision, the offer.
    counted = work.log.reported[0] + LATENCY.returns - 1
    assert work.log.offered[16] == counted + 16 + LATENCY.offer


def test_a_launch_is_gone_only_when_its_tags_are_counted() -> None:
    machine = config(sms=16)
    work = merged_work(MergePlanner(machine).plan([task(16), task(16)]), machine, 0)
    work.lengths[:] = range(60, 28, -1)
    end = dispatched(work, machine, "gate")
    first = min(work.log.reported)
    # An SM reports its two blocks in two cycles.
    assert max(work.log.reported) == first + 1
    # One tag a cycle; the end is loaded `end` cycles after the last one's counting.
    assert end == first + LATENCY.returns - 1 + 31 + LATENCY.end


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
        jumping = MergedDispatcher(machine, mode)
        jumped = merged_work(table, machine, 3)
        jumping.accept(jumped, 0)
        end, _ = jumping.advance(0, 1 << 40)
        stepping = MergedDispatcher(machine, mode)
        stepped = merged_work(table, machine, 3)
        stepping.accept(stepped, 0)
        cycle, ended = 0, None
        while ended is None:
            cycle, ended = stepping.advance(cycle, cycle + 1)
        assert (cycle, stepped.log) == (end, jumped.log)
        assert stepping.gate_cycles == jumping.gate_cycles
        assert stepping.spin_slot_cycles == jumping.spin_slot_cycles


# --- index configurations ------------------------------------------------------------------------
def test_each_shape_is_presented_once_in_order_of_task_number() -> None:
    machine = config(history_entries=2)
    tasks = [task(1, block=SHAPES[n]) for n in (3, 0, 3)]
    table = MergePlanner(machine).plan(tasks)
    front = EventFront([table.launch(machine)], machine, {0: table.shapes()})
    handed = None
    for cycle in range(60):
        handed = handed or front.step(cycle, place_free=True)
    assert handed is not None
    decided = [accepted.decision for _, _, accepted in front.decisions]
    assert handed.entries == [accepted.entry for _, _, accepted in front.decisions]
    assert len(set(handed.entries)) == 2 and handed.prepared == decided[1] + 1 > decided[0] + 1


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
            assert min(later.log.offered) >= max(earlier.log.reported) + 7


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
