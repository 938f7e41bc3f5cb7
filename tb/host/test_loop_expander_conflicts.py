"""What wins at LoopExpander when two things come in one cycle, of RTL and model alike.

A LOOP of one slot that begins in cycle 40 takes its slot in 43 and decides in 45. Its ring enters
the pipe in 62, and is at `step` in 65. An answer in 75 is looked at from 75 on.
"""

import pytest

from tb.host.accesses import ByCycle, recorded
from tb.host.commands import a_read
from tb.host.test_loop_expander_rules import (
    ELSEWHERE,
    IDLE,
    TINY,
    Host,
    Steps,
    a_template_write,
    an_end,
    answer,
    begin,
    template,
)
from tb.support.dispatch_configs import config_of
from tb.support.record import made
from warploom.host import LoopExpander
from warploom_golden.host import LoopExpander as Model
from warploom_spec.host_errors import HostError

CONFIG = config_of(TINY)
BEGINS, RINGS, ANSWERED = 40, 65, 75
ACCEPTED, FULL, REFUSED = (answer(CONFIG, **{name: 1}) for name in ("accepted", "full", "refused"))
FAILS, FINISHES = an_end(CONFIG, 0, finished=0), an_end(CONFIG, 0)
STOP = 1 << CONFIG.first_loop_section


@pytest.fixture(params=[LoopExpander, Model], ids=["rtl", "model"])
def kind(request):
    return request.param


def play(kind, cycles=130, **ports):
    seen = recorded(made(kind, CONFIG), ByCycle(IDLE, ports), cycles)
    return seen, Steps(CONFIG, seen)


def loop_of(count, **fields):
    return {BEGINS: begin(CONFIG, 0, count, 1, **fields)}


@pytest.mark.rule("loop_expander", 11)
def test_two_cycles_of_sweep_before_the_first_choice(kind):
    """A reset ends before cycle -1. N / 4 is 2."""
    _, found = play(kind, begin={0: begin(CONFIG, 0, 1, 1)})
    assert found.rings() == [26]


@pytest.mark.rule("loop_expander", 19)
def test_what_comes_in_the_last_cycle_that_is_off_does_not_count(kind):
    """A soft reset in 20 is over behind 21; then two cycles of sweep."""
    begins = {21: begin(CONFIG, 0, 1, 1), 22: begin(CONFIG, 1, 1, 2)}
    _, found = play(kind, begin=begins, soft_reset_active={20: 1})
    assert found.rings(0) == [] and found.rings(1) == [49]


@pytest.mark.rule("loop_expander", 7)
@pytest.mark.parametrize(("in_flight", "rung"), [(1, 1), (3, 3)])
def test_no_more_launches_than_may_be_in_flight(kind, in_flight, rung):
    host = Host(CONFIG, {"begin": loop_of(9, in_flight=in_flight)}, runs_for=1000)
    found = Steps(CONFIG, recorded(made(kind, CONFIG), host, 250))
    assert len(found.rings()) == rung


@pytest.mark.rule("loop_expander", 8)
@pytest.mark.parametrize(
    ("answers", "closed", "rings"),
    [
        (ACCEPTED, {}, 81),
        (FULL, {}, 81),
        (FULL, {"room": {76: 0b1110}}, 84),
        (FULL, {"records_left": {76: 0}}, 84),
        (FULL, {"room": {77: 0}}, 81),
    ],
)
def test_the_next_launch_or_the_same_one_again(kind, answers, closed, rings):
    """No field changes: either way the ring enters alone. Room is looked at in 76 alone."""
    _, found = play(kind, begin=loop_of(2), answers={ANSWERED: answers}, **closed)
    assert found.rings() == [RINGS, rings]
    assert len(found.words()) == 15


@pytest.mark.rule("loop_expander", 7, 8, 10)
def test_a_refusal_ends_the_loop_and_the_next_one_is_not_stopped(kind):
    begins = loop_of(2) | {83: begin(CONFIG, 0, 1, 1)}
    _, found = play(kind, begin=begins, answers={ANSWERED: REFUSED})
    assert found.ends() == {82: 0}
    # The first choice is in 83, too.
    assert found.rings() == [RINGS, 83 + RINGS - BEGINS]


@pytest.mark.rule("loop_expander", 4, 9)
def test_counts_are_read_a_cycle_behind_the_end(kind):
    reads = dict.fromkeys((85, 86, 95, 96), a_read(0, "RESULT3"))
    reads |= dict.fromkeys((84, 87, 97), a_read(0, "RESULT2"))
    seen, found = play(
        kind,
        begin=loop_of(2),
        answers=dict.fromkeys((75, 91), ACCEPTED),
        loop_end={85: FINISHES, 95: FAILS},
        read=reads,
    )
    counts = {s: seen.port("result")[s + 1] for s in sorted(reads)}
    assert counts == {84: 0, 85: 0, 86: 1, 87: 1, 95: 1, 96: 2, 97: 1}
    assert list(found.ends().values()) == [HostError.LAUNCH_FAILED]


@pytest.mark.rule("loop_expander", 10)
def test_begin_and_loop_stop_in_one_cycle(kind):
    """Slots 1 and 2 are taken in 43 and 44, and given back in 47 and 48."""
    _, found = play(kind, begin=loop_of(3, last=2), loop_stop={BEGINS: STOP})
    assert found.ends() == {52: HostError.LOOP_STOPPED}
    assert not found.words()


@pytest.mark.rule("loop_expander", 10, 12)
@pytest.mark.parametrize(("stop", "code"), [(81, HostError.LOOP_STOPPED), (82, HostError.OK)])
def test_loop_stop_in_the_cycle_in_which_the_last_look_reads_changes_nothing(kind, stop, code):
    """The launch ends in 80; the look of 81 reads in 82."""
    _, found = play(
        kind,
        begin=loop_of(1),
        answers={75: ACCEPTED},
        loop_end={80: FINISHES},
        loop_stop={stop: STOP},
    )
    assert found.ends() == {88: code}


@pytest.mark.rule("loop_expander", 17)
def test_a_loop_that_is_stopped_in_the_cycle_of_its_ring_is_rung(kind):
    """Stopped a cycle before, it is not."""
    _, found = play(kind, begin=loop_of(1), loop_stop={61: STOP})
    assert (found.rings(), found.ends()) == ([], {70: HostError.LOOP_STOPPED})
    events = {"answers": {75: ACCEPTED}, "loop_end": {80: FINISHES}}
    _, found = play(kind, begin=loop_of(1), loop_stop={62: STOP}, **events)
    assert (found.rings(), found.ends()) == ([65], {88: HostError.LOOP_STOPPED})


@pytest.mark.rule("loop_expander", 2, 13)
@pytest.mark.parametrize(
    ("commits", "refused", "rings", "seen_word"),
    [(43, [], 65, 9), (44, [], 66, 9), (45, [45], 65, 0)],
)
def test_a_template_is_written_before_its_slot_is_taken_or_not_at_all(
    kind, commits, refused, rings, seen_word
):
    """The write that commits in 44 comes in 43: the slot is taken a cycle later."""
    writes = dict(enumerate(template(1, {6: 0})))
    seen, found = play(kind, begin=loop_of(1), write=writes | {commits: a_template_write(1, 6, 9)})
    assert seen.cycles("write_refused") == refused
    assert found.rings() == [rings]
    assert found.launches()[0][6] == seen_word


@pytest.mark.rule("loop_expander", 12)
def test_another_loop_begins_in_the_cycle_of_the_decision(kind):
    """Of the decision to write a launch, in 45; one to take slots, in 42, is none."""
    for cycle, rings in ((42, 65), (45, 66)):
        _, found = play(kind, begin=loop_of(1) | {cycle: begin(CONFIG, 1, 1, 2)})
        assert found.rings() == [rings], cycle


@pytest.mark.rule("loop_expander", 5, 6)
@pytest.mark.parametrize("issued", [49, 50, 64, 65])
def test_a_step_stands_while_the_host_writes(kind, issued):
    """The words are at `step` from 50 to 64, then the ring; in 49 there is no step yet."""
    _, found = play(kind, begin=loop_of(1), write={issued + 1: ELSEWHERE})
    assert found.rings() == [RINGS + (issued > 49)]
    assert [number for number, _ in found.words().values()] == [*range(11), 12, 13, 28, 29]
