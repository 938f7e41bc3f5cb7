"""GridWalker: order, no bubbles, flush."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb.support.deep_values import deep_but
from tb.support.dispatch_cases import make_walker
from tb.support.dispatch_configs import LATE_NUMBER, config_of
from tb.support.launch_cases import edge_grid, random_grid
from tb.support.planted import plant
from tb.support.record import Sender, record
from tb.support.seeded_faults import GRID_WALKER
from warploom.dispatch import GridWalker
from warploom_golden.dispatch import GridWalker as Model
from warploom_golden.dispatch.grid_walker import Walk
from warploom_sim.cosim.lockstep import SIMULATORS, Case, LockstepError, run
from warploom_spec import layouts, preset

TINY = preset("tiny")


def grids(context):
    """Yield grids and where to begin in them."""
    config = config_of(context.params["config"])
    while True:
        grid, start = random_grid(context.rng, config, huge=True)
        yield walk(config, grid, start)


def edges(context):
    """Yield grids that begin at their end or at what resembles it."""
    config = config_of(context.params["config"])
    while True:
        yield walk(config, *edge_grid(context.rng, config))


def walk(config, grid, start=(0, 0, 0)):
    fields = {f"g{axis}": g for axis, g in zip("xyz", grid, strict=True)}
    fields |= {f"start_{axis}": s for axis, s in zip("xyz", start, strict=True)}
    return layouts.grid_walk(config).pack(fields)


def rarely(context):
    """Yield 1 now and then."""
    while True:
        yield int(context.rng.random() < 0.03)


def often(context):
    """Yield 1 in one of four cycles."""
    while True:
        yield int(context.rng.random() < 0.25)


def case(config, seed):
    return Case(
        make=make_walker,
        params={"config": config, "first_number": LATE_NUMBER},
        seed=seed,
        sources={"i": grids, "flush": rarely},
        withdrawable={"o": "a flush forgets the grid"},
    )


def edge_case(config, seed):
    """Return a case of short walks around the ends of large grids."""
    return replace(case(config, seed), sources={"i": edges, "flush": often})


@pytest.mark.parametrize("config", deep_but(["default"], ["tiny", "default"]))
@pytest.mark.parametrize("simulator", deep_but(["amaranth"], SIMULATORS, thorough=["icarus"]))
def test_equals_its_model(simulator, config, seed):
    for result in run([make(config, seed) for make in (case, edge_case)], simulator):
        result.require("transfers of i", "transfers of o")


@pytest.mark.parametrize("fault", GRID_WALKER)
def test_a_seeded_fault_is_found(fault, seed, monkeypatch):
    plant(monkeypatch, [GRID_WALKER[fault]])
    with pytest.raises(LockstepError):
        run([case("tiny", seed + n) for n in range(24)], "amaranth", waves=False)


def blocks(grid, start=(0, 0, 0)):
    """Return (x, y, z, last) by division of the block id, from a starting block on."""
    gx, gy, gz = grid
    first = start[0] + gx * (start[1] + gy * start[2])
    total = gx * gy * gz
    return [
        (k % gx, k // gx % gy, k // (gx * gy), int(k == total - 1)) for k in range(first, total)
    ]


def numbers(recording):
    """Return the block numbers that were given, in order."""
    packet = layouts.walked_block(TINY)
    return [packet.unpack(word)["block_number"] for _, word in recording.transfers("o")]


def taken(recording, config=TINY):
    packet = layouts.walked_block(config)
    found = []
    for cycle, word in recording.transfers("o"):
        fields = packet.unpack(word)
        found.append((cycle, (fields["bx"], fields["by"], fields["bz"], fields["last"])))
    return found


def test_every_small_grid_from_every_start_in_order_of_the_block_id():
    for grid in itertools.product(range(1, 4), repeat=3):
        for start in itertools.product(*map(range, grid)):
            found, at = [], Walk(grid, start)
            while at is not None:
                found.append((*at.block, int(at.last)))
                at = at.following()
            assert found == blocks(grid, start)


@given(data=st.data())
def test_a_step_is_the_block_id_plus_one_in_any_grid(data):
    limits = preset("default").max_grid
    grid = tuple(data.draw(st.integers(1, limit)) for limit in limits)
    block = tuple(data.draw(st.sampled_from((0, g // 2, max(0, g - 2), g - 1))) for g in grid)
    gx, gy, gz = grid
    number = block[0] + gx * (block[1] + gy * block[2]) + 1
    following = Walk(grid, block).following()
    if number == gx * gy * gz:
        assert following is None and Walk(grid, block).last
    else:
        assert following is not None
        assert following.block == (number % gx, number // gx % gy, number // (gx * gy))


BLOCKS = pytest.mark.parametrize("block", [Model, GridWalker])


@pytest.mark.rule("grid_walker", 1, 2, 4)
@BLOCKS
def test_no_bubble_between_two_grids(block):
    shapes = [(2, 2, 1), (1, 1, 1), (1, 2, 3)]
    host = Sender(
        {"i": [walk(TINY, grid) for grid in shapes]}, lambda cycle: {"o__ready": 1, "flush": 0}
    )
    found = taken(record(block(TINY), host, 16))
    wanted = [entry for grid in shapes for entry in blocks(grid)]
    assert found == list(enumerate(wanted, start=1))


@pytest.mark.rule("grid_walker", 1, 3)
@BLOCKS
def test_a_grid_that_comes_with_a_flush_is_held(block):
    # The flush meets the second grid's transfer: the first grid's last block transfers, too.
    host = Sender(
        {"i": [walk(TINY, (2, 1, 1)), walk(TINY, (3, 1, 1))]},
        lambda cycle: {"o__ready": 1, "flush": int(cycle == 2)},
    )
    found = taken(record(block(TINY), host, 8))
    assert found == list(enumerate(blocks((2, 1, 1)) + blocks((3, 1, 1)), start=1))


@pytest.mark.rule("grid_walker", 3)
@BLOCKS
def test_a_flush_forgets_the_grid_and_a_transfer_in_its_cycle_stands(block):
    host = Sender(
        {"i": [walk(TINY, (9, 1, 1))]}, lambda cycle: {"o__ready": 1, "flush": int(cycle == 3)}
    )
    recording = record(block(TINY), host, 8)
    assert taken(recording) == list(enumerate(blocks((9, 1, 1))[:3], start=1))
    assert recording.port("i__ready")[4] == 1


@pytest.mark.rule("grid_walker", 2)
@BLOCKS
def test_a_refused_block_is_held(block):
    host = Sender(
        {"i": [walk(TINY, (2, 1, 1))]}, lambda cycle: {"o__ready": int(cycle >= 6), "flush": 0}
    )
    recording = record(block(TINY), host, 10)
    assert recording.port("o__valid")[1:8] == [1] * 7
    assert [cycle for cycle, _ in taken(recording)] == [6, 7]


@pytest.mark.rule("grid_walker", 5)
@BLOCKS
def test_a_grids_blocks_are_numbered_from_0_in_the_order_of_the_walk(block):
    # 3 x 2 x 2 blocks: (x, y, z) has number x + 3 (y + 2 z). The second grid begins at (1, 1, 0).
    host = Sender(
        {"i": [walk(TINY, (3, 2, 2)), walk(TINY, (2, 2, 2), (1, 1, 0)), walk(TINY, (1, 1, 2))]},
        # Every third block is refused once.
        lambda cycle: {"o__ready": int(cycle % 4 != 3), "flush": 0},
    )
    recording = record(block(TINY), host, 30)
    assert numbers(recording) == [*range(12), *range(5), 0, 1]
    places = [place for _, place in taken(recording)][:12]
    assert [x + 3 * (y + 2 * z) for x, y, z, _ in places] == list(range(12))


@pytest.mark.rule("grid_walker", 5)
@BLOCKS
def test_a_grid_behind_a_flush_is_numbered_from_0(block):
    host = Sender(
        {"i": [walk(TINY, (9, 1, 1)), walk(TINY, (2, 1, 1))]},
        lambda cycle: {"o__ready": 1, "flush": int(cycle == 3)},
    )
    assert numbers(record(block(TINY), host, 8)) == [0, 1, 2, 0, 1]


@pytest.mark.rule("grid_walker", 5)
@BLOCKS
def test_numbers_wrap_at_2_to_the_32(block):
    host = Sender({"i": [walk(TINY, (2, 2, 1))]}, lambda cycle: {"o__ready": 1, "flush": 0})
    late = block(TINY, first_number=(1 << 32) - 2)
    assert numbers(record(late, host, 6)) == [4294967294, 4294967295, 0, 1]
