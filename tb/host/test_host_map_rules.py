"""Which words of a host's map there are, by their addresses on the page: RTL and model alike."""

import pytest

from tb.host import mailbox_script
from tb.host import test_host_registers_rules as registers
from tb.host.accesses import answers
from tb.host.commands import READ, WRITE
from tb.host.test_host_registers import ODD, TINY
from tb.support.dispatch_configs import config_of
from tb.support.record import made
from warploom.host.host_registers import HostRegisters
from warploom.host.mailbox import Mailbox
from warploom_golden.host import HostRegisters as RegistersModel
from warploom_golden.host import Mailbox as MailboxModel


def every_word(first, count, start=0):
    """Return a read and a write without strobes of each word, one a cycle.

    Such a write is refused if the word is outside the map or cannot be written, and does nothing.
    """
    words = dict(enumerate(range(first // 4, first // 4 + count), start))
    write = {"valid": 1, "data": 0xFFFFFFFF, "strobes": 0}
    return {
        "read": {c: READ.pack({"valid": 1, "address": word}) for c, word in words.items()},
        "write": {c: WRITE.pack(write | {"address": word}) for c, word in words.items()},
    }


def found(seen, first):
    """Return the addresses of the words that can be read, and of those that can be written."""
    read = answers(seen)
    refused = seen.cycles("write_refused")
    return (
        {first + 4 * cycle for cycle, data in read.items() if data is not None},
        {first + 4 * cycle for cycle in read if cycle not in refused},
    )


#: From ID to UNIT_STATE but 0x074; SM_ENABLE0, SM_LOST0, STALL_*, errors and clock, LOOP_STOP,
#: STRAYS0.
THERE = {*range(0, 0x74, 4), 0x78, 0x7C, 0x80, 0xC0, *range(0x100, 0x11C, 4)}
THERE |= {0x140, 0x144, 0x148, 0x14C, 0x150, 0x180}
WRITABLE = {0x18, 0x20, 0x24, 0x28, 0x2C, 0x34, 0x3C, 0x70, 0x78, 0x80, 0x150}
NO_LOOPS = config_of("tiny,loop_templates=0")


@pytest.mark.rule("host_registers", 1, 4)
@pytest.mark.parametrize("kind", [HostRegisters, RegistersModel], ids=["rtl", "model"])
def test_the_registers_that_there_are(kind):
    """`ODD` has 33 SMs, three units and ORDER_SWAP. Up to 0x1FC; then the last words below 0x1000.

    The mailbox's sections, from 0x1000 on, are not here. Without loops there is no LOOP_STOP.
    """
    seen = registers.play(kind, 134, **every_word(0, 0x80))
    assert found(seen, 0) == (THERE, WRITABLE)
    seen = registers.play(kind, 134, NO_LOOPS, **every_word(0, 0x80))
    assert found(seen, 0) == (THERE - {0x150}, WRITABLE - {0x150})
    odd = config_of(ODD)
    seen = registers.play(kind, 134, odd, **every_word(0, 0x80))
    more = {0x74, 0x84}
    assert found(seen, 0) == (THERE | more | {0xC4, 0x184, 0x188}, WRITABLE | more)
    for first in (0x200, 0xF80, 0x1000, 0xFF80):
        assert found(registers.play(kind, 38, odd, **every_word(first, 32)), first) == (
            set(),
            set(),
        )


#: DOORBELL, STATUS, ASSIGNED, ERROR, RESULT0 to RESULT3, RESULT8 to RESULT15, T0 to T31.
SECTION = {*range(0, 0x40, 4), *range(0x80, 0x100, 4)}
LOOP_RESULTS = {0x18, 0x1C}


@pytest.mark.rule("mailbox", 1, 3)
@pytest.mark.parametrize("kind", [Mailbox, MailboxModel], ids=["rtl", "model"])
def test_the_words_of_the_sections_that_there_are(kind):
    """`tiny` has two sections, at 0x1000 and 0x1200. What stands before and behind is not here.

    Without loops RESULT2 and RESULT3 are not there.
    """
    box = made(kind, TINY)
    cases = [(box, first, SECTION) for first in (0x1000, 0x1200)]
    for each, first, there in [*cases, (made(kind, NO_LOOPS), 0x1200, SECTION - LOOP_RESULTS)]:
        seen = mailbox_script.play(each, 134, **every_word(first, 0x80))
        readable, writable = found(seen, first)
        assert {address - first for address in readable} == there
        assert {address - first for address in writable} == {0, *range(0x80, 0x100, 4)}
    for first in (0, 0x0E00, 0x1400, 0x3000, 0x9000):
        seen = mailbox_script.play(box, 70, **every_word(first, 0x40))
        assert found(seen, first) == (set(), set())
