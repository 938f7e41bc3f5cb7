"""BlockDispatcher with `preempts`: the page's worked examples, and single rules by cycle."""

import pytest

from tb.support.dispatch_rules import (
    FAULT,
    KILLED,
    OK,
    TINY,
    WHOLE,
    at,
    begun,
    ends,
    fates,
    in_cycles,
    launch,
    offers,
    reporting,
    spans,
    stop,
    submit,
)
from warploom.dispatch import BlockDispatcher
from warploom_golden.dispatch import BlockDispatcher as Model
from warploom_spec import Config, ErrorCode, Fate, Stop, layouts, timing
from warploom_spec.queue_packets import STOP_SKIP


def model(config: Config) -> Model:
    """Return the model with `preempts`."""
    return Model(config, preempts=True)


def rtl(config: Config) -> BlockDispatcher:
    """Return the block with `preempts`."""
    return BlockDispatcher(config, preempts=True)


pytestmark = pytest.mark.parametrize("block", [rtl, model], ids=["rtl", "model"])

Submission = tuple[int, int, int, int]
ONE = {"barriers": 1}
SKIPPED = (Fate.SKIPPED, ErrorCode.OK, 0)


def skip(place: int = 0) -> int:
    """Return the stop of a place that is a skip."""
    return stop(place, STOP_SKIP)


def low(cycle: int = 0, *, ticket: int = 1, priority: int = 0, yields: int = 1, **changes: int):
    """Return a launch that yields to all that are more urgent."""
    fields = {"gx": 9, **ONE, **changes}
    return cycle, launch(ticket, **fields), priority, yields


def urgent(cycle: int, *, ticket: int = 2, priority: int = 3, yields: int = 0, **changes: int):
    """Return an urgent launch of another stream."""
    fields = {"gx": 2, "stream": 1, **ONE, **changes}
    return cycle, launch(ticket, **fields), priority, yields


def numbers(recording, sm, place):
    """Return the block numbers of a place's blocks that an SM took."""
    return [o["block_number"] for o in offers(recording, sm) if o["place"] == place]


def test_the_page_s_constants(block):
    rules = timing(TINY)
    assert (rules.yields, rules.fit_again, rules.skip, rules.skip_answer) == (2, 3, 1, 3)


@pytest.mark.rule("block_dispatcher", 49, 50, 51, 52, 55, 56, 57)
def test_yield_and_back(block):
    recording = submit(block, low(), urgent(6), enable=lambda c: 1 if c <= 6 else 3)
    assert begun(recording, 0) == [6, 9, 19, 22]
    assert begun(recording, 1) == [12, 15, 30, 33]
    assert [o["place"] for o in offers(recording, 1)] == [1, 1, 0, 0]
    assert numbers(recording, 0, 0) == [0, 1, 2, 3] and numbers(recording, 1, 0) == [4, 5]
    assert numbers(recording, 1, 1) == [0, 1]
    assert spans(recording, "yields") == {0: [(8, 14)]}
    assert spans(recording, "started") == {0: [(6, 59)], 1: [(12, 59)]}


@pytest.mark.rule("block_dispatcher", 53, 54, 57)
def test_a_low_launch_yields_before_its_first_walk(block):
    recording = submit(block, low(), urgent(1))
    assert begun(recording, 0) == [7, 30, 33, 36] and begun(recording, 1) == [8, 31, 34, 37]
    assert spans(recording, "yields") == {0: [(3, 7)]}
    assert spans(recording, "started") == {0: [(30, 59)], 1: [(7, 59)]}


@pytest.mark.rule("block_dispatcher", 55, 57)
def test_a_low_launch_yields_between_given_and_head(block):
    recording = submit(block, low(), urgent(2, gx=1))
    assert begun(recording, 0)[:1] == [8] and begun(recording, 1)[:1] == [11]
    assert offers(recording, 0)[0]["place"] == 1 and offers(recording, 1)[0]["place"] == 0
    assert spans(recording, "yields") == {0: [(4, 7)]}


@pytest.mark.rule("block_dispatcher", 52, 55)
def test_a_walk_whose_last_block_is_decided_is_not_interrupted(block):
    """Low blocks in 4 and 5, outranked in 5; the urgent launch is known to fit from 25 on."""
    recording = submit(block, low(gx=2), urgent(4))
    assert begun(recording, 0) == [6, 27] and begun(recording, 1) == [7, 28]
    assert numbers(recording, 0, 0) == [0] and numbers(recording, 1, 0) == [1]
    assert spans(recording, "yields") == {0: [(6, 7)]}


@pytest.mark.rule("block_dispatcher", 56, 58)
def test_a_skip_of_an_interrupted_launch(block):
    recording = submit(block, low(), urgent(2, gx=9, **WHOLE), stop=at(10, skip(0)))
    assert fates(recording) == [(15, 1, *SKIPPED)]
    assert spans(recording, "yields") == {0: [(4, 12)]}
    assert spans(recording, "started") == {1: [(8, 59)]}


@pytest.mark.rule("block_dispatcher", 58, 59, 60)
@pytest.mark.parametrize("cycle", range(1, 4))
def test_a_skip_before_the_first_decision_acts(block, cycle):
    recording = submit(block, low(), stop=at(cycle, skip()))
    assert not begun(recording, 0) + begun(recording, 1)
    # Stopped from t + 2 on, forgotten at the end of t + 4, gone in t + 5; in 1 it is given in 2.
    assert fates(recording) == [(cycle + 8, 1, *SKIPPED)]
    assert spans(recording, "started") == {}


@pytest.mark.rule("block_dispatcher", 50, 58, 60)
@pytest.mark.parametrize("cycle", [4, 5, 6, 7, 20])
def test_a_skip_from_the_first_decision_on_changes_nothing(block, cycle):
    plain = submit(block, low())
    recording = submit(block, low(), stop=at(cycle, skip()))
    assert begun(recording, 0)[:2] == [6, 9] and begun(recording, 1)[:1] == [7]
    assert recording.outputs == plain.outputs
    assert spans(recording, "started")[0][0][0] == 6 <= cycle + 3


@pytest.mark.rule("block_dispatcher", 59, 60)
def test_a_drain_lets_what_a_skip_would_not(block):
    recording = submit(block, low(), stop=at(3, stop(0, Stop.DRAIN)))
    assert begun(recording, 0) == [6] and begun(recording, 1) == [7]
    both = in_cycles({2: stop(0, Stop.DRAIN), 3: skip()})
    recording = submit(block, low(), stop=both)
    assert not begun(recording, 0) + begun(recording, 1)
    assert fates(recording) == [(10, 1, *SKIPPED)]


@pytest.mark.rule("block_dispatcher", 58)
def test_a_skip_of_a_launch_that_waits(block):
    waits = urgent(1, priority=0, gx=9, **WHOLE)
    recording = submit(block, low(yields=0, **WHOLE), waits, stop=at(20, skip(1)))
    assert fates(recording) == [(25, 2, *SKIPPED)]


@pytest.mark.rule("block_dispatcher", 50, 52, 56)
def test_a_drain_while_it_yields(block):
    reports = reporting(0, (30, 0)) | reporting(1, (40, 0))
    drain = at(20, stop(0, Stop.DRAIN))
    recording = submit(block, low(**WHOLE), urgent(6, **WHOLE), stop=drain, **reports)
    assert begun(recording, 0) == [6, 36] and begun(recording, 1) == [7, 46]
    assert spans(recording, "yields") == {0: [(8, 22)]}
    ((cycle, end),) = ends(recording)
    assert (cycle, end["fate"], end["cycles"]) == (46, Fate.DRAINED, 40 - 6)
    assert (end["next_x"], end["next_y"], end["next_z"]) == (2, 0, 0)
    assert spans(recording, "started")[0] == [(6, 46)]


# Numbers


def begins_inside(block, number, **levels):
    """Run a launch from block (1, 1, 0) of 3 x 3 blocks on, two fit on the one SM in use.

    The number of (1, 1, 0) is given; blocks are offered in 6 and 9.
    """
    first = low(gx=3, gy=3, start_x=1, start_y=1, barriers=2)
    return submit(block, first, numbers=(number,), enable=1, **levels)


@pytest.mark.rule("block_dispatcher", 16, 49)
def test_a_launch_that_begins_inside_its_grid_has_the_numbers_that_it_is_given(block):
    recording = begins_inside(block, 4, **reporting(0, (20, 0), (21, 1)))
    found = [(o["bx"], o["by"], o["block_number"]) for o in offers(recording)]
    assert found == [(1, 1, 4), (2, 1, 5), (0, 2, 6), (1, 2, 7)]


@pytest.mark.rule("block_dispatcher", 16, 49)
def test_each_launch_has_the_number_that_came_with_it(block):
    """The second one is handed over while the first one still has blocks, and comes in between."""
    recording = submit(
        block, low(), urgent(6), numbers=(100, 7000), enable=lambda c: 1 if c <= 6 else 3
    )
    assert numbers(recording, 0, 0) == [100, 101, 102, 103]
    assert numbers(recording, 1, 0) == [104, 105]
    assert numbers(recording, 1, 1) == [7000, 7001]


@pytest.mark.rule("block_dispatcher", 49, 56)
def test_an_interrupted_walk_goes_on_with_its_numbers(block):
    """The numbers wrap in the first launch, while it yields."""
    recording = submit(
        block, low(), urgent(6), numbers=(0xFFFF_FFFC, 0), enable=lambda c: 1 if c <= 6 else 3
    )
    first = [0xFFFF_FFFC, 0xFFFF_FFFD, 0xFFFF_FFFE, 0xFFFF_FFFF]
    assert numbers(recording, 0, 0) == first
    assert numbers(recording, 1, 0) == [0, 1]


def said(recording):
    """Return cycle, fate and number of each record, in each cycle in which it stands."""
    beside = recording.port("ended_number")
    packet = layouts.dispatch_end(TINY)
    words = recording.port("ended__payload")
    return [
        (c, packet.unpack(words[c])["fate"], beside[c]) for c in recording.cycles("ended__valid")
    ]


@pytest.mark.rule("block_dispatcher", 38, 49)
@pytest.mark.parametrize(("number", "following"), [(4, 6), (0xFFFF_FFFE, 0), (0xFFFF_FFFF, 1)])
def test_a_drained_launch_says_the_number_of_its_next_block(block, number, following):
    """Two blocks of it were decided; its record stands until it is taken in 42."""
    drain = at(15, stop(0, Stop.DRAIN))
    reports = reporting(0, (20, 0), (30, 1))
    recording = begins_inside(block, number, stop=drain, ended__ready=at(42), **reports)
    assert said(recording) == [(c, Fate.DRAINED, following) for c in range(36, 43)]
    ((_, end),) = ends(recording)
    assert (end["next_x"], end["next_y"], end["next_z"]) == (0, 2, 0)


@pytest.mark.rule("block_dispatcher", 38, 49, 56)
def test_a_launch_that_is_drained_while_it_yields_says_its_next_number(block):
    """Decided in 4 and 7, interrupted behind the decision in 7; the drain is of 20."""
    reports, drain = reporting(0, (30, 0), (40, 1)), at(20, stop(0, Stop.DRAIN))
    second = urgent(6, gx=9, **WHOLE)
    recording = submit(block, low(), second, numbers=(50, 0), enable=1, stop=drain, **reports)
    assert spans(recording, "yields") == {0: [(8, 22)]}
    assert said(recording) == [(46, Fate.DRAINED, 52)]


@pytest.mark.rule("block_dispatcher", 49)
@pytest.mark.parametrize(
    ("how", "status", "fate"),
    [
        (Stop.KILL, KILLED, Fate.KILLED),
        (Stop.NONE, FAULT, Fate.FAILED),
        (Stop.NONE, OK, Fate.FINISHED),
    ],
)
def test_any_other_record_has_the_number_0(block, how, status, fate):
    first = low(gx=9 if fate is Fate.KILLED else 1, **WHOLE)
    reports = reporting(0, (20, 0, status))
    recording = submit(block, first, numbers=(77,), enable=1, stop=at(12, stop(0, how)), **reports)
    assert said(recording) == [(26, fate, 0)]


@pytest.mark.rule("block_dispatcher", 49)
def test_a_skipped_launch_has_the_number_0(block):
    recording = submit(block, low(), numbers=(77,), stop=at(2, skip()))
    assert said(recording) == [(10, Fate.SKIPPED, 0)]


@pytest.mark.rule("block_dispatcher", 49)
def test_two_drained_launches_say_their_own_numbers(block):
    """Drained in 14: decisions in 4, 7 and in 10, 13, 16. The older one's record is first."""
    reports = reporting(0, (30, 0), (40, 1)) | reporting(1, (30, 0), (31, 1), (40, 2))
    drain = at(14, stop(0, Stop.DRAIN, other=Stop.DRAIN))
    enable = {"enable": lambda c: 1 if c <= 6 else 3}
    recording = submit(
        block, low(), urgent(6, gx=9), numbers=(500, 900), stop=drain, **enable, **reports
    )
    assert begun(recording, 0) == [6, 9] and begun(recording, 1) == [12, 15, 18]
    assert said(recording) == [(46, Fate.DRAINED, 502), (47, Fate.DRAINED, 903)]


@pytest.mark.rule("block_dispatcher", 51, 56, 57)
def test_the_urgent_launch_is_drained(block):
    reports = reporting(0, (20, 0)) | reporting(1, (36, 0))
    drain = at(30, stop(1, Stop.DRAIN))
    recording = submit(block, low(**WHOLE), urgent(6, gx=9, **WHOLE), stop=drain, **reports)
    assert begun(recording, 0) == [6, 26] and begun(recording, 1) == [7, 42]
    assert [o["place"] for o in offers(recording, 0)] == [0, 1]
    assert numbers(recording, 1, 0) == [1, 2]
    assert spans(recording, "yields") == {0: [(8, 32)]}


@pytest.mark.rule("block_dispatcher", 51)
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({}, {"priority": 0}),
        ({"yields": 0}, {}),
        ({"priority": 3}, {}),
        ({}, {"stream": 0}),
    ],
)
def test_nobody_yields(block, first, second):
    recording = submit(block, low(gx=3, **first), urgent(2, gx=1, **second))
    assert spans(recording, "yields") == {}
    assert begun(recording, 0)[:2] == [6, 9] and begun(recording, 1)[:1] == [7]
    # In 10 each SM holds a block of the first launch; the fit is known from 2 + 9 + 12 = 23 on.
    later = begun(recording, 0)[2:] + begun(recording, 1)[1:]
    assert later == ([] if second.get("stream") == 0 else [25])


@pytest.mark.rule("block_dispatcher", 51)
def test_a_launch_of_its_stream_without_order_is_yielded_to(block):
    recording = submit(block, low(), urgent(6, stream=0, after_previous=0))
    assert 0 in spans(recording, "yields")


@pytest.mark.rule("block_dispatcher", 52, 55)
@pytest.mark.parametrize("cycle", range(1, 12))
def test_no_low_block_is_decided_from_two_cycles_after_the_urgent_launch_on(block, cycle):
    recording = submit(block, low(), urgent(cycle, gx=9, **WHOLE))
    for sm in range(2):
        taken = zip(begun(recording, sm), offers(recording, sm), strict=True)
        assert all(c - 2 <= cycle + 1 for c, o in taken if o["place"] == 0)
    assert spans(recording, "yields") == {0: [(cycle + 2, 59)]}


@pytest.mark.rule("block_dispatcher", 53, 55)
@pytest.mark.parametrize("cycle", range(1, 14))
def test_an_urgent_launch_s_first_offer_comes_as_on_an_idle_machine(block, cycle):
    # SM 1 comes into use with the urgent launch.
    recording = submit(block, low(), urgent(cycle, gx=1), enable=lambda c: 3 if c > cycle else 1)
    taken = sorted(
        c
        for sm in range(2)
        for c, o in zip(begun(recording, sm), offers(recording, sm), strict=True)
        if o["place"] == 1
    )
    assert taken == [cycle + timing(TINY).first_offer]


@pytest.mark.rule("block_dispatcher", 52)
def test_a_fault_of_a_yielding_launch(block):
    second, reports = urgent(6, gx=9, **WHOLE), reporting(0, (20, 0, FAULT))
    recording = submit(block, low(**WHOLE), second, cycles=40, **reports)
    assert spans(recording, "kill") == {0: [(24, 39)]}
    assert spans(recording, "yields") == {0: [(8, 24)]}


@pytest.mark.rule("block_dispatcher", 51, 53)
def test_the_urgent_launch_takes_the_place_of_the_first_that_is_gone(block):
    # Both places hold started launches; the one of place 0 ends, and place 1's yields.
    first = (0, launch(1, gx=2, **WHOLE, stream=2), 0, 0)
    second = low(1, ticket=2, gx=9, **WHOLE)
    third = urgent(2, ticket=3, gx=9, **WHOLE)
    reports = reporting(0, (20, 0, OK)) | reporting(1, (30, 0, OK))
    recording = submit(block, first, second, third, **reports)
    # SM 0 goes to the second launch in 24. The first is over in 30: record in 36, third from 36 on.
    assert fates(recording) == [(36, 1, Fate.FINISHED, ErrorCode.OK, 30 - 6)]
    assert [o["place"] for o in offers(recording, 0)] == [0, 1]
    assert begun(recording, 0) == [6, 26]
    # SM 1 returns in 34: the second launch's, too.
    assert begun(recording, 1) == [7, 36]
    assert spans(recording, "yields") == {1: [(38, 59)]}
