"""``warploom bench``: what it repeats, what it prints; and that its own measurements run."""

import json
import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from warploom_sim import benchmarks, cli
from warploom_sim.benchmarks import Benchmark, Measured
from warploom_spec import layouts, preset

TRACE = Path(__file__).parents[1] / "traces" / "stencil3d_shapes.json.gz"


def counting() -> Iterator[float]:
    yield from map(float, range(1000, 2000, 100))


def test_the_first_run_is_not_counted() -> None:
    steps: list[int] = []
    values = counting()
    measured = Benchmark("a", "b/s", lambda: next(values)).run(3, lambda: steps.append(1))
    assert measured.values == (1100.0, 1200.0, 1300.0)
    assert len(steps) == 3


def test_the_median_counts_and_the_spread_is_said() -> None:
    measured = Measured("a", "b/s", (90.0, 100.0, 140.0))
    assert (measured.median, measured.spread) == (100.0, 0.5)
    assert measured.to_json() == {
        "name": "a",
        "unit": "b/s",
        "values": (90.0, 100.0, 140.0),
        "median": 100.0,
        "spread": 0.5,
    }


def test_the_command_prints_and_writes_what_it_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    values = counting()
    seen: list[tuple[Path, tuple[str, ...]]] = []

    def stub(trace: Path, simulators: tuple[str, ...]) -> Iterator[Benchmark]:
        seen.append((trace, simulators))
        yield Benchmark("something", "blocks/s", lambda: next(values))

    monkeypatch.setattr(benchmarks, "benchmarks", stub)
    out = tmp_path / "bench.json"
    arguments = ["bench", "--sim", "verilator", "--repeat", "3", "--trace", str(TRACE)]
    result = CliRunner().invoke(cli.main, [*arguments, "--json", str(out)])
    assert result.exit_code == 0
    assert seen == [(TRACE, ("verilator",))]
    for part in ("something", "1,200", "blocks/s", "1,100", "1,300", "17%"):
        assert part in result.stdout
    (written,) = json.loads(out.read_text())["benchmarks"]
    assert written["median"] == 1200 and written["values"] == [1100, 1200, 1300]


def test_grids_to_walk_are_legal(seed: int) -> None:
    config = preset(benchmarks.CONFIG)
    context = SimpleNamespace(rng=random.Random(seed))
    packet = layouts.grid_walk(config)
    for word in islice(benchmarks.grids(context), 1000):
        grid = packet.unpack(word)
        assert all(0 <= grid[f"start_{axis}"] < grid[f"g{axis}"] for axis in "xyz")


def test_models_import_and_lockstep_are_measured() -> None:
    """On Amaranth's simulator alone: the others need seconds to build, and run the same code."""
    for benchmark in benchmarks.benchmarks(TRACE, ()):
        assert benchmark.once() > 0


def test_every_simulator_is_measured() -> None:
    names = [benchmark.name for benchmark in benchmarks.benchmarks(TRACE, ("verilator", "icarus"))]
    assert len(set(names)) == len(names)
    for simulator in ("verilator", "icarus"):
        assert f"replay, LaunchPath on {simulator}" in names
    for simulator in ("amaranth", "verilator", "icarus"):
        assert f"lockstep, GridWalker on {simulator}" in names
