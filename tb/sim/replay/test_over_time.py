"""Bins and kernels of a replay against slow counts over its blocks, cycle by cycle."""

import random
from collections import Counter

import numpy as np
import pytest

from tb.replay.test_event_model import random_launches
from tb.support.replays import model_replay
from tb.support.whole_replays import find_limits
from warploom_sim.replay.analysis.kernels import kernels
from warploom_sim.replay.analysis.limits import LIMITS
from warploom_sim.replay.analysis.overview import overview
from warploom_sim.replay.replay_result import Replay
from warploom_spec import RESOURCES, capacities, preset


@pytest.fixture
def run(seed: int) -> Replay:
    """Return a run of overlapping launches on several streams, whose kernels repeat.

    In one cycle at least stream order holds the next launch up.
    """
    rng = random.Random(seed)
    config = preset("tiny")
    for _ in range(40):
        run = model_replay(random_launches(rng, config, 14, crowded=True), config, seed)
        if find_limits(run).by_limit()["order"]:
            break
    run.launches.name[:] = [f"kernel {number % 5}" for number in range(14)]
    return run


@pytest.mark.parametrize("most", [1, 7, 240])
def test_bins_have_what_their_cycles_have(run: Replay, most: int) -> None:
    limits = find_limits(run)
    found = overview(run, most).over_time
    edges = found.edges.tolist()
    assert (edges[0], edges[-1], len(edges)) == (0, run.cycles, most + 1)
    blocks, launches = run.blocks, run.launches
    cycles = np.arange(run.cycles)
    by_cycle = np.repeat(limits.limit, limits.length)
    sizes = capacities(run.config)
    held = np.zeros((run.cycles, len(RESOURCES)))
    for start, end, launch in zip(blocks.start, blocks.end, blocks.launch, strict=True):
        held[start:end] += launches.takes[launch]
    waiting = {stream: np.zeros(run.cycles) for stream in found.waiting}
    for row in np.flatnonzero(launches.blocks).tolist():
        waiting[launches.stream[row]][launches.arrival[row] : launches.first_offer[row]] += 1
    for k, (first, last) in enumerate(zip(edges, edges[1:], strict=False)):
        inside = (first <= cycles) & (cycles < last)
        offers = int(((first <= blocks.start) & (blocks.start < last)).sum())
        assert found.blocks_per_cycle[k] == pytest.approx(offers / (last - first))
        for r, name in enumerate(RESOURCES):
            share = held[inside, r].mean() / (2 * sizes[name])
            assert found.occupancy[name][k] == pytest.approx(share)
        for number, name in enumerate(LIMITS):
            assert found.limits[name][k] == pytest.approx((by_cycle[inside] == number).mean())
        for stream, count in waiting.items():
            assert found.waiting[stream][k] == pytest.approx(count[inside].mean())


def test_kernels_have_what_their_launches_have(run: Replay) -> None:
    listed = kernels(run)
    launches, blocks = run.launches, run.blocks
    ran = np.flatnonzero(launches.blocks).tolist()
    assert sorted(row for kernel in listed for row in kernel.rows) == ran
    assert [kernel.number for kernel in listed] == list(range(1, len(listed) + 1))
    assert [k.cycles for k in listed] == sorted((k.cycles for k in listed), reverse=True)
    sizes = list(capacities(run.config).values())
    for kernel in listed:
        rows = list(kernel.rows)
        takes = launches.takes[rows[0]].tolist()
        assert {launches.name[row] for row in rows} == {kernel.name}
        assert all(launches.takes[row].tolist() == takes for row in rows)
        fit = 0
        while all((fit + 1) * one <= size for one, size in zip(takes, sizes, strict=True)):
            fit += 1
        short = [(fit + 1) * one > size for one, size in zip(takes, sizes, strict=True)]
        assert kernel.limited_by == tuple(n for n, yes in zip(RESOURCES, short, strict=True) if yes)
        assert kernel.theoretical == pytest.approx(fit * takes[1] / 16)
        assert kernel.waves == pytest.approx(
            sum(int(launches.blocks[row]) / (2 * fit) for row in rows) / len(rows)
        )
        cycles = [int(launches.last_report[r] - launches.first_offer[r]) for r in rows]
        of_kernel = np.isin(blocks.launch, rows)
        warps = int((blocks.end - blocks.start)[of_kernel].sum()) * takes[1]
        assert (kernel.cycles, kernel.blocks) == (sum(cycles), int(of_kernel.sum()))
        assert kernel.achieved == pytest.approx(warps / (sum(cycles) * 2 * 16))
        after, lost, had = 0, 0, 0
        for row in rows:
            own = blocks.launch == row
            spans = list(zip(blocks.start[own].tolist(), blocks.end[own].tolist(), strict=True))
            last_offer, end = max(start for start, _ in spans), max(end for _, end in spans)
            places = min(len(spans), 2 * fit)
            after += end - last_offer
            had += places * (end - min(start for start, _ in spans))
            for cycle in range(last_offer, end):
                lost += places - sum(start <= cycle < end for start, end in spans)
        assert kernel.after_last_offer == pytest.approx(after / len(rows))
        assert kernel.sm_time_lost == pytest.approx(lost / had)
        assert kernel.hits == int(launches.hit[rows].sum())


def test_every_cycle_that_is_held_up_has_one_blocker(run: Replay) -> None:
    limits = find_limits(run)
    whole = overview(run)
    listed, found, edges = whole.kernels, whole.blockers, whole.over_time.edges
    nobody = ("rate", "arrivals", "nothing_left")
    by_limit = limits.by_limit()
    totals = dict.fromkeys(LIMITS, 0)
    for one in found:
        assert one.cycles == sum(one.by_limit.values())
        assert one.over_time @ np.diff(edges) == pytest.approx(one.cycles)
        blamed = np.isin(limits.blocker, one.kernel.rows)
        blamed &= ~np.isin(limits.limit, [LIMITS.index(name) for name in nobody])
        by_cycle = np.repeat(blamed, limits.length)
        parts = [part.mean() for part in np.split(by_cycle, edges[1:-1])]
        assert one.over_time == pytest.approx(parts)
        for name, cycles in one.by_limit.items():
            totals[name] += cycles
    assert totals == {n: 0 if n in nobody else held for n, held in by_limit.items()}
    number_of = {row: kernel.number for kernel in listed for row in kernel.rows}
    expected: Counter[tuple[int, str]] = Counter()
    stretches = zip(limits.limit, limits.blocker, limits.length, strict=True)
    for limit, row, length in stretches:
        if LIMITS[limit] not in nobody:
            expected[number_of[row], LIMITS[limit]] += length
    there = {(one.kernel.number, n): c for one in found for n, c in one.by_limit.items()}
    assert there == expected
    assert [one.cycles for one in found] == sorted((one.cycles for one in found), reverse=True)
    # Under stream order it is the launch before in the stream, which still runs.
    order = np.flatnonzero(limits.limit == LIMITS.index("order"))
    assert len(order)
    for k in order.tolist():
        blocker, waits = limits.blocker[k], limits.launch[k]
        assert blocker < waits
        assert run.launches.stream[blocker] == run.launches.stream[waits]
        assert run.launches.end[blocker] > limits.start[k]
