"""What a replay's cycles are made of: counted again, stretch by stretch and block by block."""

import random
from collections import Counter

import pytest

from tb.replay.test_event_model import random_launches
from tb.support.replays import figures_of, model_replay
from tb.support.whole_replays import find_limits
from warploom_sim.replay.analysis.anatomy import anatomy
from warploom_sim.replay.analysis.limits import LIMITS
from warploom_sim.replay.replay_result import Replay
from warploom_sim.replay.replay_rows import NEVER
from warploom_spec import preset


@pytest.fixture
def run(seed: int) -> Replay:
    """Return a run of overlapping launches, some refused; every third has the same name."""
    config = preset("tiny")
    made = model_replay(
        random_launches(random.Random(seed), config, 14, crowded=True), config, seed
    )
    made.launches.name[::3] = "shared name"
    return made


def test_every_cycle_counts_for_one_cause_and_for_one_kernel(run: Replay) -> None:
    found, limits = anatomy(figures_of(run)), find_limits(run)
    heads: Counter[str | None] = Counter()
    rows = zip(limits.limit, limits.blocker, limits.length, strict=True)
    for limit, blocker, length in rows:
        nobody = LIMITS[limit] in ("arrivals", "nothing_left") or blocker == NEVER
        heads[None if nobody else str(run.launches.name[blocker])] += int(length)
    assert found.idle == heads[None] > 0
    assert {name: one.head for name, one in found.kernels.items()} == {
        name: heads[name] for name in found.kernels
    }
    assert found.cycles == run.cycles == sum(heads.values()) == sum(found.by_limit.values())
    assert found.by_limit == limits.by_limit()


def test_kernels_have_their_launches_and_blocks(run: Replay) -> None:
    found, launches, blocks = anatomy(figures_of(run)), run.launches, run.blocks
    spans: Counter[str] = Counter()
    numbers: Counter[str] = Counter()
    for row in range(len(launches)):
        if launches.blocks[row]:
            name = str(launches.name[row])
            spans[name] += int(launches.last_report[row] - launches.first_offer[row])
            numbers[name] += 1
    times: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for number in range(len(blocks)):
        name = str(launches.name[blocks.launch[number]])
        times[name] += int(blocks.end[number] - blocks.start[number])
        counts[name] += 1
    assert len({*launches.name}) == len(found.kernels) < len(launches)
    for name, one in found.kernels.items():
        assert (one.launches, one.blocks) == (numbers[name], counts[name])
        assert (one.span, one.block_time) == (spans[name], times[name])
        assert one.mean_block == times[name] / max(1, counts[name])
    assert (found.blocks, found.block_time) == (len(blocks), sum(times.values()))
    assert found.refused == sum(code > 0 for code in launches.code.tolist()) > 0


def test_blocks_times_their_length_over_blocks_at_once_are_the_cycles(run: Replay) -> None:
    found = anatomy(figures_of(run))
    assert found.blocks * found.mean_block / found.at_once == pytest.approx(run.cycles)
