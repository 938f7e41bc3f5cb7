"""The cycle contract of IndexGenerator's page, of RTL and model alike; its monitor; its patent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb.support.history_monitor import IndexMonitor, watch
from tb.support.index_cases import CONFIGS, OneAtATime, index_config, special_shapes
from tb.support.record import Recording, Sender, made, record
from tb.support.source_filters import IgnoresReaders, NeverDrops
from warploom.index import IndexGenerator
from warploom_golden.index import IndexGenerator as Model
from warploom_golden.index.lanes import join
from warploom_golden.oracles.index_reference import packed_warps, warps
from warploom_spec import layouts, timing

DEFAULT, TINY = CONFIGS["default"], CONFIGS["tiny"]


class WithoutDrops(Model):
    def __init__(self, config, memory=True):
        super().__init__(config, memory)
        self.filter = NeverDrops(config)


class WithoutReferences(Model):
    def __init__(self, config, memory=True):
        super().__init__(config, memory)
        self.filter = IgnoresReaders(config)


# The cycle contract, of RTL and model alike


@pytest.fixture(params=[IndexGenerator, Model], ids=["rtl", "model"])
def block(request):
    return request.param


def quiet(cycle):
    return {
        "cancel": 0,
        "decision__ready": 1,
        "done__ready": 1,
        "write__ready": 1,
        "read__valid": 0,
        "read__payload": 0,
        "data__ready": 1,
    }


def send(block, config, words, levels=lambda cycle: {}, releases=(), cycles=100):
    """Send configurations to a generator without memory, watched by the monitor."""
    stimulus = Sender({"i": words, "release": releases}, lambda cycle: quiet(cycle) | levels(cycle))
    seen = record(made(block, config, memory=False), stimulus, cycles)
    if block is not WithoutReferences:
        watch(seen, config, IndexMonitor)
    return seen


def write_cycles(recording):
    return [cycle for cycle, _ in recording.transfers("write")]


def written(recording, config):
    """Return address, words and mask of each packed warp."""
    packet = layouts.packed_warp(config)
    fields = [packet.unpack(word) for _, word in recording.transfers("write")]
    return [(each["address"], each["words"], each["mask"]) for each in fields]


def by_division(config, address, dims):
    words, mask = packed_warps(dims, config)
    return [
        (address + warp, join(words[warp], config.word_bits), join(mask[warp], 1))
        for warp in range(len(words))
    ]


@pytest.mark.rule("index_generator", 3)
def test_needs_release_tells_of_a_region_that_is_read_and_of_no_stall(block):
    """Two shapes of four warps at one address; the first one's `write` stands still to 40.

    It is accepted in 3. The second one transfers in 20, and needs the first one's release in 60.
    A third one of the second's shape, in 70, waits for its making alone.
    """
    first, second = (index_config(TINY, 0, dims) for dims in ((8, 4, 1), (4, 8, 1)))
    seen = send(
        block,
        TINY,
        [first, second, second],
        lambda cycle: {
            "write__ready": int(cycle >= 40 and not 62 < cycle < 90),
            "i__hold": int(cycle not in (0, 20, 70)),
            "release__hold": int(cycle != 60),
        },
        releases=[0],
        cycles=140,
    )
    assert [cycle for cycle, _ in seen.transfers("i")] == [0, 20, 70]
    assert seen.cycles("needs_release") == list(range(23, 62))
    packet = layouts.index_decision(TINY)
    hits = [(cycle, packet.unpack(word)["hit"]) for cycle, word in seen.transfers("decision")]
    made_in = [cycle for cycle, word in seen.transfers("done") if not packet.unpack(word)["hit"]]
    assert hits == [(4, 0), (63, 0), (made_in[1] + 3, 1)]
    last = layouts.packed_warp(TINY)
    assert made_in == [c for c, word in seen.transfers("write") if last.unpack(word)["last"]]


def misses(config, *shapes):
    """Return configurations with regions of their own, 32 warps apart."""
    return [index_config(config, 32 * place, dims) for place, dims in enumerate(shapes)]


@pytest.mark.rule("index_generator", 2)
def test_first_warp_within_12_cycles(block):
    """Configuration accepted to first packed warp written, at W = 32."""
    seen = send(block, DEFAULT, misses(DEFAULT, (10, 10, 10)))
    (accepted,) = seen.cycles("accepted")
    assert write_cycles(seen)[0] - accepted == 12 == timing(DEFAULT).index_miss


@pytest.mark.rule("index_generator", 2)
@pytest.mark.parametrize("config", ["tiny", "warp_2", "warp_4", "warp_16", "warp_64", "host_step"])
def test_the_latency_is_the_same_at_every_warp_size(block, config):
    seen = send(block, CONFIGS[config], misses(CONFIGS[config], (5, 3, 1)))
    assert write_cycles(seen)[0] - seen.cycles("accepted")[0] == 12


def test_one_warp_a_cycle_no_bubble_inside_a_block(block):
    seen = send(block, DEFAULT, misses(DEFAULT, (10, 10, 10)))
    cycles = write_cycles(seen)
    assert cycles == list(range(cycles[0], cycles[0] + 32))
    assert written(seen, DEFAULT) == by_division(DEFAULT, 0, (10, 10, 10))


def test_no_bubble_between_two_misses_of_12_warps(block):
    seen = send(block, DEFAULT, misses(DEFAULT, (32, 12, 1), (12, 32, 1), (1, 1, 1)))
    cycles = write_cycles(seen)
    assert cycles == list(range(cycles[0], cycles[0] + 25))


def test_hit_decided_in_one_cycle_done_in_two(block):
    """Sent again in 50: accepted in 53, decision in 54, done in 55, and nothing is written."""
    (word,) = misses(DEFAULT, (10, 10, 10))
    seen = send(block, DEFAULT, [word, word], lambda cycle: {"i__hold": int(0 < cycle < 50)})
    assert [cycle for cycle, _ in seen.transfers("i")] == [0, 50]
    assert [cycle for cycle, _ in seen.transfers("decision")] == [4, 54]
    assert [cycle for cycle, _ in seen.transfers("done")][1] == 55
    assert len(write_cycles(seen)) == 32


@pytest.mark.rule("index_generator", 1)
def test_done_of_a_miss_comes_with_its_last_write(block):
    def levels(cycle):
        return {"write__ready": int(cycle != 46)}

    seen = send(block, DEFAULT, misses(DEFAULT, (10, 10, 10)), levels)
    assert [cycle for cycle, _ in seen.transfers("done")] == write_cycles(seen)[-1:] == [47]


@pytest.mark.parametrize("pattern", [0b10101010, 0b00010000, 0b11101110, 0b10000001])
def test_stalled_memory_port_loses_nothing(block, pattern):
    shapes = (10, 10, 10), (5, 7, 9), (1, 1, 1), (3, 5, 7)

    def levels(cycle):
        return {"write__ready": pattern >> cycle % 8 & 1}

    seen = send(block, DEFAULT, misses(DEFAULT, *shapes), levels, cycles=480)
    expected = [by_division(DEFAULT, 32 * place, dims) for place, dims in enumerate(shapes)]
    assert written(seen, DEFAULT) == sum(expected, [])


def test_dimension_limits(block):
    """Each dimension at its highest, and the most threads: 32 warps at most, all by division."""
    shapes = (1024, 1, 1), (1, 1024, 1), (1, 1, 64), (4, 4, 64), (16, 1, 64), (1, 16, 64)
    words = [index_config(DEFAULT, 32 * place, dims) for place, dims in enumerate(shapes)]
    seen = send(block, DEFAULT, words, cycles=260)
    expected = [by_division(DEFAULT, 32 * place, dims) for place, dims in enumerate(shapes)]
    assert written(seen, DEFAULT) == sum(expected, [])


def test_a_read_that_comes_early_gets_the_right_word(block):
    """All warps are asked for right after the decision, and stall until each is written.

    The configuration transfers in 0 and is accepted in 3 (`filter_lookup`). Its region is pending
    from 5 on (index_memory, rule 3). So a read that transfers in 5 is the first that waits for it.
    """
    words = misses(DEFAULT, (10, 10, 10))
    reads = [
        layouts.index_read(DEFAULT).pack({"address": 0, "warp": warp, "index_warps": 32})
        for warp in range(32)
    ]

    def levels(cycle):
        return {
            "cancel": 0,
            "decision__ready": 1,
            "done__ready": 1,
            "data__ready": 1,
            "read__hold": int(cycle < 5),
        }

    streams = {"i": words, "read": reads, "release": ()}
    seen = record(made(block, DEFAULT), Sender(streams, levels), 60)
    packet = layouts.index_data(DEFAULT)
    found = [tuple(packet.unpack(word).values()) for _, word in seen.transfers("data")]
    assert found == [(w, mask) for _, w, mask in by_division(DEFAULT, 0, (10, 10, 10))]
    # A warp that is written in w does not wait in w + 2 (rules 4 and 6). Its read leaves the row
    # register then, the next read transfers, and the data is there in w + 4 (`index_wake`).
    writes = seen.cycles("written_valid")
    reads_at = [cycle for cycle, _ in seen.transfers("read")]
    assert reads_at == [5, *(w + 2 for w in writes[:-1])]
    assert [cycle for cycle, _ in seen.transfers("data")] == [w + 4 for w in writes]


def test_a_released_entry_is_finished_and_its_done_comes(block):
    (word,) = misses(TINY, (8, 8, 4))
    seen = send(block, TINY, [word], lambda c: {"release__hold": int(c < 4)}, [0])
    assert seen.transfers("release")[0][0] == 4 and not seen.cycles("error")
    assert len(write_cycles(seen)) == 32
    assert [cycle for cycle, _ in seen.transfers("done")] == write_cycles(seen)[-1:]


# The monitor itself


def flipped(recording, cycle, port, field):
    """Return a copy of a recording with the lowest bit of one field of a packet inverted."""
    packet = {
        "write__payload": layouts.packed_warp,
        "decision__payload": layouts.index_decision,
        "done__payload": layouts.index_decision,
    }[port](TINY)
    outputs = list(recording.outputs)
    word = outputs[cycle][port] ^ 1 << packet.offsets[field]
    outputs[cycle] = {**outputs[cycle], port: word}
    return Recording(recording.inputs, outputs)


@pytest.mark.parametrize(
    ("port", "field", "complaint"),
    [
        ("write__payload", "words", "the memory holds wrong indices"),
        ("write__payload", "mask", "the memory holds wrong indices"),
        ("write__payload", "address", "a write in the wrong place"),
        ("write__payload", "first", "a wrong first warp"),
        ("write__payload", "last", "a wrong last warp"),
        ("decision__payload", "hit", "a hit of another shape"),
        ("decision__payload", "entry", "done out of order"),
        ("done__payload", "entry", "done out of order"),
    ],
)
def test_the_monitor_finds_one_wrong_bit(port, field, complaint):
    seen = send(Model, TINY, misses(TINY, (5, 3, 1)))
    cycle = seen.transfers(port.partition("__")[0])[0][0]
    with pytest.raises(AssertionError, match=complaint):
        watch(flipped(seen, cycle, port, field), TINY, IndexMonitor)


# Models above the model


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40)), min_size=1, max_size=12),
    st.sampled_from(["tiny", "default", "three_entries", "host_step"]),
)
def test_memory_holds_the_indices_by_division_when_done(launches, name):
    """Any launches, one after the other; the monitor looks at every region at its done."""
    config = CONFIGS[name]
    shapes = [d for d in special_shapes(config) if warps(d, config.warp_size) <= 16]
    chosen = [(4 * place, shapes[number % len(shapes)]) for place, number in launches]
    words = [index_config(config, address, dims) for address, dims in chosen]
    seen = record(Model(config), OneAtATime(config, words, quiet), 50 * len(words))
    assert len(seen.transfers("done")) == len(words)
    assert watch(seen, config, IndexMonitor)["shapes_written"] >= 1


def test_without_dropping_a_hit_finds_stale_indices():
    """Two shapes at one address, the first one again: its hit finds the second one's words."""
    words = [index_config(TINY, 0, dims) for dims in ((8, 4, 1), (5, 6, 1), (8, 4, 1))]
    for model, stale in ((Model, False), (WithoutDrops, True)):
        seen = record(model(TINY, memory=False), OneAtATime(TINY, words, quiet), 120)
        memory = {address: (words, mask) for address, words, mask in written(seen, TINY)}
        right = {address: (words, mask) for address, words, mask in by_division(TINY, 0, (8, 4, 1))}
        assert len(seen.transfers("done")) == 3
        assert (memory != right) == stale


def read_cycles(warps_, instructions, cores):
    """Return (warp, cycle) of each read when every core reads the memory by itself.

    Cycle 0 is that of the first write.
    """
    return [
        (w, 1 + k // cores * max(warps_, cores) + w + k % cores)
        for w in range(warps_)
        for k in range(instructions)
    ]


def wrong_reads(warps_, instructions, cores, overwritten):
    """Count the reads in or after the cycle in which a second kernel overwrites their warp."""
    return sum(cycle >= overwritten[w] for w, cycle in read_cycles(warps_, instructions, cores))


def test_the_index_patents_example_reads_the_wrong_kernel_s_data():
    """Four warps, instructions and cores, the second kernel generated right behind the first."""
    assert len(read_cycles(4, 4, 4)) == 16
    assert wrong_reads(4, 4, 4, overwritten=range(4, 8)) == 4


def test_without_references_a_second_kernel_overwrites_what_is_read():
    """32 warps, 8 instructions, 4 cores: 128 of 256 reads; with references none."""
    words = [index_config(TINY, 0, dims) for dims in ((16, 16, 1), (15, 17, 1))]
    end = max(cycle for _, cycle in read_cycles(32, 8, 4))
    for model, wrong in ((Model, 0), (WithoutReferences, 128)):

        def levels(cycle):
            return {"release__hold": int(cycle < 15 + end)}

        seen = send(model, TINY, words, levels, releases=[0], cycles=200)
        start, cycles = write_cycles(seen)[0], write_cycles(seen)
        assert start == 15 and len(cycles) == 64
        assert wrong_reads(32, 8, 4, [cycle - start for cycle in cycles[32:]]) == wrong
