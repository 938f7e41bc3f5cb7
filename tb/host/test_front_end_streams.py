"""FrontEnd from the doorbell: waits, commands and times."""

import pytest

from tb.support.dispatch_configs import config_of
from tb.support.front_end_script import Host, command, play, read_section
from warploom.host.front_end import FrontEnd
from warploom_golden.host import FrontEnd as Model
from warploom_spec import layouts, queue_packets
from warploom_spec.host_commands import Opcode, launch_words
from warploom_spec.host_errors import HostError
from warploom_spec.host_registers import registers
from warploom_spec.queue import QueueCode
from warploom_spec.resident_packets import resident_block

TINY = config_of("tiny,sections=3")
BLOCK, REPORT = resident_block(TINY), layouts.block_report(TINY)
KINDS = pytest.mark.parametrize("kind", [FrontEnd, Model], ids=["rtl", "model"])
# With the core of `test_front_end_rules.py`.
pytestmark = pytest.mark.xdist_group("front_end")
ADDRESSES = {word.name: word.offset for word in registers(TINY)}
#: A read or a write that is sent in t is sampled, or commits, in t + 2.
SENT = -2
#: Cycles from the doorbell's commit to a launch's acceptance, and to its first offer.
ACCEPTED, OFFERED = 8, 29
LOW, URGENT = 0, 3


def write_to(cycle, name, value):
    return cycle, ADDRESSES[name], value


def read_of(cycle, name):
    return cycle, ADDRESSES[name], None


def launch(**changes):
    """Return all words of a launch of one block that needs all barriers of an SM."""
    fields = {"opcode": Opcode.LAUNCH, "gx": 1, "gy": 1, "gz": 1, "dx": 1, "dy": 1, "dz": 1}
    layout = launch_words(TINY)
    named = {field.name: 0 for field in layout.fields}
    words = layout.pack(named | fields | {"barriers": 4} | changes)
    return words[: 1 + max(number for number, word in enumerate(words) if word)]


def rings(cycle, section, words):
    """Return a command whose doorbell's write commits in a cycle."""
    return command(cycle + SENT - len(words), section, words)


class Sms(Host):
    """A host, and SMs that report a block so many cycles after they took it, or `KILLED`.

    A report stands until it is taken.
    """

    work = 40

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self._due = [{} for _ in range(TINY.sms)]
        self._standing = {}

    def see(self, outputs):
        super().see(outputs)
        for sm, due in enumerate(self._due):
            if outputs[f"report__{sm}__ready"]:
                self._standing.pop(sm, None)
            for slot, (stream, end) in list(due.items()):
                killed = outputs["kill"] >> stream & 1
                if sm not in self._standing and (killed or self.cycle >= end):
                    status = int(layouts.BlockStatus.KILLED) if killed else 0
                    self._standing[sm] = REPORT.pack({"slot": slot, "status": status})
                    del due[slot]
            if outputs["offer"] >> sm & 1:
                block = BLOCK.unpack(outputs["block"])
                due[block["slot"]] = block["stream"], self.cycle + self.work

    def next(self, outputs):
        values = super().next(outputs)
        for sm, word in self._standing.items():
            values |= {f"report__{sm}__valid": 1, f"report__{sm}__payload": word}
        return values


def offers(seen):
    """Return the offers of all SMs: cycle, SM and stream, in order."""
    return [
        (cycle, seen.port("offer")[cycle].bit_length() - 1, BLOCK.unpack(word)["stream"])
        for cycle, word in enumerate(seen.port("block"))
        if seen.port("offer")[cycle]
    ]


def a_record(cycle):
    """Return reads of the oldest record's eight words and its pop."""
    reads = [read_of(cycle + k, f"RECORD{k}") for k in range(8)]
    return [*reads, write_to(cycle + 10, "RECORD_POP", 1)]


def unpack_record(words):
    return queue_packets.final_record_words(TINY).unpack(words)


@KINDS
def test_a_launch_from_its_doorbell_to_its_record_with_its_times(kind):
    """Committed in 60: offered in 89. Its record has the clock of acceptance, offer and end."""
    accesses = [
        *rings(60, 0, launch(stream=5)),
        read_section(85, 0, "RESULT0"),
        read_section(86, 0, "RESULT1"),
        read_of(170, "CLOCK_LOW"),
        *a_record(180),
    ]
    seen, found = play(kind, TINY, accesses, 210, host=Sms)
    assert [c for c, *_ in offers(seen)] == [60 + OFFERED]
    assert found[:2] == [1, 1 << 16]
    clock, record = found[2] - (170 - SENT), unpack_record(found[3:])
    assert (record["ticket"], record["stream"], record["offered"], record["fate"]) == (1, 5, 1, 0)
    assert record["accepted"] - clock == 60 + ACCEPTED
    assert record["first_offer"] - clock == 60 + OFFERED
    assert record["made"] > record["first_offer"] + Sms.work


@KINDS
def test_a_launch_waits_for_a_launch_of_another_stream(kind):
    """The pair (5, 1): not offered before the first one's record; the awaited stream's is 1."""
    waits = {"flags": 1, "wait0_stream": 5, "wait0_count": 1}
    accesses = [
        *rings(100, 0, launch(stream=5)),
        *rings(140, 1, launch(stream=6, **waits)),
        *a_record(300),
        *a_record(330),
    ]
    seen, found = play(kind, TINY, accesses, 360, host=Sms)
    first, second = (unpack_record(found[k : k + 8]) for k in (0, 8))
    assert (first["stream"], second["stream"]) == (5, 6)
    assert second["first_offer"] > first["made"] > first["first_offer"]
    assert len(offers(seen)) == 2


@KINDS
def test_a_wait_ahead_of_what_was_accepted_is_refused(kind):
    waits = {"flags": 1, "wait0_stream": 5, "wait0_count": 1}
    accesses = [*rings(60, 1, launch(stream=6, **waits)), read_section(80, 1, "ERROR")]
    assert play(kind, TINY, accesses, 90, host=Sms)[1] == [queue_packets.WAIT_AHEAD | 28 << 16]


@KINDS
def test_an_urgent_launch_kills_and_the_low_one_goes_on(kind):
    """`kill` rises 15 cycles after the urgent doorbell's commit, 7 after its acceptance."""
    low = launch(stream=1, priority=LOW, idempotent=1, mode=1, barriers=4, gx=4)
    urgent = launch(stream=2, priority=URGENT)
    accesses = [*rings(60, 0, low), *rings(110, 1, urgent), *a_record(400), *a_record(420)]
    seen, found = play(kind, TINY, accesses, 450, host=Sms)
    assert seen.cycles("kill")[0] == 110 + ACCEPTED + 7
    records = [unpack_record(found[k : k + 8]) for k in (0, 8)]
    assert [(r["stream"], r["kills"], r["fate"]) for r in records] == [(2, 0, 0), (1, 1, 0)]


@KINDS
def test_a_preempt_holds_a_stream_until_its_resume(kind):
    """`kill` rises 6 cycles after the PREEMPT's doorbell's commit; its record comes first.

    The second PREEMPT meets nothing, and has its record at once.
    """
    low = launch(stream=1, idempotent=1, mode=1)
    accesses = [
        *rings(60, 0, low),
        *rings(100, 1, [Opcode.PREEMPT, 0b10]),
        read_section(100 + 6 + SENT - 1, 1, "DOORBELL"),
        read_section(100 + 6 + SENT, 1, "DOORBELL"),
        *a_record(140),
        *rings(160, 1, [Opcode.PREEMPT, 0b10]),
        *a_record(200),
        *rings(220, 1, [Opcode.RESUME, 0b10]),
        read_section(235, 1, "ERROR"),
        *rings(250, 1, [Opcode.RESUME, 0b10]),
        read_section(265, 1, "ERROR"),
        *a_record(340),
    ]
    seen, found = play(kind, TINY, accesses, 370, host=Sms)
    assert seen.cycles("kill")[0] == 106
    assert found[:2] == [1, 0]
    preempts = [unpack_record(found[k : k + 8]) for k in (2, 10)]
    assert [(r["ticket"], r["kind"], r["word3"]) for r in preempts] == [(0, 2, 1), (0, 2, 0)]
    assert found[18:20] == [0, QueueCode.NOT_PREEMPTED]
    assert [c for c, *_ in offers(seen)] == [60 + OFFERED, offers(seen)[1][0]]
    assert offers(seen)[1][0] > 220
    ended = unpack_record(found[20:28])
    assert (ended["ticket"], ended["kills"], ended["fate"]) == (1, 1, 0)


@KINDS
def test_abort_streams_ends_what_was_accepted_before(kind):
    accesses = [
        *rings(60, 0, launch(stream=3)),
        *rings(90, 1, [Opcode.ABORT_STREAMS, 1 << 3]),
        *rings(130, 0, launch(stream=3)),
        *a_record(160),
        *a_record(240),
    ]
    found = play(kind, TINY, accesses, 270, host=Sms)[1]
    records = [unpack_record(found[k : k + 8]) for k in (0, 8)]
    assert [(r["ticket"], r["fate"]) for r in records] == [(1, 1), (2, 0)]


class SlowSms(Sms):
    """SMs whose blocks take long."""

    work = 200


@KINDS
def test_a_launch_time_out_ends_a_launch_that_runs_too_long(kind):
    accesses = [
        write_to(20, "LAUNCH_TIMEOUT", 40),
        *rings(60, 0, launch(stream=3)),
        *a_record(220),
    ]
    seen, found = play(kind, TINY, accesses, 250, host=SlowSms)
    record = unpack_record(found)
    # 16 streams are visited in turn: a grain of 16 cycles, and the run is seen and stopped later.
    assert 40 <= seen.cycles("kill")[0] - (60 + OFFERED) <= 40 + 3 * 16
    assert (record["fate"], record["code"]) == (2, QueueCode.TIMEOUT)


@KINDS
def test_a_command_interrupts_and_a_lone_record_does_after_its_time(kind):
    """IRQ_ENABLE has both bits; the threshold is 4, so the record counts by its time alone."""
    accesses = [
        write_to(10, "IRQ_THRESHOLD", 4),
        write_to(11, "IRQ_TIMEOUT", 50),
        write_to(12, "IRQ_ENABLE", 0b10001),
        *rings(60, 0, launch(stream=3)),
        write_to(90, "IRQ_STATUS", 0b10000),
        read_of(240, "IRQ_STATUS"),
    ]
    seen, found = play(kind, TINY, accesses, 260, host=Sms)
    raised = seen.cycles("irq")
    # Answered in 72, complete at the end of 73: `completed` in 74, the bit from 75, `irq` from 76.
    assert raised[0] == 76
    # The write commits in 92.
    assert (93 in raised, 94 in raised) == (True, False)
    assert found == [1]
    later = next(c for c in raised if c > 94)
    made = next(c for c, *_ in offers(seen)) + Sms.work
    assert later > made + 50


@KINDS
def test_a_soft_reset_meets_a_command_and_a_wait(kind):
    waits = {"flags": 1, "wait0_stream": 5, "wait0_count": 1}
    accesses = [
        *rings(100, 0, launch(stream=5)),
        *rings(140, 1, launch(stream=6, **waits)),
        write_to(150, "CONTROL", 1),
        *a_record(300),
        *a_record(320),
        *rings(400, 1, launch(stream=6)),
        read_section(425, 1, "RESULT1"),
        *rings(440, 2, [Opcode.PREEMPT, 0]),
        read_section(455, 2, "ERROR"),
    ]
    found = play(kind, TINY, accesses, 480, host=SlowSms)[1]
    records = [unpack_record(found[k : k + 8]) for k in (0, 8)]
    assert {(r["ticket"], r["fate"]) for r in records} == {(1, 1), (2, 1)}
    assert found[16:] == [1 << 16, HostError.FIELD_RANGE | 1 << 16]
