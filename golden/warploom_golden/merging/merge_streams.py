"""Makes merged kernels from a trace's launches: the next two of every stream together."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from warploom_golden.merging.mapping_table import MappingTable
from warploom_golden.merging.merge_planner import MergePlanner
from warploom_golden.merging.merged_replay import Item
from warploom_golden.merging.table_check import TableError
from warploom_golden.merging.task import Task
from warploom_spec import LaunchDescriptor

#: The most launches that one merged launch takes from each stream.
FROM_EACH_STREAM = 2


@dataclass(frozen=True)
class MergedStreams:
    """A trace's launches, some of them merged.

    Attributes
    ----------
    items : list of LaunchDescriptor or MappingTable
        Plain and merged launches in the order in which they run, one after the other.
    merged_launches : int
        Number of the trace's launches that run inside a merged launch.
    tables : int
        Number of merged launches.
    reasons : dict of str to int
        For each error code's name, how often a launch was left out for this reason.
    """

    items: list[Item]
    merged_launches: int
    tables: int
    reasons: dict[str, int]


def merge_streams(
    launches: Sequence[LaunchDescriptor], planner: MergePlanner, order: str = "topological"
) -> MergedStreams:
    """Merge the next two launches of every stream into one launch, until no launch is left.

    Inside a merged launch, a launch depends on the one before it in its stream.

    Launches are ordered: the streams' first launches come before their second ones, then streams
    come in order of number. If the merged launch does not fit, the last launch in this order is
    left out, and the rest is tried again. The launch that was left out comes next in its stream. A
    merged launch may not fit for these reasons: the maxima on one SM, the number of shapes, tasks
    or entries, two shapes on one index address. A launch that is left alone is launched plainly.

    Parameters
    ----------
    launches : sequence of LaunchDescriptor
        In the order in which they are sent; ``stream`` says which of them belong together.
    planner : MergePlanner
        Makes the tables.
    order : str
        One of `merge_planner.ORDERS`.
    """
    streams: dict[int, deque[LaunchDescriptor]] = {}
    for launch in launches:
        streams.setdefault(launch.stream, deque()).append(launch)
    items: list[Item] = []
    reasons: dict[str, int] = {}
    while any(streams.values()):
        chosen, item = _next_item(streams, planner, order, reasons)
        for launch in chosen:
            streams[launch.stream].popleft()
        items.append(item)
    made = [item for item in items if isinstance(item, MappingTable)]
    return MergedStreams(items, sum(len(table.tasks) for table in made), len(made), reasons)


def _next_item(
    streams: dict[int, deque[LaunchDescriptor]],
    planner: MergePlanner,
    order: str,
    reasons: dict[str, int],
) -> tuple[list[LaunchDescriptor], Item]:
    """Return the next launches, and the item that runs them: a table, or the launch itself."""
    candidates = [
        streams[number][nth]
        for nth in range(FROM_EACH_STREAM)
        for number in sorted(streams)
        if nth < len(streams[number])
    ]
    while len(candidates) > 1:
        try:
            return candidates, planner.plan(_tasks(candidates), order)
        except TableError as error:
            reasons[error.code.name] = reasons.get(error.code.name, 0) + 1
        candidates.pop()
    return candidates, candidates[0]


def _tasks(launches: Sequence[LaunchDescriptor]) -> list[Task]:
    """Return launches as tasks; each depends on the one before it in its stream."""
    previous: dict[int, int] = {}
    tasks = []
    for number, launch in enumerate(launches):
        before = previous.get(launch.stream)
        tasks.append(
            Task(launch=launch, depends=frozenset() if before is None else frozenset({before}))
        )
        previous[launch.stream] = number
    return tasks
