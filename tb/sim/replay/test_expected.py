"""What the launches alone demand of a replay: totals, refusals by code, warps to write."""

import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from warploom_golden.replay import event_model
from warploom_golden.replay.kills import kill_block
from warploom_sim.replay import expected
from warploom_sim.replay.expected import Expected
from warploom_sim.replay.request import ReplayRequest
from warploom_sim.traces import trace_reader
from warploom_sim.traces.trace_launches import make_launches
from warploom_spec import Config, ErrorCode, LaunchDescriptor, preset

TRACES = Path(__file__).parents[3] / "traces"
GOOD = LaunchDescriptor(grid=(2, 1, 1), block=(32, 1, 1), shared=8, barriers=1)


@pytest.mark.parametrize(
    ("name", "config", "total"),
    [
        ("resnet50_infer", "default", Expected(232, {}, 451_229, 100, True)),
        ("stencil3d_shapes", "default", Expected(42, {}, 237_063, 422, False)),
        (
            "resnet50_infer",
            "tiny",
            Expected(
                232,
                {"GRID_RANGE": 10, "THREADS": 31, "BLOCK_WARPS": 63, "BLOCK_REGISTERS": 35},
                288_172,
                640,
                True,
            ),
        ),
        (
            "stencil3d_shapes",
            "tiny",
            Expected(42, {"THREADS": 24, "BLOCK_WARPS": 12}, 120_000, 16, True),
        ),
    ],
)
def test_totals_of_the_recordings(name: str, config: str, total: Expected) -> None:
    trace = trace_reader.load(TRACES / f"{name}.json.gz")
    launches = make_launches(trace, preset(config), Fraction(1, 32))
    counted = expected.count(launches, preset(config))
    assert replace(counted, least_blocks=()) == total
    assert sum(counted.least_blocks) == total.blocks
    assert len(counted.least_blocks) == counted.accepted


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"grid": (0, 1, 1)}, ErrorCode.GRID_ZERO),
        ({"grid": (0, 256, 1)}, ErrorCode.GRID_ZERO),
        ({"grid": (65_536, 1, 1)}, ErrorCode.GRID_RANGE),
        ({"grid": (1, 1, 256), "block": (0, 1, 1)}, ErrorCode.GRID_RANGE),
        ({"block": (1, 0, 1)}, ErrorCode.BLOCK_ZERO),
        ({"block": (1, 1, 65)}, ErrorCode.BLOCK_RANGE),
        ({"block": (1025, 1, 1)}, ErrorCode.BLOCK_RANGE),
        ({"block": (257, 1, 1)}, ErrorCode.THREADS),
        ({"index_address": 61}, ErrorCode.INDEX_REGION),
        ({"block": (136, 1, 1)}, ErrorCode.BLOCK_WARPS),
        ({"warp_registers": 9}, ErrorCode.BLOCK_REGISTERS),
        ({"shared": 65}, ErrorCode.BLOCK_SHARED),
        ({"barriers": 5}, ErrorCode.BLOCK_BARRIERS),
        ({"table": 1}, ErrorCode.TABLE_UNKNOWN),
        ({}, ErrorCode.OK),
        ({"grid": (65_535, 255, 255), "block": (128, 1, 1), "index_address": 48}, ErrorCode.OK),
        ({"warp_registers": 8, "shared": 64, "barriers": 4, "index_address": 60}, ErrorCode.OK),
    ],
)
def test_every_refusal(changes: dict[str, object], code: ErrorCode) -> None:
    launch = replace(GOOD, **changes)
    assert expected.refusal_codes([launch], preset("tiny")).tolist() == [code]


def test_a_shape_that_does_not_pack() -> None:
    config = Config(max_threads=65_536, index_memory_warps=4096, warp_slots=128)
    # 17 bits: the smallest shape that does not fit 16.
    launch = replace(GOOD, block=(17, 33, 33))
    assert expected.refusal_codes([launch], config).tolist() == [ErrorCode.INDEX_BITS]
    wider = replace(config, word_bits=17)
    assert expected.refusal_codes([launch], wider).tolist() == [ErrorCode.BLOCK_WARPS]


def test_warps_are_demanded_again_only_when_something_was_written_over_them() -> None:
    first, second = replace(GOOD, block=(64, 1, 1)), replace(GOOD, block=(32, 2, 1))
    config = preset("default")

    def warps(*launches: LaunchDescriptor) -> int:
        return expected.count(launches, config).warps

    assert warps(first, first, first) == 2
    assert warps(first, second, first) == 6
    assert warps(first, replace(second, index_address=2), first) == 4
    assert warps(first, replace(second, index_address=1), first) == 6
    assert warps(first, replace(GOOD, grid=(0, 1, 1), block=(16, 16, 1)), first) == 2


@pytest.mark.parametrize(
    ("addresses", "least", "exact", "written"),
    [
        # Two entries, blocks of 4 warps. The shape at 10 is written over a part of the one at 8.
        ((8, 0, 10), 12, True, 12),  # the one at 8 is the oldest: no other is given up
        ((0, 8, 10), 12, False, 12),  # the one at 0 is given up as well
        ((0, 8, 10, 0), 12, False, 16),  # and has to be written again
        ((0, 8, 0, 10, 0), 12, True, 12),  # not if it was used since
        # The shape at 2 is written over both.
        ((0, 4, 2), 12, True, 12),
    ],
)
def test_a_full_history_gives_up_its_oldest_before_it_drops_what_is_overlapped(
    addresses: tuple[int, ...], least: int, exact: bool, written: int
) -> None:
    config = replace(preset("tiny"), history_entries=2)
    launches = [replace(GOOD, index_address=a, code=n) for n, a in enumerate(addresses)]
    demanded = expected.count(launches, config)
    assert (demanded.warps, demanded.warps_exact) == (least, exact)
    assert len(event_model.run(launches, config, 1).tables["warps"]["cycle"]) == written


def test_a_history_that_runs_out_of_entries_makes_the_demand_a_floor(seed: int) -> None:
    """The model, which forgets, never writes less than is demanded, and as much if it need not."""
    rng = random.Random(seed)
    exact = 0
    for k in range(40):
        config = replace(preset("tiny"), history_entries=rng.choice((1, 2, 3, 8)))
        launches = [
            replace(
                GOOD,
                block=(8 * rng.randint(1, 4), 1, 1),
                index_address=rng.choice((0, 4, 8, 12, 14)),
                code=number,
            )
            for number in range(rng.randint(1, 20))
        ]
        demanded = expected.count(launches, config)
        written = len(event_model.run(launches, config, k).tables["warps"]["cycle"])
        assert written >= demanded.warps
        if demanded.warps_exact:
            assert written == demanded.warps
            exact += 1
    assert 0 < exact < 40


def killed(every: int, seed: int) -> ReplayRequest:
    return ReplayRequest(traces=(), kill_every=every, seed=seed % 2**32)


def test_a_killed_launch_demands_the_blocks_up_to_its_kill(seed: int) -> None:
    """Seed 1: mix(mix(1 ^ 3)) = 0x3656ffdd, times 100 / 2^32 is 21; of 6 0x54acea80, 33."""
    launches = [
        LaunchDescriptor(grid=(10, 5, 2), block=(32, 1, 1), code=number) for number in range(8)
    ]
    demanded = expected.count(launches, preset("default"), killed(3, seed=1))
    assert demanded.least_blocks == (100, 100, 100, 22, 100, 100, 34, 100)
    assert demanded.blocks == demanded.most("offers") == 800
    assert demanded.events()["reports"] == sum(demanded.least_blocks)
    # The golden model's arithmetic is written apart.
    for kill_every in (1, 2, 3):
        least = expected.count(launches, preset("default"), killed(kill_every, seed)).least_blocks
        for number, blocks in enumerate(least):
            last = kill_block(seed % 2**32, number, 100, kill_every)
            assert blocks == (100 if last is None else last + 1)


@pytest.mark.parametrize(
    ("every", "launches", "killed", "said"),
    [
        (None, 9, 0, ""),
        (4, 9, 1, ""),
        # A mean over runs of several seeds.
        (4, 9, 0.2, ""),
        (9, 9, 0, "kill_every 9 killed nobody: launches are numbered from 0 to 8"),
        (
            8,
            9,
            0,
            "kill_every 8 killed nobody: each launch to kill was refused, or all its blocks were"
            " offered before the kill",
        ),
    ],
)
def test_nobody_is_killed(every: int | None, launches: int, killed: float, said: str) -> None:
    assert expected.nobody_killed(every, launches, killed) == said
