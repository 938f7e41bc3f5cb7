"""RecordQueue's rules and cycles, as its page's tables have them."""

import pytest

from tb.support.dispatch_configs import config_of
from tb.support.record import made, record
from tb.support.resettable import resettable
from warploom.launch.record_queue import RecordQueue
from warploom_golden.launch import RecordQueue as Model
from warploom_spec import ErrorCode
from warploom_spec.queue import FinalFate, RecordKind
from warploom_spec.queue_packets import final_record_words
from warploom_spec.resident_packets import record_word

TINY = config_of("tiny")
WORDS, WORD = final_record_words(TINY), record_word(TINY)
#: The order in which KernelQueue writes a record's words.
LAUNCH_ORDER, PREEMPT_ORDER = (1, 2, 0, 5, 6, 7), (1, 2, 0, 5, 6, 3, 4, 7)
#: With loops a launch's number comes before its last word.
LOOPS_LAUNCH_ORDER = (1, 2, 0, 5, 6, 3, 7)
KINDS = pytest.mark.parametrize("kind", [RecordQueue, Model], ids=["rtl", "model"])


def words_of(**fields):
    return WORDS.pack(dict.fromkeys((field.name for field in WORDS.fields), 0) | fields)


class Script:
    """Inputs by cycle: records, each by the cycle of its last word, and pops.

    Parameters
    ----------
    records : dict
        By cycle of the last word: a ticket, or all fields.
    pops : collection of int
        Cycles with a pop.
    reset_in : int, optional
        The cycle of a reset, at a port ``reset_now``.
    launch_order : tuple of int
        The words of a launch's record.
    """

    def __init__(self, records, pops=(), reset_in=None, launch_order=LAUNCH_ORDER):
        self._pops, self._reset_in, self._cycle = pops, reset_in, 0
        self._said = {}
        for last, fields in records.items():
            fields = {"ticket": fields} if isinstance(fields, int) else fields
            words = words_of(**fields)
            order = PREEMPT_ORDER if fields.get("kind") else launch_order
            for k, word in enumerate(reversed(order)):
                assert last - k not in self._said, "two words in one cycle"
                said = {"valid": 1, "last": int(not k), "word": word, "data": words[word]}
                self._said[last - k] = WORD.pack(said)

    def next(self, outputs):
        """Return the next cycle's inputs."""
        del outputs
        now = self._cycle
        self._cycle += 1
        values = {"record": self._said.get(now, 0), "pop": int(now in self._pops)}
        return values | ({} if self._reset_in is None else {"reset_now": now == self._reset_in})


def play(kind, records, pops=(), cycles=60, config=TINY):
    order = LOOPS_LAUNCH_ORDER if config.has_loops else LAUNCH_ORDER
    return record(made(kind, config), Script(records, pops, launch_order=order), cycles)


def word(seen, number):
    """Return a word of `oldest` in every cycle."""
    return [oldest >> 32 * number & 0xFFFFFFFF for oldest in seen.port("oldest")]


@pytest.mark.rule("record_queue", 1, 2, 3, 5, 6)
@KINDS
def test_a_lone_record_and_one_pop_too_many(kind):
    """The page's table; the pops of 31 and 32 take nothing."""
    seen = play(kind, {10: {"ticket": 7, "made": 9}}, pops=(30, 31, 32), cycles=40)
    assert seen.port("records") == [0] * 12 + [1] * 20 + [0] * 8
    assert word(seen, 0) == [0] * 13 + [7] * 18 + [0] * 9
    assert word(seen, 7) == [0] * 20 + [9] * 11 + [0] * 9
    assert seen.cycles("record_taken") == [31]


@pytest.mark.rule("record_queue", 3)
@KINDS
def test_each_word_follows_a_cycle_after_the_one_before(kind):
    """Word n from 3 + n cycles after the last word on; a PREEMPT's eight words."""
    names = ("ticket", "code", "word2", "word3", "word4", "accepted", "first_offer", "made")
    fields = dict.fromkeys(names, 1) | {"kind": RecordKind.PREEMPT}
    seen = play(kind, {10: fields}, cycles=24)
    first = [next(c for c, value in enumerate(word(seen, n)) if value) for n in range(8)]
    assert first == [13, 14, 15, 16, 17, 18, 19, 20]


@pytest.mark.rule("record_queue", 2, 3, 5)
@KINDS
def test_the_next_record_is_loaded_after_a_pop(kind):
    """Two records; a pop in 30: zeros from 31 on, word n from 33 + n on."""
    seen = play(kind, {10: {"ticket": 1, "made": 3}, 17: {"ticket": 2, "made": 4}}, pops=(30,))
    assert word(seen, 0)[29:35] == [1, 1, 0, 0, 2, 2]
    assert word(seen, 7)[30:42] == [3, *[0] * 9, 4, 4]
    assert seen.port("records")[10:33] == [0, 0, *[1] * 7, *[2] * 13, 1]


@pytest.mark.rule("record_queue", 2, 3)
@KINDS
def test_a_pop_while_words_are_loaded_removes_that_record(kind):
    """The first one is popped after three of its words: none of its words stays."""
    full = {"ticket": 1, "made": 9, "first_offer": 9, "accepted": 9}
    seen = play(kind, {10: full, 17: 2}, pops=(17,), cycles=40)
    assert word(seen, 0)[16:22] == [1, 1, 0, 0, 2, 2]
    assert not any(word(seen, 7)[18:]) and not any(word(seen, 5)[18:])
    assert seen.cycles("record_taken") == [18]


@pytest.mark.rule("record_queue", 2, 3, 5)
@KINDS
@pytest.mark.parametrize("pop", range(10, 24))
def test_a_pop_in_any_cycle_of_the_loading_leaves_nothing_behind(kind, pop):
    """A pop in 10 finds no record. Else all words are 0 after it."""
    fields = {field.name: (1 << field.bits) - 1 for field in WORDS.fields} | {"kind": 2}
    seen = play(kind, {10: fields}, pops=(pop,), cycles=40)
    gone = pop > 10
    assert bool(seen.port("oldest")[-1]) != gone
    assert not gone or not any(seen.port("oldest")[pop + 1 :])


@pytest.mark.rule("record_queue", 2)
@KINDS
def test_a_record_comes_and_another_is_popped(kind):
    """Both happen in 30; `records` stays."""
    seen = play(kind, {10: 1, 30: 2}, pops=(30,), cycles=40)
    assert seen.port("records")[12:] == [1] * 28
    assert word(seen, 0)[30:35] == [1, 0, 0, 2, 2]


@pytest.mark.rule("record_queue", 4)
@KINDS
def test_a_launch_has_no_words_of_the_preempt_that_stood_there_before(kind):
    """Without loops. The ninth record stands where the first one stood: a PREEMPT's words."""
    config = config_of("tiny,queue_depth=1,loop_templates=0")
    preempt = {"kind": RecordKind.PREEMPT, "word3": 0xABCD, "word4": 5, "made": 1}
    records = {10: preempt} | {10 + 6 * k: {"ticket": k, "made": k} for k in range(1, 10)}
    pops = range(22, 22 + 12 * 9, 12)
    seen = play(kind, records, pops, cycles=150, config=config)
    assert 0xABCD in word(seen, 3) and 5 in word(seen, 4)
    late = seen.outputs[24:]
    assert {values["oldest"] >> 96 & (1 << 64) - 1 for values in late} == {0}
    assert [t for t in dict.fromkeys(word(seen, 0)) if t] == list(range(1, 10))


@pytest.mark.rule("record_queue", 4, 8)
@KINDS
def test_with_loops_a_launch_has_its_number_and_no_other_word_of_a_preempt(kind):
    """The ninth record stands where a PREEMPT's words stood, as above."""
    config = config_of("tiny,queue_depth=1")
    preempt = {"kind": RecordKind.PREEMPT, "word3": 0xABCD, "word4": 5, "made": 1}
    records = {10: preempt}
    records |= {10 + 7 * k: {"ticket": k, "word3": 0x100 + k, "made": k} for k in range(1, 10)}
    pops = range(22, 22 + 12 * 9, 12)
    seen = play(kind, records, pops, cycles=150, config=config)
    shown = [n for n in dict.fromkeys(word(seen, 3)) if n]
    assert shown == [0xABCD, *(0x100 + k for k in range(1, 10))]
    assert 5 in word(seen, 4) and not any(word(seen, 4)[24:])


@pytest.mark.rule("record_queue", 1, 2)
@pytest.mark.parametrize(("config", "places"), [("tiny", 20), ("tiny,queue_depth=1", 8)])
@KINDS
def test_a_full_queue_goes_round_and_round(kind, config, places):
    """A record follows each pop of a full queue; then all are popped, each after it was shown."""
    full = 7 * places
    records = {7 * k + 6: k + 1 for k in range(3 * places)}
    pops = [full + 7 * k for k in range(2 * places)]
    last = 21 * places
    pops += range(last, last + 12 * places, 12)
    seen = play(kind, records, pops, cycles=last + 12 * places + 12, config=config_of(config))
    assert max(seen.port("records")) == places
    assert len(seen.cycles("record_taken")) == 3 * places
    shown = [t for t in dict.fromkeys(word(seen, 0)) if t]
    assert shown == list(range(1, 3 * places + 1))
    assert seen.port("records")[-1] == seen.port("oldest")[-1] == 0


@pytest.mark.rule("record_queue", 8)
@KINDS
def test_every_bit_of_a_record_has_its_place(kind):
    """Each field all ones, alone; the numbers are the page's table. Kind 2 has all words."""
    places = {
        "ticket": 0xFFFFFFFF,
        "code": 0xFF << 32,
        "fate": 0x7 << 40,
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
    widths = {field.name: field.bits for field in WORDS.fields}
    fields = [{name: (1 << widths[name]) - 1, "kind": 2} for name in places]
    records = {10 + 12 * k: one for k, one in enumerate(fields)}
    seen = play(kind, records, pops=[21 + 12 * k for k in range(len(fields))], cycles=180)
    shown = [seen.port("oldest")[21 + 12 * k] for k in range(len(fields))]
    assert shown == [value | 2 << 43 for value in places.values()]


@pytest.mark.rule("record_queue", 4, 8)
@KINDS
def test_the_words_of_a_failed_launch_and_of_a_preempt(kind):
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
    seen = play(kind, {10: failed, 18: preempt}, pops=(30,), cycles=50)
    assert [word(seen, n)[30] for n in range(8)] == [
        0xFEDC0001,
        1 << 24 | 5 << 18 | 1 << 17 | 3 << 14 | 2 << 8 | ErrorCode.SM_LOST,
        0x89ABCDEF,
        0,
        0,
        100,
        200,
        300,
    ]
    assert [word(seen, n)[41] for n in range(8)] == [0, 2 << 11, 1, 0x30002, 4, 0, 0, 7]


@pytest.mark.rule("record_queue", 7)
@KINDS
def test_a_reset_forgets_all_records(kind):
    """Two are there in 30, and a pop comes in 30. The next record's last word comes in 40."""
    script = Script({10: 1, 17: 2, 40: 7}, pops=(30, 33, 50), reset_in=30)
    seen = record(resettable(kind(TINY)), script, 60)
    assert seen.port("records")[29:] == [2, 2, *[0] * 11, *[1] * 10, *[0] * 8]
    assert word(seen, 0)[29:] == [1, 1, *[0] * 12, *[7] * 8, *[0] * 9]
    assert seen.cycles("record_taken") == [51]
