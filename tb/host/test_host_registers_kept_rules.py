"""What stays in HostRegisters and what does not happen, as its page has it: RTL and model alike."""

import pytest

from tb.host.accesses import ByCycle, answers, recorded
from tb.host.commands import READ, WRITE
from tb.host.test_host_registers import ERROR, ODD, TINY
from tb.host.test_host_registers_rules import KINDS, SMALL, play, rd, silent, wr
from tb.support.dispatch_configs import config_of
from tb.support.planted import plant, plant_timing
from tb.support.resettable import resettable
from warploom.host.host_registers import HostRegisters
from warploom_dev.rewrite import Rewrite
from warploom_golden.host import HostRegisters as Model
from warploom_spec import STALL_CAUSES
from warploom_spec.host_registers import register_addresses

AN_ERROR = ERROR.pack({"valid": 1, "code": 21, "argument": 0xABCD})
#: Outputs that say that a register acted.
PULSES = ("pop", "clear_stream__valid", "unit_reset", "restart_next", "restart", "forced_next")
#: Registers that a soft reset leaves as they are, with values of all bytes.
KEPT = {
    "IRQ_ENABLE": 0b110110,
    "IRQ_THRESHOLD": 0xA987,
    "IRQ_TIMEOUT": 0x12345678,
    "LAUNCH_TIMEOUT": 0x9ABCDEF0,
}


def level(first, last, value=1):
    return dict.fromkeys(range(first, last), value)


# Soft reset


@pytest.mark.rule("host_registers", 6, 12, 14)
@KINDS
def test_soft_resets_keep_the_interrupt_s_registers_and_both_limits(kind, monkeypatch):
    """One begins in 12 and is forced in 302: restart in 304. The next one is from 311 to 317.

    Error, lost SM and completed command come in 5 to 7. None is cleared, so `irq` stays.
    """
    plant_timing(monkeypatch, HostRegisters, Model, soft_reset_limit=290)
    config = config_of(SMALL)
    starts = {12: wr("CONTROL", 1, config=config), 310: wr("CONTROL", 1, config=config)}
    writes = [wr(name, value, config=config) for name, value in KEPT.items()]
    names = (*KEPT, "IRQ_STATUS", "STATE")
    seen = play(
        kind,
        332,
        config=config,
        write=dict(enumerate(writes)) | starts,
        dispatch_error={5: AN_ERROR},
        lost=level(6, 332),
        completed={7: 1},
        idle=level(310, 332),
        read={307 + k: rd(name, config) for k, name in enumerate(names[:3])}
        | {320 + k: rd(name, config) for k, name in enumerate(names)},
    )
    assert (seen.cycles("restart"), seen.cycles("forced_next")) == ([304, 317], [303])
    kept = list(KEPT.values())
    assert list(answers(seen).values()) == [*kept[:3], *kept, 0b111110, 0x20000]
    assert seen.cycles("irq") == list(range(7, 332))
    assert seen.port("launch_timeout")[8:] == [0x9ABCDEF0] * 324


@pytest.mark.rule("host_registers", 5, 12)
@KINDS
@pytest.mark.parametrize("begins", [8, 15, 19, 22, 30])
def test_a_soft_reset_does_not_start_the_count(kind, begins):
    """A record waits from 5 on: `late` is 1 from 4 + 20 + 2 on, wherever the soft reset is."""
    writes = {1: wr("IRQ_THRESHOLD", 9), 2: wr("IRQ_TIMEOUT", 20), 3: wr("IRQ_ENABLE", 1)}
    seen = play(
        kind,
        45,
        write=writes | {begins: wr("CONTROL", 1)},
        records=level(5, 45),
        idle=level(0, 45),
    )
    assert seen.cycles("restart") == [begins + 7]
    assert seen.cycles("irq") == list(range(27, 45))


@pytest.mark.rule("host_registers", 1, 2, 13)
@KINDS
def test_a_write_in_a_soft_reset_changes_nothing(kind):
    """It begins in 12. Every register is written in it, from 13 on, and `idle` comes in 30."""
    config = config_of(ODD)
    writable = {
        **dict.fromkeys((*KEPT, "SM_ENABLE0", "SM_ENABLE1", "UNIT_RESET", "IRQ_STATUS"), ~0),
        **dict.fromkeys(("RECORD_POP", "CONTROL", "CLEAR_STREAM", "ORDER_SWAP"), 1),
    }
    before = [wr(name, value, config=config) for name, value in KEPT.items()]
    within = [wr(name, data & 0xFFFFFFFF, config=config) for name, data in writable.items()]
    names = (*KEPT, "IRQ_STATUS", "STATE")
    seen = play(
        kind,
        50,
        config=config,
        write=dict(enumerate(before, 1)) | {12: wr("CONTROL", 1)} | dict(enumerate(within, 13)),
        dispatch_error={6: AN_ERROR},
        records=level(6, 50),
        idle={30: 1},
        read={40 + k: rd(name, config) for k, name in enumerate(names)},
    )
    assert seen.cycles("write_refused") == list(range(13, 25))
    assert list(answers(seen).values()) == [*KEPT.values(), 0b01010, 0x10000]
    pulses = {name: seen.cycles(name) for name in (*PULSES, "order_swap__valid")}
    assert pulses == dict.fromkeys(pulses, []) | {
        "unit_reset": [16],
        "restart_next": [31],
        "restart": [32],
    }
    assert seen.port("unit_reset")[16] == 0b111


@pytest.mark.rule("host_registers", 12)
@KINDS
def test_the_epoch_wraps(kind, monkeypatch):
    plant(
        monkeypatch,
        (
            Rewrite(
                HostRegisters,
                "_soft_reset",
                "Signal(_EPOCH_BITS)",
                "Signal(_EPOCH_BITS, init=0xFFFE)",
            ),
            Rewrite(Model, "reset", "self._epoch = 0", "self._epoch = 0xFFFE"),
        ),
    )
    seen = play(
        kind,
        30,
        write={3: wr("CONTROL", 1), 15: wr("CONTROL", 1)},
        idle=level(0, 30),
        read={2: rd("STATE"), 10: rd("STATE"), 11: rd("STATE"), 22: rd("STATE"), 24: rd("STATE")},
    )
    assert answers(seen) == {2: 0xFFFE << 16, 10: 0xFFFE0001, 11: 0xFFFF0000, 22: 0xFFFF0001, 24: 0}


@KINDS
def test_a_reset_of_the_machine_leaves_nothing(kind):
    """It comes in 24, the last cycle but one of a second soft reset; a write commits there."""
    writes = [wr(name, value) for name, value in KEPT.items()]
    again = {4: wr("CONTROL", 1), 13: wr("SM_ENABLE0", 0), 18: wr("CONTROL", 1)}
    names = (*KEPT, "IRQ_STATUS", "STATE", "ERROR_LAST", "ERROR_COUNT", "SM_ENABLE0")
    ports = {
        "write": dict(enumerate(writes)) | again | {25: wr("LAUNCH_TIMEOUT", 9)},
        "idle": level(0, 50),
        "dispatch_error": {14: AN_ERROR},
        "lost": level(15, 25),
        "completed": {16: 1},
        "read": {14: rd("STATE"), 17: rd("IRQ_STATUS")}
        | {28 + k: rd(name) for k, name in enumerate(names)},
        "reset_now": {24: 1},
    }
    seen = recorded(resettable(kind(TINY)), ByCycle(silent(TINY), ports), 50)
    assert list(answers(seen).values()) == [0x10000, 0b11110, *[0] * 8, 3]
    assert seen.port("enable")[13:27] == [3, *[0] * 11, 3, 3]
    assert seen.cycles("restart") == [11]
    assert seen.cycles("soft_reset_active") == [*range(5, 12), *range(19, 25)]
    assert seen.cycles("irq")[-1] == 24
    assert seen.port("launch_timeout")[24:] == [KEPT["LAUNCH_TIMEOUT"], *[0] * 25]


# Writes that do nothing


#: Registers that act, and data that would be seen.
ACTING = {
    "CONTROL": 1,
    "IRQ_STATUS": 0x3F,
    "RECORD_POP": 1,
    "CLEAR_STREAM": 1,
    "UNIT_RESET": 7,
    "ORDER_SWAP": 1,
}


@pytest.mark.rule("host_registers", 1, 2)
@KINDS
def test_a_register_that_acts_does_nothing_without_each_of_its_strobes(kind):
    """All patterns of strobes but the full one, from 10 on: only the empty one is not refused."""
    config = config_of(ODD)
    tries = [(name, strobes) for name in ACTING for strobes in range(15)]
    writes = [wr(name, ACTING[name], strobes, config) for name, strobes in tries]
    seen = play(
        kind,
        110,
        config=config,
        write=dict(enumerate(writes, 10)),
        dispatch_error={4: AN_ERROR},
        completed={4: 1},
        records=level(0, 110),
        idle=level(0, 110),
        read={104: rd("IRQ_STATUS", config), 105: rd("STATE", config)},
    )
    refused = [10 + k for k, (_, strobes) in enumerate(tries) if strobes]
    assert seen.cycles("write_refused") == refused
    silent = (*PULSES, "order_swap__valid", "soft_reset_active")
    assert {name: seen.cycles(name) for name in silent} == dict.fromkeys(silent, [])
    assert answers(seen) == {104: 0b10011, 105: 0}


@pytest.mark.rule("host_registers", 1, 2)
@KINDS
def test_without_strobes_or_beside_its_address_a_register_keeps_its_value(kind):
    """A bit of the address that no register has is looked at, up to the highest one."""
    values = KEPT | {"SM_ENABLE0": 1}
    addresses = register_addresses(TINY)
    empty = [wr(name, ~value & 0xFFFFFFFF, strobes=0) for name, value in values.items()]
    beside = [
        WRITE.pack(
            {"valid": 1, "address": addresses[name] // 4 | 1 << bit, "data": 0, "strobes": 15}
        )
        for name in values
        for bit in (8, 9, 10, 11, 12, 13)
    ]
    writes = [*(wr(name, value) for name, value in values.items()), *empty, *beside]
    seen = play(
        kind,
        60,
        write=dict(enumerate(writes)),
        read={50 + k: rd(name) for k, name in enumerate(values)},
    )
    assert seen.cycles("write_refused") == list(range(10, 40))
    assert list(answers(seen).values()) == list(values.values())


@pytest.mark.rule("host_registers", 4)
@KINDS
def test_a_read_changes_nothing(kind):
    """Every word from 0 to 0x1FC is read, twice: both times it gives the same."""
    words = [READ.pack({"valid": 1, "address": address}) for address in range(0x80)]
    writes = [wr(name, value) for name, value in KEPT.items()]
    seen = play(
        kind,
        280,
        write=dict(enumerate(writes)),
        dispatch_error={4: AN_ERROR},
        completed={4: 1},
        lost=level(4, 280, 2),
        records=level(0, 280, 3),
        oldest=level(0, 280, 0x1234567 << 200 | 9),
        read=dict(enumerate([*words, *words], 10)),
    )
    found = list(answers(seen).values())
    assert found[:0x80] == found[0x80:]
    assert found[0x24 // 4] == 0b10110 and found[0x68 // 4] == 1
    assert not any(seen.cycles(name) for name in (*PULSES, "soft_reset_active"))
    assert seen.cycles("irq") == list(range(6, 280))


@pytest.mark.rule("host_registers", 4)
@KINDS
def test_a_word_that_can_only_be_written_reads_0(kind):
    config = config_of(ODD)
    written = {"RECORD_POP": 0xFFFFFFFF, "CLEAR_STREAM": 7, "UNIT_RESET": 7, "ORDER_SWAP": 0x2120}
    writes = {
        4 * k: wr(name, data, config=config) for k, (name, data) in enumerate(written.items())
    }
    reads = {4 * k + wait: rd(name, config) for k, name in enumerate(written) for wait in (0, 1, 2)}
    seen = play(kind, 20, config=config, write=writes, read=reads)
    assert seen.cycles("write_refused") == []
    assert list(answers(seen).values()) == [0] * 12


# Every bit


#: Inputs that a register shows whole: port, width, and the input's bit that is the register's 0.
WHOLE = {
    "REFUSED": ("refused", 32, 0),
    **{
        f"STALL_{cause.upper()}": (f"stall_{cause}", 32, 0)
        for cause in STALL_CAUSES
        if cause != "order"
    },
    "DISPATCHER_ERRORS": ("dispatch_error_count", 16, 0),
    "STRAYS0": ("strays__0", 16, 0),
    "INDEX_ERRORS": ("index_error_count", 16, 0),
    "CLOCK_LOW": ("clock", 32, 0),
    "CLOCK_HIGH": ("clock", 32, 32),
    "RECORDS": ("records", 5, 0),
    "ROOM": ("room", 4, 0),
    "SM_LOST0": ("lost", 2, 0),
    **{f"RECORD{k}": ("oldest", 32, 32 * k) for k in (0, 2, 3, 4, 5, 6, 7)},
}


@pytest.mark.rule("host_registers", 4)
@KINDS
@pytest.mark.parametrize("name", WHOLE)
def test_every_bit_of_an_input_is_shown(kind, name):
    port, width, low = WHOLE[name]
    values = [1 << bit for bit in range(width)] + [(1 << width) - 1]
    cycles = range(4, 4 + len(values))
    seen = play(
        kind,
        40,
        read=dict.fromkeys(cycles, rd(name)),
        **{port: {cycle: value << low for cycle, value in zip(cycles, values, strict=True)}},
    )
    assert list(answers(seen).values()) == values


#: Registers that read what was written, and their bits.
WRITTEN = {
    "IRQ_ENABLE": 6,
    "IRQ_THRESHOLD": 16,
    "IRQ_TIMEOUT": 32,
    "LAUNCH_TIMEOUT": 32,
    "SM_ENABLE0": 2,
}


@pytest.mark.rule("host_registers", 1, 4)
@KINDS
@pytest.mark.parametrize("name", WRITTEN)
def test_every_bit_stays_as_it_was_written(kind, name):
    """A bit a cycle from 4 on. A read in the cycle of the next write gives the value before it."""
    width = WRITTEN[name]
    written = [0, *(1 << bit for bit in range(32)), 0xFFFFFFFF, 0]
    seen = play(
        kind,
        45,
        write={4 + k: wr(name, value) for k, value in enumerate(written)},
        read=dict.fromkeys(range(5, 40), rd(name)),
    )
    assert list(answers(seen).values()) == [value & (1 << width) - 1 for value in written]


# Interrupt


@pytest.mark.rule("host_registers", 5)
@KINDS
def test_every_bit_of_a_time_out_counts(kind):
    """A time-out of 3 ends within the eight cycles to the next write; one with a higher bit not."""
    records, spaced = level(0, 300), range(10, 10 + 8 * 33, 8)
    timeouts = [3, *(3 | 1 << bit for bit in range(4, 32)), 1 << 31, 1 << 16, 0, 3]
    writes = {c: wr("IRQ_TIMEOUT", value) for c, value in zip(spaced, timeouts, strict=True)}
    first = {1: wr("IRQ_THRESHOLD", 9), 3: wr("IRQ_ENABLE", 1)}
    seen = play(kind, 280, write=first | writes, records=records)
    # r is 11, then 267: `irq` is 1 from 6 cycles later on, and up to the next write's next cycle.
    assert seen.cycles("irq") == [17, 18, 19, *range(273, 280)]


@pytest.mark.rule("host_registers", 5)
@KINDS
def test_what_does_not_start_the_count(kind):
    """A record waits from 5 on, its time-out is 30: `late` is 1 from 36 on.

    Then one strobe of IRQ_TIMEOUT is written, in 50, with what is there: r = 51.
    """
    first = {1: wr("IRQ_THRESHOLD", 9), 2: wr("IRQ_TIMEOUT", 30), 3: wr("IRQ_ENABLE", 1)}
    idle_writes = (
        wr("RECORD_POP", 0xFFFFFFFE),
        wr("RECORD_POP", 1, strobes=0b0111),
        wr("RECORD_POP", 1, strobes=0),
        wr("IRQ_TIMEOUT", 5, strobes=0),
        wr("IRQ_THRESHOLD", 8),
        wr("IRQ_ENABLE", 1),
        wr("IRQ_STATUS", 0x3F),
        wr("LAUNCH_TIMEOUT", 7),
        wr("SM_ENABLE0", 1),
        wr("CLEAR_STREAM", 1),
        wr("UNIT_RESET", 1),
        wr("CONTROL", 0),
        wr("RECORDS", 0),
    )
    seen = play(
        kind,
        90,
        write=first | dict(enumerate(idle_writes, 12)) | {50: wr("IRQ_TIMEOUT", 30, strobes=1)},
        records=level(5, 10) | level(10, 16, 7) | level(16, 90, 2),
        completed={20: 1},
        dispatch_error={22: AN_ERROR},
        lost=level(24, 90),
        read={26 + k: rd(name) for k, name in enumerate(("IRQ_TIMEOUT", "RECORD0", "RECORDS"))},
    )
    assert answers(seen) == {26: 30, 27: 0, 28: 2}
    assert seen.cycles("irq") == [*range(37, 52), *range(84, 90)]


#: What sets a bit of IRQ_STATUS.
SETS = [
    {"records": level(5, 30)},
    {"dispatch_error": {5: AN_ERROR}},
    {"lost": level(5, 30)},
    {"write": {5: wr("CONTROL", 1)}, "idle": level(5, 30)},
    {"completed": {5: 1}},
]


@pytest.mark.rule("host_registers", 5, 8)
@KINDS
@pytest.mark.parametrize("bit", range(5))
def test_a_bit_interrupts_if_it_is_enabled_and_no_other_bit_does_it(kind, bit):
    for enabled in (1 << bit, 0x3F ^ 1 << bit):
        ports = {"write": {}} | SETS[bit]
        ports["write"] = {0: wr("IRQ_ENABLE", enabled)} | ports["write"]
        seen = play(kind, 30, **ports, read={26: rd("IRQ_STATUS")})
        assert answers(seen) == {26: 1 << bit}
        assert bool(seen.cycles("irq")) == (enabled == 1 << bit)


@pytest.mark.rule("host_registers", 5, 6, 7, 9)
@KINDS
def test_a_write_clears_its_bits_alone_and_no_error_register(kind):
    """Bits 1 to 4 are set; bit 0 is a level, which a write does not change."""
    clears = {20: 0, 22: 0b00001, 24: 0b00100, 26: 0b10001, 28: 0b00010, 30: 0xFFFFFFFF}
    seen = play(
        kind,
        42,
        write={2: wr("CONTROL", 1)} | {c: wr("IRQ_STATUS", data) for c, data in clears.items()},
        idle=level(0, 40),
        records=level(10, 34),
        dispatch_error={12: AN_ERROR},
        lost=level(13, 40),
        completed={14: 1},
        read={cycle: rd("IRQ_STATUS") for cycle in range(19, 36, 2)}
        | {36: rd("ERROR_LAST"), 37: rd("ERROR_COUNT"), 38: rd("SM_LOST0")},
    )
    found = list(answers(seen).values())
    assert found[:9] == [31, 31, 31, 27, 11, 9, 1, 1, 0]
    assert found[9:] == [21 | 1 << 8 | 0xABCD << 16, 1, 1]


@pytest.mark.rule("host_registers", 6)
@KINDS
def test_an_sm_that_stays_lost_interrupts_once(kind):
    """SM 0 is lost from 5 to 27, SM 1 from 10 on: bit 2 is set in 5 and 10, and cleared twice.

    Neither the soft reset that ends in 20 sets it, nor SM 0 that comes back in 28. SM 0 is lost
    again in 32.
    """
    clears = {8: wr("IRQ_STATUS", 4), 11: wr("IRQ_STATUS", 4), 24: wr("IRQ_STATUS", 8)}
    seen = play(
        kind,
        40,
        write=clears | {13: wr("CONTROL", 1)},
        idle=level(0, 40),
        lost=level(5, 10, 1) | level(10, 28, 3) | level(28, 32, 2) | level(32, 40, 3),
        read={cycle: rd("IRQ_STATUS") for cycle in (5, 6, 9, 11, 12, 23, 26, 31, 32, 33)},
    )
    assert list(answers(seen).values()) == [0, 4, 0, 4, 0, 8, 0, 0, 0, 4]
