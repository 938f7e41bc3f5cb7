"""Mailbox's launches at the launch path's pace and room, commands that stand: RTL and model."""

import pytest

from tb.host.accesses import answers
from tb.host.commands import a_read, a_write
from tb.host.mailbox_script import command, play
from tb.host.test_mailbox_launches import active, answer, code_answer
from tb.support.dispatch_configs import config_of
from tb.support.record import made
from warploom.host.mailbox import Mailbox
from warploom_golden.host import Mailbox as Model
from warploom_spec import ErrorCode, queue_packets
from warploom_spec.host_commands import Opcode, launch_words
from warploom_spec.host_errors import HostError
from warploom_spec.queue_packets import QueueOpcode
from warploom_spec.resident_packets import resident_command

CONFIG = config_of("tiny,sections=4")
LAUNCH, COMMAND = queue_packets.queued_launch(CONFIG), resident_command(CONFIG)
ALL_ROOM = 0b1111


@pytest.fixture(params=[Mailbox, Model], ids=["rtl", "model"])
def box(request):
    return made(request.param, CONFIG)


def task(gx, priority=2):
    """Return the words of a launch that `gx` tells from others: T0, T5 and T6."""
    layout = launch_words(CONFIG)
    values = dict.fromkeys(layout.by_name, 0) | {"opcode": Opcode.LAUNCH}
    words = layout.pack(values | {"gx": gx, "priority": priority})
    return {f"T{k}": words[k] for k in (0, 5, 6)}


def rung(*launches):
    """Return writes: the words of launches first, then their doorbells in a row, in this order.

    Each launch is (section, gx, priority). The first doorbell is written in `bell(launches)`.
    """
    writes = {}
    for section, gx, priority in launches:
        words = [a_write(section, name, data) for name, data in task(gx, priority).items()]
        writes |= dict(enumerate(words, len(writes)))
    bells = [a_write(section, "DOORBELL", 1) for section, _, _ in launches]
    return writes | dict(enumerate(bells, len(writes)))


def sent(seen):
    """Return cycle and `gx` of each launch that was sent."""
    return [(cycle, LAUNCH.unpack(word)["gx"]) for cycle, word in seen.transfers("launch")]


@pytest.mark.rule("mailbox", 8)
def test_launches_go_in_the_order_of_their_doorbells_and_only_with_the_pace(box):
    """Rung in 9, 10 and 11: sections 2, 0, 3. The pace allows 14, 17 and 18."""
    seen = play(
        box,
        40,
        write=rung((2, 70, 0), (0, 71, 1), (3, 72, 3)),
        launch__ready={14: 1, 17: 1, 18: 1, 19: 1},
        launch_answer={25: answer(ticket=5), 26: answer(ticket=6), 30: answer(ticket=7)},
        read={34: a_read(2, "RESULT0"), 35: a_read(0, "RESULT0"), 36: a_read(3, "RESULT0")},
    )
    # In 18 the task register of section 3 is not read yet.
    assert sent(seen) == [(14, 70), (17, 71), (19, 72)]
    assert answers(seen) == {34: 5, 35: 6, 36: 7}


@pytest.mark.rule("mailbox", 8)
@pytest.mark.parametrize("gap", [3, 4, 5])
def test_doorbells_in_a_row_get_no_false_queue_full(box, gap):
    """There is room for two. The pace falls with each launch, and `room` two cycles later."""
    second = 13 + gap
    seen = play(
        box,
        44,
        write=rung((0, 70, 1), (1, 71, 1), (2, 72, 1)),
        launch__ready={13: 1, second: 1, second + gap: 1},
        room=dict.fromkeys(range(second + 2), ALL_ROOM) | dict.fromkeys(range(second + 2, 44), 13),
        read={36: a_read(0, "ERROR"), 37: a_read(1, "ERROR"), 38: a_read(2, "ERROR")},
    )
    assert sent(seen) == [(13, 70), (second, 71)]
    assert answers(seen) == {36: 0, 37: 0, 38: ErrorCode.QUEUE_FULL}
    assert seen.cycles("completed") == [second + gap + 2]


FULL = {
    "no entry": (ALL_ROOM ^ 1 << 2, 1, ErrorCode.QUEUE_FULL),
    "no place for a record": (ALL_ROOM, 0, ErrorCode.COMPLETION_FULL),
    "neither": (0, 0, ErrorCode.QUEUE_FULL),
    "no entry of the others": (1 << 2, 1, None),
}


@pytest.mark.rule("mailbox", 8)
@pytest.mark.parametrize("name", FULL)
def test_a_launch_is_judged_by_room_in_the_one_cycle_in_which_it_leaves(box, name):
    """Rung in 3, shown from 5 on; the pace comes in 8. In all other cycles room is the opposite."""
    room, records, code = FULL[name]
    seen = play(
        box,
        write=command(1, task(70)),
        launch__ready={8: 1},
        room={cycle: room if cycle == 8 else ALL_ROOM ^ room for cycle in range(24)},
        records_left={cycle: records if cycle == 8 else 1 - records for cycle in range(24)},
        read={9: a_read(1, "DOORBELL"), 10: a_read(1, "DOORBELL"), 11: a_read(1, "ERROR")},
    )
    assert sent(seen) == ([] if code else [(8, 70)])
    assert answers(seen) == ({9: 1, 10: 0, 11: code} if code else {9: 1, 10: 1, 11: 0})
    assert seen.cycles("completed") == ([10] if code else [])


@pytest.mark.rule("mailbox", 8, 10)
def test_who_is_turned_away_takes_no_one_s_answer(box):
    """Three launches; the second is turned away. The third one's answer is the third one's."""
    seen = play(
        box,
        40,
        write=rung((0, 70, 1), (1, 71, 3), (2, 72, 1)),
        room=dict.fromkeys(range(40), 0b0111),
        launch_answer={20: answer(ticket=5), 22: answer(ticket=6)},
        read={30 + k: a_read(k, "RESULT0") for k in range(3)} | {33: a_read(1, "ERROR")},
    )
    assert [gx for _, gx in sent(seen)] == [70, 72]
    assert answers(seen) == {30: 5, 31: 0, 32: 6, 33: ErrorCode.QUEUE_FULL}


@pytest.mark.rule("mailbox", 8)
@pytest.mark.parametrize("last", [0, 5, 6, 12])
def test_no_launch_goes_while_a_stream_is_being_mended(box, last):
    seen = play(box, write=command(1, task(70)), clearing=dict.fromkeys(range(last + 1), 1))
    assert sent(seen) == [(max(5, last + 1), 70)]


@pytest.mark.rule("mailbox", 8)
@pytest.mark.parametrize("rings", [1, 2, 3])
def test_a_doorbell_behind_a_launch_lets_its_task_be_read_again(box, rings):
    """Rung in 15. NOPs of other sections are rung in the next cycles: it goes two cycles later."""
    nops = {k: a_write(k, "T0", Opcode.NOP) for k in range(3)}
    writes = nops | command(3, task(70), start=12)
    assert max(writes) == 15
    writes |= {16 + k: a_write(k, "DOORBELL", 1) for k in range(rings)}
    seen = play(box, 30, write=writes, read={20 + k: a_read(k, "DOORBELL") for k in range(4)})
    assert sent(seen) == [(17 + rings, 70)]
    assert list(answers(seen).values()) == [0, 0, 0, 1]


@pytest.mark.rule("mailbox", 8)
def test_three_sections_that_ring_in_turn_hold_a_launch_up_until_they_pause(box):
    """The page's limit. A doorbell in each cycle from 16 to 45: the launch goes in 47."""
    nops = {k: a_write(k, "T0", Opcode.NOP) for k in range(3)}
    writes = nops | command(3, task(70), start=12)
    writes |= {16 + k: a_write(k % 3, "DOORBELL", 1) for k in range(30)}
    seen = play(box, 60, write=writes)
    assert seen.cycles("write_refused") == []
    assert sent(seen) == [(47, 70)]


@pytest.mark.rule("mailbox", 8, 15)
def test_a_launch_that_waits_ends_with_reset_when_the_mailbox_closes_and_goes_nowhere(box):
    """Sections 0 and 1 wait from 8 on; closed from 13 to 21. Section 2's launch comes later."""
    writes = rung((0, 70, 1), (1, 71, 1)) | command(2, task(72), start=26)
    seen = play(
        box,
        40,
        write=writes,
        launch__ready=dict.fromkeys(range(13, 40), 1),
        soft_reset_active=active(10, 20),
        read={23 + k: a_read(k, "ERROR") for k in range(2)} | {25: a_read(1, "DOORBELL")},
    )
    assert sent(seen) == [(31, 72)]
    assert answers(seen) == {23: HostError.RESET, 24: HostError.RESET, 25: 0}
    assert seen.cycles("completed") == [14]


@pytest.mark.rule("mailbox", 8, 15)
@pytest.mark.parametrize("last", [20, 22])
def test_however_short_the_closing_is_no_launch_of_any_section_waits_behind_it(box, last):
    """All four sections wait from 17 on. Closed from 21 on, for one cycle or for three."""
    seen = play(
        box,
        48,
        write=rung(*((k, 70 + k, 1) for k in range(4))) | command(3, task(80), start=34),
        launch__ready=dict.fromkeys(range(21, 48), 1),
        soft_reset_active=active(18, last),
        read={26 + k: a_read(k, "ERROR") for k in range(4)} | {30: a_read(0, "DOORBELL")},
    )
    assert sent(seen) == [(39, 80)]
    assert answers(seen) == dict.fromkeys(range(26, 30), HostError.RESET) | {30: 0}
    assert seen.cycles("completed") == [22]


@pytest.mark.rule("mailbox", 8, 15)
@pytest.mark.parametrize("full", [False, True])
def test_a_launch_that_leaves_in_the_last_cycle_before_the_mailbox_closes_is_answered(box, full):
    """Closed from 9 on. It leaves in 8: sent, or turned away."""
    seen = play(
        box,
        40,
        write=command(1, task(70)),
        launch__ready={8: 1},
        records_left=dict.fromkeys(range(40), int(not full)),
        soft_reset_active=active(6, 20),
        launch_answer={} if full else {12: answer(code=HostError.RESET)},
        read={25: a_read(1, "ERROR"), 26: a_read(1, "DOORBELL")},
    )
    assert sent(seen) == ([] if full else [(8, 70)])
    assert answers(seen) == {25: ErrorCode.COMPLETION_FULL if full else HostError.RESET, 26: 0}
    assert seen.cycles("completed") == [10 if full else 14]


@pytest.mark.rule("mailbox", 9, 11)
def test_commands_stand_until_they_are_taken_and_are_answered_in_order(box):
    """Three sections' commands, judged in 3, 6 and 9; taken in 12, 13 and 20, answered later."""
    opcodes = (Opcode.PREEMPT, Opcode.RESUME, Opcode.ABORT_STREAMS)
    writes = {}
    for section, opcode in enumerate(opcodes):
        writes |= command(section, {"T0": opcode, "T1": 1 << section}, start=3 * section)
    seen = play(
        box,
        40,
        write=writes,
        command__ready={12: 1, 13: 1, 20: 1},
        command_answer={13: code_answer(1), 18: code_answer(2), 21: code_answer(3)},
        read={30 + k: a_read(k, "ERROR") for k in range(3)} | {33: a_read(2, "DOORBELL")},
    )
    expected = [
        (cycle, COMMAND.pack({"opcode": int(asks), "mask": 1 << section}))
        for section, (cycle, asks) in enumerate(zip((12, 13, 20), QueueOpcode, strict=True))
    ]
    assert seen.transfers("command") == expected
    assert seen.cycles("command__valid") == list(range(5, 21))
    assert answers(seen) == {30: 1, 31: 2, 32: 3, 33: 0}
    assert seen.cycles("completed") == [15, 20, 23]
