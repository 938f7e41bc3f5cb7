"""What RecordQueue keeps, and what a reset forgets; a wrong rule among it."""

import pytest

from tb.launch import test_record_queue_rules as rules
from tb.launch.test_record_queue_rules import PACKET, TINY, Script, play, tickets
from tb.support.planted import Change
from tb.support.record import made, record
from tb.support.resettable import resettable
from tb.support.wrong_rules import WrongRule, demand_found
from warploom.launch.record_queue import RecordQueue
from warploom_golden.launch import RecordQueue as Model

KINDS = pytest.mark.parametrize("kind", [RecordQueue, Model], ids=["rtl", "model"])
#: All bits of all fields.
FULL = {field.name: (1 << field.bits) - 1 for field in PACKET.fields}
#: The same as words: bits 31:25 of word 1 are 0.
ALL = (1 << 256) - 1 ^ 0b1111111 << 57


@pytest.mark.rule("record_queue", 3, 5)
@KINDS
def test_every_bit_of_a_record_stays_until_its_pop_and_no_bit_longer(kind):
    """It is shown from 2 on, and popped in 20. Three others are popped behind it, or none is."""
    records = {0: FULL} | {k: k for k in range(3, 6)}
    seen = play(made(kind, TINY), records, pops=(20, 21, 22, 23), cycles=30)
    assert seen.port("oldest") == [*[0] * 3, *[ALL] * 19, 3, 4, 5, *[0] * 5]
    assert seen.port("records")[20:26] == [4, 4, 3, 2, 1, 0]
    seen = play(made(kind, TINY), {0: FULL}, pops=(20,), cycles=30)
    assert seen.port("oldest") == [*[0] * 3, *[ALL] * 19, *[0] * 8]


class Resets(Script):
    """The same with the port ``reset_now``."""

    def next(self, outputs):
        """Return the next cycle's inputs; the reset is in 10."""
        reset = int(self._cycle == 10)
        return super().next(outputs) | {"reset_now": reset}


@pytest.mark.rule("record_queue", 6)
@KINDS
def test_a_reset_forgets_all_records(kind):
    """Five are there in 10, one more comes in 10, and a pop. The next record comes in 14."""
    script = Resets({**{k: k + 1 for k in range(5)}, 10: 9, 14: 7}, pops=(10, 12, 20))
    seen = record(resettable(kind(TINY)), script, 24)
    assert seen.port("records")[9:] == [5, 5, *[0] * 5, *[1] * 6, 0, 0]
    assert tickets(seen)[9:] == [1, 1, *[0] * 6, *[7] * 5, 0, 0]
    assert seen.cycles("record_taken") == [21]


WRONG = {
    "the upper words of the last record stay after its pop": WrongRule(
        test_every_bit_of_a_record_stays_until_its_pop_and_no_bit_longer,
        (
            Change(RecordQueue, "elaborate", "self.oldest.eq(0)", "self.oldest.ticket.eq(0)"),
            Change(Model, "tick", "self._shown or 0", "self._shown or self._oldest >> 32 << 32"),
        ),
    ),
}


@pytest.mark.parametrize("rule", WRONG)
def test_a_rule_wrong_in_rtl_and_model_alike_is_found(rule, monkeypatch):
    demand_found(WRONG[rule], (RecordQueue, Model), rules, monkeypatch)
