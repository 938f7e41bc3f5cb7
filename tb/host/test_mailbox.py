"""Mailbox beside its model, with random hosts, units and launch path."""

import pytest

from tb.host.commands import WRITE, Commands
from tb.host.loop_steps import LoopSteps
from tb.host.mailbox_events import Closing, Happenings
from tb.host.mailbox_loop_events import LOOP_HAPPENINGS, OF_LOOPS
from tb.support.deep_values import deep_but
from tb.support.dispatch_configs import config_of
from tb.support.hard_cases import run_until
from warploom.host.mailbox import Mailbox
from warploom_golden.host import Mailbox as Model
from warploom_sim.cosim.lockstep import Case, Pace, run
from warploom_spec import ErrorCode, host_packets, queue_packets
from warploom_spec.host_errors import HostError
from warploom_spec.queue import QueueCode

TINY = config_of("tiny")
#: Three units, and sections without one; odd in every number. The words could name more streams.
_ODD = "tiny,sections=5,units=3,cores_per_unit=5,stream_bits=3,priority_bits=1"
ODD = f"{_ODD},loop_templates=0"
#: Three sections loop: one has a unit, two have none.
LOOPS = f"{_ODD},loop_templates=4,loop_sections=3"
#: A number of sections that is a power of two: Verilator says so of none other.
EVEN = ODD.replace("sections=5", "sections=4")
RESULT = host_packets.unit_result(TINY)
LAUNCH_ANSWER, CODE = queue_packets.queue_answer(TINY), queue_packets.queue_code(TINY)
#: What the mailbox sends to the launch path.
KINDS = ("launch", "abort", "command")
#: Codes of a launch that the mailbox has sent: it refuses those for room by itself.
FULL = (ErrorCode.QUEUE_FULL, ErrorCode.COMPLETION_FULL)
PATH_CODES = [code for code in list(ErrorCode)[1:] if code not in FULL]
TASK_CODES = (HostError.OK, HostError.CORE_FAILED, HostError.CORE_TIMEOUT, HostError.RESET)


def make(config):
    return Mailbox(config_of(config)), Model(config_of(config))


class Surroundings:
    """Workers that write commands and ring, noise on the bus, and units that keep to their page.

    A unit's results and end may come at any time after its ``run``; the ends of all units come in
    one cycle now and then. The launch path takes launches, aborts and commands at its own pace,
    and answers each kind in order, after any time. Now and then it has no room, or a stream is
    being mended; now and then a soft reset runs for some cycles.
    """

    def __init__(self, context):
        self._config = config_of(context.params["config"])
        self._rng = context.rng
        self._commands = Commands(self._config, context.case.rng("commands"))
        self._steps = None
        if self._config.has_loops:
            rng = context.case.rng("steps")
            self._steps = LoopSteps(self._config, rng, Commands(self._config, rng))
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
        self._sinks = {name: context.sink(name) for name in KINDS}
        slow = (0.0, 0.0, 0.02, 0.5)
        self._paces |= {f"{name}_answered": Pace(context.case.rng(name), slow) for name in KINDS}
        full = (0.2, 0.9, 1.0, 1.0)
        self._paces |= {name: Pace(context.case.rng(name), full) for name in ("records", "room")}
        self._paces["clearing"] = Pace(context.case.rng("clearing"), rare)
        self._restart()

    def _restart(self):
        self._running = [False] * self._config.units
        self._commands.restart()
        if self._steps is not None:
            self._steps.restart()
        # Sections that were rung: the latest write's, one that commits, one that is judged.
        self._rings = [None] * 3
        self._unanswered = dict.fromkeys(KINDS, 0)
        self._resets_for = 0
        self._closing = Closing()

    def next(self, outputs):
        if outputs is None:
            self._restart()
        else:
            for unit in range(self._config.units):
                self._running[unit] |= bool(outputs[f"run__{unit}"])
        closed = self._closing.closed
        levels = {}
        for sink in self._sinks.values():
            levels |= sink.next(outputs)
        inputs = (
            levels
            | self._answers()
            | self._room()
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
        if self._steps is not None:
            writes, active = bool(inputs["write"]), bool(inputs["soft_reset_active"])
            inputs |= self._steps.next(outputs, writes, active)
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
        rung, waits = self._rings[0] is not None, any(self._unanswered.values())
        chance = 0.02 if rung or waits else 0.002
        if self._steps is not None and not rung:
            # A loop takes long: most have to come to their end.
            chance = 0.03 if self._steps.acts else chance / 5
        if self._rng.random() < chance:
            self._resets_for = self._rng.randint(1, 20)
        return int(self._resets_for > 0)

    def _room(self):
        """Return what the launch path has room for."""
        rooms = 1 << self._config.priority_bits
        return {
            "room": (1 << rooms) - 1 if self._paces["room"]() else self._rng.getrandbits(rooms),
            "records_left": int(self._paces["records"]()),
            "clearing": int(self._paces["clearing"]()),
        }

    def _answers(self):
        """Return the launch path's answers to what transferred before this cycle."""
        rng, inputs = self._rng, dict.fromkeys((f"{name}_answer" for name in KINDS), 0)
        # An answer comes at any time, and often in the cycle of a judgement, or beside another one.
        rung = self._rings[1] is not None or (self._steps is not None and self._steps.judged)
        judged = rung and rng.random() < 0.3
        together = rng.random() < 0.02
        for name in rng.sample(KINDS, len(KINDS)):
            answers = self._paces[f"{name}_answered"]() or judged or together
            if answers and self._unanswered[name]:
                self._unanswered[name] -= 1
                inputs[f"{name}_answer"] = self._answer(name)
                together |= rng.random() < 0.5
            self._unanswered[name] += self._sinks[name].taken is not None
        return inputs

    def _answer(self, name):
        rng = self._rng
        if name == "launch":
            refused = rng.random() < 0.4
            fields = {
                "valid": 1,
                "ticket": 0 if refused else rng.getrandbits(32),
                "code": rng.choice(PATH_CODES) if refused else 0,
                "argument": rng.getrandbits(16) if refused else 0,
                "count": 0 if refused else rng.getrandbits(16),
            }
            return LAUNCH_ANSWER.pack(fields)
        codes = {
            "abort": (0, QueueCode.TICKET_UNKNOWN),
            "command": (0, QueueCode.PREEMPT_PENDING, QueueCode.NOT_PREEMPTED),
        }
        return CODE.pack({"valid": 1, "code": rng.choice(codes[name])})

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


def case(config, seed, cycles=6000):
    loops = f"tb.host.mailbox_loop_events:LOOP_HAPPENINGS.{config}"
    return Case(
        make=make,
        params={"config": config},
        seed=seed,
        cycles=cycles,
        stimulus=Surroundings,
        events={"happenings": loops if config_of(config).has_loops else Happenings},
    )


#: What one unit cannot show.
NEEDS_MORE = (
    "two sections complete in one cycle",
    "several launches not answered",
    "two sections answered and ended in one cycle",
    "two launches are rung while the pace lets none go",
)


@pytest.mark.parametrize("config", deep_but([], ["tiny", ODD, "default", LOOPS], thorough=[ODD]))
def test_equals_its_model_and_hard_cases_happen(config, seed):
    if config_of(config).has_loops:
        names = getattr(LOOP_HAPPENINGS, config)().counts().keys()
    else:
        names = Happenings().counts().keys() - set(OF_LOOPS)
    names -= set(NEEDS_MORE if config == "tiny" else ())
    if not config_of(config).first_loop_section:
        # Each section takes a LOOP.
        names -= {"ERROR reads NO_LOOP"}
    run_until(names, lambda n: [case(config, seed + 2 * n + k) for k in range(2)], "verilator")


@pytest.mark.parametrize("more", deep_but([0], range(2)))
@pytest.mark.parametrize(
    ("simulator", "config"),
    deep_but(
        [("amaranth", ODD)],
        [("amaranth", ODD), ("icarus", ODD), ("verilator", EVEN), ("amaranth", LOOPS)],
        thorough=[("icarus", ODD), ("amaranth", LOOPS)],
    ),
)
def test_equals_its_model_on_other_simulators(simulator, config, more, seed):
    run([case(config, seed + more, 2500)], simulator)
