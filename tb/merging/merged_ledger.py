"""What a merged run must keep, read from its log alone: no model's code has a part in it."""

from collections import Counter

from warploom_golden.merging.mapping_table import MappingTable
from warploom_golden.merging.merged_work import MergedWork
from warploom_spec import Config, capacities, timing


def ran(work: MergedWork) -> Counter[tuple[int, tuple[int, int, int]]]:
    """Return how often each (task, block) was reported."""
    numbers = [n for n, cycle in enumerate(work.log.reported) if cycle >= 0]
    return Counter((work.tasks[n], work.place(n)) for n in numbers)


def demanded(table: MappingTable) -> Counter[tuple[int, tuple[int, int, int]]]:
    """Return what the tasks' grids demand."""
    return Counter(
        (number, (x, y, z))
        for number, task in enumerate(table.tasks)
        for x in range(task.launch.grid[0])
        for y in range(task.launch.grid[1])
        for z in range(task.launch.grid[2])
    )


def judge(table: MappingTable, work: MergedWork, config: Config, mode: str) -> None:
    """Assert every rule."""
    latency = timing(config)
    log, returns = work.log, latency.resident_returns
    assert ran(work) == demanded(table)
    last_report = [0] * len(table.tasks)
    for task, cycle in zip(work.tasks, log.reported, strict=True):
        last_report[task] = max(last_report[task], cycle)
    for n, task in enumerate(work.tasks):
        # A mark stands `resident_returns` cycles after the last report at the earliest; under
        # `gate` the pick sees it, and the offer comes later.
        needed = max((last_report[t] for t in table.tasks[task].depends), default=-returns)
        assert log.started[n] >= needed + returns
        if mode == "gate":
            assert log.offered[n] >= needed + returns + latency.resident_offer
            assert log.started[n] == log.offered[n]
        assert log.offered[n] <= log.started[n]
        assert log.due[n] >= log.started[n] + work.lengths[n] and log.reported[n] >= log.due[n]
    # In order of merged id, one a cycle; an SM reports one a cycle.
    assert all(a < b for a, b in zip(log.offered, log.offered[1:], strict=False))
    assert len(set(zip(log.reported, log.sm, strict=True))) == len(log.sm)
    _judge_books(work, config)
    if mode == "spin":
        _judge_last(work, last_report)


def _judge_last(work: MergedWork, last_report: list[int]) -> None:
    """The block dispatched last of a task is reported last."""
    last = {task: n for n, task in enumerate(work.tasks)}
    assert all(work.log.reported[n] == last_report[task] for task, n in last.items())


def _judge_books(work: MergedWork, config: Config) -> None:
    """No SM is over-committed, no slot holds two blocks, from offer to report."""
    sizes = [*capacities(config).values()]
    log, events = work.log, []
    for n, task in enumerate(work.tasks):
        events.append((log.reported[n], 0, n, work.amounts[task]))
        events.append((log.offered[n], 1, n, work.amounts[task]))
    used = [[0] * len(sizes) for _ in range(config.sms)]
    holder: dict[tuple[int, int], int] = {}
    for _, begins, n, amounts in sorted(events):
        sm, slot = log.sm[n], log.slot[n]
        for k, amount in enumerate(amounts):
            used[sm][k] += amount if begins else -amount
            assert 0 <= used[sm][k] <= sizes[k]
        if begins:
            assert (sm, slot) not in holder and 0 <= slot < config.block_slots
            holder[sm, slot] = n
        else:
            assert holder.pop((sm, slot)) == n
