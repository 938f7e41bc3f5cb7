"""Each call of the drivers as a list of accesses: C and Python alike, on a bus without a core.

Addresses and words stand here as the register map has them, as numbers.
"""

import pytest

from simt_host.c_calls import U32
from tb.host.driver_hosts import TINY, c_host, python_host
from tb.host.scripted_bus import ScriptedBus
from warploom_host import HostDriver
from warploom_sim.verilog.register_map import c_header
from warploom_spec import WarploomError
from warploom_spec.host_registers import config_crc
from warploom_spec.resources import AMOUNT_FIELDS

BUS_ERROR, NOT_THERE, OTHER_MAP, OTHER_CONFIG = -1, -2, -3, -4
BUSY, WAITED, RANGE, EMPTY = -5, -6, -7, -8
QUEUE_FULL, COMPLETION_FULL, NOT_PREEMPTED = 32, 16, 47
DOORBELL = 0x1000
IDENTITY = [("read", 0x000, 0x57415250), ("read", 0x004, 0x00030001)]
CRC = config_crc(TINY)
#: Every field of a launch at 0: word 0 has the opcode.
NOTHING = dict.fromkeys(
    ("code", "arguments", "address_space", "stream", "priority", "idempotent")
    + ("mode", "gx", "gy", "gz", "dx", "dy", "dz", "index_address", "table", *AMOUNT_FIELDS),
    0,
)


@pytest.fixture(params=["c", "python"])
def host(request):
    """Return what makes a driver on a bus."""
    return python_host if request.param == "python" else c_host()


def made(host, call, script, *arguments, patience=1000, **fields):
    """Return what a call gives, which makes the accesses of a script and no others."""
    bus = ScriptedBus(list(script))
    found = getattr(host(bus, patience), call)(*arguments, **fields)
    bus.demand_over()
    return found


def rings(section=DOORBELL, **words):
    """Return the accesses that write a launch's words and ring: T0 to T13, those not named 0."""
    values = [words.get(f"T{n}", 2 if n == 0 else 0) for n in range(14)]
    writes = [("write", section + 0x80 + 4 * n, value) for n, value in enumerate(values)]
    return [("read", section, 0), *writes, ("write", section, 1)]


def complete(code=0, ticket=0, section=DOORBELL, number=0):
    """Return the accesses that find a section's outcome."""
    words = ((0x00, 0), (0x0C, code), (0x10, ticket), (0x04, 0), (0x08, 0), (0x14, number << 16))
    return [("read", section + offset, value) for offset, value in words]


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ([*IDENTITY, ("read", 0x008, CRC)], 0),
        # Another minor number is the same map, with more in it.
        ([IDENTITY[0], ("read", 0x004, 0x0003FFFF), ("read", 0x008, CRC)], 0),
        ([("read", 0x000, 0x57415251)], NOT_THERE),
        ([("read", 0x000, 0xD7415250)], NOT_THERE),
        ([IDENTITY[0], ("read", 0x004, 0x00020000)], OTHER_MAP),
        ([IDENTITY[0], ("read", 0x004, 0x80030000)], OTHER_MAP),
        ([*IDENTITY, ("read", 0x008, CRC ^ 1)], OTHER_CONFIG),
        ([*IDENTITY, ("read", 0x008, CRC ^ 1 << 31)], OTHER_CONFIG),
    ],
)
def test_another_core_map_or_configuration_is_told(host, script, code):
    assert made(host, "identify", script) == code


def test_a_launch_is_fourteen_words_and_the_doorbell(host):
    words = {"T1": 0x22222222, "T2": 0x11111111, "T3": 0x44444444, "T4": 0x33333333}
    words |= {"T5": 0x2512ABCD, "T6": 0x00010203, "T7": 0x00050004, "T8": 0x00C01008}
    words |= {"T9": 0x00010040, "T10": 0x03402407, "T12": 0x66666666, "T13": 0x55555555}
    fields = {"code": 0x1111111122222222, "arguments": 0x3333333344444444}
    fields |= {"address_space": 0xABCD, "stream": 0x12, "priority": 5}
    fields |= {"idempotent": 1, "mode": 2, "gx": 0x10203, "gy": 4, "gz": 5}
    fields |= {"dx": 8, "dy": 2, "dz": 3, "index_address": 0x40, "table": 1}
    fields |= {"warp_registers": 7, "shared": 9, "barriers": 3}
    script = rings(**words) + complete(ticket=77)
    found = made(host, "launch", script, 0, **fields, inline=(0x5555555566666666,))
    assert found == (0, 77)


def test_the_second_section_stands_at_0x1200(host):
    script = rings(0x1200) + complete(ticket=5, section=0x1200)
    assert made(host, "launch", script, 1, **NOTHING) == (0, 5)


def test_a_full_queue_is_tried_again(host):
    script = rings() + complete(QUEUE_FULL)
    script += rings() + complete(QUEUE_FULL)
    script += rings() + complete(ticket=9)
    assert made(host, "launch", script, 0, **NOTHING) == (0, 9)


@pytest.mark.parametrize("code", [1, 15, COMPLETION_FULL, 17, 45, 50, 55, 56])
def test_every_other_refusal_is_told_at_once(host, code):
    assert made(host, "launch", rings() + complete(code), 0, **NOTHING) == (code, 0)


@pytest.mark.parametrize(
    ("script", "code"),
    [
        # The section still shows an earlier launch's ticket.
        (rings() + complete(15, ticket=77), 15),
        ((rings() + complete(QUEUE_FULL, ticket=77)) * 2, WAITED),
        ([("read", DOORBELL, 1)], BUSY),
    ],
)
def test_a_launch_that_is_not_accepted_has_the_ticket_0(host, script, code):
    assert made(host, "launch", script, 0, patience=2, **NOTHING) == (code, 0)


def test_so_many_full_queues_as_there_is_patience(host):
    script = (rings() + complete(QUEUE_FULL)) * 3
    assert made(host, "launch", script, 0, patience=3, **NOTHING)[0] == WAITED


def test_so_many_polls_as_there_is_patience(host):
    busy = [("read", DOORBELL, 1)]
    script = rings() + busy * 4
    assert made(host, "launch", script, 0, patience=4, **NOTHING)[0] == WAITED
    script = rings() + busy * 3 + complete(ticket=1)
    assert made(host, "launch", script, 0, patience=4, **NOTHING) == (0, 1)


def test_so_many_looks_for_a_record_as_there_is_patience(host):
    assert made(host, "wait_record", [("read", 0x30, 0)] * 5, patience=5)[0] == WAITED


def test_so_many_looks_at_the_state_as_there_is_patience(host):
    begin, running = ("write", 0x18, 1), ("read", 0x1C, 0x00070001)
    assert made(host, "soft_reset", [begin, *[running] * 3], patience=3) == WAITED
    over = ("read", 0x1C, 0x00080000)
    assert made(host, "soft_reset", [begin, running, running, over], patience=3) == 0


def demand_no_limit(host):
    """Hold that patience 0 is no limit to any wait."""
    script = rings() + [("read", DOORBELL, 1)] * 50 + complete(ticket=1)
    assert made(host, "launch", script, 0, patience=0, **NOTHING) == (0, 1)
    script = (rings() + complete(QUEUE_FULL)) * 3 + rings() + complete(ticket=1)
    assert made(host, "launch", script, 0, patience=0, **NOTHING) == (0, 1)
    script = [("read", 0x30, 0)] * 50 + record(5, *[0] * 7)
    assert made(host, "wait_record", script, patience=0)[0] == 0
    script = [("write", 0x18, 1), *[("read", 0x1C, 1)] * 50, ("read", 0x1C, 0)]
    assert made(host, "soft_reset", script, patience=0) == 0


def test_patience_0_is_no_limit(host):
    demand_no_limit(host)


def test_the_python_driver_refuses_a_negative_patience():
    with pytest.raises(WarploomError, match=r"patience is -1; legal: 0 or more \(0: wait for ever"):
        HostDriver(lambda address: 0, lambda address, value: None, TINY, -1)


def demand_32_words(host):
    """Hold that in C a command has 32 words at most, those of the task register."""
    words = (U32 * 33)(*range(33))
    script = [("write", 0x1080 + 4 * n, n) for n in range(32)]
    script = [("read", DOORBELL, 0), *script, ("write", DOORBELL, 1)]
    assert made(host, "call", script, "submit_words", 0, words, 32) == 0
    assert made(host, "call", [], "submit_words", 0, words, 33) == RANGE


def test_in_c_a_command_has_as_many_words_as_the_task_register():
    demand_32_words(c_host())


SUBMITS = {
    "submit_launch": NOTHING,
    "launch": NOTHING,
    "run": {"code": 1},
    "abort": {"ticket": 1},
    "preempt": {"streams": 1},
    "resume": {"streams": 1},
    "abort_streams": {"streams": 1},
    "disconnect": {},
}


@pytest.mark.parametrize("call", SUBMITS)
def test_a_busy_section_is_left_alone(host, call):
    found = made(host, call, [("read", DOORBELL, 1)], 0, **SUBMITS[call])
    assert (found[0] if isinstance(found, tuple) else found) == BUSY


@pytest.mark.parametrize("call", SUBMITS)
def test_a_section_that_does_not_exist_is_refused(host, call):
    """The configuration has two."""
    found = made(host, call, [], 2, **SUBMITS[call])
    assert (found[0] if isinstance(found, tuple) else found) == RANGE


def test_a_task_is_eight_words(host):
    words = (0x101, 100, 0x0304, 7, 0x22222222, 0x11111111, 0x44444444, 0x33333333)
    script = [("read", DOORBELL, 0)]
    script += [("write", 0x1080 + 4 * n, word) for n, word in enumerate(words)]
    script += [("write", DOORBELL, 1), ("read", DOORBELL, 0), ("read", 0x100C, 0x004D0235)]
    script += [("read", 0x1010, 0), ("read", 0x1004, 0b1011), ("read", 0x1008, 0b1111)]
    script += [("read", 0x1014, 0xFFFFFF05)]
    settings = {"code": 0x1111111122222222, "arguments": 0x3333333344444444, "first": 100}
    settings |= {"parts": 4, "larger": 3, "small": 7, "skip_primary": 1}
    error, outcome = made(host, "run", script, 0, **settings)
    assert error == 53
    assert outcome == {"code": 53, "core": 2, "argument": 77, "ticket": 0, "task": 5} | {
        "succeeded": 0b1011,
        "parts": 0b1111,
        "number": 0xFFFF,
    }


def test_an_abort_is_two_words(host):
    script = [("read", DOORBELL, 0), ("write", 0x1080, 7), ("write", 0x1084, 0xFFFFFFFF)]
    script += [("write", DOORBELL, 1), *complete(45)]
    assert made(host, "abort", script, 0, 0xFFFFFFFF) == 45


@pytest.mark.parametrize(("call", "opcode"), [("preempt", 5), ("resume", 6), ("abort_streams", 13)])
def test_a_command_for_streams_is_two_words(host, call, opcode):
    script = [("read", DOORBELL, 0), ("write", 0x1080, opcode), ("write", 0x1084, 0x80000005)]
    script += [("write", DOORBELL, 1), *complete(NOT_PREEMPTED)]
    assert made(host, call, script, 0, 0x80000005) == NOT_PREEMPTED


@pytest.mark.parametrize(
    ("call", "address"), [("set_launch_timeout", 0x2C), ("set_irq_timeout", 0x3C)]
)
def test_a_time_out_is_a_register(host, call, address):
    assert made(host, call, [("write", address, 0xFFFFFFFF)], 0xFFFFFFFF) == 0


def test_the_clock_is_read_again_while_its_high_half_changes(host):
    high, low = (lambda n: ("read", 0x14C, n)), (lambda n: ("read", 0x148, n))
    script = [high(1), low(0xFFFFFFFF), high(2), low(3), high(2)]
    assert made(host, "clock", script) == (0, 2 << 32 | 3)


def waiting(*pairs):
    """Return the accesses of a launch of nothing that waits for pairs (stream, count)."""
    words = [2 | ((1 << len(pairs)) - 1) << 8] + [0] * 27
    words += [stream << 8 | count << 16 for stream, count in pairs]
    writes = [("write", 0x1080 + 4 * n, word) for n, word in enumerate(words)]
    return [("read", DOORBELL, 0), *writes, ("write", DOORBELL, 1)]


def test_a_launch_s_pairs_stand_behind_its_words(host):
    """Of a count its low 16 bits; the configuration has two pairs."""
    script = waiting((3, 0xFFFF)) + complete(ticket=6, number=9)
    assert made(host, "launch", script, 0, waits=[(3, 0x1FFFF)], **NOTHING) == (0, 6)
    script = waiting((255, 1), (2, 0))
    assert made(host, "submit_launch", script, 0, waits=[(255, 1), (2, 0)], **NOTHING) == 0


def demand_a_count_s_field(make):
    """Hold that in C a count stays in its field, wherever the header has it: no bit spills.

    ``make`` makes the driver with a header.
    """
    header = c_header(TINY, "bench")
    for old, new in (
        ("STREAM_SHIFT UINT32_C(8)", "STREAM_SHIFT UINT32_C(24)"),
        ("STREAM_MASK UINT32_C(0x0000FF00)", "STREAM_MASK UINT32_C(0xFF000000)"),
        ("COUNT_SHIFT UINT32_C(16)", "COUNT_SHIFT UINT32_C(0)"),
        ("COUNT_MASK UINT32_C(0xFFFF0000)", "COUNT_MASK UINT32_C(0x0000FFFF)"),
    ):
        assert f"LAUNCH_WAIT0_{old}" in header
        header = header.replace(f"LAUNCH_WAIT0_{old}", f"LAUNCH_WAIT0_{new}")
    words = [0x102] + [0] * 27 + [0x0300FFFF]
    script = [("write", 0x1080 + 4 * n, word) for n, word in enumerate(words)]
    script = [("read", DOORBELL, 0), *script, ("write", DOORBELL, 1)]
    assert made(make(header), "submit_launch", script, 0, waits=[(3, 0x5FFFF)], **NOTHING) == 0


def test_in_c_a_count_stays_in_its_field_wherever_the_header_has_it():
    demand_a_count_s_field(lambda header: c_host(header=header))


@pytest.mark.parametrize("waits", [[(256, 1)], [(1, 1), (256, 1)], [(1, 1)] * 3, [(1, 1)] * 5])
def test_a_pair_too_many_or_of_no_stream_is_refused(host, waits):
    assert made(host, "submit_launch", [], 0, waits=waits, **NOTHING) == RANGE


def test_results_are_read_in_their_order(host):
    script = [("read", 0x1020 + 4 * n, 10 + n) for n in range(8)]
    assert made(host, "results", script, 0, 8) == (0, list(range(10, 18)))
    assert made(host, "results", [], 0, 9)[0] == RANGE


def record(*words):
    """Return the accesses that find a record waiting, read its words, and pop it."""
    reads = [("read", 0x40 + 4 * n, word) for n, word in enumerate(words)]
    return [("read", 0x30, 2), *reads, ("write", 0x34, 1)]


def test_a_record_is_read_and_then_popped(host):
    """Of a launch; the words 3 and 4 say nothing of one."""
    script = record(0xCAFE0001, 0x0127C212, 1234, 0xFFFFFFFF, 0xFFFFFFFF, 11, 12, 0x80000013)
    error, found = made(host, "take_record", script)
    assert error == 0
    met = (f"met_{fate}" for fate in ("finished", "killed", "drained", "skipped"))
    assert found == dict.fromkeys(met, 0) | {
        "ticket": 0xCAFE0001,
        "code": 0x12,
        "fate": 2,
        "kind": 0,
        "kills": 7,
        "drained": 1,
        "stream": 9,
        "offered": 1,
        "cycles": 1234,
        "accepted": 11,
        "first_offer": 12,
        "made": 0x80000013,
        "number": 0xFFFF if TINY.has_loops else 0,
    }


def test_a_preempt_s_record_says_what_became_of_the_launches_that_it_met(host):
    script = record(0, 2 << 11, 0x10001, 2 | 0x8003 << 16, 4, 5, 6, 7)
    error, found = made(host, "take_record", script)
    met = [found[f"met_{fate}"] for fate in ("finished", "killed", "drained", "skipped")]
    assert (error, found["kind"], found["cycles"]) == (0, 2, 0)
    assert met == [0x10001, 2, 0x8003, 4]


def test_without_a_record_nothing_is_popped(host):
    assert made(host, "take_record", [("read", 0x30, 0)])[0] == EMPTY


def demand_acknowledged(host, bits):
    """Hold that the bits that were read are cleared."""
    script = [("read", 0x24, bits), ("write", 0x24, bits)]
    assert made(host, "acknowledge_irq", script) == (0, bits)


# The highest bit: of a core whose minor number is a later one.
@pytest.mark.parametrize("bits", [0b0000, 0b0010, 0b1101, 0b1111, 0x80000001])
def test_what_was_read_is_acknowledged_and_nothing_else(host, bits):
    demand_acknowledged(host, bits)


#: Field of a launch: its word, and that word with the field's highest value.
FIELDS = {
    "address_space": ("T5", 0x0000FFFF),
    "stream": ("T5", 0x00FF0000),
    "priority": ("T5", 0x0F000000),
    "idempotent": ("T5", 0x20000000),
    "mode": ("T10", 0x00E00000),
    "gx": ("T6", 0xFFFFFFFF),
    "gy": ("T7", 0x0000FFFF),
    "gz": ("T7", 0xFFFF0000),
    "dx": ("T8", 0x000007FF),
    "dy": ("T8", 0x003FF800),
    "dz": ("T8", 0x1FC00000),
    "index_address": ("T9", 0x0000FFFF),
    "table": ("T9", 0x00070000),
    "warp_registers": ("T10", 0x000001FF),
    "shared": ("T10", 0x001FFC00),
    "barriers": ("T10", 0x3F000000),
}


@pytest.mark.parametrize("name", FIELDS)
def test_a_launch_s_field_holds_its_highest_value_and_refuses_the_next(host, name):
    word, bits = FIELDS[name]
    highest = bits // (bits & -bits)
    fields = NOTHING | {name: highest}
    assert made(host, "submit_launch", rings(**{word: bits}), 0, **fields) == 0
    if highest < 0xFFFFFFFF or host is python_host:
        fields[name] = highest + 1
        assert made(host, "submit_launch", [], 0, **fields) == RANGE


@pytest.mark.parametrize(("name", "bits"), [("parts", 0x00FF), ("larger", 0xFF00)])
def test_a_task_s_field_holds_its_highest_value_and_refuses_the_next(host, name, bits):
    task = {"code": 0, "arguments": 0, "first": 0, "parts": 0, "larger": 0, "small": 0}
    script = [("read", DOORBELL, 0), ("write", 0x1080, 1), ("write", 0x1084, 0)]
    script += [("write", 0x1088, bits), *[("write", 0x108C + 4 * n, 0) for n in range(5)]]
    script += [("write", DOORBELL, 1), *complete(52)]
    assert made(host, "run", script, 0, **task | {name: 0xFF})[0] == 52
    assert made(host, "run", [], 0, **task | {name: 0x100})[0] == RANGE


#: Call, its highest arguments, the writes, and arguments of which one is too high.
REGISTERS = {
    "threshold": ("enable_irq", (0xF, 0xFFFF), [(0x28, 0xFFFF), (0x20, 0xF)], (0, 0x10000)),
    "interrupts": ("enable_irq", (0x3F, 1), [(0x28, 1), (0x20, 0x3F)], (0x40, 1)),
    "stream": ("clear_stream", (0xFF,), [(0x70, 0xFF)], (0x100,)),
    "units": ("reset_units", (1,), [(0x78, 1)], (2,)),
    "sms": ("enable_sms", (3,), [(0x80, 3)], (4,)),
}


@pytest.mark.parametrize("name", REGISTERS)
def test_a_register_takes_its_highest_value_and_the_next_is_refused(host, name):
    call, highest, writes, above = REGISTERS[name]
    assert made(host, call, [("write", *write) for write in writes], *highest) == 0
    assert made(host, call, [], *above) == RANGE
