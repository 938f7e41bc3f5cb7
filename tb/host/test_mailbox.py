"""Mailbox beside its model, with random hosts, units and launch path."""

import pytest

from tb.host.commands import ALL, ANSWER, READ, WRITE, Commands
from tb.support.deep_values import deep_but
from tb.support.dispatch_configs import config_of
from tb.support.hard_cases import run_until
from warploom.host.mailbox import Mailbox
from warploom_golden.host import Mailbox as Model
from warploom_sim.cosim.lockstep import Case, Pace, run
from warploom_spec import ErrorCode, host_packets, layouts
from warploom_spec.host_commands import Opcode
from warploom_spec.host_errors import HostError
from warploom_spec.host_map import OFFSETS
from warploom_spec.queue import QueueCode

TINY = config_of("tiny")
#: Three units, and sections without one; odd in every number.
ODD = "tiny,sections=5,units=3,cores_per_unit=5"
EVEN = ODD.replace("sections=5", "sections=4")
RESULT = host_packets.unit_result(TINY)
LAUNCH_ANSWER, STOP_ANSWER = layouts.launch_answer(TINY), host_packets.stop_answer(TINY)
TASK_CODES = (HostError.OK, HostError.CORE_FAILED, HostError.CORE_TIMEOUT, HostError.RESET)


def make(config):
    return Mailbox(config_of(config)), Model(config_of(config))


class Surroundings:
    """Workers that write commands and ring, noise on the bus, and units that keep to their page.

    A unit's results and end may come at any time after its ``run``; the ends of all units come in
    one cycle now and then. The launch path answers in order, after any time. Now and then a soft
    reset runs for some cycles.
    """

    aborts = "stop"
    commands = Commands

    def __init__(self, context):
        self._config = config_of(context.params["config"])
        self._rng = context.rng
        self._commands = self.commands(self._config, context.case.rng("commands"))
        self._done = host_packets.unit_done(self._config)
        self._error = host_packets.unit_error(self._config)
        self._paces = {
            name: Pace(context.case.rng(name)) for name in ("write", "read", "done", "result")
        }
        rare = (0.0, 0.0, 0.02, 0.5)
        self._levels = [
            {name: Pace(context.case.rng(f"{name}{unit}"), rare) for name in ("missing", "reset")}
            for unit in range(self._config.units)
        ]
        self._stop = context.sink(self.aborts)
        slow = (0.0, 0.0, 0.02, 0.5)
        self._paces |= {
            name: Pace(context.case.rng(name), slow) for name in ("launched", "aborted")
        }
        self._restart()

    def _restart(self):
        self._running = [False] * self._config.units
        self._commands.restart()
        # Sections that were rung: the latest write's, one that commits, one that is judged.
        self._rings = [None] * 3
        self._unanswered = {"launch": 0, "stop": 0}
        self._resets_for = 0
        self._closing = Closing()

    def next(self, outputs):
        if outputs is None:
            self._restart()
        else:
            for unit in range(self._config.units):
                self._running[unit] |= bool(outputs[f"run__{unit}"])
            self._unanswered["launch"] += outputs["launch_valid"]
        closed = self._closing.closed
        inputs = (
            self._stop.next(outputs)
            | self._answers()
            | {
                "soft_reset_active": self._soft_reset(),
                "write": self._commands.write() if self._paces["write"]() else 0,
                "read": self._commands.read() if self._paces["read"]() else 0,
                **{
                    name: sum(pace[key]() << unit for unit, pace in enumerate(self._levels))
                    for name, key in (("missing", "missing"), ("unit_reset", "reset"))
                },
            }
        )
        inputs["unit_reset"] |= self._reset_at_the_judgement(inputs["write"])
        inputs |= {f"error__{k}": self._explanation() for k in self._units()}
        self._closing.next(inputs["soft_reset_active"])
        if closed:
            # Their units are reset; what these still say is not heard.
            noise = {f"done__{k}": self._end() * self._rng.randrange(2) for k in self._units()}
            noise |= {f"result__{k}": self._result() for k in self._units()}
            self._running = [False] * self._config.units
            return inputs | noise
        # The more units run, the more often all end at once.
        answered = inputs["launch_answer"] and self._rng.random() < 0.5
        together = answered or (sum(self._running) > 1 and self._rng.random() < 0.05)
        for unit, running in enumerate(self._running):
            inputs[f"result__{unit}"] = self._result() if running else 0
            done = running and (together or (self._paces["done"]() and self._rng.random() < 0.06))
            inputs[f"done__{unit}"] = self._end() if done else 0
            self._running[unit] = running and not done
        return inputs

    def _units(self):
        return range(self._config.units)

    def _soft_reset(self):
        """Return whether a soft reset runs; one begins when it matters, or at any time."""
        self._resets_for -= self._resets_for > 0
        matters = self._rings[0] is not None or any(self._unanswered.values())
        if self._rng.random() < (0.02 if matters else 0.002):
            self._resets_for = self._rng.randint(1, 20)
        return int(self._resets_for > 0)

    def _answers(self):
        """Return the launch path's answers; those of stops that transferred before this cycle."""
        rng, inputs = self._rng, {"launch_answer": 0, "stop_answer": 0}
        # An answer comes at any time, and often in the cycle of a judgement: of the next launch.
        judged = self._rings[1] is not None and rng.random() < 0.3
        if (self._paces["launched"]() or judged) and self._unanswered["launch"]:
            self._unanswered["launch"] -= 1
            refused = rng.random() < 0.4
            fields = {
                "valid": 1,
                "ticket": 0 if refused else rng.getrandbits(32),
                "code": rng.choice(list(ErrorCode)[1:]) if refused else 0,
                "argument": rng.getrandbits(16) if refused else 0,
            }
            inputs["launch_answer"] = LAUNCH_ANSWER.pack(fields)
        if self._paces["aborted"]() and self._unanswered["stop"]:
            self._unanswered["stop"] -= 1
            code = rng.choice((0, QueueCode.TICKET_UNKNOWN))
            inputs["stop_answer"] = STOP_ANSWER.pack({"valid": 1, "code": code})
        self._unanswered["stop"] += self._stop.taken is not None
        return inputs

    def _reset_at_the_judgement(self, word):
        """Return a mask: now and then the unit whose section's command is judged."""
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
        return self._done.pack(fields | {"valid": 1})

    def _explanation(self):
        """Return any `error`: it means something after `done` alone."""
        fields = self._error.unpack(self._rng.getrandbits(self._error.bits))
        return self._error.pack(fields | {"code": self._rng.choice(TASK_CODES)})


class Closing:
    """Whether the mailbox is shut, and whether it is closed, in the cycle to come."""

    def __init__(self):
        self._active = [0] * 3

    def next(self, active):
        """Note ``soft_reset_active`` of a cycle."""
        self._active = [*self._active[1:], active]

    @property
    def shut(self):
        return self._active[-1]

    @property
    def closed(self):
        return all(self._active)


class Happenings:
    """Counts what the page's conflicts speak of, from ports alone."""

    abort_answer = "stop_answer"

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
                "two sections answered and ended in one cycle",
                "closed while a launch is not answered",
                "shut in the cycle of a judgement",
                "a launch is answered while closed",
                "an abort is answered while closed",
                "a task ends while closed",
                "several launches not answered",
                "RESULT0 reads a ticket",
                "ERROR reads a code of the launch path",
                *(f"ERROR reads {code.name}" for code in HostError if code),
            ),
            0,
        )
        self._opcodes = {}
        self.reset()

    def reset(self):
        #: Sections that were rung and not seen free since.
        self._rung = set()
        self._disconnects = None
        #: Offsets of the words that reads asked for two cycles ago, and in the last one.
        self._asked = [None] * 2
        self._launches = 0
        self._rang = False
        self._closing = Closing()
        #: The write that commits, and the read that is sampled.
        self._acting = {"write": WRITE.unpack(0), "read": READ.unpack(0)}

    def counts(self):
        return self.counts_of

    def see(self, cycle, inputs, outputs):
        del cycle
        self._see_units(inputs, outputs)
        self._see_read(outputs)
        self._see_launch_path(inputs, outputs)
        self._disconnects = self._see_write(outputs)
        self._closing.next(inputs["soft_reset_active"])
        self._acting = {
            access: packet.unpack(inputs[access])
            for access, packet in (("write", WRITE), ("read", READ))
        }

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
        for access, fields in self._acting.items():
            section, _ = divmod(fields["address"] - 0x400, 0x80)
            happened = fields["valid"] and section in ends
            self._count(f"{access} and completion of a section in one cycle", happened)
        # A command is judged a cycle after its doorbell was written.
        unit = self._disconnects
        if unit is not None:
            happened = (inputs["unit_reset"] & ~outputs["disconnected"]) >> unit & 1
            self._count("DISCONNECT and unit reset in one cycle", happened)

    def _see_launch_path(self, inputs, outputs):
        closed, answer = self._closing.closed, inputs["launch_answer"]
        ends = any(word for name, word in inputs.items() if name.startswith("done__"))
        stops = inputs[self.abort_answer]
        self._count("closed while a launch is not answered", closed and self._launches)
        self._count("shut in the cycle of a judgement", self._closing.shut and self._rang)
        self._count("a launch is answered while closed", closed and answer)
        self._count("an abort is answered while closed", closed and stops)
        self._count("a task ends while closed", closed and ends)
        self._count("several launches not answered", self._launches > 1)
        together = not closed and bool(answer) + bool(stops) + ends > 1
        self._count("two sections answered and ended in one cycle", together)
        self._launches += outputs["launch_valid"] - bool(answer)
        fields = self._acting["write"]
        _, word = divmod(fields["address"] - 0x400, 0x80)
        rings = fields["valid"] and word == 0 and fields["data"] == 1
        self._rang = rings and not outputs["write_refused"] and fields["strobes"]

    def _see_read(self, outputs):
        asked = self._asked[0]
        data = ANSWER.unpack(outputs["answer"])["data"] if asked is not None else 0
        code = data & 0xFF
        if asked == OFFSETS["ERROR"] and code:
            ours = code in list(HostError)
            name = HostError(code).name if ours else "a code of the launch path"
            self._count(f"ERROR reads {name}")
        self._count("RESULT0 reads a ticket", asked == OFFSETS["RESULT0"] and data)
        fields = self._acting["read"]
        section, word = divmod(fields["address"] - 0x400, 0x80)
        sampled = 4 * word if fields["valid"] and section >= 0 else None
        self._asked = [self._asked[1], sampled]

    def _see_write(self, outputs):
        """Return the section whose DISCONNECT was rung in this cycle, if so."""
        fields = self._acting["write"]
        refused = fields["valid"] and outputs["write_refused"]
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
        stimulus=Surroundings,
        events={"happenings": Happenings},
    )


#: What one unit cannot show.
NEEDS_MORE = (
    "two sections complete in one cycle",
    "several launches not answered",
    "two sections answered and ended in one cycle",
)


@pytest.mark.parametrize("config", deep_but([ODD], ["tiny", ODD, "default"]))
def test_equals_its_model_and_hard_cases_happen(config, seed):
    names = Happenings().counts().keys() - set(NEEDS_MORE if config == "tiny" else ())
    run_until(names, lambda n: [case(config, seed + 2 * n + k) for k in range(2)], "amaranth")


@pytest.mark.parametrize("more", deep_but([0], range(2)))
@pytest.mark.parametrize(
    ("simulator", "config"), deep_but([("icarus", ODD)], [("icarus", ODD), ("verilator", EVEN)])
)
def test_equals_its_model_on_other_simulators(simulator, config, more, seed):
    run([case(config, seed + more, 2500)], simulator)
