"""Mailbox beside its model, and its page's rules and cycles on both.

One write comes in a cycle and one section is taken in a cycle: two sections never wait at once.
"""

from collections import Counter

import pytest

from tb.host.commands import ALL, ANSWER, READ, WRITE, Commands, a_read, a_write
from tb.support.dispatch_configs import config_of
from tb.support.record import record
from warploom.host.mailbox import Mailbox
from warploom_golden.host import Mailbox as Model
from warploom_sim.lockstep import Case, Pace, run
from warploom_sim.lockstep.events import require
from warploom_spec import host_packets
from warploom_spec.host_commands import Opcode
from warploom_spec.host_errors import HostError
from warploom_spec.host_map import OFFSETS

TINY = config_of("tiny")
#: Three units, and sections without one; odd in every number.
ODD = "tiny,sections=5,units=3,cores_per_unit=5"
RESULT = host_packets.unit_result(TINY)
TASK_CODES = (HostError.OK, HostError.CORE_FAILED, HostError.CORE_TIMEOUT, HostError.RESET)


def make(config):
    return Mailbox(config_of(config)), Model(config_of(config))


class HostAndUnits:
    """Workers that write commands and ring, noise on the bus, and units that keep to their page.

    A unit's results and end may come at any time after its ``run``; the ends of all units come in
    one cycle now and then.
    """

    def __init__(self, context):
        self._config = config_of(context.params["config"])
        self._rng = context.rng
        self._commands = Commands(self._config, context.case.rng("commands"))
        self._done = host_packets.unit_done(self._config)
        self._paces = {
            name: Pace(context.case.rng(name)) for name in ("write", "read", "done", "result")
        }
        rare = (0.0, 0.0, 0.02, 0.5)
        self._levels = [
            {name: Pace(context.case.rng(f"{name}{unit}"), rare) for name in ("missing", "reset")}
            for unit in range(self._config.units)
        ]
        self._restart()

    def _restart(self):
        self._running = [False] * self._config.units
        self._commands.restart()
        self._rings = [None] * 3

    def next(self, outputs):
        if outputs is None:
            self._restart()
        else:
            for unit in range(self._config.units):
                self._running[unit] |= bool(outputs[f"run__{unit}"])
        inputs = {
            "write": self._commands.write() if self._paces["write"]() else 0,
            "read": self._commands.read() if self._paces["read"]() else 0,
            **{
                name: sum(pace[key]() << unit for unit, pace in enumerate(self._levels))
                for name, key in (("missing", "missing"), ("unit_reset", "reset"))
            },
        }
        inputs["unit_reset"] |= self._reset_at_the_judgement(inputs["write"])
        # The more units run, the more often all end at once.
        together = sum(self._running) > 1 and self._rng.random() < 0.05
        for unit, running in enumerate(self._running):
            inputs[f"result__{unit}"] = self._result() if running else 0
            done = running and (together or (self._paces["done"]() and self._rng.random() < 0.06))
            inputs[f"done__{unit}"] = self._end() if done else 0
            self._running[unit] = running and not done
        return inputs

    def _reset_at_the_judgement(self, word):
        """Return a mask: now and then the unit whose section's doorbell came two cycles ago."""
        section, offset = divmod(WRITE.unpack(word)["address"] - 0x400, 0x80)
        self._rings = [section if word and offset == 0 else None, *self._rings[:2]]
        section = self._rings[2]
        if section is None or not 0 <= section < self._config.units or self._rng.random() < 0.6:
            return 0
        return 1 << section

    def _result(self):
        if not self._paces["result"]():
            return 0
        return RESULT.pack(
            {"valid": 1, "word": self._rng.randrange(8), "data": self._rng.getrandbits(32)}
        )

    def _end(self):
        fields = self._done.unpack(self._rng.getrandbits(self._done.bits))
        return self._done.pack(fields | {"valid": 1, "code": self._rng.choice(TASK_CODES)})


class Happenings:
    """Counts what the page's conflicts speak of, from ports alone."""

    def __init__(self):
        self.counts_of = dict.fromkeys(
            (
                "outside the map or read-only: refused",
                "doorbell with a strobe missing: refused",
                "task register of a section in use: refused",
                "doorbell above 1 of a free section: refused",
                "doorbell rung while 1: refused",
                "some bytes of a task register's word written",
                "two sections complete in one cycle",
                "DISCONNECT and unit reset in one cycle",
                "result and done in one cycle",
                "write and completion of a section in one cycle",
                "read and completion of a section in one cycle",
                *(f"ERROR reads {code.name}" for code in HostError if code),
            ),
            0,
        )
        self._opcodes = {}
        self.reset()

    def reset(self):
        #: Sections that were rung and not seen free since.
        self._rung = set()
        self._disconnects = [None, None]
        self._asked = None

    def counts(self):
        return self.counts_of

    def see(self, cycle, inputs, outputs):
        del cycle
        self._see_units(inputs, outputs)
        self._see_read(inputs, outputs)
        self._disconnects = [self._see_write(inputs, outputs), self._disconnects[0]]

    def _count(self, name, happened=True):
        self.counts_of[name] += bool(happened)

    def _see_units(self, inputs, outputs):
        ends = []
        for name, word in inputs.items():
            if name.startswith("done__") and word:
                unit = int(name[6:])
                ends.append(unit)
                self._count("result and done in one cycle", inputs[f"result__{unit}"])
        self._count("two sections complete in one cycle", len(ends) > 1)
        for access, packet in (("write", WRITE), ("read", READ)):
            fields = packet.unpack(inputs[access])
            section, _ = divmod(fields["address"] - 0x400, 0x80)
            happened = fields["valid"] and section in ends
            self._count(f"{access} and completion of a section in one cycle", happened)
        # A command is judged two cycles after its doorbell was written.
        unit = self._disconnects[1]
        if unit is not None:
            happened = (inputs["unit_reset"] & ~outputs["disconnected"]) >> unit & 1
            self._count("DISCONNECT and unit reset in one cycle", happened)

    def _see_read(self, inputs, outputs):
        if self._asked:
            code = ANSWER.unpack(outputs["answer"])["data"] & 0xFF
            if code:
                self._count(f"ERROR reads {HostError(code).name}")
        fields = READ.unpack(inputs["read"])
        section, word = divmod(fields["address"] - 0x400, 0x80)
        self._asked = fields["valid"] and section >= 0 and 4 * word == OFFSETS["ERROR"]

    def _see_write(self, inputs, outputs):
        """Return the section whose DISCONNECT was rung in this cycle, if so."""
        fields, refused = WRITE.unpack(inputs["write"]), outputs["write_refused"]
        if not fields["valid"]:
            return None
        section, word = divmod(fields["address"] - 0x400, 0x80)
        doorbell, task = word == 0, word >= 0x20
        if section < 0 or not (doorbell or task) or not fields["strobes"]:
            self._count("outside the map or read-only: refused", refused)
            return None
        if refused:
            self._see_refused(section, doorbell, fields)
            return None
        if task:
            self._rung.discard(section)
            self._count("some bytes of a task register's word written", fields["strobes"] != ALL)
            if word == 0x20 and fields["strobes"] & 1:
                self._opcodes[section] = fields["data"] & 0xFF
            return None
        if not fields["data"]:
            return None
        self._rung.add(section)
        return section if self._opcodes.get(section) == Opcode.DISCONNECT else None

    def _see_refused(self, section, doorbell, fields):
        if not doorbell:
            self._count("task register of a section in use: refused")
        elif fields["strobes"] != ALL:
            self._count("doorbell with a strobe missing: refused")
        elif section not in self._rung:
            self._count("doorbell above 1 of a free section: refused", fields["data"] > 1)
        elif fields["data"] == 1:
            self._count("doorbell rung while 1: refused")


def case(config, seed, cycles=6000):
    return Case(
        make=make,
        params={"config": config},
        seed=seed,
        cycles=cycles,
        stimulus=HostAndUnits,
        events={"happenings": Happenings},
    )


#: What one unit cannot show.
NEEDS_MORE = ("two sections complete in one cycle",)


@pytest.mark.parametrize("config", ["tiny", ODD, pytest.param("default", marks=pytest.mark.deep)])
def test_equals_its_model_and_hard_cases_happen(config, seed):
    total = Counter()
    for result in run([case(config, seed + k) for k in range(2)], "amaranth"):
        total.update(result.counts)
    seldom = NEEDS_MORE if config == "tiny" else ()
    require(Happenings().counts().keys() - set(seldom), total)


@pytest.mark.parametrize("simulator", ["icarus", "verilator"])
def test_equals_its_model_on_other_simulators(simulator, seed):
    run([case(ODD, seed + k, 2500) for k in range(2)], simulator)


# Rules and cycles, of RTL and model alike


@pytest.fixture(params=[Mailbox, Model], ids=["rtl", "model"])
def box(request):
    return request.param(TINY)


class Script:
    """Inputs by cycle: everything that is not named is 0."""

    def __init__(self, **ports):
        self._ports = {"write": {}, "read": {}, "done__0": {}, "result__0": {}} | ports
        self._cycle = 0

    def next(self, outputs):
        del outputs
        values = {name: by_cycle.get(self._cycle, 0) for name, by_cycle in self._ports.items()}
        self._cycle += 1
        return {"missing": 0, "unit_reset": 0} | values


def play(box, cycles=24, **ports):
    return record(box, Script(**ports), cycles)


def command(section, task, start=0):
    """Return writes by cycle: a word of the task register a cycle, then the doorbell."""
    words = [a_write(section, name, data) for name, data in task.items()]
    writes = [*words, a_write(section, "DOORBELL", 1)]
    return dict(enumerate(writes, start))


def reads(section, name, cycles):
    return dict.fromkeys(cycles, a_read(section, name))


def answers(seen):
    """Return what each read gave, by the cycle of the read: data, or None if it was refused."""
    found = {}
    for cycle in seen.cycles("read"):
        answer = ANSWER.unpack(seen.port("answer")[cycle + 1])
        found[cycle] = None if answer["refused"] else answer["data"]
        assert not (answer["refused"] and answer["data"])
    return found


RUN = {"T0": Opcode.RUN | 1 << 8, "T1": 100, "T2": 3 | 2 << 8, "T3": 7, "T4": 1, "T5": 2, "T6": 3}
#: The doorbell is written after the words.
RUNS_AT = len(RUN) + 3
DONE = host_packets.unit_done(TINY)


def done(**fields):
    zeros = dict.fromkeys((f.name for f in DONE.fields), 0)
    return DONE.pack(zeros | {"valid": 1} | fields)


def test_run_comes_three_cycles_after_the_doorbell(box):
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


@pytest.mark.parametrize("section", [0, 1])
def test_nop_is_complete_three_cycles_after_its_doorbell(box, section):
    """The doorbell is written in 1: read 1 in 2 and 3, 0 from 4 on."""
    seen = play(
        box,
        write=command(section, {"T0": Opcode.NOP}),
        read=reads(section, "DOORBELL", range(8)),
    )
    assert list(answers(seen).values()) == [0, 0, 1, 1, 0, 0, 0, 0]


def test_a_completion_is_seen_from_the_next_cycle_on(box):
    """In the cycle of `done` a read gives the words before, and a write is refused."""
    x = RUNS_AT + 4
    end = done(status=5, assigned=7, code=HostError.CORE_FAILED, core=2, argument=0xABCD, task=9)
    writes = dict.fromkeys((x - 1, x, x + 1), a_write(0, "T1", 1))
    for name, after in (
        ("DOORBELL", 0),
        ("STATUS", 5),
        ("ASSIGNED", 7),
        ("ERROR", 53 | 2 << 8 | 0xABCD << 16),
        ("RESULT1", 9),
        ("RESULT0", 0),
    ):
        box_of_its_own = type(box)(TINY)
        seen = play(
            box_of_its_own,
            write=command(0, RUN) | writes,
            read=reads(0, name, (x, x + 1)),
            done__0={x: end},
        )
        before = int(name == "DOORBELL")
        assert answers(seen) == {x: before, x + 1: after}, name
        assert seen.cycles("write_refused") == [x - 1, x]


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
    # Rung in x + 2, taken in x + 3, cleared from x + 4 on.
    assert list(answers(seen).values()) == [0, 77, 77, 77, 0, 0, 0]


SKIP = 1 << 8
VERDICTS = {
    "no such opcode": (0, {"T0": 2}, 0, HostError.BAD_OPCODE),
    "no such opcode, no unit": (1, {"T0": 255}, 0, HostError.BAD_OPCODE),
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


@pytest.mark.parametrize("name", VERDICTS)
def test_verdict(box, name):
    section, task, missing, code = VERDICTS[name]
    judged = len(task) + 2
    seen = play(
        box,
        write=command(section, task),
        missing={judged: missing},
        read=reads(section, "ERROR", (judged, judged + 1))
        | reads(section, "DOORBELL", (judged + 2,)),
    )
    assert answers(seen) == {judged: 0, judged + 1: code, judged + 2: 0}
    assert seen.cycles("run__0") == []


def test_parts_without_elements_are_not_sent(box):
    task = RUN | {"T2": 200 | 2 << 8, "T3": 0}
    run_word = play(box, write=command(0, task)).port("run__0")[RUNS_AT]
    assert host_packets.unit_run(TINY).unpack(run_word)["parts"] == 2


def test_missing_is_looked_at_in_the_cycle_of_the_judgement_alone(box):
    judged = RUNS_AT - 1
    around = {cycle: int(cycle != judged) for cycle in range(24)}
    seen = play(box, write=command(0, RUN), missing=around)
    assert seen.cycles("run__0") == [RUNS_AT]


@pytest.mark.parametrize(("reset_at", "stays"), [(2, 1), (3, 0), (4, 0)])
def test_disconnected_until_the_unit_is_reset(box, reset_at, stays):
    """Rung in 1, judged in 3, disconnected from 4 on unless the unit is reset in 3."""
    writes = command(0, {"T0": Opcode.DISCONNECT}) | command(0, {"T0": Opcode.NOP}, start=6)
    seen = play(box, write=writes, unit_reset={reset_at: 1}, read=reads(0, "ERROR", (10,)))
    assert seen.port("disconnected")[3:6] == [0, int(reset_at != 3), stays]
    assert answers(seen) == {10: HostError.DISCONNECTED if stays else 0}


OUTSIDE = [0, 0x3FF, 0x406, 0x410, 0x41F, 0x440, 0x47F, 0x500, 0x3FFF]


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


def test_first_rule_that_holds_answers_a_write(box):
    """Section 1 is rung in cycle 6 and free again in 10."""
    writes = {
        0: (1, a_write(0, "STATUS", 1, strobes=0)),
        1: (0, a_write(0, "DOORBELL", 7, strobes=0)),
        2: (1, a_write(0, "DOORBELL", 0, strobes=7)),
        3: (1, a_write(0, "DOORBELL", 2)),
        4: (0, a_write(0, "DOORBELL", 0)),
        5: (0, a_write(0, "T31", 0)),
        6: (0, a_write(1, "DOORBELL", 1)),
        7: (1, a_write(1, "DOORBELL", 0)),
        8: (1, a_write(1, "T9", 0, strobes=1)),
        9: (0, a_write(1, "T9", 0, strobes=0)),
        10: (0, a_write(1, "DOORBELL", 0)),
    }
    seen = play(box, write={cycle: word for cycle, (_, word) in writes.items()})
    refused = [cycle for cycle, (refused, _) in writes.items() if refused]
    assert seen.cycles("write_refused") == refused


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
    fields = host_packets.unit_run(TINY).unpack(seen.port("run__0")[8])
    assert fields["first"] == 0x11BB33DD
    # A word that can only be written reads 0.
    assert answers(seen) == {5: 0}
