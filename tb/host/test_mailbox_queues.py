"""Mailbox while every section waits for LaunchPath at once, of RTL and model alike."""

import pytest

from tb.host.accesses import answers
from tb.host.commands import a_read
from tb.host.mailbox_script import command, play
from tb.host.test_mailbox_launches import answer, code_answer
from tb.support.dispatch_configs import config_of
from tb.support.record import made
from warploom.host.mailbox import Mailbox
from warploom_golden.host import Mailbox as Model
from warploom_spec import queue_packets
from warploom_spec.host_commands import Opcode

#: Five sections: no power of two.
SECTIONS = 5
CONFIG = config_of(f"tiny,sections={SECTIONS}")
ABORT = queue_packets.launch_abort(CONFIG)
#: The first cycle in which LaunchPath takes an abort, and that of its first answer.
TAKES, ANSWERS = 20, 30


@pytest.fixture(params=[Mailbox, Model], ids=["rtl", "model"])
def box(request):
    return made(request.param, CONFIG)


def rung(**words):
    """Return the writes of one command in each section, one after the other."""
    found = {}
    for section in range(SECTIONS):
        named = {name: value + section * (name == "T1") for name, value in words.items()}
        found |= command(section, named, start=len(found))
    return found


def each(name, start):
    """Return a read of one word in each section, a cycle each."""
    return {start + section: a_read(section, name) for section in range(SECTIONS)}


@pytest.mark.rule("mailbox", 9, 11)
def test_every_section_aborts_while_no_abort_is_taken(box):
    """The aborts name tickets 100 to 104. Section k is answered with code 40 + k."""
    seen = play(
        box,
        60,
        write=rung(T0=int(Opcode.ABORT), T1=100),
        abort__ready=dict.fromkeys(range(TAKES, 60), 1),
        abort_answer={ANSWERS + k: code_answer(40 + k) for k in range(SECTIONS)},
        read=each("DOORBELL", TAKES) | each("DOORBELL", 40) | each("ERROR", 50),
    )
    assert seen.transfers("abort") == [
        (TAKES + k, ABORT.pack({"ticket": 100 + k})) for k in range(SECTIONS)
    ]
    assert list(answers(seen).values()) == [1] * 5 + [0] * 5 + [40, 41, 42, 43, 44]


@pytest.mark.rule("mailbox", 8, 10)
def test_every_section_launches_before_the_first_answer(box):
    seen = play(
        box,
        60,
        write=rung(T0=int(Opcode.LAUNCH)),
        launch_answer={ANSWERS + k: answer(ticket=70 + k) for k in range(SECTIONS)},
        read=each("DOORBELL", TAKES) | each("DOORBELL", 40) | each("RESULT0", 50),
    )
    assert len(seen.cycles("launch__valid")) == SECTIONS
    assert list(answers(seen).values()) == [1] * 5 + [0] * 5 + [70, 71, 72, 73, 74]
