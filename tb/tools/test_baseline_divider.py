"""The divider baseline gives the definition's indices: what is measured beside ours must work."""

import random
from collections.abc import Iterator

import pytest
from amaranth.sim import Simulator, SimulatorContext

from warploom_dev.synth.baseline_divider import DividerIndexGenerator
from warploom_spec import preset

SHAPES = [(1, 1, 1), (256, 1, 1), (1, 256, 1), (4, 1, 64), (3, 5, 7), (100, 2, 1), (7, 36, 1)]


def expected(shape: tuple[int, int, int], lanes: int) -> Iterator[list[tuple[int, ...] | None]]:
    """Give each warp's indices by division; None for a lane that is no thread."""
    dx, dy, dz = shape
    for warp in range(-(-dx * dy * dz // lanes)):
        numbers = range(warp * lanes, (warp + 1) * lanes)
        yield [(n % dx, n // dx % dy, n // dx // dy) if n < dx * dy * dz else None for n in numbers]


@pytest.mark.parametrize("stalled", [False, True])
def test_every_lane_is_the_quotients_and_remainders(stalled: bool, seed: int) -> None:
    rng = random.Random(seed)
    config = preset("tiny")
    more = [
        (rng.randint(1, 16), rng.randint(1, 16), 1 + rng.randrange(256) // 256) for _ in range(20)
    ]
    shapes = [*SHAPES, *more]
    dut = DividerIndexGenerator(config)
    want = [warp for shape in shapes for warp in expected(shape, config.warp_size)]
    got: list[list[tuple[int, ...] | None]] = []
    cycles: list[int] = []

    async def source(ctx: SimulatorContext) -> None:
        for dx, dy, dz in shapes:
            warps = -(-dx * dy * dz // config.warp_size)
            shape = {"address": 0, "dx": dx, "dy": dy, "dz": dz, "warps": warps}
            ctx.set(dut.i.payload, shape)
            ctx.set(dut.i.valid, 1)
            await ctx.tick().until(dut.i.ready)
        ctx.set(dut.i.valid, 0)

    async def sink(ctx: SimulatorContext) -> None:
        for cycle in range(100_000):
            ctx.set(dut.o.ready, not stalled or rng.random() < 0.5)
            _, _, valid, ready, payload = await ctx.tick().sample(
                dut.o.valid, dut.o.ready, dut.o.payload
            )
            if valid and ready:
                threads = [
                    (lane.x, lane.y, lane.z) if payload.mask >> k & 1 else None
                    for k, lane in enumerate(payload.lanes)
                ]
                got.append(threads)
                cycles.append(cycle)
            if len(got) == len(want):
                return

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(source)
    simulator.add_testbench(sink)
    simulator.run()
    assert got == want
    if not stalled:
        assert cycles == list(range(dut.latency, dut.latency + len(want))), "a warp every cycle"
