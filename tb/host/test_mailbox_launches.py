"""Mailbox's launches, aborts and soft reset, of RTL and model alike."""

from dataclasses import replace

import pytest

from tb.host.accesses import ByCycle, answers, recorded
from tb.host.commands import a_read, a_write
from tb.host.mailbox_script import command, play, reads
from tb.host.test_mailbox import CODE, LAUNCH_ANSWER, RESULT
from tb.host.test_mailbox_rules import RUN, RUNS_AT, TINY, done, error
from tb.support.record import made
from warploom.host.mailbox import Mailbox
from warploom_golden.host import Mailbox as Model
from warploom_spec import ErrorCode, queue_packets
from warploom_spec.host_commands import LAUNCH_COMMANDS, Opcode, launch_words
from warploom_spec.host_errors import HostError
from warploom_spec.queue import QueueCode
from warploom_spec.resources import AMOUNT_FIELDS


@pytest.fixture(params=[Mailbox, Model], ids=["rtl", "model"])
def box(request):
    return made(request.param, TINY)


# Launches and aborts

LAUNCH = dict.fromkeys(AMOUNT_FIELDS, 0) | {
    "code": 0x1122334455667788,
    "arguments": 0x99AABBCCDDEEFF00,
    "address_space": 0x1234,
    "stream": 5,
    "priority": 2,
    "quiet": 1,
    "idempotent": 0,
    "mode": 3,
    "gx": 0x7FFFFFFF,
    "gy": 0xFFFE,
    "gz": 0xFFFD,
    "dx": 1025,
    "dy": 1026,
    "dz": 65,
    "index_address": 63,
    "table": 5,
    "warp_registers": 300,
    "shared": 2000,
    "barriers": 60,
    "inline0": 0xFEDCBA9876543210,
}


#: Two pairs: the first one counts, and is relative; the second one's words are there all the same.
WAITS = {
    "wait0_valid": 1,
    "wait0_stream": 7,
    "wait0_count": 0xFFFE,
    "wait0_relative": 1,
    "wait1_valid": 0,
    "wait1_stream": 3,
    "wait1_count": 1,
    "wait1_relative": 0,
}
#: A host's launch is no loop's.
SENT = LAUNCH | WAITS | {"loop": 0}


def task_of(**changes):
    """Return the words of a launch by their names; flags of pairs that are not there count not."""
    layout = launch_words(TINY)
    values = dict.fromkeys(layout.by_name, 0) | LAUNCH | changes
    values |= {name: value for name, value in WAITS.items() if name in layout.by_name}
    words = layout.pack(values | {"opcode": Opcode.LAUNCH, "flags": 0xD1, "parameter": 0xABCD})
    return {f"T{k}": word for k, word in enumerate(words) if word}


#: The doorbell is written after the words. The launch goes two cycles later.
SENT_AT = len(task_of()) + 2


def answer(ticket=0, code=0, argument=0, count=0):
    fields = {"ticket": ticket, "code": code, "argument": argument, "count": count}
    return LAUNCH_ANSWER.pack({"valid": 1, **fields})


def code_answer(code=0):
    return CODE.pack({"valid": 1, "code": code})


@pytest.mark.rule("mailbox", 8)
def test_a_launch_is_sent_two_cycles_after_its_doorbell_with_every_field(box):
    seen = play(box, write=command(1, task_of()))
    assert seen.cycles("launch__valid") == [SENT_AT]
    sent = queue_packets.queued_launch(TINY).unpack(seen.port("launch__payload")[SENT_AT])
    assert sent == SENT
    assert seen.cycles("abort__valid") == []


TOO_LARGE = {
    "stream": (8, 5),
    "priority": (4, 5),
    "gx": (1 << 31, 6),
    "index_address": (64, 9),
}


@pytest.mark.rule("mailbox", 5, 6)
@pytest.mark.parametrize("field", TOO_LARGE)
def test_a_value_too_large_for_its_field_is_refused_by_its_word(box, field):
    value, word = TOO_LARGE[field]
    task = task_of(**{field: value})
    judged = len(task) + 1
    seen = play(
        box,
        write=command(0, task),
        read=reads(0, "ERROR", (judged + 1,)) | reads(0, "DOORBELL", (judged + 2,)),
    )
    assert answers(seen) == {judged + 1: HostError.FIELD_RANGE | word << 16, judged + 2: 0}
    assert seen.cycles("launch__valid") == []


@pytest.mark.rule("mailbox", 5)
@pytest.mark.parametrize("kind", [Mailbox, Model], ids=["rtl", "model"])
def test_without_an_index_memory_an_index_address_is_0_or_refused(kind):
    config = replace(TINY, index_memory_warps=0)
    task = task_of(index_address=1)
    judged = len(task) + 1
    seen = play(kind(config), write=command(0, task), read=reads(0, "ERROR", (judged + 1,)))
    assert answers(seen) == {judged + 1: HostError.FIELD_RANGE | 9 << 16}
    assert seen.cycles("launch__valid") == []
    seen = play(kind(config), write=command(0, task_of(index_address=0)))
    # The table stands in the same word.
    assert seen.cycles("launch__valid") == [SENT_AT]
    sent = queue_packets.queued_launch(config).unpack(seen.port("launch__payload")[SENT_AT])
    assert sent == SENT | {"index_address": 0}


@pytest.mark.rule("mailbox", 5)
@pytest.mark.parametrize("kind", [Mailbox, Model], ids=["rtl", "model"])
def test_without_loops_no_launch_is_quiet(kind):
    """Bit 28 of T5 is `quiet` with loops."""
    box, task = made(kind, replace(TINY, loop_templates=0)), task_of()
    judged = len(task) + 1
    seen = play(box, write=command(0, task), read=reads(0, "ERROR", (judged + 1,)))
    assert answers(seen) == {judged + 1: HostError.FIELD_RANGE | 5 << 16}
    assert seen.cycles("launch__valid") == []


@pytest.mark.rule("mailbox", 5)
def test_the_first_word_with_a_value_too_large_is_named(box):
    task = task_of(index_address=64, gx=1 << 31, priority=15)
    judged = len(task) + 1
    seen = play(box, write=command(1, task), read=reads(1, "ERROR", (judged + 1,)))
    assert answers(seen) == {judged + 1: HostError.FIELD_RANGE | 5 << 16}


@pytest.mark.rule("mailbox", 10)
@pytest.mark.parametrize("name", ["ERROR", "RESULT0", "RESULT1", "DOORBELL", "STATUS"])
def test_the_answer_to_a_launch_is_seen_from_the_second_cycle_on(box, name):
    x = SENT_AT + 6
    words = {
        "ERROR": (0, ErrorCode.INDEX_BITS | 0x1234 << 16),
        "RESULT0": (0, 0xFEDC0001),
        "RESULT1": (0, 0x8001 << 16),
        "DOORBELL": (1, 0),
        "STATUS": (0, 0),
    }
    seen = play(
        box,
        write=command(1, task_of()),
        launch_answer={x: answer(0xFEDC0001, ErrorCode.INDEX_BITS, 0x1234, 0x8001)},
        read=reads(1, name, (x, x + 1, x + 2)),
        cycles=40,
    )
    before, after = words[name]
    assert answers(seen) == {x: before, x + 1: before, x + 2: after}


@pytest.mark.rule("mailbox", 10)
def test_answers_go_to_the_sections_in_the_order_of_the_launches(box):
    """Section 1's launch is sent before section 0's; a NOP of a later command clears a ticket.

    The NOP's doorbell is 1 in x + 6 and x + 7.
    """
    writes = command(1, task_of()) | command(0, task_of(), start=SENT_AT + 1)
    x = 2 * SENT_AT + 4
    writes |= {x + 4: a_write(0, "T0", Opcode.NOP), x + 5: a_write(0, "DOORBELL", 1)}
    seen = play(
        box,
        write=writes,
        launch_answer={x: answer(11), x + 1: answer(12)},
        read={
            x + 2: a_read(1, "RESULT0"),
            x + 3: a_read(0, "RESULT0"),
            x + 6: a_read(0, "RESULT0"),
            x + 7: a_read(1, "RESULT0"),
            x + 8: a_read(0, "RESULT0"),
        },
        cycles=x + 11,
    )
    assert list(answers(seen).values()) == [11, 12, 0, 11, 0]


ABORT = {"T0": Opcode.ABORT, "T1": 0x80000005}


@pytest.mark.rule("mailbox", 9, 11)
def test_an_abort_stands_until_it_is_taken_and_answered(box):
    """Rung in 2, judged in 3, at `abort` from 5 on, taken in 7, answered in 9, complete in 11."""
    seen = play(
        box,
        write=command(1, ABORT),
        abort__ready={7: 1},
        abort_answer={9: code_answer(QueueCode.TICKET_UNKNOWN)},
        read={10: a_read(1, "DOORBELL"), 11: a_read(1, "DOORBELL"), 12: a_read(1, "ERROR")},
    )
    assert seen.cycles("abort__valid") == [5, 6, 7]
    ticket = queue_packets.launch_abort(TINY).unpack(seen.port("abort__payload")[5])["ticket"]
    assert ticket == 0x80000005
    assert list(answers(seen).values()) == [1, 0, QueueCode.TICKET_UNKNOWN]


@pytest.mark.rule("mailbox", 9)
def test_aborts_keep_their_order_and_do_not_wait_for_launches(box):
    writes = command(0, task_of())
    writes |= command(1, ABORT, start=SENT_AT)
    seen = play(box, write=writes, cycles=SENT_AT + 8)
    assert seen.cycles("abort__valid") == [SENT_AT + 5]


# Soft reset


def active(first, last):
    """Return ``soft_reset_active`` of a soft reset, by cycle."""
    return dict.fromkeys(range(first, last + 1), 1)


@pytest.mark.rule("mailbox", 15)
def test_a_task_that_runs_when_the_mailbox_closes_ends_with_reset_and_nothing_else(box):
    """The soft reset runs from x - 3 to x + 1: closed in x and x + 1, shut from x - 2 to x + 2.

    The task's `done` comes in x, a `result` before. Rung before x - 3, the doorbell reads 1 up to
    the last read that is let through.
    """
    x = RUNS_AT + 6
    seen = play(
        box,
        30,
        write=command(0, RUN),
        result__0={x - 1: RESULT.pack({"valid": 1, "word": 0, "data": 7})},
        soft_reset_active=active(x - 3, x + 1),
        done__0={x: done(status=5, assigned=7, task=9), x + 1: done(status=5, task=9)},
        error__0=dict.fromkeys(range(30), error(code=HostError.CORE_FAILED, core=1, argument=9)),
        read={
            x - 3: a_read(0, "DOORBELL"),
            x: a_read(0, "DOORBELL"),
            **{x + 3 + k: a_read(0, name) for k, name in enumerate(OUTCOME)},
        },
    )
    found = list(answers(seen).values())
    assert found == [1, None, *(HostError.RESET if n == "ERROR" else 0 for n in OUTCOME)]


@pytest.mark.rule("mailbox", 12, 15)
def test_a_task_that_ends_in_the_last_cycle_before_the_mailbox_closes_has_its_error(box):
    """The mailbox is closed from x + 1 on, the cycle of `error`."""
    x = RUNS_AT + 6
    seen = play(
        box,
        30,
        write=command(0, RUN),
        soft_reset_active=active(x - 2, x + 4),
        done__0={x: done(status=5, assigned=7, task=9)},
        error__0={x + 1: error(code=HostError.CORE_FAILED, core=1, argument=9)},
        read={x + 6: a_read(0, "ERROR"), x + 7: a_read(0, "STATUS")},
    )
    assert list(answers(seen).values()) == [HostError.CORE_FAILED | 1 << 8 | 9 << 16, 5]


OUTCOME = ("DOORBELL", "ERROR", "STATUS", "ASSIGNED", "RESULT1", "RESULT8")


@pytest.mark.rule("mailbox", 1, 5, 15)
@pytest.mark.parametrize("opcode", [Opcode.RUN, Opcode.LAUNCH, Opcode.ABORT, Opcode.NOP])
@pytest.mark.parametrize("begins", [3, 2])
def test_a_command_that_was_rung_before_the_mailbox_is_shut_is_handed_on(box, opcode, begins):
    """Rung in 3. A soft reset from 3 on shuts in 4: the command is judged there. From 2 on: not.

    The mailbox is closed in 6 and 7, or in 5 and 6.
    """
    task = {"T0": opcode, "T2": 1, "T3": 1}
    sent = begins == 3
    seen = play(
        box,
        write=command(0, task),
        soft_reset_active=active(begins, begins + 4),
        read={9: a_read(0, "DOORBELL"), 10: a_read(0, "ERROR")},
    )
    assert seen.cycles("write_refused") == ([] if sent else [3])
    cycles = {
        "run__0": [5] if sent and opcode == Opcode.RUN else [],
        "launch__valid": [5] if sent and opcode == Opcode.LAUNCH else [],
        "abort__valid": [6] if sent and opcode == Opcode.ABORT else [],
    }
    assert {port: seen.cycles(port) for port in cycles} == cycles
    # A launch and an abort still wait for their answer. A task ends with the soft reset.
    waits = sent and opcode in (Opcode.LAUNCH, Opcode.ABORT)
    code = HostError.RESET if sent and opcode == Opcode.RUN else 0
    assert answers(seen) == {9: int(waits), 10: code}


@pytest.mark.rule("mailbox", 15)
@pytest.mark.parametrize("soft_reset", [1, 0])
def test_a_launch_that_was_sent_is_answered_while_the_mailbox_is_closed(box, soft_reset):
    """Closed from x - 3 on, up to the cycle in which the answer is heard: x + 1."""
    x = SENT_AT + 6
    seen = play(
        box,
        write=command(0, task_of()),
        soft_reset_active=dict.fromkeys(range(x - 6, x + 2), soft_reset),
        launch_answer={x: answer(5)},
        read={x + 3: a_read(0, "RESULT0"), x + 4: a_read(0, "ERROR")},
        cycles=40,
    )
    assert list(answers(seen).values()) == [5, 0]
    assert seen.cycles("waiting") == list(range(SENT_AT - 1, x + 2))


@pytest.mark.rule("mailbox", 1, 3)
def test_every_access_is_refused_while_the_mailbox_is_shut(box):
    writes = {k: a_write(1, "T0", 7) for k in range(3)}
    seen = play(box, write=writes, read=reads(1, "ERROR", range(3)), soft_reset_active={0: 1})
    assert seen.cycles("write_refused") == [1]
    assert answers(seen) == {0: 0, 1: None, 2: 0}


@pytest.mark.rule("mailbox", 15)
def test_a_section_that_was_answered_keeps_its_words_when_the_mailbox_closes(box):
    """Complete at the end of x + 1, closed from x + 2 on."""
    x = SENT_AT + 6
    seen = play(
        box,
        write=command(1, task_of()),
        launch_answer={x: answer(5)},
        soft_reset_active=active(x - 1, x + 3),
        read={x + 6: a_read(1, "RESULT0"), x + 7: a_read(1, "ERROR")},
        cycles=40,
    )
    assert list(answers(seen).values()) == [5, 0]


# Without a launch path


@pytest.mark.parametrize("make", [Mailbox, Model], ids=["rtl", "model"])
@pytest.mark.parametrize("opcode", LAUNCH_COMMANDS)
def test_launches_are_unknown_without_a_launch_path(make, opcode):
    box = make(TINY, launches=False)
    ports = dict.fromkeys(("done__0", "error__0", "result__0", "missing", "unit_reset"), 0)
    script = ByCycle(ports, {"write": command(0, {"T0": opcode}), "read": reads(0, "ERROR", (3,))})
    seen = recorded(box, script, 6)
    assert answers(seen) == {3: HostError.BAD_OPCODE}
    assert "launch__valid" not in seen.outputs[0]
