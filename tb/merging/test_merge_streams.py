"""Which launches of a trace become one merged launch."""

from dataclasses import replace

import pytest

from tb.merging.graphs import SHAPES, config
from warploom_golden.merging.mapping_table import MappingTable
from warploom_golden.merging.merge_planner import MergePlanner
from warploom_golden.merging.merge_streams import MergedStreams, merge_streams
from warploom_golden.merging.merged_replay import run_merged
from warploom_golden.merging.task import MergeLimits
from warploom_spec import LaunchDescriptor

MACHINE = config()


def launches(*streams: int, **fields: int) -> list[LaunchDescriptor]:
    return [
        LaunchDescriptor(
            grid=(2, 1, 1), block=(8, 1, 1), stream=stream, code=code, arguments=20, **fields
        )
        for code, stream in enumerate(streams)
    ]


def codes(merged: MergedStreams) -> list[list[int]]:
    """Return the numbers of the launches of each item."""
    return [
        [task.launch.code for task in item.tasks] if isinstance(item, MappingTable) else [item.code]
        for item in merged.items
    ]


def merge(made: list[LaunchDescriptor], **limits: int) -> MergedStreams:
    return merge_streams(made, MergePlanner(MACHINE, MergeLimits(**limits)))


def test_two_launches_of_every_stream_first_ones_first() -> None:
    merged = merge(launches(1, 1, 0, 0, 1, 1, 1))
    # Streams in order of number; stream 0 is used up after the first merged launch.
    assert codes(merged) == [[2, 0, 3, 1], [4, 5], [6]]
    assert (merged.merged_launches, merged.tables, merged.reasons) == (6, 2, {})
    first, second, plain = merged.items
    assert isinstance(first, MappingTable) and isinstance(second, MappingTable)
    assert [set(task.depends) for task in first.tasks] == [set(), set(), {0}, {1}]
    assert [set(task.depends) for task in second.tasks] == [set(), {0}]
    assert isinstance(plain, LaunchDescriptor)


def test_the_last_is_left_out_until_the_rest_fits_and_comes_next() -> None:
    made = launches(0, 0, 1, 1)
    assert codes(merge(made, max_tasks=3)) == [[0, 2, 1], [3]]
    assert merge(made, max_tasks=3).reasons == {"TABLE_SIZE": 1}
    assert codes(merge(made, max_table_entries=2)) == [[0, 2], [1, 3]]
    # Stream 0's next launch always counts before stream 1's.
    assert codes(merge(made, max_tasks=1)) == [[0], [1], [2], [3]]


def test_two_shapes_on_one_index_address_are_not_merged() -> None:
    made = launches(0, 0, 0)
    made[1] = replace(made[1], block=SHAPES[3])
    merged = merge(made)
    assert codes(merged) == [[0], [1], [2]]
    assert merged.reasons == {"TABLE_REGION": 2}
    assert codes(merge([made[0], replace(made[1], index_address=8), made[2]])) == [[0, 1], [2]]


def test_what_no_sm_holds_under_the_maximum_is_not_merged() -> None:
    made = launches(0, 0)
    made[0] = replace(made[0], warp_registers=32)
    made[1] = replace(made[1], block=SHAPES[6], index_address=8)
    merged = merge(made)
    assert codes(merged) == [[0], [1]] and merged.reasons == {"BLOCK_REGISTERS": 1}


def test_a_launch_that_is_refused_is_launched_alone_and_refused() -> None:
    made = launches(0, 0, 0)
    made[0] = replace(made[0], block=(0, 1, 1))
    merged = merge(made)
    assert codes(merged) == [[0], [1, 2]] and merged.reasons == {"BLOCK_ZERO": 1}
    done = run_merged(merged.items, MACHINE, 0)
    assert done.refused == 1 and len(done.works) == 1


@pytest.mark.parametrize("count", [0, 1])
def test_nothing_to_merge(count: int) -> None:
    merged = merge(launches(*[0] * count))
    assert codes(merged) == [[0]] * count and merged.merged_launches == 0
