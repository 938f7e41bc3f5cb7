"""WideCounters against numbers: every value in every cycle, over many wraps."""

import random

import pytest
from amaranth.sim import Simulator

from warploom.lib.counters import WideCounters


@pytest.mark.parametrize("ready", [False, True])
@pytest.mark.parametrize(("bits", "cycles"), [(3, 100), (9, 3000), (12, 9000), (32, 3000)])
def test_each_counter_is_exact_in_each_cycle(bits: int, cycles: int, ready: bool) -> None:
    """One counts always, one often, one seldom; each restarts now and then."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    chances = (1.0, 0.9, 0.3)
    dut = WideCounters(len(chances), bits, ready=ready)
    start = (1 << bits) - 1 if ready else 0
    wraps = [0] * len(chances)

    async def bench(ctx) -> None:
        expected = [start] * len(chances)
        for _ in range(cycles):
            assert [ctx.get(value) for value in dut.values] == expected
            step = [rng.random() < chance for chance in chances]
            restart = [rng.random() < 1 / (3 << bits) for _ in chances]
            ctx.set(dut.step, sum(s << k for k, s in enumerate(step)))
            ctx.set(dut.restart, sum(c << k for k, c in enumerate(restart)))
            for k in range(len(chances)):
                after = start if restart[k] else expected[k] + step[k]
                wraps[k] += after >> bits
                expected[k] = after % (1 << bits)
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert bits == 32 or wraps[0] + wraps[1] > 0
