"""Mailbox's rules and cycles, of RTL and model alike."""

import pytest

from tb.host.accesses import answers
from tb.host.commands import READ, WRITE, a_write
from tb.host.mailbox_script import command, play, reads
from tb.host.test_mailbox import RESULT
from tb.support.dispatch_configs import config_of
from tb.support.record import made
from warploom.host.mailbox import Mailbox
from warploom_golden.host import Mailbox as Model
from warploom_spec import host_packets
from warploom_spec.host_commands import Opcode
from warploom_spec.host_errors import HostError

TINY = config_of("tiny")


@pytest.fixture(params=[Mailbox, Model], ids=["rtl", "model"])
def kind(request):
    return request.param


@pytest.fixture
def box(kind):
    return made(kind, TINY)


RUN = {"T0": Opcode.RUN | 1 << 8, "T1": 100, "T2": 3 | 2 << 8, "T3": 7, "T4": 1, "T5": 2, "T6": 3}
#: The doorbell is written after the words, judged in the next cycle, and `run` comes behind that.
RUNS_AT = len(RUN) + 2
DONE, ERROR = host_packets.unit_done(TINY), host_packets.unit_error(TINY)


def done(**fields):
    zeros = dict.fromkeys((f.name for f in DONE.fields), 0)
    return DONE.pack(zeros | {"valid": 1} | fields)


def error(**fields):
    return ERROR.pack(dict.fromkeys((f.name for f in ERROR.fields), 0) | fields)


@pytest.mark.rule("mailbox", 7)
def test_run_comes_two_cycles_after_the_doorbell(box):
    seen = play(box, write=command(0, RUN))
    assert seen.cycles("run__0") == [RUNS_AT]
    assert host_packets.unit_run(TINY).unpack(seen.port("run__0")[RUNS_AT]) == {
        "valid": 1,
        "skip_primary": 1,
        "parts": 3,
        "larger": 2,
        "small": 7,
        "first": 100,
        "code": 1 | 2 << 32,
        "arguments": 3,
    }


@pytest.mark.rule("mailbox", 4, 6)
@pytest.mark.parametrize("section", [0, 1])
def test_nop_is_complete_two_cycles_after_its_doorbell(box, section):
    """The doorbell is written in 1: read 1 in 2, 0 from 3 on."""
    seen = play(
        box,
        write=command(section, {"T0": Opcode.NOP}),
        read=reads(section, "DOORBELL", range(8)),
    )
    assert list(answers(seen).values()) == [0, 0, 1, 0, 0, 0, 0, 0]


@pytest.mark.rule("mailbox", 1, 3, 12)
def test_a_completion_is_seen_from_the_next_cycle_on(kind):
    """In the cycle of `done` a read gives the words before, and a write is refused.

    The doorbell was 1 then: a write in the next cycle is refused, too. `error` comes in that cycle,
    and a read that is sampled there gives it. In other cycles `error` means nothing.
    """
    x = RUNS_AT + 4
    end = done(status=5, assigned=7, task=9)
    errors = dict.fromkeys(range(24), error(code=HostError.RESET, core=3, argument=0x7777))
    errors[x + 1] = error(code=HostError.CORE_FAILED, core=2, argument=0xABCD)
    writes = dict.fromkeys((x - 1, x, x + 1, x + 2), a_write(0, "T1", 1))
    for name, after in (
        ("DOORBELL", 0),
        ("STATUS", 5),
        ("ASSIGNED", 7),
        ("ERROR", 53 | 2 << 8 | 0xABCD << 16),
        ("RESULT1", 9),
        ("RESULT0", 0),
    ):
        box_of_its_own = made(kind, TINY)
        seen = play(
            box_of_its_own,
            write=command(0, RUN) | writes,
            read=reads(0, name, (x, x + 1)),
            done__0={x: end},
            error__0=errors,
        )
        before = int(name == "DOORBELL")
        assert answers(seen) == {x: before, x + 1: after}, name
        assert seen.cycles("write_refused") == [x - 1, x, x + 1]


@pytest.mark.rule("mailbox", 4, 13)
def test_a_result_in_the_cycle_of_done_counts_and_stays_until_the_next_command(box):
    x = RUNS_AT + 4
    word = RESULT.pack({"valid": 1, "word": 3, "data": 77})
    seen = play(
        box,
        write=command(0, RUN) | {x + 2: a_write(0, "DOORBELL", 1)},
        result__0={x: word},
        done__0={x: done(task=1)},
        read=reads(0, "RESULT11", range(x, x + 7)),
    )
    # Rung in x + 2, cleared from x + 3 on.
    assert list(answers(seen).values()) == [0, 77, 77, 0, 0, 0, 0]


@pytest.mark.rule("mailbox", 12, 13)
def test_results_show_with_the_status_and_not_while_the_task_runs(box):
    """Written in 12, complete at the end of 16: the two words are read alternately around it."""
    assert RUNS_AT == 9
    word = RESULT.pack({"valid": 1, "word": 2, "data": 0xABCD})
    seen = play(
        box,
        write=command(0, RUN),
        result__0={12: word},
        done__0={16: done(status=6, assigned=6, task=1)},
        read=reads(0, "RESULT10", range(11, 21, 2)) | reads(0, "STATUS", range(12, 22, 2)),
    )
    assert answers(seen) == {
        11: 0,
        12: 0,
        13: 0,
        14: 0,
        15: 0,
        16: 0,
        17: 0xABCD,
        18: 6,
        19: 0xABCD,
        20: 6,
    }


SKIP = 1 << 8
VERDICTS = {
    "no such opcode": (0, {"T0": 3}, 0, HostError.BAD_OPCODE),
    "no such opcode, no unit": (1, {"T0": 255}, 0, HostError.BAD_OPCODE),
    # Four that would load a mapping table, which no hardware has.
    "first of a table's opcodes": (0, {"T0": 9}, 0, HostError.BAD_OPCODE),
    "last of a table's opcodes": (1, {"T0": 12}, 0, HostError.BAD_OPCODE),
    "RUN without a unit": (1, {"T0": Opcode.RUN}, 0, HostError.NO_UNIT),
    "DISCONNECT without a unit": (1, {"T0": Opcode.DISCONNECT}, 0, HostError.NO_UNIT),
    "missing before too many parts": (
        0,
        {"T0": Opcode.RUN, "T2": 5, "T3": 1},
        1,
        HostError.CORE_MISSING,
    ),
    "missing before no parts": (0, {"T0": Opcode.RUN}, 1, HostError.CORE_MISSING),
    "more parts than cores": (0, {"T0": Opcode.RUN, "T2": 5, "T3": 1}, 0, HostError.BAD_SPLIT),
    "one core less": (0, {"T0": Opcode.RUN | SKIP, "T2": 4, "T3": 1}, 0, HostError.BAD_SPLIT),
    "larger parts alone": (
        0,
        {"T0": Opcode.RUN, "T2": 200 | 5 << 8, "T3": 0},
        0,
        HostError.BAD_SPLIT,
    ),
    "NOP whose unit misses a core": (0, {"T0": Opcode.NOP}, 1, HostError.OK),
    "DISCONNECT whose unit misses a core": (0, {"T0": Opcode.DISCONNECT}, 1, HostError.OK),
    "RUN without parts": (0, {"T0": Opcode.RUN, "T2": 0, "T3": 9}, 0, HostError.OK),
    "RUN without elements": (0, {"T0": Opcode.RUN, "T2": 9, "T3": 0}, 0, HostError.OK),
    "upper half of T0": (1, {"T0": Opcode.NOP | 0xFFFF << 16}, 0, HostError.OK),
}


@pytest.mark.rule("mailbox", 5, 6)
@pytest.mark.parametrize("name", VERDICTS)
def test_verdict(box, name):
    section, task, missing, code = VERDICTS[name]
    judged = len(task) + 1
    seen = play(
        box,
        write=command(section, task),
        missing={judged: missing},
        read=reads(section, "ERROR", (judged, judged + 1))
        | reads(section, "DOORBELL", (judged + 2,)),
    )
    assert answers(seen) == {judged: 0, judged + 1: code, judged + 2: 0}
    assert seen.cycles("run__0") == []


@pytest.mark.rule("mailbox", 16)
def test_waiting_while_some_doorbell_is_1(box):
    """Section 0's task runs to x; section 1's NOP is rung beside it, and is at once complete."""
    x = RUNS_AT + 6
    writes = command(0, RUN) | command(1, {"T0": Opcode.NOP}, start=RUNS_AT)
    seen = play(box, write=writes, done__0={x: done(task=1)})
    assert seen.cycles("waiting") == list(range(RUNS_AT - 1, x + 1))


@pytest.mark.rule("mailbox", 5, 7)
def test_parts_without_elements_are_not_sent(box):
    task = RUN | {"T2": 200 | 2 << 8, "T3": 0}
    run_word = play(box, write=command(0, task)).port("run__0")[RUNS_AT]
    assert host_packets.unit_run(TINY).unpack(run_word)["parts"] == 2


@pytest.mark.rule("mailbox", 5)
def test_missing_is_looked_at_in_the_cycle_of_the_judgement_alone(box):
    judged = RUNS_AT - 1
    around = {cycle: int(cycle != judged) for cycle in range(24)}
    seen = play(box, write=command(0, RUN), missing=around)
    assert seen.cycles("run__0") == [RUNS_AT]


@pytest.mark.rule("mailbox", 6, 14)
@pytest.mark.parametrize(("reset_at", "stays"), [(1, 1), (2, 0), (3, 0)])
def test_disconnected_until_the_unit_is_reset(box, reset_at, stays):
    """Rung in 1, judged in 2, disconnected from 3 on unless the unit is reset in 2."""
    writes = command(0, {"T0": Opcode.DISCONNECT}) | command(0, {"T0": Opcode.NOP}, start=6)
    seen = play(box, write=writes, unit_reset={reset_at: 1}, read=reads(0, "ERROR", (10,)))
    assert seen.port("disconnected")[2:5] == [0, int(reset_at != 2), stays]
    assert answers(seen) == {10: HostError.DISCONNECTED if stays else 0}


@pytest.mark.rule("mailbox", 5)
@pytest.mark.parametrize("opcode", [3, 255, Opcode.NOP, Opcode.RUN, Opcode.LAUNCH, Opcode.ABORT])
def test_disconnected_is_told_before_anything_else(box, opcode):
    """Disconnected from 3 on; the command is rung in 8, with one part too many."""
    task = {"T0": opcode, "T2": 5, "T3": 1, "T9": 0xFFFF}
    writes = command(0, {"T0": Opcode.DISCONNECT}) | command(0, task, start=4)
    seen = play(box, write=writes, read=reads(0, "ERROR", (10,)))
    assert seen.cycles("write_refused") == []
    assert answers(seen) == {10: HostError.DISCONNECTED}
    for port in ("run__0", "launch__valid", "abort__valid", "command__valid"):
        assert seen.cycles(port) == []


#: The templates, from 0x2000 on, are not here either.
OUTSIDE = [0, 0x3FF, 0x410, 0x41F, 0x440, 0x47F, 0x500, 0x2000, 0x3FFF]


@pytest.mark.rule("mailbox", 1, 3)
def test_what_is_outside_the_map_is_refused(box):
    writes = [
        WRITE.pack({"valid": 1, "address": address, "data": 0, "strobes": 0}) for address in OUTSIDE
    ]
    seen = play(
        box,
        write=dict(enumerate(writes)),
        read={
            cycle: READ.pack({"valid": 1, "address": address})
            for cycle, address in enumerate(OUTSIDE)
        },
    )
    assert seen.cycles("write_refused") == list(range(len(OUTSIDE)))
    assert list(answers(seen).values()) == [None] * len(OUTSIDE)


@pytest.mark.rule("mailbox", 1, 2)
def test_first_rule_that_holds_answers_a_write(box):
    """Section 1 is rung in 6 and 10. Its doorbell is 1 in 7 and 11, which counts in 8 and 12."""
    writes = {
        0: (1, a_write(0, "STATUS", 1, strobes=0)),
        1: (0, a_write(0, "DOORBELL", 7, strobes=0)),
        2: (1, a_write(0, "DOORBELL", 0, strobes=7)),
        3: (1, a_write(0, "DOORBELL", 2)),
        4: (0, a_write(0, "DOORBELL", 0)),
        5: (0, a_write(0, "T31", 0)),
        6: (0, a_write(1, "DOORBELL", 1)),
        7: (1, a_write(1, "T9", 0, strobes=1)),
        8: (1, a_write(1, "T9", 0, strobes=1)),
        9: (0, a_write(1, "T9", 0, strobes=1)),
        10: (0, a_write(1, "DOORBELL", 1)),
        11: (1, a_write(1, "DOORBELL", 0)),
        12: (1, a_write(1, "DOORBELL", 0)),
        13: (0, a_write(1, "DOORBELL", 0)),
    }
    seen = play(box, write={cycle: word for cycle, (_, word) in writes.items()})
    refused = [cycle for cycle, (refused, _) in writes.items() if refused]
    assert seen.cycles("write_refused") == refused


@pytest.mark.rule("mailbox", 1)
def test_a_write_without_bytes_to_a_busy_section_is_not_refused(box):
    """The section is busy in 1, 5 and 9. In 9 a byte is written."""
    writes = {
        0: (0, a_write(1, "DOORBELL", 1)),
        1: (0, a_write(1, "T9", 0, strobes=0)),
        4: (0, a_write(1, "DOORBELL", 1)),
        5: (0, a_write(1, "DOORBELL", 7, strobes=0)),
        8: (0, a_write(1, "DOORBELL", 1)),
        9: (1, a_write(1, "DOORBELL", 7, strobes=8)),
    }
    seen = play(box, write={cycle: word for cycle, (_, word) in writes.items()})
    assert seen.cycles("write_refused") == [9]


@pytest.mark.rule("mailbox", 1)
def test_a_task_register_takes_the_bytes_of_its_strobes(box):
    writes = [
        a_write(0, "T0", Opcode.RUN),
        a_write(0, "T1", 0x11223344),
        a_write(0, "T1", 0xAABBCCDD, strobes=0b0101),
        a_write(0, "T2", 1),
        a_write(0, "T3", 1),
        a_write(0, "DOORBELL", 1),
    ]
    seen = play(box, write=dict(enumerate(writes)), read=reads(0, "T1", (5,)))
    fields = host_packets.unit_run(TINY).unpack(seen.port("run__0")[7])
    assert fields["first"] == 0x11BB33DD
    # A word that can only be written reads 0.
    assert answers(seen) == {5: 0}
