"""Mailbox of version 2 beside its model, with random hosts and units and a legal launch path."""

import pytest

from tb.host.commands import ANSWER, Commands, a_write
from tb.host.test_mailbox import ODD
from tb.host.test_mailbox import Happenings as Version1
from tb.host.test_mailbox import Surroundings as Version1Surroundings
from tb.support.deep_values import deep_but
from tb.support.dispatch_configs import config_of
from tb.support.hard_cases import run_until
from tb.support.planted import Change, plant
from warploom.host._launch_answers import LaunchAnswers
from warploom.host._queued_mailbox import QueuedMailbox
from warploom.host._verdict import Verdict
from warploom.host.mailbox import Mailbox
from warploom_golden.host import QueuedMailbox as Model
from warploom_sim.cosim.lockstep import Case, LockstepError, run
from warploom_spec import ErrorCode, queue_packets
from warploom_spec.host_commands import Opcode
from warploom_spec.host_errors import HostError
from warploom_spec.host_map import OFFSETS
from warploom_spec.queue import QueueCode
from warploom_spec.queue_host import WAIT_WORDS, QueueHostOpcode
from warploom_spec.queue_packets import FIRST_WAIT_WORD, MODE_WORD

TINY = config_of("tiny")
LAUNCH_ANSWER, CODE = queue_packets.queue_answer(TINY), queue_packets.queue_code(TINY)
#: Streams that their words could name, and do not exist.
FEW_STREAMS = f"{ODD},stream_bits=3,priority_bits=1"


def make(config):
    return QueuedMailbox(config_of(config)), Model(config_of(config))


class QueuedCommands(Commands):
    """Commands with masks, and launches with pairs; some do not exist in this configuration."""

    def _command(self):
        rng = self._rng
        if rng.random() < 0.6:
            return super()._command()
        section = self._section = rng.randrange(self._config.sections)
        writes = self._mask_command(section)
        if rng.random() < 0.3:
            # Two sections ring one after the other.
            other = (section + 1) % self._config.sections
            first, second = writes[:2], self._mask_command(other)[:3]
            writes = [*first, *second[:2], a_write(section, "DOORBELL", 1), second[2]]
        return writes

    def _mask_command(self, section):
        rng = self._rng
        streams = 1 << self._config.stream_bits
        mask = rng.choice((rng.getrandbits(streams), 1 << rng.randrange(32), 1 << streams, 0))
        opcode = rng.choice(list(QueueHostOpcode))
        words = {"T0": opcode | rng.getrandbits(24) << 8, "T1": mask & (1 << 32) - 1}
        return self._finished(section, words)

    def _launch(self):
        rng, words = self._rng, super()._launch()
        flags = rng.getrandbits(self._config.launch_waits)
        if rng.random() < 0.1:
            flags |= 1 << rng.randrange(WAIT_WORDS)
        words["T0"] = Opcode.LAUNCH | (flags | rng.getrandbits(4) << 4) << 8
        word = f"T{MODE_WORD}"
        words[word] = words.get(word, 0) & ~(7 << 21) | rng.getrandbits(3) << 21
        for k in range(WAIT_WORDS):
            stream = rng.randrange(1 << self._config.stream_bits)
            if rng.random() < 0.1:
                stream = rng.getrandbits(8)
            if rng.random() < 0.8:
                word = rng.getrandbits(8) | stream << 8 | rng.getrandbits(16) << 16
                words[f"T{FIRST_WAIT_WORD + k}"] = word
        return words


class Surroundings(Version1Surroundings):
    """As those of version 1; each command is answered in the next cycle."""

    aborts = "abort"
    commands = QueuedCommands

    def next(self, outputs):
        self._commanded = bool(outputs and outputs["command"] & 1)
        return super().next(outputs)

    def _answers(self):
        rng = self._rng
        old = super()._answers()
        if self._commanded and rng.random() < 0.5:
            # What waits is answered in the same cycle.
            for kind in ("launch", "stop"):
                if not old[f"{kind}_answer"] and self._unanswered[kind] > self._new(kind):
                    self._unanswered[kind] -= 1
                    old[f"{kind}_answer"] = CODE.pack({"valid": 1, "code": 0})
        inputs = {"launch_answer": 0, "abort_answer": old["stop_answer"], "command_answer": 0}
        if old["launch_answer"]:
            refused = rng.random() < 0.4
            fields = {
                "valid": 1,
                "ticket": 0 if refused else rng.getrandbits(32),
                "code": rng.choice(list(ErrorCode)[1:]) if refused else 0,
                "argument": rng.getrandbits(16) if refused else 0,
                "count": 0 if refused else rng.getrandbits(16),
            }
            inputs["launch_answer"] = LAUNCH_ANSWER.pack(fields)
        if self._commanded:
            code = rng.choice((0, QueueCode.PREEMPT_PENDING, QueueCode.NOT_PREEMPTED))
            inputs["command_answer"] = CODE.pack({"valid": 1, "code": code})
        return inputs

    def _new(self, kind):
        """Return how many are too new to be answered: aborts that transferred in the last cycle."""
        return int(kind == "stop" and self._stop.taken is not None)


class Happenings(Version1):
    """Counts what version 2 adds, too."""

    abort_answer = "abort_answer"
    _launch = queue_packets.queued_launch(config_of(FEW_STREAMS))

    def __init__(self):
        super().__init__()
        self.counts_of |= dict.fromkeys(
            (
                "a command while an abort waits",
                "commands in two cycles in a row",
                "a command is answered while closed",
                "answers to a launch and to a command in one cycle",
                "answers to an abort and to a command in one cycle",
                "a command while the mailbox is shut",
                "a launch waits for a pair",
                "RESULT1 reads a number",
                "ERROR reads a wrong mask",
                "ERROR reads a wrong pair",
            ),
            0,
        )

    def reset(self):
        super().reset()
        self._last_command = False

    def see(self, cycle, inputs, outputs):
        commanded, answered = outputs["command"] & 1, inputs["command_answer"]
        shut, closed = self._closing.shut, self._closing.closed
        self._count("a command while an abort waits", commanded and outputs["abort__valid"])
        self._count("commands in two cycles in a row", commanded and self._last_command)
        self._count("a command is answered while closed", answered and closed)
        self._count("a command while the mailbox is shut", commanded and shut)
        for name in ("launch", "abort"):
            together = answered and inputs[f"{name}_answer"]
            article = "an" if name == "abort" else "a"
            self._count(f"answers to {article} {name} and to a command in one cycle", together)
        self._last_command = bool(commanded)
        if outputs["launch_valid"]:
            sent = self._launch.unpack(outputs["launch"])
            self._count("a launch waits for a pair", sent["wait0_valid"] | sent["wait1_valid"])
        super().see(cycle, inputs, outputs)

    def _see_read(self, outputs):
        asked = self._asked[0]
        data = ANSWER.unpack(outputs["answer"])["data"] if asked is not None else 0
        self._count("RESULT1 reads a number", asked == OFFSETS["RESULT1"] and data >> 16)
        if asked == OFFSETS["ERROR"] and data & 0xFF == HostError.FIELD_RANGE:
            self._count("ERROR reads a wrong mask", data >> 16 == 1)
            self._count("ERROR reads a wrong pair", data >> 16 >= FIRST_WAIT_WORD)
        super()._see_read(outputs)


def case(config, seed, cycles=6000):
    return Case(
        make=make,
        params={"config": config},
        seed=seed,
        cycles=cycles,
        stimulus=Surroundings,
        events={"happenings": Happenings},
    )


@pytest.mark.parametrize("config", deep_but([FEW_STREAMS], [ODD, FEW_STREAMS]))
def test_equals_its_model_and_hard_cases_happen(config, seed):
    names = Happenings().counts().keys()
    run_until(names, lambda n: [case(config, seed + 2 * n + k) for k in range(2)], "amaranth")


#: A number of sections that is a power of two: Verilator says so of none other.
EVEN = FEW_STREAMS.replace("sections=5", "sections=4")


@pytest.mark.parametrize(
    ("simulator", "config"),
    deep_but([("verilator", EVEN)], [("icarus", FEW_STREAMS), ("verilator", EVEN)]),
)
def test_equals_its_model_on_other_simulators(simulator, config, seed):
    run([case(config, seed, 2500)], simulator)


WRONG = {
    "an empty mask is sent": Change(Verdict, "_look_at_command", "~words.mask.any() | ", ""),
    "a stream that does not exist is sent": Change(
        Verdict, "_look_at_command", "(above.any() if len(above) else C(0, 1))", "C(0, 1)"
    ),
    "RESUME is PREEMPT": Change(Verdict, "_look_at_command", "int(ours)", "int(ours) & 2"),
    "a pair without its flag is judged": Change(
        Verdict, "_wrong_waits", "launch.flags[k] & wrong", "wrong"
    ),
    "every pair exists": Change(Verdict, "_wrong_waits", "k < self._config.launch_waits", "True"),
    "an answer goes to the section that is judged": Change(
        LaunchAnswers, "_a_cycle_later", "(section == k)", "(self.section == k)"
    ),
    "a command that was sent is interrupted": Change(
        LaunchAnswers, "elaborate", "sends | self.commands", "sends"
    ),
    "ticket and number outlive the next doorbell": Change(
        Mailbox, "_keep_tickets", "(held | launched) & ~rings", "held | launched"
    ),
    "a completion beside a command is not told": Change(
        QueuedMailbox, "_tell", "completes.any()", "completes.any() & ~self.command.valid"
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_lockstep_finds_a_wrong_rule(name, seed, monkeypatch):
    plant(monkeypatch, [WRONG[name]])
    with pytest.raises(LockstepError):
        run([case(FEW_STREAMS, seed + k, 3000) for k in range(12)], "amaranth", waves=False)
