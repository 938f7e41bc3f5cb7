"""IndexPacker and IndexUnpacker."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb.support.deep_values import OTHER_SIMULATORS, deep_but, thorough_but
from tb.support.index_cases import CONFIGS, built, config_of
from tb.support.planted import plant
from tb.support.record import Sender, record
from tb.support.seeded_faults import INDEX_PACKER, INDEX_UNPACKER
from warploom.index import IndexPacker, IndexUnpacker
from warploom_golden.index import IndexPacker as PackerModel
from warploom_golden.index import IndexUnpacker as UnpackerModel
from warploom_golden.index.lanes import Partial, split, spread
from warploom_golden.oracles.index_reference import indices, pack, shapes, threads, widths
from warploom_sim.cosim.lockstep import Case, LockstepError, run
from warploom_spec import layouts, timing

TINY = CONFIGS["tiny"]


def make_packer(config, **params):
    return built(IndexPacker, PackerModel, config, **params)


def make_unpacker(config, **params):
    return built(IndexUnpacker, UnpackerModel, config, **params)


class LegalWords:
    """Random words, with widths that a legal shape may have."""

    def __init__(self, context):
        self._config, self._rng = config_of(context), context.rng

    def next(self, outputs):
        while True:
            x, y, z = (self._rng.randint(0, highest) for highest in (10, 10, 6))
            if x + y + z <= self._config.word_bits:
                break
        word = self._rng.getrandbits(self._config.word_bits)
        return {"word": word, "width_x": x, "width_y": y, "width_z": z}


def packer_case(config, seed, **params):
    return Case(make=make_packer, params={"config": config, **params}, seed=seed, cycles=1000)


def unpacker_case(config, seed, **params):
    return Case(
        make=make_unpacker,
        params={"config": config, **params},
        seed=seed,
        cycles=1000,
        stimulus=LegalWords,
        resets=0,
    )


@pytest.mark.parametrize("case", [packer_case, unpacker_case], ids=["packer", "unpacker"])
@pytest.mark.parametrize(
    "config", thorough_but(["tiny"], ["tiny", "default", "warp_16", "warp_64", "many_threads"])
)
def test_equals_its_model(case, config, seed):
    results = run([case(config, seed + k) for k in range(2)], "amaranth")
    assert all(result.compared >= result.cycles for result in results)


@pytest.mark.parametrize("more", deep_but([0], range(2)))
@pytest.mark.parametrize("case", [packer_case, unpacker_case], ids=["packer", "unpacker"])
@pytest.mark.parametrize("simulator", OTHER_SIMULATORS)
def test_equals_its_model_on_other_simulators(case, simulator, more, seed):
    run([case("default", seed + more)], simulator)


@pytest.mark.parametrize(
    ("case", "change"),
    [pytest.param(packer_case, change, id=name) for name, change in INDEX_PACKER.items()]
    + [pytest.param(unpacker_case, change, id=name) for name, change in INDEX_UNPACKER.items()],
)
def test_lockstep_finds_a_fault(case, change, seed, monkeypatch):
    plant(monkeypatch, [change])
    with pytest.raises(LockstepError):
        run([case("tiny", seed)], "amaranth")


@pytest.fixture(params=[IndexPacker, PackerModel], ids=["rtl", "model"])
def packer(request):
    return request.param(TINY)


def lanes(config, words, mask, **fields):
    """Return a warp of lanes; all other fields are 0 unless given."""
    packet = layouts.index_lanes(config)
    joined = sum(word << place * config.word_bits for place, word in enumerate(words))
    return packet.pack(
        dict.fromkeys((f.name for f in packet.present), 0)
        | {"lanes": joined, "mask": mask}
        | fields
    )


@pytest.mark.rule("index_packer", 2)
def test_lanes_that_are_no_threads_are_zero(packer):
    words = [7, 6, 5, 4, 0xFFFF, 0xFFFF, 1, 0xFFFF]
    sent = lanes(
        TINY, words, 0b01001111, address=9, first=1, last=0, width_x=3, width_y=1, width_z=2
    )
    seen = record(packer, Sender({"i": [sent]}, lambda cycle: {"o__ready": 1}), 4)
    ((cycle, word),) = seen.transfers("o")
    assert cycle == timing(TINY).packer == 1
    fields = layouts.packed_warp(TINY).unpack(word)
    assert split(fields.pop("words"), 16, 8) == [7, 6, 5, 4, 0, 0, 1, 0]
    assert fields == {
        "address": 9,
        "mask": 0b01001111,
        "first": 1,
        "last": 0,
        "width_x": 3,
        "width_y": 1,
        "width_z": 2,
    }


@pytest.mark.rule("index_packer", 1)
def test_one_warp_a_cycle_and_none_lost_when_stalled(packer):
    sent = [lanes(TINY, [k] * 8, 0xFF, address=k) for k in range(20)]
    seen = record(packer, Sender({"i": sent}, lambda cycle: {"o__ready": int(cycle % 7 != 3)}), 40)
    found = [layouts.packed_warp(TINY).unpack(word)["address"] for _, word in seen.transfers("o")]
    assert found == list(range(20))
    assert [cycle for cycle, _ in seen.transfers("o")][:6] == [1, 2, 4, 5, 6, 7]


@pytest.mark.rule("index_packer", 3)
def test_unpack_undoes_pack_for_legal_shapes(seed):
    """Every thread of 500 shapes through the model; the packed word is the reference's."""
    model = UnpackerModel(CONFIGS["default"])
    packet = layouts.thread_index(CONFIGS["default"])
    for dims in random.Random(seed).sample(shapes(1024), 500):
        bits = widths(dims)
        named = dict(zip(("width_x", "width_y", "width_z"), bits, strict=True))
        for n in range(0, threads(dims), 7):
            index = indices(n, dims)
            found = model.outputs({"word": pack(index, bits), **named})["index"]
            assert packet.unpack(found) == dict(zip("xyz", index, strict=True)), (dims, n)


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 8, 16, 18, 32]))
def test_spread_covers_the_lanes_of_a_mask(mask, bits):
    found = split(spread(mask, bits, 32), bits, 32)
    assert found == [(1 << bits) - 1 if mask >> lane & 1 else 0 for lane in range(32)]


def test_a_partly_defined_value_equals_all_that_agree_in_its_defined_bits():
    value = Partial(0b1010, 0b1100)
    assert int(value) == 0b1000
    assert value == 0b1011 and value == 0b1000
    for other in (0b0010, 0b1100, None):
        assert value != other
