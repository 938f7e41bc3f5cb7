"""IndexGenerator against its model: configurations in, packed indices in memory."""

from collections import deque
from dataclasses import replace
from random import Random

import pytest

from tb.support.deep_values import deep_but, thorough_but
from tb.support.history_monitor import EVENTS, INDEX_MONITORS
from tb.support.index_cases import (
    CONFIGS,
    TimelyReleases,
    built,
    config_of,
    few_configurations,
    index_config,
    never,
    random_shape,
    rarely,
    reads_of,
    shuffled_shapes,
)
from tb.support.planted import plant
from tb.support.seeded_faults import CONFIG_FILTER, INDEX_ITERATOR, INDEX_MEMORY, INDEX_PACKER
from warploom.index import IndexGenerator
from warploom_golden.index import IndexGenerator as Model
from warploom_golden.oracles.index_reference import warps
from warploom_sim.cosim.lockstep import Case, LockstepError, Pace, events, run, run_one
from warploom_spec import layouts

DEFAULT, TINY = CONFIGS["default"], CONFIGS["tiny"]


def make(config, memory, **params):
    return built(IndexGenerator, Model, config, memory=memory, **params)


class Host(TimelyReleases):
    """Releases mostly what was accepted, and reads mostly what was asked for."""

    def __init__(self, context):
        super().__init__(context)
        self._references, self._sent = [], deque(maxlen=3)
        self.streams["release"] = context.driver("release", self._releases())
        if "read" in self.streams:
            reads = reads_of(self._rng, self._config, self._sent)
            self.streams["read"] = context.driver("read", reads)

    def next(self, outputs):
        if outputs is None:
            self._references.clear()
        inputs = super().next(outputs)
        if self.streams["decision"].taken is not None:
            packet = layouts.index_decision(self._config)
            self._references.append(packet.unpack(self.streams["decision"].taken)["entry"])
        if self.streams["i"].taken is not None:
            packet = layouts.index_config(self._config)
            sent = packet.unpack(self.streams["i"].taken)
            self._sent.appendleft((sent["address"], sent["warps"]))
        return inputs

    def _releases(self):
        while True:
            if self._references and self._rng.random() < 0.95:
                yield self._references.pop(self._rng.randrange(len(self._references)))
            else:
                yield self._rng.randrange(1 << self._config.entry_bits)


class FullSpeed(Host):
    """Everything as fast as it is taken, and taken at once."""

    def __init__(self, context):
        super().__init__(context)
        always = Pace(context.rng, (1.0,))
        self.streams["i"] = context.driver("i", pace=always)
        self.streams["release"] = context.driver("release", self._releases(), always)
        for name in ("decision", "done", "write"):
            self.streams[name] = context.sink(name, always)


def every_shape(context):
    """Yield each legal shape once, at an address where its region has room."""
    config, rng = config_of(context), context.rng
    for dims in shuffled_shapes(rng, config):
        room = config.index_memory_warps - warps(dims, config.warp_size)
        yield index_config(config, rng.randint(0, room), dims)


def other_counts(context):
    """Yield shapes with any count of warps."""
    config, rng = config_of(context), context.rng
    while True:
        count = rng.randint(1, config.max_warps)
        address = rng.randint(0, config.index_memory_warps - count)
        yield index_config(config, address, random_shape(rng, config), count)


def case(config, seed, memory=True, cycles=3000, **params):
    return Case(
        make=make,
        params={"config": config, "memory": memory, **params},
        seed=seed,
        cycles=cycles,
        stimulus=Host,
        sources={"i": few_configurations, "cancel": rarely},
        events={"indices": INDEX_MONITORS[config]},
    )


def every_shape_case(config, seed):
    """Return a case without memory that is long enough for every shape of up to 256 threads."""
    return replace(
        case(config, seed, memory=False),
        cycles={"warp_4": 250_000, "warp_2": 430_000}.get(config, 150_000),
        resets=0,
        stimulus=FullSpeed,
        sources={"i": every_shape, "cancel": never},
    )


def other_counts_case(config, seed):
    """Return a case without memory, often reset, of counts that are not their shapes'.

    LaunchCheck sends none; the iterator's rules say what becomes of them, and the monitor, which
    knows shapes alone, does not look.
    """
    return replace(
        case(config, seed, memory=False),
        cycles=12_000,
        resets=60,
        stimulus=FullSpeed,
        sources={"i": other_counts, "cancel": rarely},
        events={},
    )


@pytest.mark.parametrize(
    ("config", "memory", "cycles"),
    thorough_but(
        [("three_entries", True, 3000)],
        [
            ("tiny", True, 3000),
            ("default", True, 1500),
            ("three_entries", True, 3000),
            ("tiny", False, 3000),
            ("one_entry", False, 3000),
            ("host_step", False, 3000),
            ("warp_16", False, 2000),
            ("warp_64", False, 1000),
            ("many_threads", False, 6000),
            ("warp_4", True, 1000),
            ("warp_2", True, 1000),
        ],
    ),
)
def test_equals_its_model(config, memory, cycles, seed):
    result = run_one(case(config, seed, memory, cycles), "amaranth")
    assert result.counts["shapes_written"] > 3


@pytest.mark.parametrize("more", deep_but([0], range(2)))
@pytest.mark.parametrize(
    ("simulator", "config", "memory"),
    [
        pytest.param("icarus", "three_entries", True, marks=pytest.mark.thorough),
        pytest.param("icarus", "tiny", False, marks=pytest.mark.deep),
        pytest.param("verilator", "default", True, marks=pytest.mark.thorough),
        # The same logic less the memory.
        pytest.param("verilator", "default", False, marks=pytest.mark.deep),
    ],
)
def test_equals_its_model_on_other_simulators(simulator, config, memory, more, seed):
    run([case(config, seed + more, memory)], simulator)


# IndexIterator's own test walks them all by default.
@pytest.mark.deep
@pytest.mark.parametrize("config", ["three_entries", "warp_4", "warp_2"])
def test_every_shape_of_a_small_configuration_is_written(config, seed):
    (result,) = run([every_shape_case(config, seed)], "verilator")
    assert result.counts["shapes_written"] == len(shuffled_shapes(Random(seed), TINY))


@pytest.mark.thorough
def test_counts_of_warps_that_are_not_their_shapes(seed):
    run([other_counts_case("three_entries", seed)], "verilator")


@pytest.mark.thorough
def test_rare_events_happen_in_compared_runs():
    results = run([case("narrow", seed) for seed in range(1, 5)], "amaranth")
    events.require(EVENTS, events.total(result.counts for result in results))


#: One fault of each part; all of them are found in the parts' own benches.
FAULTS = {
    "config_filter": CONFIG_FILTER["stale_history"],
    "index_iterator": INDEX_ITERATOR["carry_y"],
    "index_packer": INDEX_PACKER["wrong_width"],
    "index_memory": INDEX_MEMORY["early_read"],
}


@pytest.mark.thorough
@pytest.mark.parametrize("part", FAULTS)
def test_lockstep_finds_a_fault_of_a_part(part, seed, monkeypatch):
    plant(monkeypatch, [FAULTS[part]])
    with pytest.raises(LockstepError):
        run([case("three_entries", seed + k) for k in range(24)], "amaranth")
