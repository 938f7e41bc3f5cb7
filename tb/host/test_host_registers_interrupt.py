"""HostRegisters' interrupt beside its model: records that wait, commands that complete."""

import pytest

from tb.host.commands import ALL, WRITE
from tb.host.test_host_registers import ODD, SOON, errors, lost, make, reads_of, withdrawn
from tb.support.deep_values import deep_but
from tb.support.dispatch_configs import config_of
from tb.support.hard_cases import run_until
from tb.support.planted import Change, plant, plant_timing
from warploom.host._record_wait import RecordWait
from warploom.host.host_registers import HostRegisters
from warploom_golden.host import HostRegisters as Model
from warploom_sim.cosim.lockstep import Case, LockstepError, Pace, run
from warploom_spec.host_registers import register_addresses

WAITING = f"{ODD},launch_waits=3"
#: Registers that rules 5, 5a and 6 speak of.
OFTEN = ("IRQ_ENABLE", "IRQ_STATUS", "IRQ_THRESHOLD", "IRQ_TIMEOUT", "RECORD_POP")
COMMAND_DONE = 1 << 4


def writes(context):
    """Yield writes: mostly of the interrupt's registers, with small numbers."""
    rng = context.rng
    addresses = register_addresses(config_of(context.params["config"]))
    pace = Pace(rng)
    while True:
        name = rng.choice((*OFTEN, rng.choice((*addresses, "LAUNCH_TIMEOUT"))))
        if name == "CONTROL" and rng.random() < 0.7:
            name = "STATE"
        address = rng.getrandbits(14) if rng.random() < 0.05 else addresses[name] // 4
        data = rng.choice((0, 1, rng.randrange(8), rng.randrange(64)))
        data = rng.getrandbits(32) if rng.random() < 0.05 else data
        strobes = rng.choice((ALL, ALL, ALL, ALL, rng.getrandbits(4)))
        word = {"valid": 1, "address": address, "data": data, "strobes": strobes}
        yield WRITE.pack(word) if pace() else 0


def reads(context):
    """Yield reads, often of what the interrupt and the launch path have to do with."""
    names = ("IRQ_STATUS", "IRQ_TIMEOUT", "LAUNCH_TIMEOUT", "ROOM", "PARAMS3", "STATE")
    names += ("RECORD6", "RECORD7", "CLOCK_LOW", "CLOCK_HIGH")
    return reads_of(context, register_addresses(config_of(context.params["config"])), names)


def records(context):
    """Yield counts that stay for a while, and are seldom 0."""
    rng, value = context.rng, 0
    while True:
        if rng.random() < 0.03:
            value = rng.choice((0, 1, 2, 3))
        yield value


def seldom(context):
    pace = Pace(context.rng, (0.0, 0.02, 0.5))
    while True:
        yield int(pace())


class Happenings:
    """Counts what the page speaks of, from ports alone."""

    def __init__(self):
        self.counts_of = dict.fromkeys(
            (
                "too few records, and late",
                "a pop in the last cycle before late rises",
                "IRQ_TIMEOUT is written in the last cycle before late rises",
                "records stay when one is popped that was late",
                "the last record goes when it was late",
                "time-out 0 and a record",
                "completed, and a write that clears its bit",
                "LAUNCH_TIMEOUT changes",
                "a soft reset while a record waits",
            ),
            0,
        )
        self.reset()

    def reset(self):
        self._write = WRITE.unpack(0)
        self._timeout = self._last_limit = 0
        self._threshold = 0
        # Cycles since the last one that started the count.
        self._age = 0
        self._wrote = False
        self._before = {"records": 0, "late": False}

    def counts(self):
        return self.counts_of

    def see(self, cycle, inputs, outputs):
        del cycle
        write, self._write = self._write, WRITE.unpack(inputs["write"])
        performed = write["valid"] and write["strobes"] and not outputs["write_refused"]
        written = write["address"] * 4 if performed else None
        places = register_addresses(config_of("tiny"))
        times = written == places["IRQ_TIMEOUT"]
        records = inputs["records"]
        late = self._timeout != 0 and self._age >= self._timeout + 2
        rises = self._timeout != 0 and self._age == self._timeout + 1
        clears = written == places["IRQ_STATUS"] and write["data"] & COMMAND_DONE
        was = self._before
        happened = {
            "too few records, and late": late and records < self._threshold,
            "a pop in the last cycle before late rises": rises and outputs["pop"],
            "IRQ_TIMEOUT is written in the last cycle before late rises": rises and times,
            "records stay when one is popped that was late": late and outputs["pop"] and records,
            "the last record goes when it was late": was["late"] and was["records"] and not records,
            "time-out 0 and a record": not self._timeout and records,
            "completed, and a write that clears its bit": inputs["completed"] and clears,
            "LAUNCH_TIMEOUT changes": outputs["launch_timeout"] != self._last_limit,
            "a soft reset while a record waits": outputs["restart"] and records,
        }
        for name, it_did in happened.items():
            self.counts_of[name] += bool(it_did)
        starts = not records or outputs["pop"] or times or self._wrote
        self._age = 1 if starts else self._age + 1
        self._wrote = times
        self._before = {"records": records, "late": late}
        self._last_limit = outputs["launch_timeout"]
        if times:
            self._timeout = _bytes(self._timeout, write)
        if written == places["IRQ_THRESHOLD"]:
            self._threshold = _bytes(self._threshold, write) & 0xFFFF


def _bytes(value, write):
    """Return a word with the bytes of a write whose strobes are 1."""
    mask = sum(0xFF << 8 * byte for byte in range(4) if write["strobes"] >> byte & 1)
    return (value & ~mask) | (write["data"] & mask)


def case(config, seed, cycles=6000):
    return Case(
        make=make,
        params={"config": config},
        seed=seed,
        cycles=cycles,
        sources={
            "write": writes,
            "read": reads,
            "dispatch_error": errors,
            "index_error": errors,
            "records": records,
            "completed": seldom,
            "lost": lost,
        },
        withdrawable=withdrawn(config),
        events={"happenings": Happenings},
    )


@pytest.mark.parametrize("config", deep_but([], ["tiny", WAITING], thorough=[WAITING]))
def test_equals_its_model_and_hard_cases_happen(config, seed, monkeypatch):
    plant_timing(monkeypatch, HostRegisters, Model, soft_reset_limit=SOON)
    run_until(Happenings().counts(), lambda n: [case(config, seed + n)], "amaranth")


SIMULATORS = deep_but([], ["icarus", "verilator"], thorough=["verilator"])


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_equals_its_model_on_other_simulators(simulator, seed):
    run([case(WAITING, seed, 2500)], simulator)


WRONG = {
    "a write clears a bit that an event sets": Change(
        HostRegisters,
        "_interrupt",
        "(held[bit] & ~cleared) | event",
        "(held[bit] | event) & ~cleared",
    ),
    "a pop does not start the count": Change(HostRegisters, "_late", " | self.pop", ""),
    "a new time-out goes on with the old count": Change(
        HostRegisters, "_late", " | writes | is_new", ""
    ),
    "no record starts no count": Change(
        HostRegisters, "_late", "(self.records == 0) | self.pop", "self.pop"
    ),
    "a time-out is a cycle short": Change(
        RecordWait, "elaborate", "left.eq(self.timeout)", "left.eq(self.timeout - 1)"
    ),
    "time-out 0 ends": Change(RecordWait, "elaborate", "left[-1] & limited", "left[-1]"),
}


@pytest.mark.parametrize("name", WRONG)
def test_lockstep_finds_a_wrong_rule(name, seed, monkeypatch):
    plant(monkeypatch, [WRONG[name]])
    with pytest.raises(LockstepError):
        run([case(WAITING, seed + k) for k in range(12)], "amaranth", waves=False)
