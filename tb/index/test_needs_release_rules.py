"""When ConfigFilter needs a release: cycles of RTL and model alike."""

import pytest

from tb.index.test_config_filter_rules import FOUR, TINY, TWO, A, B, C, D, decisions, send
from tb.support.index_cases import CONFIGS, index_config
from warploom.index import ConfigFilter
from warploom_golden.index import ConfigFilter as Model
from warploom_spec import timing


@pytest.fixture(params=[ConfigFilter, Model], ids=["rtl", "model"])
def block(request):
    return request.param


def referenced(block, words, levels=lambda cycle: {}, releases=(), config=TINY, cycles=60):
    """Send words in 0, 5, 10, ..., the last one in 20, and releases from 40 on."""

    def inputs(cycle):
        sent = cycle in range(0, 5 * len(words) - 5, 5) or cycle >= 20
        return {"i__hold": int(not sent)} | levels(cycle)

    return send(block, words, inputs, releases, config=config, cycles=cycles)


@pytest.mark.rule("config_filter", 15, 16)
@pytest.mark.parametrize("words", [[A, D], [A, B, C]], ids=["overlap", "all entries"])
def test_needs_release_rises_three_cycles_after_the_transfer_until_two_after_the_release(
    block, words
):
    """D overlaps A's region; C finds both entries read. The release in 40 lets them in."""
    assert timing(TWO).needs_release == 3 and timing(TWO).release_seen == 2
    seen = referenced(block, words, releases=[0], config=TWO)
    assert seen.transfers("i")[-1] == (20, words[-1])
    assert seen.cycles("needs_release") == list(range(23, 42))
    assert seen.cycles("accepted")[-1] == 42


@pytest.mark.rule("config_filter", 4, 15, 16)
@pytest.mark.parametrize("name", ["one_entry", "three_entries"])
def test_needs_release_tells_of_a_count_at_its_highest(block, name):
    config = CONFIGS[name]
    word = index_config(config, 0, FOUR)
    seen = referenced(block, [word] * 4, releases=[0], config=config)
    assert config.reference_bits == 2
    assert seen.transfers("i")[-1] == (20, word)
    assert seen.cycles("needs_release") == list(range(23, 42))
    assert decisions(seen, config)[-1] == (43, 1)


@pytest.mark.rule("config_filter", 15, 16)
def test_needs_release_stays_until_the_last_reference_is_gone(block):
    """Two launches read A. D waits for both; so the release in 40 does not help."""
    seen = referenced(
        block,
        [A, A, D],
        lambda cycle: {"release__hold": int(cycle not in (40, 50))},
        releases=[0, 0],
    )
    assert seen.cycles("needs_release") == list(range(23, 52))
    assert seen.cycles("accepted")[-1] == 52


#: What holds the last configuration in the lookup stage until 30: words, and what is 0 from when.
OTHER_WAITS = {
    "shape being made": ([A, A], "finished", 1),
    "busy iterator": ([A, B], "o__ready", 10),
    "decision not taken": ([A, A, B], "decision__ready", 6),
    "answers not taken": ([A, A, A, A, A], "done__ready", 1),
}


@pytest.mark.rule("config_filter", 15)
@pytest.mark.parametrize("name", OTHER_WAITS)
def test_needs_release_is_0_while_something_else_holds_a_configuration(block, name):
    words, port, since = OTHER_WAITS[name]
    seen = referenced(block, words, lambda cycle: {port: 0} if since <= cycle < 30 else {})
    assert seen.transfers("i")[-1] == (20, words[-1])
    assert not seen.cycles("needs_release")
    assert decisions(seen)[-1][0] > 30


@pytest.mark.rule("config_filter", 15)
@pytest.mark.parametrize("second", [D, B], ids=["overlapping region", "only entry"])
def test_needs_release_is_0_for_a_shape_that_is_made_without_references(block, second):
    """A is released in 5 and made until 30: its end helps the second one, no release does."""
    config = CONFIGS["one_entry"]

    def levels(cycle):
        return {"release__hold": int(cycle != 5), "finished": int(cycle == 30)}

    seen = referenced(block, [A, second], levels, releases=[0], config=config)
    assert not seen.cycles("error")
    assert not seen.cycles("needs_release")
    assert seen.cycles("accepted")[-1] == 32


@pytest.mark.rule("config_filter", 16, 17)
@pytest.mark.parametrize(
    ("cycle", "decided"), [(40, None), (41, None), (42, 43), (43, 43)], ids=str
)
def test_cancel_against_needs_release_and_a_release_in_40(block, cycle, decided):
    """D is accepted in 42; a cancel in 42 comes too late, and the decision comes in 43."""
    assert timing(TINY).cancel_decision == 1
    seen = referenced(block, [A, D], lambda now: {"cancel": int(now == cycle)}, releases=[0])
    assert seen.cycles("needs_release") == list(range(23, min(cycle, 41) + 1))
    assert decisions(seen)[1:] == ([] if decided is None else [(decided, 0)])


@pytest.mark.rule("config_filter", 16)
def test_the_next_configuration_is_not_told_what_a_cancelled_one_waited_for(block):
    """D waits and is cancelled in 30; A, which may hit, transfers in 31 and is accepted in 34."""
    seen = referenced(
        block,
        [A, D, A],
        lambda now: {"cancel": int(now == 30), "i__hold": int(0 < now < 20)},
    )
    assert seen.transfers("i") == [(0, A), (20, D), (31, A)]
    assert seen.cycles("needs_release") == list(range(23, 31))
    assert decisions(seen) == [(4, 0), (35, 1)]
