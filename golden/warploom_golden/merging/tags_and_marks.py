"""Tags and marks as patent CN102708009A defines them, without time.

This is the reference for the event model in `merged_dispatcher`.
"""

import random
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace

from warploom_golden.merging.deadlock import Deadlock, Waiter
from warploom_golden.merging.dependency_tracker import reporting_last
from warploom_golden.merging.mapping_table import MappingTable, TableEntry, block_id, block_place


class TagsAndMarks:
    """The patent's ``tag[]``, one for each block of each task, and ``mark``, one for each task.

    Parameters
    ----------
    table : MappingTable
        The table, legal or not.
    last : str
        Which block of a task reports last: `dependency_tracker.LAST_RULES`.

    Attributes
    ----------
    tag : list of list of bool
        ``tag[task][block id]``: set when the block is reported.
    mark : list of bool
        ``mark[task]``: set when all tags of the task are set.
    """

    def __init__(self, table: MappingTable, last: str = "merged_id"):
        tasks, blocks = table.expanded()
        self._tasks, self._blocks = tasks.tolist(), blocks.tolist()
        self._depends = [task.depends for task in table.tasks]
        self._last = reporting_last(tasks, blocks, len(table.tasks), last)
        self.tag = [[False] * task.blocks for task in table.tasks]
        self.mark = [False] * len(table.tasks)

    def missing_marks(self, merged_id: int) -> list[int]:
        """Return the tasks whose marks a block still waits for before its work begins."""
        return sorted(t for t in self._depends[self._tasks[merged_id]] if not self.mark[t])

    def missing_tags(self, merged_id: int) -> int:
        """Return how many other tags of its task a block waits for before it is reported.

        Only the task's last block waits; 0 for every other block.
        """
        task = self._tasks[merged_id]
        if merged_id != self._last[task]:
            return 0
        own = self._blocks[merged_id]
        return sum(not tag for block, tag in enumerate(self.tag[task]) if block != own)

    def report(self, merged_id: int) -> None:
        """Set a block's tag, and its task's mark if all tags of the task are now set."""
        task = self._tasks[merged_id]
        self.tag[task][self._blocks[merged_id]] = True
        self.mark[task] = all(self.tag[task])


def run_untimed(
    table: MappingTable,
    slots: int,
    rng: random.Random,
    last: str = "merged_id",
    in_order: bool = False,
) -> list[tuple[str, int]]:
    """Run a merged kernel in ``spin`` mode; draw each next event from those that are possible.

    Parameters
    ----------
    table : MappingTable
        The table, legal or not.
    slots : int
        The most blocks that all SMs together hold.
    rng : random.Random
        Source of the draws.
    last : str
        Which block of a task reports last: one of `dependency_tracker.LAST_RULES`.
    in_order : bool
        Whether slots become free only in order of dispatch.

    Returns
    -------
    list of tuple
        The events in order: ``place``, ``begin`` or ``report``, and the block's merged id.

    Raises
    ------
    Deadlock
        If blocks are left and no event is possible.
    """
    state = TagsAndMarks(table, last)
    blocks = sum(task.blocks for task in table.tasks)
    events: list[tuple[str, int]] = []
    waiting: set[int] = set()
    running: set[int] = set()
    # Blocks that hold a slot, in order of dispatch. Under `in_order` some may be reported already.
    held: deque[int] = deque()
    reported: set[int] = set()
    placed = 0
    while len(reported) < blocks:
        moves = [("begin", n) for n in sorted(waiting) if not state.missing_marks(n)]
        moves += [("report", n) for n in sorted(running) if not state.missing_tags(n)]
        if placed < blocks and len(held) < slots:
            moves.append(("place", placed))
        if not moves:
            raise Deadlock(_waiters(table, state, waiting | running))
        what, merged_id = rng.choice(moves)
        events.append((what, merged_id))
        if what == "place":
            placed += 1
            held.append(merged_id)
            waiting.add(merged_id)
        elif what == "begin":
            waiting.remove(merged_id)
            running.add(merged_id)
        else:
            running.remove(merged_id)
            reported.add(merged_id)
            state.report(merged_id)
            held = _still_held(held, reported, in_order)
    return events


def _still_held(held: deque[int], reported: set[int], in_order: bool) -> deque[int]:
    if not in_order:
        return deque(n for n in held if n not in reported)
    while held and held[0] in reported:
        held.popleft()
    return held


def _waiters(table: MappingTable, state: TagsAndMarks, blocks: Iterable[int]) -> list[Waiter]:
    tasks, numbers = table.expanded()
    waiters = []
    for n in sorted(blocks):
        task = int(tasks[n])
        place = block_place(int(numbers[n]), table.tasks[task].launch.grid)
        marks = state.missing_marks(n)
        cause = f"{state.missing_tags(n)} tags of its own task"
        if marks:
            cause = f"the mark of task {', '.join(map(str, marks))}"
        waiters.append(Waiter(n, task, place, "in a slot", cause))
    return waiters


def permuted(table: MappingTable, tasks: Sequence[int], rng: random.Random) -> MappingTable:
    """Return a table in which the blocks of some tasks stand in random order, one entry a block.

    Parameters
    ----------
    table : MappingTable
        A legal table.
    tasks : sequence of int
        The tasks to permute. Each keeps its merged block ids; only the order of its blocks changes.
    rng : random.Random
        Source of the draws.
    """
    entries: list[TableEntry] = []
    drawn = {number: list(range(table.tasks[number].blocks)) for number in tasks}
    for order in drawn.values():
        rng.shuffle(order)
    for entry in table.entries:
        if entry.task not in drawn:
            entries.append(entry)
            continue
        grid = table.tasks[entry.task].launch.grid
        for _ in range(block_id(entry.first, grid), block_id(entry.last, grid) + 1):
            place = block_place(drawn[entry.task].pop(), grid)
            entries.append(TableEntry(entry.task, place, place))
    return replace(
        table,
        entries=tuple(entries),
        permuted={number: table.tasks[number].blocks for number in tasks},
    )
