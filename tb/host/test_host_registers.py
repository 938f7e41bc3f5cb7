"""HostRegisters beside its model, and wrong rules that lockstep finds."""

from collections import deque

import pytest

from tb.host.commands import ALL, ANSWER, READ, WRITE
from tb.support.deep_values import OTHER_SIMULATORS, deep_but
from tb.support.dispatch_configs import config_of
from tb.support.hard_cases import run_until
from tb.support.planted import Change, plant, plant_timing
from warploom.host.host_registers import HostRegisters
from warploom_golden.host import HostRegisters as Model
from warploom_sim.cosim.lockstep import Case, LockstepError, Pace, run
from warploom_spec import layouts
from warploom_spec.host_registers import register_addresses

TINY = config_of("tiny")
#: Two words of SMs, an order table, several units.
ODD = "tiny,sms=33,policy=freed_first,sections=3,units=3,queue_depth=2"
#: The same with loops; of three sections the last one can loop.
LOOPS = f"{ODD},loop_templates=4,loop_sections=1"
ERROR = layouts.error_record(TINY)


def make(config):
    return HostRegisters(config_of(config)), Model(config_of(config))


# Lockstep


def writes(context):
    """Yield writes, mostly of registers that can be written; now and then a strobe is missing."""
    rng, config = context.rng, config_of(context.params["config"])
    addresses = register_addresses(config)
    pace = Pace(rng)
    often = [
        name for name in addresses if name.startswith(("IRQ", "SM_EN", "CLEAR", "ORDER", "LOOP"))
    ]
    while True:
        name = rng.choice((*often, *often, "IRQ_STATUS", "IRQ_STATUS", *addresses))
        if name == "CONTROL" and rng.random() < 0.5:
            name = "STATE"
        address = rng.getrandbits(14) if rng.random() < 0.05 else addresses[name] // 4
        data = rng.choice((0, 1, rng.randrange(8), rng.getrandbits(4) << 8, rng.getrandbits(32)))
        strobes = rng.choice((ALL, ALL, ALL, rng.getrandbits(4), 0))
        word = {"valid": 1, "address": address, "data": data, "strobes": strobes}
        yield WRITE.pack(word) if pace() else 0


def reads(context):
    addresses = register_addresses(config_of(context.params["config"]))
    return reads_of(context, addresses, ("STATE", "IRQ_STATUS", "ERROR_LAST", "ERROR_COUNT"))


def reads_of(context, addresses, often):
    """Yield reads: of each register, of some more often, and now and then of any address."""
    rng = context.rng
    pace = Pace(rng)
    while True:
        name = rng.choice((*addresses, *often))
        address = rng.getrandbits(14) if rng.random() < 0.05 else addresses[name] // 4
        yield READ.pack({"valid": 1, "address": address}) if pace() else 0


def errors(context):
    rng = context.rng
    pace = Pace(rng, (0.0, 0.02, 0.5))
    while True:
        fields = {"valid": 1, "code": rng.getrandbits(8), "argument": rng.getrandbits(16)}
        yield ERROR.pack(fields) if pace() else 0


def few(context):
    """Yield counts about the thresholds that are written."""
    pace = Pace(context.rng)
    value = 0
    while True:
        if pace():
            value = context.rng.randrange(config_of(context.params["config"]).records + 1)
            value = context.rng.choice((0, 1, 2, 3, value))
        yield value


def lost(context):
    """Yield masks in which a bit is set or cleared now and then."""
    rng, value = context.rng, 0
    while True:
        if rng.random() < 0.1:
            value ^= 1 << rng.randrange(config_of(context.params["config"]).sms)
        yield value


class Happenings:
    """Counts what the page speaks of, from ports alone."""

    def __init__(self):
        self.counts_of = dict.fromkeys(
            (
                "irq rises",
                "irq falls",
                "pop",
                "a stream is mended",
                "a stream to be mended waits",
                "a restart while streams are to be mended",
                "a unit is reset",
                "refused: wrong address",
                "refused: a soft reset is running",
                "refused: a strobe is missing or a value too large",
                "a soft reset begins",
                "a soft reset ends at once",
                "a soft reset waits",
                "two errors in one cycle",
                "an error in the cycle of restart",
                "an SM is lost in the cycle of a write to IRQ_STATUS",
                "a read is refused",
                "a soft reset is forced",
            ),
            0,
        )
        self.reset()

    def reset(self):
        self._before = None
        self._lasts = 0
        self._write = WRITE.unpack(0)
        self._reads = deque([0] * 3, 3)

    def counts(self):
        return self.counts_of

    def see(self, cycle, inputs, outputs):
        del cycle
        # The write that commits came a cycle before.
        write, self._write = self._write, WRITE.unpack(inputs["write"])
        before = self._before
        refused = write["valid"] and outputs["write_refused"]
        known = write["address"] in {a // 4 for a in register_addresses(TINY).values()}
        error = bool(inputs["dispatch_error"]) + bool(inputs["index_error"])
        status = register_addresses(TINY)["IRQ_STATUS"] // 4
        active = outputs["soft_reset_active"]
        rises = bool(before) and active and not before["active"]
        answered = self._reads[0]
        self._reads.append(bool(inputs["read"]))
        more_lost = bool(before) and inputs["lost"] & ~before["lost"]
        happened = {
            "irq rises": before and outputs["irq"] and not before["irq"],
            "irq falls": before and before["irq"] and not outputs["irq"],
            "pop": outputs["pop"],
            "a stream is mended": outputs["clear_stream__valid"] and inputs["clear_stream__ready"],
            "a stream to be mended waits": (
                outputs["clear_stream__valid"] and not inputs["clear_stream__ready"]
            ),
            "a restart while streams are to be mended": outputs["restart"] and outputs["clearing"],
            "a unit is reset": outputs["unit_reset"] and not active,
            "refused: wrong address": refused and not known,
            "refused: a soft reset is running": refused and active and known,
            "refused: a strobe is missing or a value too large": (
                refused and not active and write["address"] in acting()
            ),
            "a soft reset begins": rises,
            "a soft reset ends at once": outputs["restart"] and self._lasts == 6,
            "a soft reset waits": outputs["restart"] and self._lasts > 8,
            "a soft reset is forced": outputs["forced_next"],
            "two errors in one cycle": error == 2,
            "an error in the cycle of restart": error and outputs["restart"],
            "an SM is lost in the cycle of a write to IRQ_STATUS": (
                more_lost
                and write["valid"]
                and write["address"] == status
                and write["data"] & 4
                and not refused
            ),
            "a read is refused": answered and ANSWER.unpack(outputs["answer"])["refused"],
        }
        for name, it_did in happened.items():
            self.counts_of[name] += bool(it_did)
        self._lasts = self._lasts + 1 if active else 0
        self._before = {"irq": outputs["irq"], "active": active, "lost": inputs["lost"]}


def acting():
    names = ("CONTROL", "IRQ_STATUS", "RECORD_POP", "CLEAR_STREAM", "UNIT_RESET")
    return {register_addresses(TINY)[name] // 4 for name in names}


def withdrawn(config):
    """Return the streams whose `valid` may fall before a transfer, with the reason."""
    asked = ["clear_stream"] + ["order_swap"] * config_of(config).has_order_table
    return dict.fromkeys(asked, "the restart of a soft reset forgets what stands")


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
            "records": few,
            "lost": lost,
        },
        withdrawable=withdrawn(config),
        events={"happenings": Happenings},
    )


#: So soon a soft reset is forced in these runs: `idle` is often 1.
SOON = 8


@pytest.mark.parametrize("config", deep_but([], ["tiny", ODD]))
def test_equals_its_model_and_hard_cases_happen(config, seed, monkeypatch):
    plant_timing(monkeypatch, HostRegisters, Model, soft_reset_limit=SOON)
    run_until(Happenings().counts(), lambda n: [case(config, seed + n)], "amaranth")


@pytest.mark.parametrize("config", [ODD, LOOPS])
def test_equals_its_model_on_amaranth(config, seed):
    run([case(config, seed, 1000)], "amaranth")


@pytest.mark.parametrize("more", deep_but([0], range(2)))
@pytest.mark.parametrize("simulator", OTHER_SIMULATORS)
def test_equals_its_model_on_other_simulators(simulator, more, seed):
    run([case(ODD, seed + more, 2500)], simulator)


WRONG = {
    "a threshold of 0 is always reached": Change(
        HostRegisters,
        "_interrupt",
        "Mux(threshold == 0, self.records != 0, self.records >= threshold)",
        "self.records >= threshold",
    ),
    "two errors count as one": Change(
        HostRegisters,
        "_errors",
        "sum((record.valid for record in blocks.values()), count)",
        "count + reduce(or_, (record.valid for record in blocks.values()))",
    ),
    "every register can be read while a soft reset runs": Change(
        HostRegisters, "_answer_reads", "~self.soft_reset_active | is_state", "C(1)"
    ),
    "a stream number is cut": Change(
        HostRegisters,
        "_answer_writes",
        'here["CLEAR_STREAM"] & write.data[self._config.stream_bits : 8].any()',
        'here["CLEAR_STREAM"] & 0',
    ),
    "a stream is taken before it is ready": Change(
        HostRegisters, "_clear_streams", "~valid | to.ready", "C(1, 1)"
    ),
    "a write while a stream goes is forgotten": Change(
        HostRegisters,
        "_clear_streams",
        "(marks & ~(lowest & takes.replicate(len(marks)))) | new",
        "(marks | new) & ~(lowest & takes.replicate(len(marks)))",
    ),
    "a restart keeps the streams to be mended": Change(
        HostRegisters, "_clear_streams", "[marks.eq(0), valid.eq(0)]", "[valid.eq(0)]"
    ),
    "a stream that waits is not told": Change(
        HostRegisters, "_clear_streams", "valid | marks.any()", "valid"
    ),
    "a soft reset leaves disabled SMs disabled": Change(
        HostRegisters,
        "_sms",
        "m.d.sync += self.enable.eq(self.enable.init)",
        "m.d.sync += self.enable.eq(self.enable)",
    ),
}


#: Faults that random traffic shows after a minute or later.
RARE = ("a write while a stream goes is forgotten", "a restart keeps the streams to be mended")


@pytest.mark.parametrize(
    "name", deep_but([], WRONG, thorough=[name for name in WRONG if name not in RARE])
)
def test_lockstep_finds_a_wrong_rule(name, seed, monkeypatch):
    plant(monkeypatch, [WRONG[name]])
    with pytest.raises(LockstepError):
        run([case(ODD, seed + k) for k in range(24)], "amaranth", waves=False)
