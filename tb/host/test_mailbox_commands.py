"""Mailbox's commands for streams and its launches' waits, cycle by cycle, from the page."""

import pytest

from tb.host.accesses import answers
from tb.host.commands import a_read
from tb.host.mailbox_script import command, play, reads
from tb.support.dispatch_configs import config_of
from tb.support.record import made
from warploom.host.mailbox import Mailbox
from warploom_golden.host import Mailbox as Model
from warploom_spec import ErrorCode, queue_packets
from warploom_spec.host_commands import Opcode, launch_words
from warploom_spec.host_errors import HostError
from warploom_spec.queue import QueueCode
from warploom_spec.queue_packets import QueueOpcode
from warploom_spec.resident_packets import resident_command

TINY = config_of("tiny")
ANSWER, CODE = queue_packets.queue_answer(TINY), queue_packets.queue_code(TINY)
COMMAND, LAUNCH = resident_command(TINY), queue_packets.queued_launch(TINY)
#: A mask command's words are T0 and T1: its doorbell's write commits in 2, d is 3.
D = 3
OPCODES = {
    Opcode.PREEMPT: QueueOpcode.PREEMPT,
    Opcode.RESUME: QueueOpcode.RESUME,
    Opcode.ABORT_STREAMS: QueueOpcode.ABORT_STREAMS,
}


@pytest.fixture(params=[Mailbox, Model], ids=["rtl", "model"])
def kind(request):
    return request.param


@pytest.fixture
def box(kind):
    return made(kind, TINY)


def mask_task(opcode, mask):
    return {"T0": opcode, "T1": mask}


def launch_task(**fields):
    """Return the words of a launch by their names, all 32: task words survive commands."""
    names = (field.name for field in launch_words(TINY).fields)
    values = dict.fromkeys(names, 0) | {"opcode": Opcode.LAUNCH} | fields
    return {f"T{k}": word for k, word in enumerate(launch_words(TINY).pack(values))}


#: All 32 words and the doorbell: the launch is judged in 33.
JUDGED = 33


def code(value=0):
    return CODE.pack({"valid": 1, "code": value})


def answer(**fields):
    """Return a packed answer to a launch; what is not given is 0."""
    names = (field.name for field in ANSWER.fields)
    return ANSWER.pack(dict.fromkeys(names, 0) | {"valid": 1} | fields)


def outcome(section, first):
    return {first + k: a_read(section, name) for k, name in enumerate(("ERROR", "DOORBELL"))}


@pytest.mark.parametrize("opcode", OPCODES)
def test_a_command_stands_two_cycles_after_its_judgement_and_its_answer_completes_it(box, opcode):
    """Rules 9a and 11: d = 3, `command` in 5, answered in 6, the doorbell reads 0 from 8 on."""
    seen = play(
        box,
        write=command(1, mask_task(opcode, 0xA5)),
        command_answer={D + 3: code(QueueCode.PREEMPT_PENDING)},
        read=reads(1, "DOORBELL", (D + 2, D + 3, D + 4, D + 5)) | {D + 6: a_read(1, "ERROR")},
    )
    assert seen.cycles("command__valid") == [D + 2]
    assert COMMAND.unpack(seen.port("command__payload")[D + 2]) == {
        "opcode": OPCODES[opcode],
        "mask": 0xA5,
    }
    expected = {D + 2: 1, D + 3: 1, D + 4: 1, D + 5: 0, D + 6: QueueCode.PREEMPT_PENDING}
    assert answers(seen) == expected
    assert seen.cycles("completed") == [D + 5]


@pytest.mark.parametrize("opcode", OPCODES)
@pytest.mark.parametrize("mask", [0, 1 << 8, 0x8000_0001])
def test_an_empty_mask_or_a_stream_that_does_not_exist_is_refused(box, opcode, mask):
    """Rule 5 (f): argument 1; complete at the end of d."""
    seen = play(box, write=command(0, mask_task(opcode, mask)), read=outcome(0, D + 1))
    assert answers(seen) == {D + 1: HostError.FIELD_RANGE | 1 << 16, D + 2: 0}
    assert seen.cycles("command__valid") == []
    assert seen.cycles("completed") == [D + 1]


def test_a_disconnected_section_comes_before_a_wrong_mask(box):
    """Rule 5 (a): section 0 has a unit; DISCONNECT is judged in 2, the next command in 8."""
    write = command(0, {"T0": Opcode.DISCONNECT}) | command(0, mask_task(5, 0), start=5)
    seen = play(box, write=write, read=outcome(0, 9))
    assert answers(seen) == {9: HostError.DISCONNECTED, 10: 0}


def test_commands_of_two_sections_pass_an_abort_that_waits(box):
    """Rule 9a: the abort of section 0 is never taken; section 1's command does not wait for it."""
    write = command(0, {"T0": Opcode.ABORT, "T1": 77}) | command(1, mask_task(6, 1), start=3)
    seen = play(
        box,
        write=write,
        abort__ready=dict.fromkeys(range(24), 0),
        command_answer={9: code()},
        read={12: a_read(0, "DOORBELL"), 13: a_read(1, "DOORBELL")},
    )
    assert seen.cycles("abort__valid")[0] == 5
    assert seen.cycles("command__valid") == [8]
    assert answers(seen) == {12: 1, 13: 0}


def test_three_answers_in_one_cycle_complete_three_sections(kind):
    """Rules 10 to 11a, in a mailbox of three sections."""
    config = config_of("tiny,sections=3")
    write = command(0, {"T0": Opcode.ABORT, "T1": 7}) | command(1, launch_task(), start=3)
    write |= command(2, mask_task(5, 1), start=40)
    seen = play(
        made(kind, config),
        60,
        write=write,
        launch_answer={45: answer(ticket=9, count=3)},
        abort_answer={45: code(QueueCode.TICKET_UNKNOWN)},
        command_answer={45: code(QueueCode.NOT_PREEMPTED)},
        read={
            46: a_read(0, "DOORBELL"),
            47: a_read(0, "ERROR"),
            48: a_read(1, "RESULT0"),
            49: a_read(1, "RESULT1"),
            50: a_read(2, "ERROR"),
        },
    )
    assert answers(seen) == {
        46: 1,
        47: QueueCode.TICKET_UNKNOWN,
        48: 9,
        49: 3 << 16,
        50: QueueCode.NOT_PREEMPTED,
    }
    assert seen.cycles("completed") == [47]


def test_a_launch_has_its_mode_and_its_pairs(box):
    """Rule 8: flag 1 alone; pair 0's words are there although its flag is 0."""
    task = launch_task(
        flags=0b0010,
        mode=4,
        stream=5,
        wait0_stream=0xFF,
        wait0_count=5,
        wait1_stream=3,
        wait1_count=0xFFFE,
        wait3_stream=200,
    )
    seen = play(box, 40, write=command(1, task))
    assert seen.cycles("launch__valid") == [JUDGED + 1]
    sent = LAUNCH.unpack(seen.port("launch__payload")[JUDGED + 1])
    assert (sent["mode"], sent["stream"]) == (4, 5)
    assert [sent[f"wait0_{name}"] for name in ("valid", "stream", "count")] == [0, 7, 5]
    assert [sent[f"wait1_{name}"] for name in ("valid", "stream", "count")] == [1, 3, 0xFFFE]


WRONG = {
    "a pair's stream": ({"flags": 1, "wait0_stream": 8}, 28),
    "a pair that no launch has": ({"flags": 0b0100, "wait2_stream": 1}, 30),
    "the last pair": ({"flags": 0b1000}, 31),
    "two pairs": ({"flags": 0b1010, "wait1_stream": 128}, 29),
    "the stream first": ({"flags": 0b1000, "stream": 8}, 5),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wait_that_this_configuration_does_not_have_is_refused(box, name):
    """Rule 5 (f): the first word of which that is so."""
    fields, word = WRONG[name]
    seen = play(
        box, 40, write=command(0, launch_task(**fields)), read={JUDGED + 1: a_read(0, "ERROR")}
    )
    assert answers(seen) == {JUDGED + 1: HostError.FIELD_RANGE | word << 16}
    assert seen.cycles("launch__valid") == []


def test_a_refused_launch_has_no_number(box):
    """Rule 10; a next command's taking clears RESULT1."""
    first, refused = (
        answer(ticket=7, count=0x1234),
        answer(code=ErrorCode.GRID_ZERO, argument=1),
    )
    write = command(1, launch_task()) | command(1, launch_task(), start=45)
    seen = play(
        box,
        90,
        write=write,
        launch_answer={38: first, 83: refused},
        read={42: a_read(1, "RESULT1"), 86: a_read(1, "RESULT1"), 87: a_read(1, "ERROR")},
    )
    assert answers(seen) == {42: 0x1234 << 16, 86: 0, 87: ErrorCode.GRID_ZERO | 1 << 16}


def test_a_command_judged_when_the_mailbox_is_shut_is_handed_on_and_answered(box):
    """Rule 15: the soft reset of 2 shuts it in 3 = d and closes it in 5."""
    seen = play(
        box,
        write=command(1, mask_task(5, 1)),
        soft_reset_active=dict.fromkeys(range(2, 12), 1),
        command_answer={D + 3: code(HostError.RESET)},
        read={16: a_read(1, "ERROR"), 17: a_read(1, "DOORBELL")},
    )
    assert seen.cycles("command__valid") == [D + 2]
    assert answers(seen) == {16: HostError.RESET, 17: 0}
    assert seen.cycles("completed") == [D + 5]
