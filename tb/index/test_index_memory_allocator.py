"""IndexMemoryAllocator, and its hit rates on the recorded traces."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom_golden.index import IndexMemoryAllocator
from warploom_golden.index.index_memory_allocator import (
    POLICIES,
    SHARED_ADDRESS,
    History,
    HitRate,
    hit_rate,
)
from warploom_sim.traces.trace_reader import load
from warploom_spec import PRESETS, Config, WarploomError

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "index" / "index_memory_allocator.md"
CONFIG = Config(max_threads=256, index_memory_warps=32)


def test_a_kernel_gets_its_own_address_at_its_second_launch():
    allocator = IndexMemoryAllocator(CONFIG)
    launches = [("a", 4), ("b", 2), ("a", 4), ("a", 4), ("b", 2), ("c", 8)]
    assert [allocator.address(kernel, count) for kernel, count in launches] == [0, 0, 8, 8, 12, 0]
    assert allocator.free_warps == 32 - 14


def test_policies():
    launches = [("a", 4), ("b", 4), ("a", 4), ("a", 4)]
    expected = {"shared": [0, 0, 0, 0], "frequent": [0, 0, 0, 8], "own": [8, 12, 8, 8]}
    assert expected.keys() == set(POLICIES)
    for policy, addresses in expected.items():
        allocator = IndexMemoryAllocator(CONFIG, policy, frequent_launches=3)
        assert [allocator.address(kernel, count) for kernel, count in launches] == addresses


def test_a_full_memory_leaves_the_shared_address():
    allocator = IndexMemoryAllocator(CONFIG, "own")
    assert [allocator.address(k, 8) for k in range(5)] == [8, 16, 24, 0, 0]
    assert allocator.address(1, 8) == 16


def test_while_memory_is_scarcer_than_the_threshold_all_share():
    """24 warps are free at first, 8 fewer after each that gets an address of its own."""
    for threshold, addresses in ((25, [0, 0, 0]), (17, [8, 0, 0]), (16, [8, 16, 0])):
        allocator = IndexMemoryAllocator(CONFIG, "own", scarce_warps=threshold)
        assert [allocator.address(kernel, 8) for kernel in range(3)] == addresses


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(POLICIES)), max_size=40))
def test_regions_of_their_own_never_overlap(launches):
    sizes = [3, 1, 8, 5, 2, 8, 7, 4, 6, 8]
    allocators = {policy: IndexMemoryAllocator(CONFIG, policy) for policy in POLICIES}
    for policy, allocator in allocators.items():
        owned = {}
        for kernel, _ in launches:
            address = allocator.address(kernel, sizes[kernel])
            assert 0 <= address <= CONFIG.index_memory_warps - sizes[kernel]
            if address != SHARED_ADDRESS:
                assert owned.setdefault(kernel, address) == address, policy
        places = [w for kernel, start in owned.items() for w in range(start, start + sizes[kernel])]
        assert len(places) == len(set(places)) and min(places, default=8) >= CONFIG.max_warps


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"policy": "best"}, "policy is 'best'; legal: shared, frequent, own"),
        ({"frequent_launches": 0}, "frequent_launches is 0; legal: 1 and more"),
        ({"scarce_warps": -1}, "scarce_warps is -1; legal: 0 and more"),
        (
            {"config": replace(CONFIG, index_memory_warps=4)},
            "index_memory_warps is 4; legal: 8 and more, or the largest block has no place",
        ),
    ],
)
def test_parameters_out_of_range_are_refused(arguments, message):
    with pytest.raises(WarploomError) as refusal:
        IndexMemoryAllocator(**{"config": CONFIG, **arguments})
    assert str(refusal.value) == message


@pytest.mark.parametrize("count", [0, 9])
def test_a_block_that_is_too_large_is_refused(count):
    with pytest.raises(WarploomError, match=f"warps is {count}; legal: 1 to 8"):
        IndexMemoryAllocator(CONFIG).address("a", count)


def test_no_launches_have_no_hit_rate():
    with pytest.raises(WarploomError, match="shapes is empty"):
        hit_rate([], CONFIG, IndexMemoryAllocator(CONFIG))


def test_history_forgets_the_oldest_and_what_is_overwritten():
    history = History(2)
    looks = [(0, 2), (8, 2), (0, 2), (16, 2), (8, 2), (9, 1), (8, 2)]
    found = [history.look_up(address, (count, 1, 1), count) for address, count in looks]
    assert found == [False, False, True, False, False, False, False]


SHAPES = [(32, 64, 1), (100, 2, 2)]


def test_hit_rate_of_the_source_s_example():
    """Two shapes in turn: never a hit at one address, all but the first at two."""
    wide = Config(max_threads=2048)
    rates = {
        policy: hit_rate(SHAPES * 5, wide, IndexMemoryAllocator(wide, policy))
        for policy in POLICIES
    }
    assert rates == {"shared": HitRate(10, 0), "frequent": HitRate(10, 6), "own": HitRate(10, 8)}
    assert rates["own"].rate == 0.8


# The table in the docs


def table_row(trace, config):
    """Return a trace's line: launches, shapes, hits in percent by policy."""
    shapes = [launch.block for launch in load(trace).launches]
    rates = [
        hit_rate(shapes, config, IndexMemoryAllocator(config, policy)).rate for policy in POLICIES
    ]
    name = trace.name.removesuffix(".json.gz")
    figures = " | ".join(f"{100 * rate:.1f}" for rate in rates)
    return f"| {name} | {len(shapes)} | {len(set(shapes))} | {figures} |"


TRACES = sorted((ROOT / "traces").glob("*.json.gz"))


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.name.split(".")[0])
def test_the_docs_table_holds_the_hit_rates_of_the_traces(trace):
    assert table_row(trace, PRESETS["default"]) in PAGE.read_text().splitlines()


def test_there_are_traces():
    assert len(TRACES) == 7
