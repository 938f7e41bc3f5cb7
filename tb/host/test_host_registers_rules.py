"""HostRegisters' rules and cycles, as its page has them, on RTL and model alike."""

from dataclasses import replace

import pytest

from tb.host.accesses import ByCycle, answers, recorded
from tb.host.commands import ALL, READ, WRITE
from tb.host.test_host_registers import ERROR, ODD, TINY
from tb.support.dispatch_configs import config_of
from tb.support.planted import plant
from tb.support.record import made
from warploom.host.host_registers import HostRegisters
from warploom_dev.rewrite import Rewrite
from warploom_golden.host import HostRegisters as Model
from warploom_spec import STALL_CAUSES, layouts
from warploom_spec.host_registers import config_crc, register_addresses

KINDS = pytest.mark.parametrize("kind", [HostRegisters, Model], ids=["rtl", "model"])


#: ERROR_COUNT begins two below its wrap.
LATE_COUNT = (
    Rewrite(
        HostRegisters,
        "_errors",
        'Signal(32, name="errors")',
        'Signal(32, name="errors", init=0xFFFFFFFE)',
    ),
    Rewrite(Model, "reset", "self._error_count = 0", "self._error_count = 0xFFFFFFFE"),
)


def silent(config):
    """Return all inputs at 0."""
    names = [
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
    names += ["clear_stream__ready", "clock", "completed", "dispatch_error", "dispatch_error_count"]
    names += ["index_error", "index_error_count"] * config.makes_indices
    names += ["order_swap__ready"] * config.has_order_table
    names += [f"stall_{cause}" for cause in STALL_CAUSES if cause != "order"]
    names += [f"strays__{unit}" for unit in range(config.units)]
    return dict.fromkeys(names, 0)


def play(kind, cycles=18, config=TINY, **ports):
    """Run the block; ``write`` and ``read`` are given by the cycle of commit and of sampling."""
    idle = silent(config)
    ready = [name for name in ("clear_stream__ready", "order_swap__ready") if name in idle]
    idle |= {name: 1 for name in ready if name not in ports}
    return recorded(made(kind, config), ByCycle(idle, ports), cycles)


def wr(name, data, strobes=ALL, config=TINY):
    address = register_addresses(config)[name] // 4
    return WRITE.pack({"valid": 1, "address": address, "data": data, "strobes": strobes})


def rd(name, config=TINY):
    return READ.pack({"valid": 1, "address": register_addresses(config)[name] // 4})


def read_all(kind, names, config=TINY, **ports):
    reads_of = {4 + k: rd(name, config) for k, name in enumerate(names)}
    seen = play(kind, 6 + len(names), config, read=reads_of, **ports)
    return dict(zip(names, answers(seen).values(), strict=True))


#: Registers that are not 0 after a reset.
CONSTANTS = ("ID", "VERSION", "CONFIG_CRC", *(f"PARAMS{k}" for k in range(4)), "SM_ENABLE0")


@KINDS
def test_what_a_core_says_of_itself(kind):
    assert read_all(kind, CONSTANTS) == {
        "ID": 0x57415250,
        "VERSION": 0x00030001,
        "CONFIG_CRC": config_crc(TINY),
        "PARAMS0": 8 << 24 | 4 << 16 | 1 << 8 | 2,
        "PARAMS1": 16 << 24 | 4 << 16 | 2,
        "PARAMS2": 3 << 24 | 1 << 16 | 20,
        "PARAMS3": 2 << 24 | 8 << 16 | 2 << 12 | 2 << 8 | 4,
        "SM_ENABLE0": 3,
    }


@KINDS
def test_everything_else_is_0_after_a_reset(kind):
    names = [name for name in register_addresses(TINY) if name not in CONSTANTS]
    assert set(read_all(kind, names).values()) == {0}


@pytest.mark.rule("host_registers", 4)
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
        "STALL_SLOTS": ("stall_slots", 5, 5),
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


@pytest.mark.rule("host_registers", 4, 9)
@KINDS
def test_without_indices_index_errors_is_outside_the_map(kind):
    config = replace(TINY, index_memory_warps=0)
    error = layouts.error_record(config).pack({"valid": 1, "code": 20, "argument": 3})
    seen = play(
        kind,
        config=config,
        read={4: rd("INDEX_ERRORS"), 8: rd("ERROR_LAST", config), 9: rd("ERROR_COUNT", config)},
        dispatch_error={5: error},
    )
    assert register_addresses(TINY)["INDEX_ERRORS"] == 0x144
    assert answers(seen) == {4: None, 8: 20 | 1 << 8 | 3 << 16, 9: 1}


@pytest.mark.rule("host_registers", 1, 2)
@KINDS
def test_first_rule_that_holds_answers_a_write(kind):
    config = config_of(ODD)
    attempts = [
        (1, wr("ID", 0, strobes=0)),
        (1, WRITE.pack({"valid": 1, "address": 0x400, "data": 0, "strobes": 0})),
        (0, wr("CONTROL", 1, strobes=0)),
        (0, wr("CLEAR_STREAM", 8, strobes=0)),
        (1, wr("RECORD_POP", 1, strobes=7)),
        (1, wr("IRQ_STATUS", 0, strobes=1)),
        (1, wr("CLEAR_STREAM", 8)),
        (0, wr("CLEAR_STREAM", 0xFFFFFF07)),
        (1, wr("ORDER_SWAP", 64, config=config)),
        (1, wr("ORDER_SWAP", 64 << 8, config=config)),
        (0, wr("ORDER_SWAP", 63 << 8 | 33, config=config)),
        (0, wr("IRQ_ENABLE", 0xFFFFFFFF, strobes=1)),
    ]
    seen = play(kind, config=config, write=dict(enumerate(word for _, word in attempts)))
    assert seen.cycles("write_refused") == [k for k, (refused, _) in enumerate(attempts) if refused]
    assert seen.transfers("clear_stream") == [(9, 7)]
    assert seen.cycles("order_swap__valid") == [11]
    assert seen.port("order_swap__payload")[11] == layouts.order_swap(config).pack(
        {"first": 33, "second": 63}
    )
    assert seen.cycles("soft_reset_active") == seen.cycles("pop") == []


@pytest.mark.rule("host_registers", 1)
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


@pytest.mark.rule("host_registers", 5, 8)
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


@pytest.mark.rule("host_registers", 5)
@KINDS
@pytest.mark.parametrize("bit", range(16))
def test_every_bit_of_the_threshold_counts(kind, bit):
    """20 records wait, all that can: a threshold of bits 0 to 4 is reached."""
    for threshold in (1 << bit, 1 << bit | 1):
        seen = play(
            kind,
            write={0: wr("IRQ_THRESHOLD", threshold)},
            records=dict.fromkeys(range(16), 20),
            read={4: rd("IRQ_THRESHOLD"), 5: rd("IRQ_STATUS")},
        )
        assert answers(seen) == {4: threshold, 5: int(bit <= 4)}


@pytest.mark.rule("host_registers", 12)
@KINDS
def test_the_threshold_outlives_a_soft_reset(kind):
    """Begun in 3, over from 11 on: 5 records are still too few, and 6 are enough."""
    seen = play(
        kind,
        25,
        write={0: wr("IRQ_THRESHOLD", 6), 1: wr("IRQ_ENABLE", 1), 3: wr("CONTROL", 1)},
        idle=dict.fromkeys(range(25), 1),
        records=dict.fromkeys(range(17), 5) | dict.fromkeys(range(17, 25), 6),
        read={11: rd("IRQ_THRESHOLD"), 12: rd("STATE")},
    )
    assert seen.cycles("restart") == [10]
    assert answers(seen) == {11: 6, 12: 0x10000}
    assert seen.cycles("irq") == list(range(18, 25))


@pytest.mark.rule("host_registers", 1, 2, 3)
@KINDS
@pytest.mark.parametrize("bit", range(9))
def test_a_stream_is_refused_by_every_bit_that_its_number_has_not(kind, bit):
    """Streams have 3 bits, the register 8: 8, 16, 32, 64 and 128 are refused, 256 is stream 0."""
    seen = play(kind, write={2: wr("CLEAR_STREAM", 1 << bit | 1)})
    refused = 3 <= bit < 8
    assert seen.cycles("write_refused") == ([2] if refused else [])
    assert seen.transfers("clear_stream") == ([] if refused else [(4, (1 << bit | 1) & 7)])
    assert seen.cycles("clearing") == ([] if refused else [3, 4])


@pytest.mark.rule("host_registers", 1, 3)
@KINDS
def test_stream_31_is_mended_where_there_is_one(kind):
    config = replace(TINY, stream_bits=5)
    seen = play(kind, config=config, write={2: wr("CLEAR_STREAM", 31, config=config)})
    assert seen.cycles("write_refused") == []
    assert seen.transfers("clear_stream") == [(4, 31)]


@pytest.mark.rule("host_registers", 9)
@KINDS
def test_error_count_wraps(kind, monkeypatch):
    """It begins two below its wrap; in 5 both blocks give a record."""
    plant(monkeypatch, LATE_COUNT)
    seen = play(
        kind,
        dispatch_error={4: AN_ERROR, 5: AN_ERROR, 7: AN_ERROR},
        index_error={5: AN_ERROR},
        read={cycle: rd("ERROR_COUNT") for cycle in range(4, 10)},
    )
    found = [0xFFFFFFFE, 0xFFFFFFFF, 1, 1, 2, 2]
    assert list(answers(seen).values()) == found


AN_ERROR = ERROR.pack({"valid": 1, "code": 21, "argument": 0xABCD})
EVENTS = {"dispatch_error": (1, AN_ERROR), "index_error": (1, AN_ERROR), "lost": (2, 1)}


@pytest.mark.rule("host_registers", 6, 7, 8)
@KINDS
@pytest.mark.parametrize("port", EVENTS)
@pytest.mark.parametrize(("cleared", "after"), [(5, 1), (6, 0)])
def test_an_event_wins_over_a_write_that_clears_its_bit(kind, port, cleared, after):
    bit, value = EVENTS[port]
    levels = range(5, 18) if port == "lost" else (5,)
    seen = play(
        kind,
        write={0: wr("IRQ_ENABLE", 1 << bit), cleared: wr("IRQ_STATUS", 1 << bit)},
        read={5: rd("IRQ_STATUS"), 6: rd("IRQ_STATUS"), 7: rd("IRQ_STATUS")},
        **{port: dict.fromkeys(levels, value)},
    )
    assert answers(seen) == {5: 0, 6: 1 << bit, 7: after << bit}
    assert seen.cycles("irq") == (list(range(7, 18)) if after else [7])


@pytest.mark.rule("host_registers", 9)
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


@pytest.mark.rule("host_registers", 3)
@KINDS
def test_a_record_is_popped_in_the_cycle_of_the_write(kind):
    seen = play(kind, write={3: wr("RECORD_POP", 0xFFFFFFFF), 4: wr("RECORD_POP", 0xFFFFFFFE)})
    assert seen.cycles("pop") == [3]


@pytest.mark.rule("host_registers", 3)
@KINDS
def test_a_unit_is_reset_a_cycle_after_the_write(kind):
    config = config_of(ODD)
    writes = {3: wr("UNIT_RESET", 0xFFFFFFFD, config=config)}
    seen = play(kind, config=config, write=writes)
    assert seen.port("unit_reset") == [0, 0, 0, 0, 5, *[0] * 13]


@pytest.mark.rule("host_registers", 1, 4, 10, 11, 12, 13)
@KINDS
def test_a_soft_reset_cycle_by_cycle(kind):
    """Begun in 3, the units reset in 7, nothing left in 9: restart in 11, over from 12 on.

    `idle` in 7 comes too early: it counts from 8 on.
    """
    seen = play(
        kind,
        24,
        write={0: wr("SM_ENABLE0", 1), 1: wr("IRQ_ENABLE", 8), 3: wr("CONTROL", 1)}
        | {cycle: wr("SM_ENABLE0", 0) for cycle in range(4, 12)},
        idle=dict.fromkeys((0, 1, 2, 3, 4, 5, 6, 7, 9, 11, 12, 13), 1),
        dispatch_error={2: AN_ERROR, 11: AN_ERROR},
        read={
            3: rd("ID"),
            4: rd("ID"),
            5: rd("STATE"),
            11: rd("IRQ_ENABLE"),
            12: rd("STATE"),
            13: rd("ERROR_LAST"),
            14: rd("ERROR_COUNT"),
            15: rd("IRQ_STATUS"),
            16: rd("IRQ_ENABLE"),
        },
    )
    assert seen.cycles("soft_reset_active") == list(range(4, 12))
    assert seen.cycles("restart_next") == [10]
    assert seen.cycles("restart") == [11]
    assert seen.cycles("unit_reset") == [7]
    assert seen.cycles("write_refused") == list(range(4, 12))
    assert seen.port("enable")[1:14] == [1] * 11 + [3] * 2
    assert answers(seen) == {
        3: 0x57415250,
        4: None,
        5: 1,
        11: None,
        12: 0x10000,
        13: 0,
        14: 0,
        15: 0b1010,
        16: 8,
    }
    assert seen.cycles("irq") == list(range(13, 24))


@pytest.mark.rule("host_registers", 10, 11)
@KINDS
def test_with_nothing_left_a_soft_reset_takes_seven_cycles(kind):
    """`idle` counts from its fifth cycle on, and `restart` comes two cycles later."""
    seen = play(kind, write={3: wr("CONTROL", 3)}, idle=dict.fromkeys(range(18), 1))
    assert (seen.cycles("soft_reset_active"), seen.cycles("restart")) == ([*range(4, 11)], [10])
    nothing = play(kind, write={3: wr("CONTROL", 2)}, idle=dict.fromkeys(range(18), 1))
    assert nothing.cycles("soft_reset_active") == []


#: Its soft reset is forced from its 30 + 2 x 2 + 256 = 290th cycle on.
SMALL = "tiny,block_slots=8,kill_timeout=30,index_memory_warps=2"


@pytest.mark.rule("host_registers", 14)
@KINDS
@pytest.mark.parametrize("in_the_last_cycle", [False, True])
def test_a_soft_reset_that_waits_in_vain_is_forced(kind, in_the_last_cycle):
    """Begun in 3, forced from 581 on: restart in 583, over from 584 on; but not with `idle`."""
    config = config_of(SMALL)
    seen = play(
        kind,
        590,
        config=config,
        write={3: wr("CONTROL", 1, config=config)},
        idle={7: 1, 580: 0, 581: int(in_the_last_cycle), 582: 1},
        read={586: rd("IRQ_STATUS", config), 587: rd("STATE", config)},
    )
    assert seen.cycles("soft_reset_active") == list(range(4, 584))
    assert seen.cycles("restart_next") == [582]
    assert seen.cycles("restart") == [583]
    assert seen.cycles("forced_next") == ([] if in_the_last_cycle else [582])
    assert answers(seen) == {586: 0b01000 if in_the_last_cycle else 0b101000, 587: 0x10000}


@pytest.mark.rule("host_registers", 14)
@KINDS
def test_a_soft_reset_that_ends_as_its_time_is_over_is_not_forced(kind):
    """`idle` in 580 ends it: restart in 582. The count of the next one begins anew."""
    config = config_of(SMALL)
    writes = {3: wr("CONTROL", 1, config=config), 584: wr("CONTROL", 1, config=config)}
    seen = play(kind, 1171, config=config, write=writes, idle={580: 1})
    assert seen.cycles("restart") == [582, 1164]
    assert seen.cycles("forced_next") == [1163]


@pytest.mark.rule("host_registers", 14)
@KINDS
def test_a_soft_reset_waits_for_sms_that_do_not_kill(kind):
    config = config_of(f"{SMALL},sm_kill=False")
    seen = play(kind, 600, config=config, write={3: wr("CONTROL", 1, config=config)})
    assert seen.cycles("soft_reset_active") == list(range(4, 600))
    assert not seen.cycles("restart") and not seen.cycles("forced_next")


@pytest.mark.rule("host_registers", 10, 11, 13)
@KINDS
def test_a_soft_reset_right_after_another_one_is_as_long(kind):
    """The first is over from 11 on; the second begins in 11 and waits for its own fifth cycle."""
    writes = {3: wr("CONTROL", 1), 11: wr("CONTROL", 1)}
    seen = play(kind, 22, write=writes, idle=dict.fromkeys(range(22), 1))
    assert (seen.cycles("restart"), seen.cycles("unit_reset")) == ([10, 18], [7, 15])
