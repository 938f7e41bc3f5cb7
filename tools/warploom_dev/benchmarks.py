"""How quick the project's own programs are: simulators, golden models, trace import."""

import functools
import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np
from amaranth.lib import wiring

from warploom_golden.dispatch import GridWalker as GridWalkerModel
from warploom_golden.oracles.index_reference import indices
from warploom_golden.replay import event_model
from warploom_sim.build_cache import build_root
from warploom_sim.cosim import lockstep
from warploom_sim.failure import ProgramError
from warploom_sim.replay import expected
from warploom_sim.replay.bench import replay_bench_build
from warploom_sim.replay.request import ReplayRequest
from warploom_sim.replay.simulation_run import (
    MOST_BLOCKS,
    failure,
    read_recorded,
    simulation_process,
)
from warploom_sim.traces import trace_reader
from warploom_sim.traces.kept_waits import no_waits
from warploom_sim.traces.trace_launches import make_launches
from warploom_sim.verilog.blocks import block
from warploom_spec import LaunchDescriptor, WarploomError, layouts, preset

#: Configuration of everything that is measured.
CONFIG: Final = "default"
#: Of the recorded time, as `warploom sim` has it.
TIME_SCALE: Final = Fraction(1, 32)
#: Launches of the trace that each simulator replays, cycles of a lockstep run: seconds each.
REPLAYED: Final = {"verilator": 40, "icarus": 2}
LOCKSTEP_CYCLES: Final = {"amaranth": 5_000, "icarus": 20_000, "verilator": 50_000}
#: Threads of one call of the index reference, and the calls of one repetition.
THREADS: Final = 60_000
SHAPES: Final = [(dx, dy, 64) for dx in (1, 3, 32, 100, 1024) for dy in (1, 2, 7, 33, 1024)]


@dataclass(frozen=True)
class Measured:
    """One benchmark's repetitions.

    Attributes
    ----------
    name, unit : str
        What was measured, and in what: the higher the better but for seconds.
    values : tuple[float, ...]
        One a repetition.
    """

    name: str
    unit: str
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The repetitions' median."""
        return median(self.values)

    @property
    def spread(self) -> float:
        """Highest minus lowest, as a part of the median."""
        return (max(self.values) - min(self.values)) / self.median

    def to_json(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return asdict(self) | {"median": self.median, "spread": self.spread}


@dataclass(frozen=True)
class Benchmark:
    """One thing to measure: ``once`` runs it and returns the value in ``unit``."""

    name: str
    unit: str
    once: Callable[[], float]

    def run(self, repetitions: int, progress: Callable[[], None]) -> Measured:
        """Repeat it; what is built or cached by the first run is not measured."""
        self.once()
        values = []
        for _ in range(repetitions):
            values.append(self.once())
            progress()
        return Measured(self.name, self.unit, tuple(values))


def benchmarks(trace: Path, simulators: Sequence[str]) -> Iterator[Benchmark]:
    """Give every benchmark.

    Parameters
    ----------
    trace : Path
        Imported, replayed and modelled.
    simulators : sequence of str
        Verilog simulators to measure; Amaranth's own is measured in any case.

    Raises
    ------
    WarploomError
        If the trace is refused, or has no block to measure with, or too many.
    """
    _check_blocks(trace, simulators)
    for simulator in simulators:
        name = f"replay, LaunchPath on {simulator}"
        yield Benchmark(name, "cycles/s", functools.partial(_replay, trace, simulator))
    for simulator in ("amaranth", *simulators):
        name = f"lockstep, GridWalker on {simulator}"
        yield Benchmark(name, "cycles/s", functools.partial(_lockstep, simulator))
    yield Benchmark("golden event model", "blocks/s", functools.partial(_events, trace))
    yield Benchmark("golden index reference", "indices/s", _indices)
    yield Benchmark(f"import of {trace.name}", "s", functools.partial(_import, trace))


def _launches(trace: Path, count: int | None = None) -> list[LaunchDescriptor]:
    return make_launches(trace_reader.load(trace), preset(CONFIG), TIME_SCALE, count)


def _check_blocks(trace: Path, simulators: Sequence[str]) -> None:
    """Refuse a trace of which a simulator or the event model would run nothing, or too much."""
    launches = _launches(trace)
    for name, count in [*((s, REPLAYED[s]) for s in simulators), ("the event model", None)]:
        demanded = expected.count(launches[:count], preset(CONFIG))
        if not demanded.blocks:
            refused = ", ".join(f"{code}: {times}" for code, times in demanded.refused.items())
            raise WarploomError(
                f"{trace}: 0 of the {demanded.launches} launches that {name} would run are"
                f" accepted by configuration {CONFIG} ({refused}); legal: 1 or more"
            )
        if demanded.blocks > MOST_BLOCKS:
            raise WarploomError(
                f"{trace}: {demanded.blocks:,} blocks for {name}; legal: up to {MOST_BLOCKS:,}"
            )


def _replay(trace: Path, simulator: str) -> float:
    """Return the simulated cycles a second of a replay's RTL, its start included."""
    config = preset(CONFIG)
    launches = _launches(trace, REPLAYED[simulator])
    simulation = replay_bench_build.build(config, simulator)
    request = ReplayRequest(traces=(trace,), rtl=True, simulator=simulator, contention="none")
    folder = build_root() / "benchmarks" / uuid.uuid4().hex
    folder.mkdir(parents=True)
    waits = no_waits(launches)
    try:
        began = time.perf_counter()
        with simulation_process(simulation, launches, config, request, folder, waits) as running:
            failed = running.wait()
        if failed:
            raise ProgramError(failure(simulator, failed, folder))
        took = time.perf_counter() - began
        recorded = read_recorded(folder, config)
        if recorded.stopped:
            raise ProgramError(f"the replay of {trace} on {simulator} was {recorded.stopped}")
        return int(recorded.events.tables["ended"]["cycle"].max()) / took
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def grid_walker(config: str) -> tuple[wiring.Component, lockstep.Model]:
    """Make the block that the lockstep harness is measured with, and its model."""
    return block("grid_walker")(preset(config)), GridWalkerModel(preset(config))


def grids(context: lockstep.Context) -> Iterator[int]:
    """Give grids to walk, from a block inside each."""
    config = preset(CONFIG)
    while True:
        values: dict[str, int] = {}
        for axis, limit in zip("xyz", config.max_grid, strict=True):
            size = context.rng.randint(1, min(limit, context.rng.choice((1, 3, 1000))))
            values |= {f"g{axis}": size, f"start_{axis}": context.rng.randrange(size)}
        yield layouts.grid_walk(config).pack(values)


def _lockstep(simulator: str) -> float:
    """Return the compared cycles a second of a lockstep run, without its start."""
    case = lockstep.Case(
        make=grid_walker,
        params={"config": CONFIG},
        seed=1,
        cycles=LOCKSTEP_CYCLES[simulator],
        sources={"i": grids},
        withdrawable={"o": "flush forgets the grid"},
    )
    return lockstep.run_one(case, simulator, waves=False).cycles_per_s


def _events(trace: Path) -> float:
    """Return the blocks that the event model dispatches in a second."""
    launches = _launches(trace)
    began = time.perf_counter()
    events = event_model.run(launches, preset(CONFIG), seed=1)
    return len(events.tables["offers"]["cycle"]) / (time.perf_counter() - began)


def _indices() -> float:
    """Return the thread indices that the reference computes in a second."""
    numbers = np.arange(THREADS, dtype=np.uint16)
    began = time.perf_counter()
    for dims in SHAPES:
        indices(numbers, dims)
    return THREADS * len(SHAPES) / (time.perf_counter() - began)


def _import(trace: Path) -> float:
    """Return the seconds from a trace's file to its launches."""
    began = time.perf_counter()
    trace_reader.load(trace)
    return time.perf_counter() - began
