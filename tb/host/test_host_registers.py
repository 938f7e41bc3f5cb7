"""HostRegisters beside its model, and its page's rules and cycles on both."""

import pytest

from tb.host.commands import ALL, ANSWER, READ, WRITE
from tb.support.dispatch_configs import config_of
from tb.support.hard_cases import run_until
from tb.support.planted import Change, plant
from tb.support.record import made, record
from warploom.host.host_registers import HostRegisters
from warploom_golden.host import HostRegisters as Model
from warploom_sim.lockstep import Case, LockstepError, Pace, run
from warploom_spec import STALL_CAUSES, layouts
from warploom_spec.host_registers import config_crc, register_addresses

TINY = config_of("tiny")
#: Two words of SMs, an order table, several units.
ODD = "tiny,sms=33,policy=freed_first,sections=3,units=3,queue_depth=2"
ERROR = layouts.error_record(TINY)


def make(config):
    return HostRegisters(config_of(config)), Model(config_of(config))


# Lockstep


def writes(context):
    """Yield writes, mostly of registers that can be written; now and then a strobe is missing."""
    rng, config = context.rng, config_of(context.params["config"])
    addresses = register_addresses(config)
    pace = Pace(rng)
    often = [name for name in addresses if name.startswith(("IRQ", "SM_EN", "CLEAR", "ORDER"))]
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
    rng, config = context.rng, config_of(context.params["config"])
    addresses = register_addresses(config)
    pace = Pace(rng)
    while True:
        name = rng.choice((*addresses, "STATE", "IRQ_STATUS", "ERROR_LAST", "ERROR_COUNT"))
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
                *("irq rises", "irq falls", "pop", "a stream is mended", "a unit is reset"),
                *("refused: wrong address", "refused: a soft reset is running"),
                "refused: a strobe is missing or a value too large",
                *("a soft reset begins", "a soft reset ends at once", "a soft reset waits"),
                "two errors in one cycle",
                "an error in the cycle of restart",
                "an SM is lost in the cycle of a write to IRQ_STATUS",
                "a read is refused",
            ),
            0,
        )
        self.reset()

    def reset(self):
        self._before = None
        self._lasts = 0

    def counts(self):
        return self.counts_of

    def see(self, cycle, inputs, outputs):
        del cycle
        write, before = WRITE.unpack(inputs["write"]), self._before
        refused = outputs["write_refused"]
        known = write["address"] in {a // 4 for a in register_addresses(TINY).values()}
        error = bool(inputs["dispatch_error"]) + bool(inputs["index_error"])
        status = register_addresses(TINY)["IRQ_STATUS"] // 4
        resetting = outputs["resetting"]
        rises = bool(before) and resetting and not before["resetting"]
        more_lost = bool(before) and inputs["lost"] & ~before["lost"]
        happened = {
            "irq rises": before and outputs["irq"] and not before["irq"],
            "irq falls": before and before["irq"] and not outputs["irq"],
            "pop": outputs["pop"],
            "a stream is mended": outputs["clear_stream_valid"],
            "a unit is reset": outputs["unit_reset"] and not rises,
            "refused: wrong address": refused and not known,
            "refused: a soft reset is running": refused and resetting and known,
            "refused: a strobe is missing or a value too large": (
                refused and not resetting and write["address"] in acting()
            ),
            "a soft reset begins": rises,
            "a soft reset ends at once": outputs["restart"] and self._lasts == 1,
            "a soft reset waits": outputs["restart"] and self._lasts > 3,
            "two errors in one cycle": error == 2,
            "an error in the cycle of restart": error and outputs["restart"],
            "an SM is lost in the cycle of a write to IRQ_STATUS": (
                more_lost
                and write["valid"]
                and write["address"] == status
                and write["data"] & 4
                and not refused
            ),
            "a read is refused": ANSWER.unpack(outputs["answer"])["refused"],
        }
        for name, it_did in happened.items():
            self.counts_of[name] += bool(it_did)
        self._lasts = self._lasts + 1 if resetting else 0
        self._before = {"irq": outputs["irq"], "resetting": resetting, "lost": inputs["lost"]}


def acting():
    names = ("CONTROL", "IRQ_STATUS", "RECORD_POP", "CLEAR_STREAM", "UNIT_RESET")
    return {register_addresses(TINY)[name] // 4 for name in names}


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
        events={"happenings": Happenings},
    )


@pytest.mark.parametrize("config", ["tiny", ODD])
def test_equals_its_model_and_hard_cases_happen(config, seed):
    run_until(Happenings().counts(), lambda n: [case(config, seed + n)], "amaranth")


@pytest.mark.parametrize("simulator", ["icarus", "verilator"])
def test_equals_its_model_on_other_simulators(simulator, seed):
    run([case(ODD, seed + k, 2500) for k in range(2)], simulator)


WRONG = {
    "a write clears a bit that an event sets": Change(
        HostRegisters,
        "_interrupt",
        "(held[bit] & ~cleared) | event",
        "(held[bit] | event) & ~cleared",
    ),
    "a threshold of 0 is always reached": Change(
        HostRegisters,
        "_interrupt",
        "Mux(threshold == 0, self.records != 0, self.records >= threshold)",
        "self.records >= threshold",
    ),
    "two errors count as one": Change(
        HostRegisters, "_errors", "dispatch.valid + index.valid", "(dispatch.valid | index.valid)"
    ),
    "every register can be read while a soft reset runs": Change(
        HostRegisters, "_answer_reads", "here & (state | ~self.resetting)", "here"
    ),
    "a stream number is cut": Change(
        HostRegisters,
        "_answer_writes",
        'here["CLEAR_STREAM"] & write.data[self._config.stream_bits : 8].any()',
        'here["CLEAR_STREAM"] & 0',
    ),
    "a soft reset leaves disabled SMs disabled": Change(
        HostRegisters,
        "_sms",
        "m.d.sync += self.enable.eq(self.enable.init)",
        "m.d.sync += self.enable.eq(self.enable)",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_lockstep_finds_a_wrong_rule(name, seed, monkeypatch):
    plant(monkeypatch, [WRONG[name]])
    with pytest.raises(LockstepError):
        run([case(ODD, seed + k) for k in range(24)], "amaranth", waves=False)


# Rules and cycles, of RTL and model alike

KINDS = pytest.mark.parametrize("kind", [HostRegisters, Model], ids=["rtl", "model"])


def silent(config):
    """Return all inputs at 0."""
    names = [
        "write",
        "read",
        "oldest",
        "records",
        "room",
        "refused",
        "busy",
        "missing",
        "disconnected",
        "lost",
        "idle",
    ]
    names += ["dispatch_error", "dispatch_error_count", "index_error", "index_error_count"]
    names += [f"stall_{cause}" for cause in STALL_CAUSES]
    names += [f"strays__{unit}" for unit in range(config.units)]
    return dict.fromkeys(names, 0)


class Script:
    """Inputs by cycle: everything that is not named is 0."""

    def __init__(self, config, ports):
        self._silent, self._ports, self._cycle = silent(config), ports, 0

    def next(self, outputs):
        del outputs
        values = {name: by_cycle.get(self._cycle, 0) for name, by_cycle in self._ports.items()}
        self._cycle += 1
        return self._silent | values


def play(kind, cycles=16, config=TINY, **ports):
    return record(made(kind, config), Script(config, ports), cycles)


def wr(name, data, strobes=ALL, config=TINY):
    address = register_addresses(config)[name] // 4
    return WRITE.pack({"valid": 1, "address": address, "data": data, "strobes": strobes})


def rd(name, config=TINY):
    return READ.pack({"valid": 1, "address": register_addresses(config)[name] // 4})


def answers(seen):
    """Return what each read gave, by its cycle: data, or None if it was refused."""
    found = {}
    for cycle in seen.cycles("read"):
        answer = ANSWER.unpack(seen.port("answer")[cycle + 1])
        found[cycle] = None if answer["refused"] else answer["data"]
    return found


def read_all(kind, names, config=TINY, **ports):
    reads_of = {4 + k: rd(name, config) for k, name in enumerate(names)}
    seen = play(kind, 6 + len(names), config, read=reads_of, **ports)
    return dict(zip(names, answers(seen).values(), strict=True))


@KINDS
def test_what_a_core_says_of_itself(kind):
    names = ("ID", "VERSION", "CONFIG_CRC", "PARAMS0", "PARAMS1", "PARAMS2", "SM_ENABLE0")
    assert read_all(kind, names) == {
        "ID": 0x57415250,
        "VERSION": 0x00010000,
        "CONFIG_CRC": config_crc(TINY),
        "PARAMS0": 8 << 24 | 4 << 16 | 1 << 8 | 2,
        "PARAMS1": 16 << 24 | 4 << 16 | 2,
        "PARAMS2": 4 << 24 | 1 << 16 | 20,
        "SM_ENABLE0": 3,
    }


@KINDS
def test_everything_else_is_0_after_a_reset(kind):
    constants = ("ID", "VERSION", "CONFIG_CRC", "PARAMS0", "PARAMS1", "PARAMS2", "SM_ENABLE0")
    names = [name for name in register_addresses(TINY) if name not in constants]
    assert set(read_all(kind, names).values()) == {0}


@KINDS
def test_registers_show_what_the_blocks_say_in_the_read_s_cycle(kind):
    """Each input has a value of its own, in the cycle of its register's read alone."""
    inputs = {
        "RECORDS": ("records", 7, 7),
        "RECORD0": ("oldest", 0xAAAA0001, 0xAAAA0001),
        "RECORD5": ("oldest", 0x1234 << 160, 0x1234),
        "ROOM": ("room", 1, 1),
        "REFUSED": ("refused", 0xFFFFFFFF, 0xFFFFFFFF),
        "SM_LOST0": ("lost", 2, 2),
        "STALL_ORDER": ("stall_order", 5, 5),
        "STALL_OFFER": ("stall_offer", 6, 6),
        "DISPATCHER_ERRORS": ("dispatch_error_count", 8, 8),
        "INDEX_ERRORS": ("index_error_count", 9, 9),
        "STRAYS0": ("strays__0", 10, 10),
    }
    for name, (port, value, shown) in inputs.items():
        seen = play(kind, read={c: rd(name) for c in (3, 4, 5)}, **{port: {4: value}})
        assert answers(seen) == {3: 0, 4: shown, 5: 0}, name
    seen = play(kind, read={4: rd("UNIT_STATE")}, busy={4: 1}, missing={4: 1})
    assert answers(seen) == {4: 0x10001}
    seen = play(kind, read={4: rd("UNIT_STATE")}, disconnected={4: 1})
    assert answers(seen) == {4: 0x100}


@KINDS
def test_first_rule_that_holds_answers_a_write(kind):
    config = config_of(ODD)
    attempts = [
        (1, wr("ID", 0, strobes=0)),
        (1, WRITE.pack({"valid": 1, "address": 0x400, "data": 0, "strobes": 0})),
        (0, wr("CONTROL", 1, strobes=0)),
        (0, wr("CLEAR_STREAM", 16, strobes=0)),
        (1, wr("RECORD_POP", 1, strobes=7)),
        (1, wr("IRQ_STATUS", 0, strobes=1)),
        (1, wr("CLEAR_STREAM", 16)),
        (0, wr("CLEAR_STREAM", 0xFFFFFF0F)),
        (1, wr("ORDER_SWAP", 64, config=config)),
        (1, wr("ORDER_SWAP", 64 << 8, config=config)),
        (0, wr("ORDER_SWAP", 63 << 8 | 33, config=config)),
        (0, wr("IRQ_ENABLE", 0xFFFFFFFF, strobes=1)),
    ]
    seen = play(kind, config=config, write=dict(enumerate(word for _, word in attempts)))
    assert seen.cycles("write_refused") == [k for k, (refused, _) in enumerate(attempts) if refused]
    assert seen.cycles("clear_stream_valid") == [7] and seen.port("clear_stream")[7] == 15
    assert seen.cycles("order_swap_valid") == [10]
    assert seen.port("order_swap")[10] == layouts.order_swap(config).pack(
        {"first": 33, "second": 63}
    )
    assert seen.cycles("resetting") == seen.cycles("pop") == []


@KINDS
def test_a_register_takes_the_bytes_of_its_strobes(kind):
    config = config_of(ODD)
    seen = play(
        kind,
        config=config,
        write={
            0: wr("SM_ENABLE0", 0x11223344, strobes=0b0101, config=config),
            1: wr("SM_ENABLE1", 0, strobes=0b1110, config=config),
            2: wr("SM_ENABLE1", 0xFFFFFFFE, config=config),
        },
        read={4: rd("SM_ENABLE0", config), 5: rd("SM_ENABLE1", config)},
    )
    assert answers(seen) == {4: 0xFF22FF44, 5: 0}
    assert seen.port("enable")[:4] == [
        (1 << 33) - 1,
        1 << 32 | 0xFF22FF44,
        1 << 32 | 0xFF22FF44,
        0xFF22FF44,
    ]


@KINDS
@pytest.mark.parametrize(("threshold", "least"), [(0, 1), (1, 1), (3, 3), (0x10003, 3)])
def test_records_raise_the_interrupt_from_their_threshold_on(kind, threshold, least):
    """`records` rises by one a cycle from 5 on; `irq` follows IRQ_STATUS by a cycle."""
    records = {5 + k: 1 + k for k in range(11)}
    seen = play(
        kind,
        write={0: wr("IRQ_ENABLE", 1), 1: wr("IRQ_THRESHOLD", threshold)},
        records=records,
    )
    assert seen.cycles("irq")[0] == 5 + least
    masked = play(kind, write={0: wr("IRQ_ENABLE", 14)}, records=records)
    assert masked.cycles("irq") == []


AN_ERROR = ERROR.pack({"valid": 1, "code": 21, "argument": 0xABCD})
EVENTS = {"dispatch_error": (1, AN_ERROR), "index_error": (1, AN_ERROR), "lost": (2, 1)}


@KINDS
@pytest.mark.parametrize("port", EVENTS)
@pytest.mark.parametrize(("cleared", "after"), [(5, 1), (6, 0)])
def test_an_event_wins_over_a_write_that_clears_its_bit(kind, port, cleared, after):
    bit, value = EVENTS[port]
    levels = range(5, 16) if port == "lost" else (5,)
    seen = play(
        kind,
        write={0: wr("IRQ_ENABLE", 1 << bit), cleared: wr("IRQ_STATUS", 1 << bit)},
        read={5: rd("IRQ_STATUS"), 6: rd("IRQ_STATUS"), 7: rd("IRQ_STATUS")},
        **{port: dict.fromkeys(levels, value)},
    )
    assert answers(seen) == {5: 0, 6: 1 << bit, 7: after << bit}
    assert seen.cycles("irq") == (list(range(7, 16)) if after else [7])


@KINDS
def test_the_dispatcher_s_error_is_shown_and_both_are_counted(kind):
    index = ERROR.pack({"valid": 1, "code": 19, "argument": 3})
    seen = play(
        kind,
        dispatch_error={4: AN_ERROR},
        index_error={4: index, 6: index},
        read={
            4: rd("ERROR_LAST"),
            5: rd("ERROR_LAST"),
            6: rd("ERROR_COUNT"),
            7: rd("ERROR_LAST"),
            8: rd("ERROR_COUNT"),
        },
    )
    dispatcher, index_block = 21 | 1 << 8 | 0xABCD << 16, 19 | 2 << 8 | 3 << 16
    assert answers(seen) == {4: 0, 5: dispatcher, 6: 2, 7: index_block, 8: 3}


@KINDS
def test_a_record_is_popped_in_the_cycle_of_the_write(kind):
    seen = play(kind, write={3: wr("RECORD_POP", 0xFFFFFFFF), 4: wr("RECORD_POP", 0xFFFFFFFE)})
    assert seen.cycles("pop") == [3]


@KINDS
def test_a_unit_is_reset_in_the_cycle_of_the_write(kind):
    config = config_of(ODD)
    writes = {3: wr("UNIT_RESET", 0xFFFFFFFD, config=config)}
    seen = play(kind, config=config, write=writes)
    assert seen.port("unit_reset") == [0, 0, 0, 5, *[0] * 12]


@KINDS
def test_a_soft_reset_cycle_by_cycle(kind):
    """Begun in 3, nothing left in 8: restart in 9, over from 10 on."""
    seen = play(
        kind,
        20,
        write={0: wr("SM_ENABLE0", 1), 1: wr("IRQ_ENABLE", 8), 3: wr("CONTROL", 1)}
        | {cycle: wr("SM_ENABLE0", 0) for cycle in range(4, 10)},
        idle=dict.fromkeys((0, 1, 2, 3, 8, 9, 10, 11), 1),
        dispatch_error={2: AN_ERROR, 9: AN_ERROR},
        read={
            3: rd("ID"),
            4: rd("ID"),
            5: rd("STATE"),
            9: rd("IRQ_ENABLE"),
            10: rd("STATE"),
            11: rd("ERROR_LAST"),
            12: rd("ERROR_COUNT"),
            13: rd("IRQ_STATUS"),
            14: rd("IRQ_ENABLE"),
        },
    )
    assert seen.cycles("resetting") == [4, 5, 6, 7, 8, 9]
    assert seen.cycles("restart") == [9]
    assert seen.cycles("unit_reset") == [4]
    assert seen.cycles("write_refused") == [4, 5, 6, 7, 8, 9]
    assert seen.port("enable")[1:12] == [1] * 9 + [3] * 2
    assert answers(seen) == {
        3: 0x57415250,
        4: None,
        5: 1,
        9: None,
        10: 0x10000,
        11: 0,
        12: 0,
        13: 0b1010,
        14: 8,
    }
    assert seen.cycles("irq") == list(range(11, 20))


@KINDS
def test_with_nothing_left_a_soft_reset_takes_two_cycles(kind):
    seen = play(kind, write={3: wr("CONTROL", 3)}, idle=dict.fromkeys(range(16), 1))
    assert (seen.cycles("resetting"), seen.cycles("restart")) == ([4, 5], [5])
    nothing = play(kind, write={3: wr("CONTROL", 2)}, idle=dict.fromkeys(range(16), 1))
    assert nothing.cycles("resetting") == []
