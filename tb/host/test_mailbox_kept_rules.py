"""What stays in Mailbox and what does not happen, as its page has it: RTL and model alike."""

import pytest

from tb.host.accesses import answers
from tb.host.commands import a_read, a_write
from tb.host.mailbox_script import command, play, reads
from tb.host.test_mailbox import RESULT
from tb.host.test_mailbox_launches import ABORT, SENT_AT, active, answer, code_answer, task_of
from tb.host.test_mailbox_rules import RUN, RUNS_AT, TINY, done, error
from tb.support.dispatch_configs import config_of
from tb.support.record import made
from tb.support.resettable import resettable
from warploom.host.mailbox import Mailbox
from warploom_golden.host import Mailbox as Model
from warploom_spec import host_packets
from warploom_spec.host_commands import Opcode
from warploom_spec.host_errors import HostError
from warploom_spec.queue import QueueCode

#: Two sections with a unit, one without.
UNITS = config_of("tiny,sections=3,units=2")
#: Words that a task's end writes, and what `outcome` gives them.
WORDS = {
    "DOORBELL": 0,
    "STATUS": 5,
    "ASSIGNED": 7,
    "ERROR": HostError.CORE_FAILED | 1 << 8 | 0xABCD << 16,
    "RESULT0": 0,
    "RESULT1": 9,
    "RESULT8": 0x80000001,
    "RESULT11": 77,
    "RESULT15": 0xFFFFFFFF,
}


@pytest.fixture(params=[Mailbox, Model], ids=["rtl", "model"])
def kind(request):
    return request.param


@pytest.fixture
def box(kind):
    return made(kind, TINY)


def outcome(x, unit=0):
    """Return the unit's ports: its task ends in x with `WORDS`."""
    results = {(x - 2): (0, 0x80000001), (x - 1): (3, 77), x: (7, 0xFFFFFFFF)}
    failure = error(code=HostError.CORE_FAILED, core=1, argument=0xABCD)
    return {
        f"done__{unit}": {x: done(status=5, assigned=7, task=9)},
        f"error__{unit}": {x + 1: failure},
        f"result__{unit}": {
            cycle: RESULT.pack({"valid": 1, "word": word, "data": data})
            for cycle, (word, data) in results.items()
        },
    }


def all_words(section, start):
    return {start + k: a_read(section, name) for k, name in enumerate(WORDS)}


def idle_of(config):
    """Return the unit's inputs that `play` does not know."""
    names = ("done", "error", "result")
    return {f"{name}__{unit}": {} for name in names for unit in range(config.units)}


# Completions

X = SENT_AT + 6
#: A command's section, its task, other inputs, and the cycle with `completed`.
WAYS = {
    "NOP": (1, {"T0": Opcode.NOP}, {}, 3),
    "refused": (1, {"T0": 3}, {}, 3),
    "DISCONNECT": (0, {"T0": Opcode.DISCONNECT}, {}, 3),
    "task": (0, RUN, outcome(RUNS_AT + 6), RUNS_AT + 7),
    # The mailbox is closed from 15 to 21.
    "soft reset": (0, RUN, {"soft_reset_active": active(12, 20)}, 16),
    "launch": (1, task_of(), {"launch_answer": {X: answer(5)}}, X + 2),
    "abort": (1, ABORT, {"abort_answer": {9: code_answer()}}, 11),
}


@pytest.mark.rule("mailbox", 15)
@pytest.mark.parametrize("way", WAYS)
def test_each_way_in_which_a_section_completes_is_told_once(box, way):
    """A soft reset comes later: it ends nothing, and no more is told."""
    section, task, ports, cycle = WAYS[way]
    reset = ports.get("soft_reset_active", {}) | active(40, 50)
    inputs = ports | {"soft_reset_active": reset}
    seen = play(box, 60, write=command(section, task), **inputs)
    assert seen.cycles("completed") == [cycle]
    assert seen.cycles("waiting") == list(range(len(task) + 1, cycle))


@pytest.mark.rule("mailbox", 15)
@pytest.mark.parametrize(("first", "last", "ends"), [(12, 13, None), (12, 14, 15), (9, 20, 12)])
def test_three_cycles_of_a_soft_reset_close_the_mailbox_and_two_do_not(box, first, last, ends):
    """A soft reset from 12 to 14 ends the task in 15; one from 12 to 13 lets it run to 30."""
    ports = {} if ends else outcome(30)
    resets = active(first, last)
    script = {"write": command(0, RUN), "soft_reset_active": resets, "read": all_words(0, 35)}
    seen = play(box, 50, **script, **ports)
    assert seen.cycles("completed") == [ends + 1 if ends else 31]
    reset = dict.fromkeys(WORDS, 0) | {"ERROR": HostError.RESET}
    assert list(answers(seen).values()) == list((reset if ends else WORDS).values())


@pytest.mark.rule("mailbox", 9, 11, 15)
def test_an_abort_is_taken_and_answered_while_the_mailbox_is_closed(box):
    """Judged in 3, closed from 7 to 22; taken in 10, answered in 14, complete at the end of 15."""
    seen = play(
        box,
        40,
        write=command(1, ABORT),
        soft_reset_active=active(4, 21),
        abort__ready={10: 1},
        abort_answer={14: code_answer(QueueCode.TICKET_UNKNOWN)},
        read={24: a_read(1, "DOORBELL"), 25: a_read(1, "ERROR")},
    )
    assert seen.cycles("abort__valid") == list(range(5, 11))
    assert seen.cycles("completed") == [16]
    assert answers(seen) == {24: 0, 25: QueueCode.TICKET_UNKNOWN}


# The task register


@pytest.mark.rule("mailbox", 1, 2, 15)
def test_task_words_outlive_commands_soft_resets_and_refused_writes(box):
    """The task is rung in 7, 20, 34 and 44, and written once. It ends in 16, 27 (`RESET`) and 40.

    While it runs, and while the mailbox is shut (25 to 31), every word is written in vain.
    """
    task = RUN | {"T7": 0xABCDEF01}
    busy = {9 + k: a_write(0, name, 0x5A5A5A5A) for k, name in enumerate(RUN)}
    shut = {25 + k: a_write(0, name, 0x5A5A5A5A) for k, name in enumerate(RUN)}
    bells = dict.fromkeys((21, 35, 45), a_write(0, "DOORBELL", 1))
    ends = dict.fromkeys((17, 41), done(task=1))
    seen = play(
        box,
        50,
        write=command(0, task) | busy | shut | bells,
        soft_reset_active=active(24, 30),
        unit_reset={37: 1},
        done__0=ends,
    )
    assert seen.cycles("write_refused") == [*range(9, 16), *range(25, 32)]
    assert seen.cycles("run__0") == [10, 23, 37, 47]
    words = {seen.port("run__0")[cycle] for cycle in (10, 23, 37, 47)}
    assert [host_packets.unit_run(TINY).unpack(word)["arguments"] for word in words] == [
        3 | 0xABCDEF01 << 32
    ]


@pytest.mark.rule("mailbox", 2)
@pytest.mark.parametrize("name", ["T1", "T31", "DOORBELL", "ERROR", "RESULT11"])
def test_a_refused_write_leaves_a_running_command_alone(box, name):
    """The launch runs from SENT_AT on: it is answered, and its words are those of the answer."""
    x = SENT_AT + 6
    writes = {SENT_AT + k: a_write(1, name, 1 if k else 0) for k in range(3)}
    seen = play(
        box,
        x + 10,
        write=command(1, task_of()) | writes,
        launch_answer={x: answer(5, count=0x1234)},
        read={x + 2 + k: a_read(1, n) for k, n in enumerate(("DOORBELL", "RESULT0", "RESULT1"))},
    )
    assert seen.cycles("write_refused") == [SENT_AT, SENT_AT + 1, SENT_AT + 2]
    assert seen.cycles("launch__valid") == [SENT_AT]
    assert list(answers(seen).values()) == [0, 5, 0x1234 << 16]


@pytest.mark.rule("mailbox", 4)
def test_a_reset_of_the_machine_clears_all_words_but_the_task_register(kind):
    """It comes in 24, while section 0 runs its second task and section 1 is answered."""
    writes = command(0, RUN) | {20: a_write(0, "DOORBELL", 1), 40: a_write(0, "DOORBELL", 1)}
    seen = play(
        resettable(kind(TINY)),
        60,
        write=writes,
        reset_now={24: 1},
        **outcome(16),
        read=all_words(0, 27) | {42: a_read(0, "DOORBELL")},
    )
    assert list(answers(seen).values()) == [*[0] * len(WORDS), 1]
    assert seen.cycles("completed") == [17]
    assert seen.cycles("run__0") == [9, 22, 42]
    assert len({seen.port("run__0")[cycle] for cycle in (9, 22, 42)}) == 1
    assert seen.cycles("waiting") == [*range(8, 17), *range(21, 25), *range(41, 60)]


# The outcome


@pytest.mark.rule("mailbox", 1, 2, 4, 14, 15)
def test_an_outcome_stays_until_its_section_s_next_doorbell(kind):
    """Section 0's task ends in 14. Then all else happens, and its words are as they were.

    Section 1 runs a task to 62 and section 2 a launch; both are answered. Units are reset, and a
    soft reset runs from 110 on.
    """
    harmless = [
        a_write(0, "DOORBELL", 0),
        a_write(0, "DOORBELL", 1, strobes=0),
        a_write(0, "DOORBELL", 1, strobes=7),
        a_write(0, "DOORBELL", 2),
        *(a_write(0, name, 0) for name in WORDS if name != "DOORBELL"),
        *(a_write(0, f"T{k}", 0) for k in range(8)),
    ]
    launch = command(2, task_of(), start=64)
    second = outcome(62, unit=1) | {
        "done__1": {62: done(status=2, assigned=3, task=4)},
        "error__1": {63: error(code=HostError.CORE_TIMEOUT)},
    }
    ports = {
        "write": command(0, RUN) | dict(enumerate(harmless, 16)) | command(1, RUN, 40) | launch,
        "launch_answer": {max(launch) + 4: answer(5, count=6)},
        "unit_reset": {38: 3, 66: 2},
        "soft_reset_active": active(110, 120),
        "read": all_words(0, 125) | all_words(1, 135) | all_words(2, 145),
    }
    seen = play(made(kind, UNITS), 160, **idle_of(UNITS) | outcome(14) | second | ports)
    assert max(launch) + 6 < 110
    assert seen.cycles("completed") == [15, 63, max(launch) + 6]
    found = list(answers(seen).values())
    assert found[:9] == list(WORDS.values())
    assert found[9:18] == [0, 2, 3, HostError.CORE_TIMEOUT, 0, 4, 0x80000001, 77, 0xFFFFFFFF]
    # Words of a section without a unit.
    assert found[18:] == [0, 0, 0, 0, 5, 6 << 16, 0, 0, 0]


@pytest.mark.rule("mailbox", 4, 13)
@pytest.mark.parametrize("name", WORDS)
def test_all_words_are_0_from_the_cycle_after_the_doorbell_on(box, name):
    """Rung again in 20, runs to 40: a word is what it was up to 20, and 0 until the task ends."""
    seen = play(
        box,
        50,
        write=command(0, RUN) | {20: a_write(0, "DOORBELL", 1)},
        **outcome(16),
        read=reads(0, name, (19, 20, 21, 22, 30, 40)),
    )
    running = int(name == "DOORBELL")
    assert list(answers(seen).values()) == [WORDS[name]] * 2 + [running] * 4


# Units


@pytest.mark.rule("mailbox", 5, 14)
@pytest.mark.parametrize(("reset_at", "runs"), [(10, True), (11, True), (12, False), (13, False)])
def test_a_command_behind_its_unit_s_reset_is_run(box, reset_at, runs):
    """DISCONNECT is judged in 2. A task is rung in 11, judged in 12 by the state in 12, runs in 13.

    The next one, rung in 16, is run in any case.
    """
    task = {"T0": Opcode.RUN, "T2": 1, "T3": 1}
    bells = dict.fromkeys((11, 16), a_write(0, "DOORBELL", 1))
    seen = play(
        box,
        write=command(0, {"T0": Opcode.DISCONNECT})
        | {4 + k: a_write(0, name, data) for k, (name, data) in enumerate(task.items())}
        | bells,
        unit_reset={reset_at: 1},
        done__0={14: done(task=1)} if runs else {},
        read={13: a_read(0, "ERROR"), 18: a_read(0, "DOORBELL")},
    )
    assert seen.cycles("run__0") == ([13, 18] if runs else [18])
    assert answers(seen) == {13: 0 if runs else HostError.DISCONNECTED, 18: 1}
    assert seen.cycles("disconnected") == list(range(3, reset_at + 1))


@pytest.mark.rule("mailbox", 5, 14, 15)
def test_a_section_stays_disconnected_alone_and_until_its_own_unit_s_reset(kind):
    """Sections 0 and 1 have units. Section 0 is disconnected from 3 on, and refuses in 33.

    Neither unit 1's reset in 20 nor a soft reset's cycles, 22 to 28, connect section 0.
    """
    writes = command(0, {"T0": Opcode.DISCONNECT}) | command(1, RUN, start=4)
    writes |= {31: a_write(0, "T0", Opcode.NOP), 32: a_write(0, "DOORBELL", 1)}
    seen = play(
        made(kind, UNITS),
        50,
        **idle_of(UNITS),
        write=writes,
        unit_reset={20: 2, 36: 1},
        soft_reset_active=active(22, 28),
        read={34: a_read(0, "ERROR"), 35: a_read(1, "ERROR")},
    )
    assert seen.cycles("run__1") == [13]
    assert answers(seen) == {34: HostError.DISCONNECTED, 35: HostError.RESET}
    assert seen.port("disconnected") == [*[0] * 3, *[1] * 34, *[0] * 13]


@pytest.mark.rule("mailbox", 12, 14)
def test_a_unit_s_reset_does_not_end_its_section_s_command(box):
    """The unit is reset in 10, and says in 16 that its task has ended."""
    seen = play(
        box,
        30,
        write=command(0, RUN),
        unit_reset={10: 1},
        **outcome(16),
        read=reads(0, "DOORBELL", (11, 16)) | all_words(0, 18),
    )
    assert list(answers(seen).values()) == [1, 1, *WORDS.values()]
    assert seen.cycles("completed") == [17]
