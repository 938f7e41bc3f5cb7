"""RecordQueue's rules and cycles, as its page's tables have them."""

import pytest

from tb.support.dispatch_configs import config_of
from tb.support.record import made, record
from warploom.launch.record_queue import RecordQueue
from warploom_golden.launch import RecordQueue as Model
from warploom_spec import ErrorCode
from warploom_spec.queue import FinalFate, RecordKind
from warploom_spec.queue_packets import final_record

TINY = config_of("tiny")
PACKET = final_record(TINY)
#: Of a record where a test says nothing else.
PLAIN = dict.fromkeys(PACKET.offsets, 0)


@pytest.fixture(params=[RecordQueue, Model], ids=["rtl", "model"])
def queue(request):
    return made(request.param, TINY)


class Script:
    """Inputs by cycle: records (a ticket, or all fields) and pops.

    Parameters
    ----------
    records : dict
        By cycle: a ticket, or a mapping of fields.
    pops : collection of int
        Cycles with a pop.
    """

    def __init__(self, records, pops=()):
        self._records, self._pops = records, pops
        self._cycle = 0

    def next(self, outputs):
        """Return the next cycle's inputs."""
        del outputs
        said = self._records.get(self._cycle)
        pop = int(self._cycle in self._pops)
        self._cycle += 1
        if said is None:
            return {"record": 0, "pop": pop}
        fields = {"ticket": said} if isinstance(said, int) else said
        return {"record": PACKET.pack(PLAIN | {"valid": 1} | fields), "pop": pop}


def play(queue, records, pops=(), cycles=24):
    return record(queue, Script(records, pops), cycles)


def tickets(seen):
    """Return word 0 of `oldest` in every cycle."""
    return [oldest & 0xFFFFFFFF for oldest in seen.port("oldest")]


@pytest.mark.rule("record_queue", 2, 3, 4, 5)
def test_a_lone_record_and_one_pop_too_many(queue):
    """The page's first table, from cycle 10 on; the pops of 21 and 22 take nothing."""
    seen = play(queue, {10: 7}, pops=(20, 21, 22), cycles=26)
    assert seen.port("records") == [0] * 12 + [1] * 10 + [0] * 4
    assert tickets(seen) == [0] * 13 + [7] * 9 + [0] * 4
    assert seen.cycles("record_taken") == [21]


@pytest.mark.rule("record_queue", 2, 3, 4, 5)
def test_two_records_are_popped_while_oldest_lags_behind(queue):
    """The page's second table, from cycle 10 on."""
    seen = play(queue, {10: 1, 11: 2}, pops=(12, 13, 14), cycles=18)
    assert seen.port("records")[10:] == [0, 0, 1, 2, 1, 0, 0, 0]
    assert tickets(seen)[10:] == [0, 0, 0, 1, 2, 0, 0, 0]
    assert seen.cycles("record_taken") == [13, 14]


@pytest.mark.rule("record_queue", 3, 5)
def test_the_next_record_is_at_oldest_two_cycles_after_a_pop(queue):
    """Three records in 0, 1 and 2; pops in 10, 12 and 13."""
    seen = play(queue, {0: 1, 1: 2, 2: 3}, pops=(10, 12, 13), cycles=17)
    assert tickets(seen)[10:] == [1, 1, 2, 2, 3, 0, 0]
    assert seen.port("records")[10:] == [3, 3, 2, 2, 1, 0, 0]
    assert seen.cycles("record_taken") == [11, 13, 14]


@pytest.mark.rule("record_queue", 2, 3, 5)
def test_a_record_comes_and_the_shown_one_is_popped(queue):
    """Both happen in 6; `records` stays, and both others follow."""
    seen = play(queue, {0: 1, 1: 2, 6: 3}, pops=(6,), cycles=11)
    assert seen.port("records")[4:] == [2, 2, 2, 2, 2, 2, 2]
    assert tickets(seen)[4:] == [1, 1, 1, 1, 2, 2, 2]


@pytest.mark.rule("record_queue", 4, 5)
@pytest.mark.parametrize(("comes", "shown"), [(4, [1, 1, 2, 2]), (5, [1, 1, 0, 2])])
def test_whether_the_next_record_came_in_time(queue, comes, shown):
    """Popped in 5: one that came in 4 is at `oldest` in 7, one that comes in 5 in 8."""
    assert tickets(play(queue, {0: 1, comes: 2}, pops=(5,), cycles=9))[5:] == shown


@pytest.mark.rule("record_queue", 3)
def test_a_pop_before_the_record_is_shown_does_nothing(queue):
    """It comes in 0, is in the memory in 1, and is shown in 2."""
    seen = play(queue, {0: 9}, pops=(0, 1), cycles=6)
    assert tickets(seen) == [0, 0, 0, 9, 9, 9]
    assert seen.cycles("record_taken") == []


@pytest.mark.rule("record_queue", 3, 5)
def test_a_pop_in_the_first_cycle_in_which_a_record_is_shown(queue):
    """It is shown in 2, and popped there: `oldest` has it in 3 alone."""
    seen = play(queue, {0: 9}, pops=(2,), cycles=6)
    assert tickets(seen) == [0, 0, 0, 9, 0, 0]
    assert seen.cycles("record_taken") == [3]


@pytest.mark.rule("record_queue", 1, 2, 3, 4, 5)
def test_twenty_records_have_a_place(queue):
    """`tiny` has entries for 4 launches of each priority: 20 records, which are popped from 30 on.

    The first one is shown from 2 on, so the memory holds 19 from 20 on.
    """
    seen = play(queue, {k: k + 1 for k in range(20)}, pops=range(30, 60), cycles=60)
    assert seen.port("records")[19:32] == [18, 19, *[20] * 11]
    assert seen.port("records")[32:] == [*range(19, -1, -1), *[0] * 8]
    assert tickets(seen)[32:] == [*range(2, 21), *[0] * 9]
    assert seen.cycles("record_taken") == list(range(31, 51))


@pytest.mark.rule("record_queue", 1, 2, 3, 4)
@pytest.mark.parametrize(("config", "places"), [("tiny", 20), ("tiny,queue_depth=1", 8)])
@pytest.mark.parametrize("kind", [RecordQueue, Model], ids=["rtl", "model"])
def test_a_full_queue_goes_round_and_round(kind, config, places):
    """A record follows each pop of a full queue in the next cycle; then all are popped in a row."""
    records = {cycle: 1 + cycle for cycle in range(places)}
    pops = list(range(places + 3, 6 * places, 3))
    records |= {pop + 1: places + 1 + k for k, pop in enumerate(pops)}
    last = pops[-1] + 2
    block = made(kind, config_of(config))
    seen = play(block, records, (*pops, *range(last, last + places)), last + places + 4)
    assert max(seen.port("records")) == places
    shown = dict.fromkeys(ticket for ticket in tickets(seen) if ticket)
    assert list(shown) == list(range(1, len(records) + 1))
    assert len(seen.cycles("record_taken")) == len(records)
    assert seen.port("records")[-1] == tickets(seen)[-1] == 0


@pytest.mark.rule("record_queue", 7)
def test_every_bit_of_a_record_has_its_place(queue):
    """Each field all ones, alone; the numbers are the page's table."""
    places = {
        "ticket": 0xFFFFFFFF,
        "code": 0xFF << 32,
        "fate": 0x7 << 40,
        "kind": 0x7 << 43,
        "kills": 0x7 << 46,
        "reset_as_drain": 1 << 49,
        "stream": 0x3F << 50,
        "offered": 1 << 56,
        "word2": 0xFFFFFFFF << 64,
        "word3": 0xFFFFFFFF << 96,
        "word4": 0xFFFFFFFF << 128,
        "accepted": 0xFFFFFFFF << 160,
        "first_offer": 0xFFFFFFFF << 192,
        "made": 0xFFFFFFFF << 224,
    }
    widths = {field.name: field.bits for field in PACKET.fields}
    records = {k: {name: (1 << widths[name]) - 1} for k, name in enumerate(places)}
    seen = play(queue, records, pops=range(20, 40), cycles=40)
    assert seen.port("oldest")[21 : 21 + len(places)] == list(places.values())


@pytest.mark.rule("record_queue", 7)
def test_the_words_of_a_failed_launch_and_of_a_preempt(queue):
    failed = {
        "ticket": 0xFEDC0001,
        "code": ErrorCode.SM_LOST,
        "fate": FinalFate.FAILED,
        "kills": 3,
        "reset_as_drain": 1,
        "stream": 5,
        "offered": 1,
        "word2": 0x89ABCDEF,
        "accepted": 100,
        "first_offer": 200,
        "made": 300,
    }
    preempt = {"kind": RecordKind.PREEMPT, "word2": 1, "word3": 0x30002, "word4": 4, "made": 7}
    seen = play(queue, {0: failed, 1: preempt}, pops=(4,), cycles=7)
    assert words(seen.port("oldest")[3]) == [
        0xFEDC0001,
        1 << 24 | 5 << 18 | 1 << 17 | 3 << 14 | 2 << 8 | ErrorCode.SM_LOST,
        0x89ABCDEF,
        0,
        0,
        100,
        200,
        300,
    ]
    assert words(seen.port("oldest")[6]) == [0, 2 << 11, 1, 0x30002, 4, 0, 0, 7]


def words(oldest):
    return [oldest >> 32 * k & 0xFFFFFFFF for k in range(8)]
