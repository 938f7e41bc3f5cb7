"""The rules of ConfigFilter's page, each by what happens at the ports, of RTL and model alike."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb.support.history_monitor import watch
from tb.support.index_cases import CONFIGS, OneAtATime, index_config
from tb.support.planted import plant_timing
from tb.support.record import Sender, made, record
from tb.support.source_filters import IgnoresReaders, NeverDrops
from warploom.index import ConfigFilter
from warploom_golden.index import ConfigFilter as Model
from warploom_golden.index.index_memory_allocator import History
from warploom_golden.oracles.index_reference import warps
from warploom_spec import Config, ErrorCode, layouts, timing

TINY = CONFIGS["tiny"]
TWO = replace(TINY, history_entries=2)
#: Shapes of four, four and eight warps in `TINY`.
FOUR, OTHER_FOUR, EIGHT = (8, 4, 1), (4, 8, 1), (8, 8, 1)
A, B = index_config(TINY, 0, FOUR), index_config(TINY, 8, OTHER_FOUR)
C = index_config(TINY, 16, EIGHT)
#: Overlaps A in its last warp.
D = index_config(TINY, 3, OTHER_FOUR)


# Cycles, of RTL and model alike


@pytest.fixture(params=[ConfigFilter, Model], ids=["rtl", "model"])
def block(request):
    return request.param


def everything_taken(cycle):
    """Take decisions, answers and misses at once; end a miss in every fifth cycle."""
    return {
        "o__ready": 1,
        "decision__ready": 1,
        "done__ready": 1,
        "cancel": 0,
        "finished": int(cycle % 5 == 4),
    }


def send(block, words, levels=lambda cycle: {}, releases=(), cycles=60, config=TINY):
    """Send configurations as fast as they are taken, releases from cycle 40 on."""

    def inputs(cycle):
        return {"release__hold": int(cycle < 40)} | everything_taken(cycle) | levels(cycle)

    seen = record(made(block, config), Sender({"i": words, "release": releases}, inputs), cycles)
    watch(seen, config)
    return seen


def decisions(recording, config=TINY):
    """Return cycle and hit of each decision."""
    packet = layouts.index_decision(config)
    return [(cycle, packet.unpack(word)["hit"]) for cycle, word in recording.transfers("decision")]


def hits(recording, config=TINY):
    return [hit for _, hit in decisions(recording, config)]


def hold_i_until(cycle_of_second):
    """Let the first configuration alone until a cycle."""
    return lambda cycle: {"i__hold": int(0 < cycle < cycle_of_second)}


@pytest.mark.rule("config_filter", 2, 4, 9)
def test_accepted_three_cycles_after_its_transfer(block):
    seen = send(block, [A])
    assert timing(TINY).filter_lookup == 3
    assert seen.transfers("i") == [(0, A)]
    assert seen.transfers("o") == [(3, A)]
    assert seen.cycles("accepted") == [3]
    assert decisions(seen) == [(4, 0)]


@pytest.mark.rule("config_filter", 1, 7)
def test_one_every_four_cycles(block):
    """Accepted in 3, the first leaves the lookup stage empty from 4 on."""
    seen = send(block, [A, B])
    assert [cycle for cycle, _ in seen.transfers("i")] == [0, 4]
    assert seen.port("i__ready")[:9] == [1, 0, 0, 0, 1, 0, 0, 0, 1]
    assert [cycle for cycle, _ in seen.transfers("o")] == [3, 7]


@pytest.mark.rule("config_filter", 2, 9, 10)
def test_hit_decided_in_one_cycle_done_in_two(block):
    """Nothing in flight: accepted in t, decision in t + 1, done in t + 2; no word goes on."""
    seen = send(block, [A, A], hold_i_until(20))
    accepted = 20 + 3
    assert decisions(seen)[1] == (accepted + 1, 1)
    assert [cycle for cycle, _ in seen.transfers("done")] == [4, accepted + 2]
    assert len(seen.transfers("o")) == 1


@pytest.mark.rule("config_filter", 10, 12)
def test_done_of_a_miss_in_the_cycle_of_its_last_write(block):
    seen = send(block, [A, B], lambda cycle: {"finished": int(cycle in (9, 13))})
    assert [cycle for cycle, _ in seen.transfers("done")] == [9, 13]


@pytest.mark.rule("config_filter", 10)
def test_done_keeps_the_order_of_acceptance(block):
    """A hit behind a miss waits for the miss's last write."""

    def levels(cycle):
        return {"finished": int(cycle in (9, 30)), "i__hold": int(1 <= cycle < 15)}

    seen = send(block, [A, B, A], levels)
    assert hits(seen) == [0, 0, 1]
    assert [cycle for cycle, _ in seen.transfers("done")] == [9, 30, 31]


@pytest.mark.rule("config_filter", 4, 9)
def test_a_decision_that_is_not_taken_stands_and_holds_the_next(block):
    seen = send(block, [A, B], lambda cycle: {"decision__ready": int(cycle >= 20)})
    assert decisions(seen) == [(20, 0), (22, 0)]
    assert seen.cycles("accepted") == [3, 21]


@pytest.mark.rule("config_filter", 4, 5)
def test_a_miss_waits_for_the_iterator(block):
    seen = send(block, [A], lambda cycle: {"o__ready": int(cycle >= 9)})
    assert seen.cycles("o__valid") == list(range(3, 10))
    assert seen.cycles("accepted") == [9]


@pytest.mark.rule("config_filter", 4, 11)
def test_no_more_answers_outstanding_than_done_depth(block):
    depth = timing(TINY).done_depth
    assert depth == 4
    seen = send(block, [A] * 8, lambda cycle: {"done__ready": int(cycle >= 30)})
    assert len([cycle for cycle, _ in decisions(seen) if cycle <= 30]) == depth
    assert decisions(seen)[depth][0] == 30 + 2


@pytest.mark.rule("config_filter", 4)
def test_a_shape_that_is_being_made_is_waited_for(block):
    seen = send(block, [A, A], lambda cycle: {"finished": int(cycle == 20)})
    assert decisions(seen) == [(4, 0), (23, 1)]


# History


def launch(block, config, words, resident=(), cycles=None):
    """Launch one configuration after the other."""
    stimulus = OneAtATime(config, words, everything_taken, resident)
    seen = record(made(block, config), stimulus, cycles or 12 * len(words))
    if block not in (NeverDrops, IgnoresReaders):
        watch(seen, config)
    return seen


def shared(config, shapes, address=1):
    return [index_config(config, address, dims) for dims in shapes]


WIDE = Config(max_threads=2048)
SOURCE_SHAPES = ((32, 64, 1), (100, 2, 2), (32, 64, 1))


def test_example_addresses_of_their_own(block):
    """The patent's (1, 32, 64, 1), (2, 100, 2, 2) and the first again; addresses in regions."""
    words = [
        index_config(WIDE, address, dims)
        for address, dims in zip((1, 65, 1), SOURCE_SHAPES, strict=True)
    ]
    assert hits(launch(block, WIDE, words), WIDE) == [0, 0, 1]


def test_example_one_address_for_all(block):
    words = shared(WIDE, SOURCE_SHAPES)
    assert hits(launch(block, WIDE, words), WIDE) == [0, 0, 0]


@pytest.mark.rule("config_filter", 7)
def test_example_overlapping_regions_drop_too(block):
    """Addresses 1 and 2 as the index patent writes them: 64 warps from 1 on cover 2."""
    words = [
        index_config(WIDE, address, dims)
        for address, dims in zip((1, 2, 1), SOURCE_SHAPES, strict=True)
    ]
    assert hits(launch(block, WIDE, words), WIDE) == [0, 0, 0]


def test_example_five_kernels(block):
    """Kernels 2 and 3 have addresses of their own, 1, 4 and 5 share one; all launched twice."""
    config = CONFIGS["default"]
    kernels = {(8, 8, 4): 0, (16, 16, 1): 32, (100, 2, 2): 64, (4, 4, 4): 0, (64, 1, 1): 0}
    words = [index_config(config, address, dims) for dims, address in kernels.items()]
    assert hits(launch(block, config, words * 2), config) == [0] * 5 + [0, 1, 1, 0, 0]


def test_two_resident_kernels_with_one_address_and_two_shapes(block):
    words = shared(TINY, (FOUR, OTHER_FOUR))
    assert hits(launch(block, TINY, words, resident=[0], cycles=80)) == [0]
    assert hits(launch(block, TINY, words, cycles=80)) == [0, 0]


@pytest.mark.rule("config_filter", 4, 8, 13)
def test_a_reader_s_region_is_waited_for_until_its_last_reference_is_gone(block):
    """D overlaps A, to which two launches refer."""

    def levels(cycle):
        return {"release__hold": int(cycle not in (40, 50))}

    seen = send(block, [A, A, D], levels, releases=[0, 0], cycles=70)
    assert hits(seen) == [0, 1, 0]
    assert decisions(seen)[2][0] == 50 + 3


@pytest.mark.rule("config_filter", 4, 12)
@pytest.mark.parametrize("second", [D, B], ids=["overlapping region", "only entry"])
def test_a_region_that_is_being_written_is_waited_for_without_references_too(block, second):
    """A is released at once; its last write is in 20, and the next is accepted in 22."""
    config = CONFIGS["one_entry"]

    def levels(cycle):
        return {"release__hold": int(cycle != 5), "finished": int(cycle == 20)}

    seen = send(block, [A, second], levels, releases=[0], config=config)
    assert not seen.cycles("error")
    assert seen.cycles("accepted") == [3, 22]


@pytest.mark.rule("config_filter", 7, 13)
def test_release_and_acceptance_in_one_cycle_leave_the_count(block):
    """A second reference and the release of the first in cycle 23: one is left, so D waits."""

    def levels(cycle):
        return {"i__hold": int(0 < cycle < 20), "release__hold": int(cycle not in (23, 40))}

    seen = send(block, [A, A, D], levels, releases=[0, 0])
    assert decisions(seen)[1:] == [(24, 1), (43, 0)]


@pytest.mark.rule("config_filter", 4, 13)
def test_a_release_is_judged_in_the_next_cycle(block):
    """Judged on the state at a cycle's start, accepted in the next: the last release is in 40."""
    config = CONFIGS["one_entry"]
    words = [index_config(config, 0, FOUR), index_config(config, 8, FOUR)]
    seen = send(block, words, releases=[0], config=config)
    assert seen.cycles("accepted") == [3, 42]


@pytest.mark.rule("config_filter", 3, 7)
def test_the_victim_is_invalid_else_least_recently_accepted(block):
    """With two entries: A, B, A again, C replaces B, A still hits, B does not."""
    words = [A, B, A, C, A, B]
    assert hits(launch(block, TWO, words), TWO) == [0, 0, 1, 0, 1, 0]


@pytest.mark.rule("config_filter", 7)
def test_a_miss_drops_every_overlapping_entry(block):
    config = CONFIGS["three_entries"]
    one, two = index_config(config, 0, FOUR), index_config(config, 4, FOUR)
    both = index_config(config, 0, EIGHT)
    words = [one, two, one, two, both, one, two, both]
    assert hits(launch(block, config, words), config) == [0, 0, 1, 1, 0, 0, 0, 0]


@pytest.mark.rule("config_filter", 2)
def test_the_key_is_all_of_the_configuration(block):
    config = CONFIGS["three_entries"]
    words = [
        index_config(config, 0, (8, 4, 1)),
        index_config(config, 4, (8, 4, 1)),
        index_config(config, 8, (4, 8, 1)),
        index_config(config, 0, (8, 4, 1)),
    ]
    assert hits(launch(block, config, words), config) == [0, 0, 0, 1]


def test_without_dropping_the_third_launch_hits_stale_indices():
    seen = launch(NeverDrops, WIDE, shared(WIDE, SOURCE_SHAPES))
    assert hits(seen, WIDE) == [0, 0, 1]
    with pytest.raises(AssertionError, match="a hit of another shape"):
        watch(seen, WIDE)


def test_without_references_the_second_kernel_does_not_wait():
    words = shared(TINY, (FOUR, OTHER_FOUR))
    seen = launch(IgnoresReaders, TINY, words, resident=[0], cycles=80)
    assert hits(seen) == [0, 0]
    with pytest.raises(AssertionError, match="a region is overwritten that is read or written"):
        watch(seen, TINY)


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0, 2, 4, 8, 16]), st.sampled_from([FOUR, OTHER_FOUR, EIGHT, (1, 1, 1)])
        ),
        min_size=1,
        max_size=40,
    ),
    st.sampled_from(["tiny", "one_entry", "three_entries"]),
)
def test_decisions_are_those_of_the_untimed_history(launches, name):
    config = CONFIGS[name]
    words = [index_config(config, address, dims) for address, dims in launches]
    history = History(config.history_entries)
    expected = [
        history.look_up(address, dims, warps(dims, config.warp_size)) for address, dims in launches
    ]
    assert hits(launch(Model, config, words), config) == expected


# Cancel


@pytest.mark.rule("config_filter", 6)
@pytest.mark.parametrize(("cycle", "accepted"), [(1, []), (2, []), (3, [3]), (4, [3])])
def test_cancel_empties_the_stage_unless_it_is_accepted_in_that_cycle(block, cycle, accepted):
    seen = send(block, [A], lambda now: {"cancel": int(now == cycle)})
    assert seen.cycles("accepted") == accepted


@pytest.mark.rule("config_filter", 6)
def test_cancel_takes_a_waiting_configuration_back(block):
    """D waits for A's readers; cancelled, B behind it goes on."""
    seen = send(block, [A, D, B], lambda cycle: {"cancel": int(cycle == 20)})
    assert [word for _, word in seen.transfers("o")] == [A, B]
    assert seen.transfers("i")[2] == (21, B)


@pytest.mark.rule("config_filter", 1)
def test_cancel_drops_what_transfers(block):
    """Two are dropped in the cycles of their transfers; the third one is accepted."""
    seen = send(block, [A, B, A], lambda cycle: {"cancel": int(cycle < 2)})
    assert seen.transfers("i") == [(0, A), (1, B), (2, A)]
    assert seen.transfers("o") == [(5, A)]


# Errors


def error(word, config=TINY):
    return layouts.error_record(config).unpack(word)


@pytest.mark.rule("config_filter", 14)
def test_a_release_without_a_reference_is_an_error_record(block):
    seen = send(block, [A], releases=[0, 0, 1])
    assert seen.cycles("error") == [42, 43]
    code = ErrorCode.RELEASE_UNREFERENCED
    assert [error(word) for word in seen.port("error") if word] == [
        {"valid": 1, "code": code, "argument": 0},
        {"valid": 1, "code": code, "argument": 1},
    ]
    assert [seen.port("error_count")[cycle] for cycle in (41, 42, 43, 59)] == [0, 1, 2, 2]


@pytest.mark.rule("config_filter", 14)
def test_a_release_of_an_entry_that_does_not_exist_is_an_error_record(block):
    config = CONFIGS["three_entries"]
    seen = send(block, [], releases=[3], config=config)
    assert error(seen.port("error")[41], config)["argument"] == 3


@pytest.mark.rule("config_filter", 14)
def test_a_release_in_the_cycle_of_the_first_acceptance_is_an_error_and_changes_nothing(block):
    """Accepted in 2 with the release in the same cycle: the reference is kept, so D waits."""

    def levels(cycle):
        return {"release__hold": int(cycle != 2)}

    seen = send(block, [A, D], levels, releases=[0])
    assert seen.cycles("error") == [3]
    assert hits(seen) == [0]


@pytest.mark.rule("config_filter", 14)
def test_the_error_counter_stays_at_its_highest_value(block, monkeypatch):
    # Of 3 bits instead of 16. Releases of nothing in 40 to 49 are shown a cycle later.
    assert timing(TINY).error_counter_bits == 16
    plant_timing(monkeypatch, ConfigFilter, Model, error_counter_bits=3)
    seen = send(block, [], releases=[0] * 10)
    assert seen.cycles("error") == list(range(41, 51))
    assert seen.port("error_count")[40:53] == [0, 1, 2, 3, 4, 5, 6, 7, 7, 7, 7, 7, 7]


@pytest.mark.deep
def test_the_error_counter_stays_at_its_highest():
    full = (1 << 16) - 1
    seen = record(
        Model(TINY), Sender({"i": [], "release": [0] * (full + 9)}, everything_taken), full + 9
    )
    assert seen.port("error_count")[-1] == full
