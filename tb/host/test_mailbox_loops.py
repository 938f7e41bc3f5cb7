"""Mailbox's loops, cycle by cycle, from the page."""

from dataclasses import replace

import pytest

from tb.host.accesses import answers
from tb.host.commands import a_read, a_write
from tb.host.mailbox_script import command, play, reads
from tb.host.test_mailbox_launches import active, answer
from tb.support.record import made
from warploom.host.mailbox import Mailbox
from warploom_golden.host import Mailbox as Model
from warploom_spec import ErrorCode, loop_packets, preset, queue_packets
from warploom_spec.host_commands import Opcode, launch_words
from warploom_spec.host_errors import HostError

#: Four sections; sections 2 and 3 are those of loops 0 and 1.
LOOPS = replace(preset("tiny"), sections=4)
BEGIN, STEP = loop_packets.loop_begin(LOOPS), loop_packets.loop_step(LOOPS)
ANSWERS = loop_packets.loop_answers(LOOPS)
LAUNCH = queue_packets.queued_launch(LOOPS)
WORDS = launch_words(LOOPS)
#: A loop over slots 6, 7, 0 and 1, with 5 launches in flight.
LOOP = {"T0": Opcode.LOOP, "T1": 0x80000003, "T2": 6 | 1 << 8 | 5 << 16}
#: Its doorbell commits in 3, and it is judged in 4.
JUDGED = 4
#: A cycle in which the loop runs, and nothing is under way.
STEPS = 8


@pytest.fixture(params=[Mailbox, Model], ids=["rtl", "model"])
def box(request):
    return made(request.param, LOOPS)


def run(box, *, section=3, cycles=40, write=None, step=None, **ports):
    """Run a box whose section begins a loop."""
    ports |= {"step": step} if step else {}
    return play(box, cycles, write=command(section, LOOP) | (write or {}), **ports)


def a_step(loop=1, **fields):
    return STEP.pack(dict.fromkeys(STEP.offsets, 0) | {"valid": 1, "loop": loop} | fields)


def words(start=STEPS, loop=1, **fields):
    """Return steps by cycle: the first eleven words of a launch, and its pairs'."""
    values = dict.fromkeys((f.name for f in WORDS.fields), 0) | {"opcode": Opcode.LAUNCH} | fields
    task = WORDS.pack(values)
    numbers = (*range(11), 28, 29)
    return {start + k: a_step(loop, word=n, data=task[n]) for k, n in enumerate(numbers)}


#: The ring is at `step` here; it commits in the next cycle.
RING = STEPS + 13


def rung(loop=1, **fields):
    """Return the steps of a launch and its ring."""
    return words(loop=loop, **fields) | {RING: a_step(loop, ring=1)}


def told(seen):
    """Return what `answers` says, by cycle and kind."""
    cycles = {c: ANSWERS.unpack(word) for c, word in enumerate(seen.port("answers")) if word}
    return {c: {name: bits for name, bits in said.items() if bits} for c, said in cycles.items()}


def outcome(section, first):
    names = ("DOORBELL", "ERROR", "RESULT0", "RESULT1")
    return {first + k: a_read(section, name) for k, name in enumerate(names)}


@pytest.mark.rule("mailbox", 17)
@pytest.mark.parametrize("section", [2, 3])
def test_a_loop_begins_a_cycle_after_its_judgement(box, section):
    """All words but the doorbell read 0."""
    read = {JUDGED + 1: a_read(section, "DOORBELL"), JUDGED + 2: a_read(section, "RESULT3")}
    seen = run(box, section=section, read=read, loop_result=dict.fromkeys(range(40), 7))
    assert seen.cycles("begin") == [JUDGED + 1]
    assert BEGIN.unpack(seen.port("begin")[JUDGED + 1]) == {
        "valid": 1,
        "loop": section - 2,
        "count": 0x80000003,
        "first_slot": 6,
        "last_slot": 1,
        "in_flight": 5,
    }
    assert answers(seen) == {JUDGED + 1: 1, JUDGED + 2: 0}
    assert seen.cycles("completed") == [] and told(seen) == {}


@pytest.mark.rule("mailbox", 5)
@pytest.mark.parametrize(
    ("section", "slots", "error"),
    [
        (1, 0, HostError.NO_LOOP),
        (1, 8, HostError.NO_LOOP),
        (3, 8, HostError.FIELD_RANGE | 2 << 16),
        (2, 1 << 11, HostError.FIELD_RANGE | 2 << 16),
        (2, 0x80, HostError.FIELD_RANGE | 2 << 16),
    ],
)
def test_a_loop_that_cannot_be_is_refused(box, section, slots, error):
    write = command(section, LOOP | {"T2": slots})
    read = reads(section, "ERROR", (JUDGED + 1,)) | reads(section, "DOORBELL", (JUDGED + 2,))
    seen = play(box, write=write, read=read)
    assert answers(seen) == {JUDGED + 1: error, JUDGED + 2: 0}
    assert seen.cycles("begin") == []


@pytest.mark.rule("mailbox", 5)
@pytest.mark.parametrize("kind", [Mailbox, Model], ids=["rtl", "model"])
def test_without_loops_nobody_knows_a_loop(kind):
    read = reads(1, "ERROR", (JUDGED + 1,)) | reads(1, "RESULT2", (JUDGED + 2,))
    config = replace(preset("tiny"), loop_templates=0)
    seen = play(made(kind, config), write=command(1, LOOP), read=read)
    assert answers(seen) == {JUDGED + 1: HostError.BAD_OPCODE, JUDGED + 2: None}


@pytest.mark.rule("mailbox", 8, 18)
def test_a_ring_is_judged_and_its_launch_sent_with_what_stands_in_the_words(box):
    """The ring is at `step` in 21, commits in 22, is judged in 23; the launch goes in 24."""
    fields = {"gx": 1 << 20, "stream": 5, "quiet": 1, "wait1_stream": 3, "wait1_count": 2}
    seen = run(box, step=rung(flags=0x23, **fields))
    assert seen.cycles("launch__valid") == [RING + 3]
    sent = LAUNCH.unpack(seen.port("launch__payload")[RING + 3])
    pairs = {"wait0_valid": 1, "wait1_valid": 1, "wait0_relative": 0, "wait1_relative": 1}
    expected = fields | pairs | {"loop": 2, "wait0_stream": 0, "wait0_count": 0}
    assert {name: sent[name] for name in expected} == expected


@pytest.mark.rule("mailbox", 18)
def test_a_hosts_write_goes_first_and_the_step_stands(box):
    """A write that commits in 22 was at `write` in 21, even one that is refused."""
    steps = rung() | {RING + 1: a_step(ring=1)}
    seen = run(box, step=steps, write={RING + 1: a_write(3, "T6", 5)})
    assert seen.cycles("write_refused") == [RING + 1]
    assert seen.cycles("launch__valid") == [RING + 4]


@pytest.mark.rule("mailbox", 10, 19)
@pytest.mark.parametrize(
    ("said", "kind"),
    [(answer(77, count=9), "accepted"), (answer(0, ErrorCode.INDEX_BITS, 4), "refused")],
)
def test_an_answer_completes_no_loop_and_is_told_in_the_next_cycle(box, said, kind):
    """The launch goes in 24, the answer comes in 30."""
    x = RING + 9
    read = {x + 2: a_read(3, "DOORBELL"), x + 3: a_read(3, "RESULT0")}
    seen = run(box, step=rung(), launch_answer={x: said}, read=read)
    assert told(seen) == {x + 1: {kind: 0b10}}
    assert answers(seen) == {x + 2: 1, x + 3: 0} and seen.cycles("completed") == []


@pytest.mark.rule("mailbox", 18, 19)
@pytest.mark.parametrize(
    ("second", "data", "error"),
    [
        ({"ticket": 78, "count": 10}, 0, 0),
        ({"ticket": 78, "count": 10}, 59 | 3 << 16, 59 | 3 << 16),
        ({"code": ErrorCode.INDEX_BITS, "argument": 4}, 0, ErrorCode.INDEX_BITS | 4 << 16),
        ({"code": ErrorCode.INDEX_BITS, "argument": 4}, 59, 59),
    ],
)
def test_an_end_completes_the_section_two_cycles_later_with_what_was_kept(box, second, data, error):
    """Ticket 77 is accepted in 30; the second launch is sent in 35. The end is at `step` in 45."""
    x, end = RING + 9, RING + 24
    accepted = "ticket" in second
    steps = rung() | {x + 2: a_step(ring=1), end: a_step(end=1, data=data)}
    seen = run(
        box,
        step=steps,
        launch_answer={x: answer(77, count=9), x + 8: answer(**second)},
        read={end + 2: a_read(3, "DOORBELL")} | outcome(3, end + 3),
        cycles=60,
    )
    assert seen.cycles("launch__valid") == [RING + 3, x + 5]
    found = list(answers(seen).values())
    assert found == [1, 0, error, 78 if accepted else 77, (10 if accepted else 9) << 16]
    assert seen.cycles("completed") == [end + 3]
    assert told(seen)[x + 9] == {"accepted" if accepted else "refused": 0b10}


@pytest.mark.rule("mailbox", 18)
def test_an_end_of_a_loop_without_launches_leaves_no_ticket(box):
    """One that stood there before the LOOP is forgotten."""
    write = command(3, {"T0": Opcode.LAUNCH}) | command(3, LOOP, start=20)
    seen = play(
        box,
        60,
        write=write,
        launch_answer={6: answer(5, count=6)},
        step={30: a_step(end=1)},
        read={10: a_read(3, "RESULT0")} | outcome(3, 33),
    )
    assert list(answers(seen).values()) == [5, 0, 0, 0, 0]


@pytest.mark.rule("mailbox", 18, 19)
@pytest.mark.parametrize("shut_by", ["room", "records_left"])
def test_a_launch_that_finds_no_room_is_rung_again(box, shut_by):
    """Turned away in 24, told in 25; its code is not kept."""
    t = RING + 3
    usual, full = (0b1111, 0b1110) if shut_by == "room" else (1, 0)
    levels = {shut_by: {c: full if c == t else usual for c in range(70)}}
    seen = run(
        box,
        step=rung() | {t + 4: a_step(ring=1), t + 20: a_step(end=1)},
        launch_answer={t + 10: answer(5)},
        read=outcome(3, t + 23),
        cycles=70,
        **levels,
    )
    assert seen.cycles("launch__valid") == [t + 7]
    assert told(seen) == {t + 1: {"full": 0b10}, t + 11: {"accepted": 0b10}}
    assert list(answers(seen).values()) == [0, 0, 5, 0]


@pytest.mark.rule("mailbox", 5, 19)
def test_a_launch_with_a_value_that_does_not_exist_is_refused_at_its_judgement(box):
    """Stream 8; judged in 23. The end gives the first wrong word."""
    d = RING + 2
    steps = rung(stream=8) | {d + 8: a_step(end=1)}
    seen = run(box, step=steps, read=outcome(3, d + 11))
    assert seen.cycles("launch__valid") == []
    assert told(seen) == {d + 1: {"refused": 0b10}}
    assert list(answers(seen).values()) == [0, HostError.FIELD_RANGE | 5 << 16, 0, 0]


@pytest.mark.rule("mailbox", 3, 18)
@pytest.mark.parametrize("name", ["RESULT2", "RESULT3"])
def test_results_of_a_loop_that_has_ended_are_the_expanders(box, name):
    """The end is at `step` in 10: read in 12 they are 0. A NOP of the section ends them."""
    write = {20: a_write(3, "T0", Opcode.NOP), 21: a_write(3, "DOORBELL", 1)}
    write |= {16: a_write(3, name, 5)}
    cycles = (12, 13, 14, 19, 21, 22, 25)
    seen = run(
        box,
        step={10: a_step(end=1)},
        write=write,
        loop_result={c: 1000 + c for c in range(40)},
        read=reads(3, name, cycles) | {15: a_read(2, name), 17: a_read(0, name)},
    )
    found = dict.fromkeys((12, 15, 17, 22, 25), 0) | {c: 1001 + c for c in (13, 14, 19, 21)}
    assert answers(seen) == found
    assert seen.cycles("write_refused") == [16]


@pytest.mark.rule("mailbox", 8, 10, 19)
def test_answers_of_loops_and_of_a_host_find_their_own(box):
    """A launch of loop 1, one of section 0, and one of loop 0, in this order."""
    host = command(0, {"T0": Opcode.LAUNCH}, start=RING + 2)
    steps = rung() | {RING + 2 + k: s for k, s in enumerate(words(0, loop=0).values())}
    steps |= {RING + 16: a_step(0, ring=1)}
    x = RING + 25
    # A write of the host goes first: its two cost the loop two cycles.
    late = {c + 2 if c > RING else c: s for c, s in steps.items()}
    seen = play(
        box,
        80,
        write=command(3, LOOP) | command(2, LOOP | {"T2": 2}, start=4) | host,
        step=late,
        launch_answer={x: answer(1), x + 1: answer(2, count=5), x + 2: answer(3)},
        read=outcome(0, x + 3) | {x + 7: a_read(2, "DOORBELL"), x + 8: a_read(3, "DOORBELL")},
    )
    sent = seen.cycles("launch__valid")
    loops = [LAUNCH.unpack(seen.port("launch__payload")[c])["loop"] for c in sent]
    assert loops == [2, 0, 1]
    assert told(seen) == {x + 1: {"accepted": 0b10}, x + 3: {"accepted": 0b01}}
    assert list(answers(seen).values()) == [0, 0, 2, 5 << 16, 1, 1]
    assert seen.cycles("completed") == [x + 3]


@pytest.mark.rule("mailbox", 8)
@pytest.mark.parametrize(("ring", "sent"), [(1, [RING + 3, RING + 5]), (0, [RING + 2])])
def test_a_ring_takes_the_port_and_a_launch_that_waits_is_read_again(box, ring, sent):
    """Section 0's launch is rung in 21, and the loop's in 22. Alone, section 0's goes in 23."""
    write = command(0, {"T0": Opcode.LAUNCH}, start=RING - 1)
    before = {cycle - 2: step for cycle, step in words().items()}
    seen = run(box, step=before | {RING: a_step(ring=1) * ring}, write=write)
    assert seen.cycles("launch__valid") == sent


# Soft reset


@pytest.mark.rule("mailbox", 15, 18)
@pytest.mark.parametrize("begins", [20, 21, 22])
def test_a_step_that_commits_while_the_mailbox_is_shut_is_dropped(box, begins):
    """The ring is at `step` in 21; a soft reset from 21 on shuts in 22."""
    read = outcome(3, begins + 9)
    seen = run(box, step=rung(), soft_reset_active=active(begins, begins + 5), read=read)
    assert seen.cycles("launch__valid") == ([RING + 3] if begins == 22 else [])
    waits = begins == 22
    assert list(answers(seen).values()) == ([1, 0] if waits else [0, HostError.RESET]) + [0, 0]
    # Doorbell 1 up to the first closed cycle.
    assert seen.cycles("completed") == ([] if waits else [begins + 4])


@pytest.mark.rule("mailbox", 15, 18)
@pytest.mark.parametrize(("begins", "reset"), [(44, True), (45, True), (46, False)])
def test_an_end_that_commits_as_the_mailbox_is_shut_is_dropped(box, begins, reset):
    """The end is at `step` in 45. Results of a loop that has ended outlive the soft reset."""
    steps = rung() | {45: a_step(end=1)}
    after = begins + 9
    seen = run(
        box,
        step=steps,
        launch_answer={30: answer(77, count=9)},
        soft_reset_active=active(begins, begins + 5),
        read=outcome(3, after) | {after + 4: a_read(3, "RESULT2")},
        loop_result=dict.fromkeys(range(80), 6),
        cycles=80,
    )
    expected = [0, HostError.RESET, 0, 0, 0] if reset else [0, 0, 77, 9 << 16, 6]
    assert list(answers(seen).values()) == expected


@pytest.mark.rule("mailbox", 15, 19)
def test_a_loops_launch_that_was_sent_is_answered_before_its_section_is_reset(box):
    """Closed from 33 on; the answer comes in 36: the section completes at the end of 38."""
    seen = run(
        box,
        step=rung(),
        soft_reset_active=active(30, 45),
        launch_answer={36: answer(77, count=9)},
        read=outcome(3, 47),
        cycles=60,
    )
    assert told(seen) == {37: {"accepted": 0b10}}
    assert seen.cycles("completed") == [39]
    assert list(answers(seen).values()) == [0, HostError.RESET, 0, 0]


@pytest.mark.rule("mailbox", 15)
def test_a_loops_launch_that_waits_is_dropped_with_its_section(box):
    """There is no pace; the mailbox is closed from 28 on. The next launch is no loop's."""
    ready = {c: int(c > 40) for c in range(80)}
    write = command(3, {"T0": Opcode.LAUNCH}, start=50)
    seen = run(
        box,
        step=rung(),
        soft_reset_active=active(25, 32),
        launch__ready=ready,
        write=write,
        read=reads(3, "ERROR", (40,)),
        cycles=80,
    )
    assert seen.cycles("completed") == [29]
    assert answers(seen) == {40: HostError.RESET} and told(seen) == {}
    assert seen.cycles("launch__valid") == [53]
    assert LAUNCH.unpack(seen.port("launch__payload")[53])["loop"] == 0
