"""IndexIterator: every thread's index by add and compare, a warp a cycle."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb.support.deep_values import deep_but, thorough_but
from tb.support.index_cases import (
    CONFIGS,
    any_configurations,
    built,
    config_of,
    index_config,
    random_shape,
    shuffled_shapes,
    special_shapes,
)
from tb.support.planted import plant
from tb.support.record import Sender, record
from tb.support.seeded_faults import INDEX_ITERATOR
from warploom.index import IndexIterator
from warploom_golden.index import IndexIterator as Model
from warploom_golden.index.index_iterator import first_index, first_warp
from warploom_golden.index.lanes import split
from warploom_golden.oracles.index_reference import (
    indices,
    is_legal,
    packed_warps,
    shapes,
    warps,
    widths,
)
from warploom_sim.cosim.lockstep import Case, LockstepError, Pace, RandomStimulus, run
from warploom_spec import layouts, timing

DEFAULT = CONFIGS["default"]


def make(config, **params):
    return built(IndexIterator, Model, config, **params)


def case(config, seed, **params):
    return Case(
        make=make,
        params={"config": config, **params},
        seed=seed,
        cycles=2000,
        sources={"i": any_configurations},
    )


def every_shape(context):
    """Yield each legal shape once, in random order."""
    config, rng = config_of(context), context.rng
    for dims in shuffled_shapes(rng, config):
        yield index_config(config, rng.randrange(config.index_memory_warps), dims)


class FullSpeed(RandomStimulus):
    """Shapes as fast as they are taken, and every warp is taken at once."""

    def __init__(self, context):
        super().__init__(context)
        always = Pace(context.rng, (1.0,))
        self.streams["i"] = context.driver("i", pace=always)
        self.streams["o"] = context.sink("o", always)


def every_shape_case(config, seed):
    """Return a case long enough for every shape of `tiny`."""
    return replace(
        case(config, seed), cycles=100_000, resets=0, stimulus=FullSpeed, sources={"i": every_shape}
    )


@pytest.mark.thorough
def test_every_shape_of_a_small_configuration_equals_the_model(seed):
    (result,) = run([every_shape_case("tiny", seed)], "verilator")
    legal = [dims for dims in shapes(256) if is_legal(dims, CONFIGS["tiny"])]
    assert result.counts["transfers of i"] == len(legal)


@pytest.mark.parametrize("config", thorough_but(["three_entries"], CONFIGS))
def test_equals_its_model(config, seed):
    results = run([case(config, seed + k) for k in range(2)], "amaranth")
    assert sum(result.counts["transfers of o"] for result in results) > 100


@pytest.mark.parametrize("more", deep_but([0], range(2)))
@pytest.mark.parametrize(
    ("simulator", "config"),
    deep_but(
        [],
        [("icarus", "host_step"), ("verilator", "default")],
        thorough=[("icarus", "host_step")],
    ),
)
def test_equals_its_model_on_other_simulators(simulator, config, more, seed):
    run([case(config, seed + more)], simulator)


@pytest.mark.parametrize("fault", INDEX_ITERATOR)
def test_lockstep_finds_a_fault(fault, seed, monkeypatch):
    plant(monkeypatch, [INDEX_ITERATOR[fault]])
    with pytest.raises(LockstepError):
        run([case("tiny", seed + k) for k in range(24)], "amaranth")


# What it makes, of RTL and model alike


@pytest.fixture(params=[IndexIterator, Model], ids=["rtl", "model"])
def block(request):
    return request.param


def send(iterator, words, cycles, ready=lambda cycle: True):
    stimulus = Sender({"i": words}, lambda cycle: {"o__ready": int(ready(cycle))})
    return record(iterator, stimulus, cycles)


def made(recording, config):
    """Return the emitted warps, lanes that are no threads cleared."""
    found = []
    for _, word in recording.transfers("o"):
        fields = layouts.index_lanes(config).unpack(int(word))
        mask = np.array(split(fields.pop("mask"), 1, config.warp_size), dtype=bool)
        lanes = np.array(split(fields.pop("lanes"), config.word_bits, config.warp_size)) * mask
        found.append((fields, lanes, mask))
    return found


def assert_warps(found, config, address, dims):
    """Compare all warps of one configuration with division."""
    words, mask = packed_warps(dims, config)
    assert len(found) == len(words), dims
    for warp, (fields, lanes, valid) in enumerate(found):
        assert np.array_equal(lanes, words[warp]) and np.array_equal(valid, mask[warp]), dims
        assert fields == {
            "address": (address + warp) % (1 << config.index_address_bits),
            "first": int(warp == 0),
            "last": int(warp == len(words) - 1),
        } | dict(zip(("width_x", "width_y", "width_z"), widths(dims), strict=True)), dims


@pytest.mark.rule("index_iterator", 6, 8)
@pytest.mark.parametrize("name", thorough_but(["default", "three_entries", "warp_2"], CONFIGS))
def test_special_shapes_equal_division(block, name):
    config = CONFIGS[name]
    every = [dims for dims in special_shapes(config) if warps(dims, config.warp_size) <= 64]
    words = [index_config(config, place, dims) for place, dims in enumerate(every)]
    total = sum(warps(dims, config.warp_size) for dims in every)
    found = made(send(block(config), words, total + 16 * len(every)), config)
    for place, dims in enumerate(every):
        count = warps(dims, config.warp_size)
        assert_warps(found[:count], config, place, dims)
        found = found[count:]
    assert not found


@pytest.mark.rule("index_iterator", 5, 6, 8)
@given(st.data())
def test_any_shapes_under_any_back_pressure_equal_division(data):
    config = CONFIGS[data.draw(st.sampled_from(sorted(CONFIGS)))]
    rng = random.Random(data.draw(st.integers(0, 2**32)))
    most = min(512, 32 * config.warp_size)
    dims = [random_shape(rng, config, most) for _ in range(3)]
    words = [index_config(config, 5, each) for each in dims]
    rate = rng.choice((0.2, 0.7, 1.0))
    found = made(send(Model(config), words, 1000, lambda cycle: rng.random() < rate), config)
    for each in dims:
        count = warps(each, config.warp_size)
        assert_warps(found[:count], config, 5, each)
        found = found[count:]
    assert not found


@pytest.mark.rule("index_iterator", 4, 6)
def test_literal_first_and_last_warp(block):
    """(100, 2, 2) at W = 32: x in 7 bits, y and z in one each; 13 warps, 16 lanes in the last."""
    seen = made(send(block(DEFAULT), [index_config(DEFAULT, 0, (100, 2, 2))], 40), DEFAULT)
    assert list(seen[0][1]) == list(range(32))
    assert list(seen[3][1]) == [96, 97, 98, 99, *range(1 << 7, (1 << 7) + 28)]
    assert len(seen) == 13 and list(seen[12][2]) == [True] * 16 + [False] * 16
    assert seen[12][1][15] == 99 | 1 << 7 | 1 << 8


@pytest.mark.rule("index_iterator", 6, 9)
def test_fewer_warps_cut_the_sequence_and_more_change_nothing(block):
    dims, count = (10, 10, 2), 7
    for given_count, expected in ((1, 1), (3, 3), (count, count), (count + 9, count)):
        word = index_config(DEFAULT, 508, dims, given_count)
        found = made(send(block(DEFAULT), [word], 60), DEFAULT)
        assert [fields["last"] for fields, _, _ in found] == [0] * (expected - 1) + [1]
        assert [fields["address"] for fields, _, _ in found] == [
            (508 + warp) % 512 for warp in range(expected)
        ]


@pytest.mark.rule("index_iterator", 9)
def test_no_warps_emit_nothing_and_do_not_hang(block):
    words = [index_config(DEFAULT, 0, (8, 8, 8), 0), index_config(DEFAULT, 9, (8, 1, 1))]
    found = made(send(block(DEFAULT), words, 60), DEFAULT)
    assert [fields["address"] for fields, _, _ in found] == [9]


@pytest.mark.rule("index_iterator", 10)
def test_whatever_comes_in_stays_inside_its_region_and_ends(seed):
    """Shapes that LaunchCheck refuses, dimensions of 0, wrong steps: random words, on the RTL."""
    config = CONFIGS["host_step"]
    packet, rng = layouts.index_config(config), random.Random(seed)
    words = []
    for _ in range(40):
        fields = {f.name: rng.choice((0, rng.getrandbits(f.bits))) for f in packet.present}
        words.append(packet.pack(fields | {"warps": rng.randint(1, 12)}))
    last = index_config(config, 0, (8, 1, 1))
    seen = send(IndexIterator(config), [*words, last], 40 * 30)
    found = iter(layouts.index_lanes(config).unpack(word) for _, word in seen.transfers("o"))
    for word in [*words, last]:
        fields = packet.unpack(word)
        for warp in range(fields["warps"]):
            lanes = next(found)
            assert lanes["address"] == (fields["address"] + warp) % 64
            if lanes["last"]:
                break
        else:
            pytest.fail("a warp outside its region")
    assert next(found, None) is None


# When


@pytest.mark.rule("index_iterator", 2, 5, 7)
def test_first_warp_after_the_latency_of_timing(block):
    """Literal: 4 cycles of setup, one to enter generation, 6 of pipe."""
    assert (timing(DEFAULT).iterator_setup, timing(DEFAULT).iterator_pipe) == (4, 6)
    seen = send(block(DEFAULT), [index_config(DEFAULT, 0, (64, 1, 1))], 20)
    assert [cycle for cycle, _ in seen.transfers("o")] == [11, 12]


@pytest.mark.rule("index_iterator", 1, 2, 3)
def test_the_setup_unit_takes_the_next_a_cycle_after_it_has_emptied(block):
    """The first moves on at the end of 4; the second is held until the first's last warp, in 36."""
    words = [index_config(DEFAULT, 0, (1024, 1, 1))] * 3
    seen = send(block(DEFAULT), words, 50)
    assert [cycle for cycle, _ in seen.transfers("i")] == [0, 5, 37]
    assert seen.port("i__ready")[:7] == [1, 0, 0, 0, 0, 1, 0]


@pytest.mark.rule("index_iterator", 4)
def test_one_warp_a_cycle_no_bubble_inside_a_block(block):
    seen = send(block(DEFAULT), [index_config(DEFAULT, 0, (10, 10, 10))], 60)
    cycles = [cycle for cycle, _ in seen.transfers("o")]
    assert cycles == list(range(cycles[0], cycles[0] + 32))


@pytest.mark.rule("index_iterator", 3, 7)
def test_no_bubble_between_two_misses_of_12_warps(block):
    """The contract demands 12 warps at most; ``iterator_setup`` + 1 suffice, one fewer does not."""
    enough = timing(DEFAULT).iterator_setup + 1
    assert enough <= 12
    for count, bubbles in ((12, 0), (enough, 0), (enough - 1, 1)):
        word = index_config(DEFAULT, 0, (32, count, 1))
        cycles = [cycle for cycle, _ in send(block(DEFAULT), [word] * 3, 80).transfers("o")]
        assert len(cycles) == 3 * count
        assert cycles[-1] - cycles[0] + 1 == 3 * count + 2 * bubbles


@pytest.mark.rule("index_iterator", 5)
def test_stalled_memory_port_loses_nothing(block):
    """Stalled in every pattern of eight cycles, the same warps come out."""
    word = index_config(CONFIGS["tiny"], 0, (5, 7, 3))
    free = made(send(block(CONFIGS["tiny"]), [word], 40), CONFIGS["tiny"])
    for pattern in (0b10101010, 0b00010000, 0b11101110, 0b10000001):
        seen = send(block(CONFIGS["tiny"]), [word], 200, lambda c, p=pattern: p >> c % 8 & 1)
        assert len(free) == 14
        for one, other in zip(made(seen, CONFIGS["tiny"]), free, strict=True):
            assert one[0] == other[0] and np.array_equal(one[1], other[1])


# The model's own rules


def test_index_of_thread_one_follows_from_two_comparisons():
    for dims in [*shapes(64), (1024, 1, 1), (1, 1024, 1)]:
        assert first_index(dims) == indices(1, dims)


@given(
    st.sampled_from([(1, 1, 1), (1, 1, 64), (3, 5, 7), (100, 2, 2), (1, 9, 1), (1024, 1, 1)]),
    st.sampled_from([1, 2, 4, 8, 16, 32, 64]),
)
def test_lanes_and_step_by_doubling(dims, lanes):
    known, power = first_warp(dims, lanes)
    assert np.array_equal(known, indices(np.arange(lanes, dtype=np.uint32), dims))
    assert power == indices(lanes, dims)


class StartsAtOne(Model):
    """As the index patent's worked example: thread numbers start at 1."""

    def _read(self, payload):
        unit = super()._read(payload)
        one = indices(np.arange(1, 1 + self._config.warp_size, dtype=np.int64), unit.dims)
        return type(unit)(unit.dims, unit.address, unit.warps, one, unit.stride)


def test_starting_at_thread_one_loses_index_zero():
    word = index_config(DEFAULT, 0, (4, 4, 4))
    for model, start in ((Model, 0), (StartsAtOne, 1)):
        found = made(send(model(DEFAULT), [word], 30), DEFAULT)
        assert [*found[0][1], *found[1][1][found[1][2]]] == list(range(start, 64))
