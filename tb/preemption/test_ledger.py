"""The ledger sees each kind of fault."""

from dataclasses import replace

import pytest

from tb.preemption.ledger import Books, Machine, Ticket

MACHINE = Machine(1, 2, (4, 4, 4, 4))
LOW = Ticket(1, 2, 0, 0, False, False, (1, 1, 1, 1), 0)
URGENT = Ticket(2, 1, 1, 3, False, False, (1, 1, 1, 1), 30)
#: Block 0 and 1 of ticket 1, then ticket 2's block.
OFFERS = [(10, 0, 0, 1, 0), (11, 0, 1, 1, 1), (40, 0, 0, 2, 0)]
REPORTS = [(20, 0, 0, 0), (21, 0, 1, 0), (50, 0, 0, 0)]
RECORDS = [(25, 1, 0), (55, 2, 0)]
GOOD = Books(MACHINE, [LOW, URGENT], OFFERS, REPORTS, RECORDS)


def changed(rows, number, row):
    return [*rows[:number], row, *rows[number + 1 :]]


CASES = {
    "is offered a block while it holds one": {"offers": changed(OFFERS, 1, (11, 0, 0, 1, 1))},
    "reports a block that it does not hold": {"reports": [*REPORTS, (60, 0, 1, 0)]},
    "is never reported": {"reports": REPORTS[:2]},
    "has too little of resource 2": {"tickets": [replace(LOW, need=(1, 3, 1, 1)), URGENT]},
    "ticket 2 has no final record": {"records": RECORDS[:1]},
    "record of ticket 9": {"records": [*RECORDS, (56, 9, 0)]},
    "ticket 1 has 2 final records": {"records": [*RECORDS, (56, 1, 0)]},
    "block 1 is out of turn": {"offers": changed(OFFERS, 0, (10, 0, 0, 1, 1))},
    "finished with 2 of 3 blocks": {"tickets": [replace(LOW, blocks=3), URGENT]},
    "not every block of its last run is ok": {"reports": changed(REPORTS, 1, (21, 0, 1, 1))},
    "a block was killed": {"reports": changed(REPORTS, 1, (21, 0, 1, 2))},
    "a block ran twice": {
        "offers": [*OFFERS, (60, 0, 0, 1, 0), (61, 0, 1, 1, 1)],
        "reports": [*REPORTS, (70, 0, 0, 0), (71, 0, 1, 0)],
    },
    "is offered while it is preempted": {"closed": [(0, 5, 30)]},
    "ticket 2 overlaps 1, of its stream": {
        "tickets": [LOW, replace(URGENT, stream=0)],
        "offers": changed(OFFERS, 2, (21, 0, 0, 2, 0)),
    },
    "ticket 1 starts although 2 is urgent": {"tickets": [LOW, replace(URGENT, accepted=2)]},
}


def test_it_finds_nothing_in_good_books():
    assert replace(GOOD, problems=[]).check() == []


@pytest.mark.parametrize("problem", CASES)
def test_it_finds(problem):
    found = replace(GOOD, problems=[], **CASES[problem]).check()
    assert any(problem in each for each in found), found
