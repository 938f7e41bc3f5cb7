"""Pairs of a trace's launches made merged kernels, stream by stream."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from warploom_golden.merging.mapping_table import MappingTable
from warploom_golden.merging.merge_planner import MergePlanner
from warploom_golden.merging.merged_replay import Item
from warploom_golden.merging.table_check import TableError
from warploom_golden.merging.task import Task
from warploom_spec import LaunchDescriptor

#: Launches of each stream that one merged launch takes at most.
FROM_EACH_STREAM = 2


@dataclass(frozen=True)
class MergedStreams:
    """A trace's launches, some merged.

    Attributes
    ----------
    items : list of LaunchDescriptor or MappingTable
        In the order in which they are launched, each after the one before.
    merged_launches : int
        Launches that run inside a merged one.
    tables : int
        Merged launches that hold them.
    reasons : dict of str to int
        Why launches were left out of a merged one, and how often, by the code's name.
    """

    items: list[Item]
    merged_launches: int
    tables: int
    reasons: dict[str, int]


def merge_streams(
    launches: Sequence[LaunchDescriptor], planner: MergePlanner, order: str = "topological"
) -> MergedStreams:
    """Merge the next two launches of every stream that still has any, again and again.

    A launch depends on the one before it of its stream in the same merged launch. Where the merged
    launch does not fit (an SM under the maximum rule, shapes, tasks, entries, two shapes on one
    index address) its last launch is left out until it does, and comes next in its stream: the
    streams' first launches count before their second ones, then streams in order of number. A
    launch that is left alone is launched plainly.

    Parameters
    ----------
    launches : sequence of LaunchDescriptor
        In the order in which they are sent; ``stream`` says which belong together.
    planner : MergePlanner
        Makes the tables.
    order : str
        One of its orders.
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
    """Return the launches that go next, and what they are launched as."""
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
    """Return launches as tasks, each depending on the one before it of its stream."""
    previous: dict[int, int] = {}
    tasks = []
    for number, launch in enumerate(launches):
        before = previous.get(launch.stream)
        tasks.append(
            Task(launch=launch, depends=frozenset() if before is None else frozenset({before}))
        )
        previous[launch.stream] = number
    return tasks
