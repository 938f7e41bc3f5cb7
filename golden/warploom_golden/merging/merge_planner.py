"""MergePlanner: makes a legal mapping table from tasks and their dependencies."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Final

from warploom_golden.merging.mapping_table import MappingTable, TableEntry, block_place
from warploom_golden.merging.table_check import TableError, check
from warploom_golden.merging.task import MergeLimits, Task
from warploom_spec import Config, WarploomError
from warploom_spec.table_errors import TableCode

#: A piece of a task: the task's number, the piece's first and last block id.
Piece = tuple[int, int, int]


class MergePlanner:
    """Makes mapping tables, and checks them.

    Parameters
    ----------
    config : Config
        The hardware's sizes.
    limits : MergeLimits
        How large a table may be; None: the defaults.
    """

    def __init__(self, config: Config, limits: MergeLimits | None = None):
        self.config = config
        self.limits = limits or MergeLimits()

    def plan(self, tasks: Sequence[Task], order: str = "topological") -> MappingTable:
        """Return a legal table.

        Parameters
        ----------
        tasks : sequence of Task
            The tasks.
        order : str
            One of `ORDERS`.

        Raises
        ------
        TableError
            If no table of these tasks is legal: there are too many tasks, a task depends on a task
            that does not exist, or a shape or a resource does not fit.
        WarploomError
            If tasks depend on each other in a circle, or the order is unknown.
        """
        if order not in ORDERS:
            raise WarploomError(f"order is {order!r}; legal: {', '.join(ORDERS)}")
        _refuse_circles(tasks)
        pieces = ORDERS[order](tasks, self.limits.max_table_entries)
        table = MappingTable(tuple(tasks), tuple(_entries(tasks, pieces)))
        self.check(table)
        return table

    def check(self, table: MappingTable) -> None:
        """Check a table as the hardware will, and that no block of a permuted task is missing.

        Raises
        ------
        TableError
            At the first fault; has code, entry, task and block.
        """
        check(table, self.config, self.limits)


def _refuse_circles(tasks: Sequence[Task]) -> None:
    """Refuse tasks that depend on each other in a circle, or on a task that does not exist."""
    for number, task in enumerate(tasks):
        for other in sorted(task.depends):
            if not 0 <= other < len(tasks):
                said = f"depends on task {other}; legal: 0 to {len(tasks) - 1}"
                raise TableError(TableCode.TABLE_DEPENDS, said, task=number)
    try:
        TopologicalSorter({n: task.depends for n, task in enumerate(tasks)}).prepare()
    except CycleError as error:
        names = [tasks[n].name or f"task {n}" for n in reversed(error.args[1])]
        raise WarploomError(
            f"tasks depend on each other in a circle: {' needs '.join(names)}"
        ) from error


def _whole_tasks(tasks: Sequence[Task], rank: Callable[[int], tuple[int, int]]) -> Iterator[Piece]:
    """Yield whole tasks: of the tasks that may come next, the one of the lowest rank is next."""
    placed: set[int] = set()
    while len(placed) < len(tasks):
        number = min(_ready(tasks, placed), key=rank)
        placed.add(number)
        yield number, 0, tasks[number].blocks - 1


def _ready(tasks: Sequence[Task], placed: set[int]) -> list[int]:
    """Return the tasks that may come next, in order of number: all that they need is placed."""
    return [n for n, task in enumerate(tasks) if n not in placed and task.depends <= placed]


def _topological(tasks: Sequence[Task], entries: int) -> Iterator[Piece]:
    """Yield whole tasks: of the tasks that may come next, the lowest number is next."""
    del entries
    return _whole_tasks(tasks, lambda number: (0, number))


def _longest_first(tasks: Sequence[Task], entries: int) -> Iterator[Piece]:
    """Yield whole tasks: of the tasks that may come next, the largest weight is next."""
    del entries
    return _whole_tasks(tasks, lambda number: (-tasks[number].work, number))


def _interleaved(tasks: Sequence[Task], entries: int) -> list[Piece]:
    """Let independent tasks take turns; use as many turns as the table has entries for."""
    turns = 1 << max((task.blocks for task in tasks), default=0).bit_length()
    while True:
        pieces = _round_robin(tasks, turns, entries)
        if len(pieces) <= entries or turns == 1:
            return pieces
        turns //= 2


def _round_robin(tasks: Sequence[Task], turns: int, entries: int) -> list[Piece]:
    """Return the pieces of all rounds; in a round, each task that may come next takes one turn.

    A task that is alone takes the rest of its blocks at once. The search ends early when there are
    more than ``entries`` pieces.
    """
    taken = [0] * len(tasks)
    placed: set[int] = set()
    pieces: list[Piece] = []
    while len(placed) < len(tasks) and len(pieces) <= entries:
        ready = _ready(tasks, placed)
        for number in ready:
            blocks = tasks[number].blocks
            turn = blocks if len(ready) == 1 else -(-blocks // turns)
            last = min(taken[number] + turn, blocks) - 1
            _append(pieces, (number, taken[number], last))
            taken[number] = last + 1
            if last + 1 == blocks:
                placed.add(number)
    return pieces


def _append(pieces: list[Piece], piece: Piece) -> None:
    """Append a piece; join it to the last piece if it begins where that one ends."""
    if pieces and pieces[-1][0] == piece[0] and pieces[-1][2] + 1 == piece[1]:
        piece = piece[0], pieces.pop()[1], piece[2]
    pieces.append(piece)


def _entries(tasks: Sequence[Task], pieces: Iterable[Piece]) -> Iterator[TableEntry]:
    for number, first, last in pieces:
        grid = tasks[number].launch.grid
        # A task without blocks has no entry: `check` says so.
        if last >= first:
            yield TableEntry(number, block_place(first, grid), block_place(last, grid))


ORDERS: Final = {
    "topological": _topological,
    "interleaved": _interleaved,
    "longest_first": _longest_first,
}
