"""The check of a mapping table, entry by entry, as the hardware will read it.

Rule 2 of ``docs/merging/merged_kernels.md``.
"""

from collections.abc import Iterator

from warploom_golden.launch.launch_check import refusals
from warploom_golden.merging.mapping_table import MappingTable, TableEntry, block_id, block_place
from warploom_golden.merging.task import MergeLimits
from warploom_golden.oracles.index_reference import Dims, warps
from warploom_spec import Config, ErrorCode, LaunchDescriptor, WarploomError
from warploom_spec.table_errors import TableCode


class TableError(WarploomError):
    """A mapping table was refused.

    Attributes
    ----------
    code : TableCode or ErrorCode
        The reason. An `ErrorCode` is LaunchCheck's, for a task or for the merged launch.
    entry, task : int or None
        Entry and task at fault; None if the fault is not theirs.
    block : Dims or None
        The block at fault, (bx, by, bz); None if the fault is no block's.
    """

    def __init__(
        self,
        code: TableCode | ErrorCode,
        said: str,
        entry: int | None = None,
        task: int | None = None,
        block: Dims | None = None,
    ):
        self.code, self.entry, self.task, self.block = code, entry, task, block
        places = {"entry": entry, "task": task, "block": block}
        where = ", ".join(f"{name} {at}" for name, at in places.items() if at is not None)
        super().__init__(f"{code.name}: {where}{': ' if where else ''}{said}")


def check(table: MappingTable, config: Config, limits: MergeLimits) -> None:
    """Check a table, and raise the first fault.

    The order of the checks: sizes, tasks, shapes, the entries in order, blocks without an entry,
    the merged launch.

    Raises
    ------
    TableError
        At the first fault; has code, entry, task and block.
    """
    for fault in _faults(table, config, limits):
        raise fault


def check_launch(launch: LaunchDescriptor, table: MappingTable, config: Config) -> None:
    """Check the launch that runs a table: its warps, and that one of its blocks fits an SM.

    Raises
    ------
    TableError
        With the code `TABLE_BLOCK` if the block has too few warps, else with LaunchCheck's code.
    """
    for fault in _launch_faults(launch, table, config):
        raise fault


def _faults(table: MappingTable, config: Config, limits: MergeLimits) -> Iterator[TableError]:
    """Yield all faults. Each step relies on the ones before it: take only the first fault."""
    yield from _size_faults(table, limits)
    yield from _task_faults(table, config)
    yield from _shape_faults(table, config)
    yield from _entry_faults(table)
    yield from _launch_faults(table.launch(config), table, config)


def _size_faults(table: MappingTable, limits: MergeLimits) -> Iterator[TableError]:
    count, entries = len(table.tasks), len(table.entries)
    if not 1 <= count <= limits.max_tasks:
        legal = f"legal: 1 to {limits.max_tasks}"
        yield TableError(TableCode.TABLE_SIZE, f"{count} tasks; {legal}")
    if entries > limits.max_table_entries:
        legal = f"legal: 1 to {limits.max_table_entries}"
        yield TableError(TableCode.TABLE_SIZE, f"{entries} entries; {legal}")


def _task_faults(table: MappingTable, config: Config) -> Iterator[TableError]:
    """Yield the tasks that LaunchCheck refuses, and dependencies on no other existing task."""
    numbers = range(len(table.tasks))
    for number, task in enumerate(table.tasks):
        for code, argument in refusals(task.launch.values(config), 0, config):
            yield TableError(code, f"LaunchCheck refuses it (argument {argument})", task=number)
        for other in sorted(task.depends):
            if other not in numbers or other == number:
                said = f"depends on task {other}; legal: other tasks, 0 to {numbers[-1]}"
                yield TableError(TableCode.TABLE_DEPENDS, said, task=number)


def _shape_faults(table: MappingTable, config: Config) -> Iterator[TableError]:
    shapes = table.shapes()
    if len(shapes) > config.history_entries:
        said = f"{len(shapes)} index configurations; legal: 1 to {config.history_entries}"
        yield TableError(TableCode.TABLE_SHAPES, said)
    regions: dict[tuple[int, Dims], range] = {}
    for number, task in enumerate(table.tasks):
        address, block = task.shape
        region = range(address, address + warps(block, config.warp_size))
        for (other, shape), taken in regions.items():
            apart = region.stop <= taken.start or taken.stop <= region.start
            if not apart and task.shape != (other, shape):
                said = f"its indices overlap those of blocks {shape} at address {other}"
                yield TableError(TableCode.TABLE_REGION, said, task=number)
        regions[task.shape] = region


class _Progress:
    """The entries of one task that were read so far."""

    def __init__(self, blocks: int, declared: int | None):
        self.blocks = blocks
        self.declared = declared
        self.entries = 0
        self.next = 0
        self.placed: set[int] = set()

    @property
    def complete(self) -> bool:
        """Whether all blocks are placed, as far as the hardware can tell.

        The hardware only counts the entries of a permuted task.
        """
        if self.declared is None:
            return self.next == self.blocks
        return self.entries == self.declared

    @property
    def missing(self) -> int | None:
        """The lowest block id without an entry; None if there is none."""
        if self.declared is None:
            return None if self.complete else self.next
        return next((n for n in range(self.blocks) if n not in self.placed), None)


def _entry_faults(table: MappingTable) -> Iterator[TableError]:
    progress = [
        _Progress(task.blocks, table.permuted.get(number))
        for number, task in enumerate(table.tasks)
    ]
    for position, entry in enumerate(table.entries):
        for code, said, block in _faults_of(table, entry, progress):
            yield TableError(code, said, position, entry.task, block)
    for number, task in enumerate(table.tasks):
        done = progress[number]
        if done.missing is not None:
            block = block_place(done.missing, task.launch.grid)
            yield TableError(
                TableCode.TABLE_MISSING, "no entry places it", len(table.entries), number, block
            )
        if not done.complete:
            said = f"{done.entries} entries; declared: {done.declared}"
            yield TableError(TableCode.TABLE_ENTRIES, said, len(table.entries), number)


def _faults_of(
    table: MappingTable, entry: TableEntry, progress: list[_Progress]
) -> Iterator[tuple[TableCode, str, Dims]]:
    """Yield the faults of one entry, and note the entry in its task's progress."""
    if not 0 <= entry.task < len(table.tasks):
        said = f"no such task; legal: 0 to {len(table.tasks) - 1}"
        yield TableCode.TABLE_TASK, said, entry.first
        return
    task, done = table.tasks[entry.task], progress[entry.task]
    for other in sorted(task.depends):
        if not progress[other].complete:
            yield (
                TableCode.TABLE_ORDER,
                f"task {other}, which it needs, is not complete",
                entry.first,
            )
    for place in (entry.first, entry.last):
        if not all(0 <= b < g for b, g in zip(place, task.launch.grid, strict=True)):
            yield TableCode.TABLE_RANGE, f"its grid is {task.launch.grid}", place
    first, last = (block_id(place, task.launch.grid) for place in (entry.first, entry.last))
    done.entries += 1
    if done.declared is None:
        if first != done.next or last < first:
            yield TableCode.TABLE_CHAIN, f"the entry's block ids are {first} to {last}", entry.first
        done.next = last + 1
        return
    if first != last or done.entries > done.declared:
        said = f"entry {done.entries} of a permuted task; declared: {done.declared} of one block"
        yield TableCode.TABLE_ENTRIES, said, entry.first
    if first in done.placed:
        yield TableCode.TABLE_REPEATED, "it was placed before", entry.first
    done.placed.add(first)


def _launch_faults(
    launch: LaunchDescriptor, table: MappingTable, config: Config
) -> Iterator[TableError]:
    widest = max(warps(task.launch.block, config.warp_size) for task in table.tasks)
    count = warps(launch.block, config.warp_size)
    if count < widest:
        yield TableError(TableCode.TABLE_BLOCK, f"{count} warps; the widest task has {widest}")
    all_tables = (1 << config.max_tables) - 1
    for code, argument in refusals(launch.values(config), all_tables, config):
        said = f"LaunchCheck refuses the merged launch (argument {argument})"
        yield TableError(code, said)
