"""UnitWindow: a core arrives with its last lane, and a lane of a cancelled part counts for nothing.

Addresses and numbers stand here as the page has them.
"""

import pytest
from amaranth.sim import Simulator

from simt_gpu import UnitWindow
from warploom_dev.planted import planted
from warploom_dev.rewrite import Rewrite
from warploom_spec import preset

TINY = preset("tiny")
CORE = 0x800
STATE, FIRST, COUNT, CODE, ARGUMENTS, ARRIVE, RESULT = 0, 4, 8, 12, 16, 20, 32
OPEN = 0x100


class Bench:
    """A window with its unit and its memory played by a test."""

    def __init__(self, ctx, window: UnitWindow):
        self.ctx, self.window = ctx, window
        self.results: list[tuple[int, int]] = []

    @property
    def levels(self) -> tuple[int, int, int]:
        """`arrived`, `failed` and `failure`."""
        cores = self.window.cores
        return tuple(self.ctx.get(port) for port in (cores.arrived, cores.failed, cores.failure))

    async def start(self, core: int, first: int, count: int) -> None:
        """Give a core its part."""
        start = self.window.cores.start
        for name, value in {"core": core, "first": first, "count": count}.items():
            self.ctx.set(start.payload[name], value)
        self.ctx.set(start.valid, 1)
        assert self.ctx.get(start.ready)
        await self.ctx.tick()
        self.ctx.set(start.valid, 0)

    async def pulse(self, name: str) -> None:
        port = getattr(self.window.cores, name)
        self.ctx.set(port, 1)
        await self.ctx.tick()
        self.ctx.set(port, 0)

    async def access(self, address: int, value: int | None = None) -> int:
        """Store a value, or load one; taken at once."""
        ctx, request = self.ctx, self.window.request
        ctx.set(request.payload.write, value is not None)
        ctx.set(request.payload.address, address // 4)
        ctx.set(request.payload.bytes, 15 if value is not None else 0)
        ctx.set(request.payload.data, value or 0)
        ctx.set(request.valid, 1)
        assert ctx.get(request.ready)
        result = self.window.cores.result
        if ctx.get(result.valid):
            self.results.append((ctx.get(result.payload.word), ctx.get(result.payload.data)))
        await ctx.tick()
        ctx.set(request.valid, 0)
        return ctx.get(self.window.loaded)

    async def load(self, core: int, register: int) -> int:
        return await self.access(CORE + 64 * core + register)

    async def arrive(self, core: int, number: int, lanes: int, failure: int = 0) -> None:
        for _ in range(lanes):
            await self.access(CORE + 64 * core + ARRIVE, number << 16 | failure)


def simulated(steps) -> None:
    """Run ``steps(bench)`` on a window whose memory takes nothing."""
    window = UnitWindow(TINY, 14)
    simulator = Simulator(window)
    simulator.add_clock(1e-6)

    async def bench(ctx):
        await steps(Bench(ctx, window))

    simulator.add_testbench(bench)
    simulator.run()


def test_a_core_loads_its_part_and_arrives_with_its_last_lane() -> None:
    async def steps(bench: Bench) -> None:
        ctx, cores = bench.ctx, bench.window.cores
        assert await bench.load(2, STATE) == 0
        ctx.set(cores.code, 0x5_0000_1234)
        ctx.set(cores.arguments, 0x6_0000_2340)
        await bench.start(2, 70, 9)
        # Another core's part; the task's words may change when no start is valid.
        await bench.start(3, 80, 7)
        ctx.set(cores.code, 0)
        ctx.set(cores.arguments, 0)
        part = [await bench.load(2, name) for name in (STATE, FIRST, COUNT, CODE, ARGUMENTS)]
        assert part == [OPEN | 1, 70, 9, 0x1234, 0x2340]
        assert await bench.load(3, FIRST) == 80
        assert await bench.load(1, STATE) == 0
        await bench.arrive(2, OPEN | 1, 7)
        assert bench.levels == (0, 0, 0)
        await bench.arrive(2, OPEN | 1, 1)
        assert bench.levels == (0b0100, 0, 0)
        assert await bench.load(2, STATE) == 1
        await bench.pulse("barrier_open")
        assert bench.levels == (0, 0, 0)
        # The core is not at the barrier again before it gets its next part.
        await bench.arrive(2, 1, 8)
        assert bench.levels == (0, 0, 0)
        await bench.start(2, 0, 1)
        assert await bench.load(2, STATE) == OPEN | 2

    simulated(steps)


def test_one_lane_that_failed_fails_its_core_and_the_lowest_core_is_heard() -> None:
    async def steps(bench: Bench) -> None:
        for core in (1, 3):
            await bench.start(core, 0, 1)
        await bench.arrive(3, 1, 8, failure=0x33)
        assert bench.levels == (0b1000, 0b1000, 0x33)
        await bench.arrive(1, 1, 4)
        await bench.arrive(1, 1, 1, failure=0x11)
        assert bench.levels == (0b1000, 0b1000, 0x33)
        await bench.arrive(1, 1, 3)
        assert bench.levels == (0b1010, 0b1010, 0x11)
        await bench.pulse("barrier_open")
        await bench.start(3, 0, 1)
        await bench.arrive(3, 2, 8)
        assert bench.levels == (0b1000, 0, 0)

    simulated(steps)


def test_after_cancel_lanes_of_the_old_part_count_for_nothing() -> None:
    async def steps(bench: Bench) -> None:
        await bench.start(0, 0, 1)
        await bench.arrive(0, 1, 5)
        await bench.pulse("cancel")
        assert await bench.load(0, STATE) == 1
        await bench.arrive(0, 1, 3, failure=9)
        assert bench.levels == (0, 0, 0)
        await bench.start(0, 0, 1)
        await bench.arrive(0, 1, 8, failure=9)
        assert bench.levels == (0, 0, 0)
        await bench.arrive(0, 2, 8)
        assert bench.levels == (1, 0, 0)
        await bench.pulse("cancel")
        assert bench.levels == (0, 0, 0)

    simulated(steps)


def test_an_arrival_in_the_cycle_in_which_the_barrier_opens_stays() -> None:
    """A core that was missing arrives while the barrier opens for the others."""

    async def steps(bench: Bench) -> None:
        for core in (0, 1):
            await bench.start(core, 0, 1)
        await bench.arrive(0, 1, 8)
        await bench.arrive(1, 1, 7)
        bench.ctx.set(bench.window.cores.barrier_open, 1)
        await bench.arrive(1, 1, 1)
        bench.ctx.set(bench.window.cores.barrier_open, 0)
        assert bench.levels == (0b10, 0, 0)

    simulated(steps)


def test_result_words_go_to_the_unit_and_other_accesses_to_the_memory() -> None:
    async def steps(bench: Bench) -> None:
        ctx, window = bench.ctx, bench.window
        await bench.access(CORE + 64 * 3 + RESULT + 4 * 7, 0xABCD)
        await bench.access(CORE + RESULT, 5)
        await bench.access(CORE + ARGUMENTS, 6)
        await bench.load(0, RESULT)
        assert bench.results == [(7, 0xABCD), (0, 5)]
        for address in (CORE - 4, 0x1000, 0x1800):
            ctx.set(window.request.payload.address, address // 4)
            ctx.set(window.request.valid, 1)
            for ready in (0, 1):
                ctx.set(window.memory.ready, ready)
                found = (ctx.get(window.memory.valid), ctx.get(window.request.ready))
                assert found == (1, ready), hex(address)
            assert ctx.get(window.memory.payload.address) == address // 4
            await ctx.tick()
            ctx.set(window.memory_loaded, address)
            ctx.set(window.memory.ready, 0)
            assert ctx.get(window.loaded) == address
        for address in (CORE, 0xFFC):
            ctx.set(window.request.payload.address, address // 4)
            assert not ctx.get(window.memory.valid)
            assert ctx.get(window.request.ready)

    simulated(steps)


#: What a fault changes in a method of the window, and the test that finds it.
FAULTS = {
    "the first lane arrives for all": (
        Rewrite(UnitWindow, "_cores", "waits.eq(left == 1)", "waits.eq(1)"),
        test_a_core_loads_its_part_and_arrives_with_its_last_lane,
    ),
    "any core's lane counts": (
        Rewrite(UnitWindow, "_cores", "arrives & (core == n)", "arrives"),
        test_one_lane_that_failed_fails_its_core_and_the_lowest_core_is_heard,
    ),
    "the highest core is heard": (
        Rewrite(
            UnitWindow,
            "_cores",
            "reversed(range(self._config.cores_per_unit))",
            "range(self._config.cores_per_unit)",
        ),
        test_one_lane_that_failed_fails_its_core_and_the_lowest_core_is_heard,
    ),
    "a failure stays for the next part": (
        Rewrite(
            UnitWindow,
            "_cores",
            "[number.eq(number + 1), left.eq(lanes), failure.eq(0)]",
            "[number.eq(number + 1), left.eq(lanes)]",
        ),
        test_one_lane_that_failed_fails_its_core_and_the_lowest_core_is_heard,
    ),
    "an old part's lane counts": (
        Rewrite(
            UnitWindow,
            "_cores",
            "stored[_FAILURE_BITS:][:NUMBER_BITS] == number",
            "stored[_FAILURE_BITS:][:NUMBER_BITS] <= number",
        ),
        test_after_cancel_lanes_of_the_old_part_count_for_nothing,
    ),
    "cancel leaves the level": (
        Rewrite(UnitWindow, "_cores", "[left.eq(0), waits.eq(0)]", "left.eq(0)"),
        test_after_cancel_lanes_of_the_old_part_count_for_nothing,
    ),
    "code is read when the part is": (
        Rewrite(
            UnitWindow,
            "_loads",
            "[state, part.first, part.count, part.code, part.arguments]",
            "[state, part.first, part.count, cores.code, part.arguments]",
        ),
        test_a_core_loads_its_part_and_arrives_with_its_last_lane,
    ),
}


@pytest.mark.parametrize(("fault", "finds"), FAULTS.values(), ids=FAULTS)
def test_a_fault_in_the_window_is_found(fault, finds) -> None:
    with planted([fault]), pytest.raises(AssertionError, match=r"^assert"):
        finds()
