"""warploom_spec: literal words, numbers and texts: no table is wrong together with its users."""

import dataclasses
import inspect
import re

import pytest
from amaranth.hdl import Value
from hypothesis import given
from hypothesis import strategies as st

from warploom_spec import (
    ERROR_CODE_BITS,
    EXPLANATIONS,
    PRESETS,
    RESOURCES,
    STALL_CAUSES,
    BlockStatus,
    Config,
    ErrorCode,
    Fate,
    LaunchDescriptor,
    Packet,
    WarploomError,
    capacities,
    layouts,
    preset,
    timing,
)
from warploom_spec.config import POLICIES
from warploom_spec.packet import Field
from warploom_spec.resident_limits import GROUP_SMS, LEAST_GROUP_SMS, sm_groups
from warploom_spec.resident_packets import resident_block

DEFAULT = PRESETS["default"]

#: What each preset has.
PRESET_TABLE = {
    "tiny": (2, 8, 4, 16, 32, 64, 4, 256, (16, 8, 8), 4, 64, 1),
    "default": (8, 32, 32, 64, 256, 1824, 32, 1024, (31, 16, 16), 8, 512, 4),
    "large": (132, 32, 32, 64, 256, 1824, 32, 1024, (31, 16, 16), 8, 4096, 4),
}
PRESET_FIELDS = (
    "sms",
    "warp_size",
    "block_slots",
    "warp_slots",
    "register_units",
    "shared_units",
    "barriers",
    "max_threads",
    "grid_bits",
    "history_entries",
    "index_memory_warps",
    "inline_args",
)

#: Bits of each packet: (tiny, default, large).
PACKET_BITS = {
    "launch_descriptor": (343, 539, 542),
    "checked_launch": (366, 632, 635),
    "launch_words": (351, 610, 610),
    "block_index": (32, 63, 63),
    "grid_walk": (64, 126, 126),
    "walked_block": (65, 96, 96),
    "block_report": (4, 7, 7),
    "error_record": (25, 25, 25),
    "index_config": (41, 44, 47),
    "index_decision": (3, 4, 4),
    "index_lanes": (155, 566, 569),
    "packed_warp": (155, 566, 569),
    "index_region": (13, 16, 19),
    "index_read": (18, 21, 24),
    "index_data": (136, 544, 544),
    "thread_index": (29, 29, 29),
    "order_swap": (2, 6, 16),
    "schedule_request": (28, 31, 34),
    "warp_issue": (23, 23, 23),
}


def packets(config: Config) -> dict[str, Packet]:
    """Return every packet of a configuration by its function's name."""
    functions = inspect.getmembers(layouts, inspect.isfunction)
    return {
        name: function(config)
        for name, function in functions
        if function.__module__ == layouts.__name__ and name[0] != "_" and name != "lane_bits"
    }


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_spec_0s_table(name: str) -> None:
    config = preset(name)
    assert tuple(getattr(config, field) for field in PRESET_FIELDS) == PRESET_TABLE[name]
    assert (config.stream_bits, config.priority_bits) == (3 if name == "tiny" else 4, 2)
    assert config.task_bits == (6 if name == "large" else 4)


@pytest.mark.parametrize("name", PRESETS)
def test_ports_have_the_bits_of_spec_0s_table(name: str) -> None:
    config = preset(name)
    grid = sum(PRESET_TABLE[name][8])
    address = {"tiny": 6, "default": 9, "large": 12}[name]  # log2 of the memory's warps
    inline = 64 * PRESET_TABLE[name][-1]
    kernel = 64 + 64 + 16 + inline
    block, widths, warps = 11 + 11 + 7, 4 + 4 + 3, 6
    threads, mask, registers = (9, 8, 6) if name == "tiny" else (11, 32, 9)
    shared, barriers = (7, 3) if name == "tiny" else (11, 6)
    stream = 3 if name == "tiny" else 4
    order = stream + 2 + 1 + 2 + 3  # stream, priority, idempotent, mode, table
    slot = 2 if name == "tiny" else 5
    descriptor = kernel + (31 + 16 + 16) + block + address + (9 + 11 + 6) + order
    assert layouts.launch_descriptor(config).bits == descriptor
    block_words = block + threads + warps + mask + registers + shared + barriers + widths
    assert layouts.launch_words(config).bits == 32 + kernel + grid + block_words
    entry = 4 if name == "tiny" else 6
    warp_count = 5 if name == "tiny" else 7
    place = stream + slot + grid + 32
    assert resident_block(config).bits == place + address + entry + warp_count


@pytest.mark.parametrize("name", PRESETS)
def test_packets_literal_bits(name: str) -> None:
    place = list(PRESETS).index(name)
    got = {packet: shape.bits for packet, shape in packets(preset(name)).items()}
    assert got == {packet: bits[place] for packet, bits in PACKET_BITS.items()}


@pytest.mark.parametrize("name", PRESETS)
def test_packets_are_named_as_their_functions(name: str) -> None:
    for function, packet in packets(preset(name)).items():
        assert packet.name == function
        assert all(field.meaning for field in packet.fields)
        assert len({field.name for field in packet.fields}) == len(packet.fields)


def test_a_launch_descriptors_literal_word() -> None:
    launch = LaunchDescriptor(
        grid=(1568, 3, 8),
        block=(256, 2, 1),
        warp_registers=4,
        shared=41,
        index_address=0x155,
        stream=9,
        priority=2,
        code=0x0123456789ABCDEF,
        arguments=0xFEDCBA9876543210,
        address_space=0xBEEF,
        inline=(0xA5,),
    )
    word = 0x0123456789ABCDEF | 0xFEDCBA9876543210 << 64 | 0xBEEF << 128 | 0xA5 << 144
    word |= 1568 << 400 | 3 << 431 | 8 << 447  # grid
    word |= 256 << 463 | 2 << 474 | 1 << 485  # block
    word |= 0x155 << 492 | 4 << 501 | 41 << 510 | 1 << 521  # address, registers, shared, barriers
    word |= 9 << 527 | 2 << 531  # stream, priority
    assert launch.pack(DEFAULT) == word


def test_an_offered_blocks_literal_word() -> None:
    values = {"stream": 1, "slot": 5, "bx": 3, "by": 2, "bz": 1, "block_number": 9}
    values |= {"index_address": 7, "entry": 8, "warps": 4}
    word = 1 | 5 << 4 | 3 << 9 | 2 << 40 | 1 << 56 | 9 << 72
    word |= 7 << 104 | 8 << 113 | 4 << 119
    assert resident_block(DEFAULT).pack(values) == word


def test_error_codes_literal_numbers() -> None:
    assert " ".join(code.name for code in ErrorCode) == (
        "OK GRID_ZERO GRID_RANGE BLOCK_ZERO BLOCK_RANGE THREADS INDEX_BITS INDEX_REGION BLOCK_WARPS"
        " BLOCK_REGISTERS BLOCK_SHARED BLOCK_BARRIERS TABLE_UNKNOWN STREAM_PRIORITY STREAM_BROKEN"
        " NO_SM COMPLETION_FULL BLOCK_FAULT SM_LOST RELEASE_UNREFERENCED REPORT_NOT_RUNNING"
        " KILL_NOT_ASKED LOST_SM_SIGNAL STOP_UNKNOWN ORDER_RANGE ORDER_BUSY QUEUE_FULL"
    )
    assert [int(code) for code in ErrorCode] == [*range(22), *range(23, 27), 32]
    assert ERROR_CODE_BITS == 8


def test_fates_statuses_and_stops_literal_numbers() -> None:
    fates = {"FINISHED": 0, "KILLED": 1, "DRAINED": 2, "SKIPPED": 3, "FAILED": 4, "ABORTED": 5}
    assert {fate.name: int(fate) for fate in Fate} == fates
    statuses = {"OK": 0, "FAULT": 1, "KILLED": 2}
    assert {status.name: int(status) for status in BlockStatus} == statuses


def test_every_error_code_has_a_cause_and_a_cure() -> None:
    assert EXPLANATIONS.keys() == set(ErrorCode)
    assert all(cause and cure for cause, cure in EXPLANATIONS.values())


#: The same in all presets but for `boot`, `soft_reset_limit` and some of BlockDispatcher's.
TIMINGS = {
    "bus_requests": 4,
    "bus_responses": 5,
    "bus_reads": 6,
    "bus_commit": 1,
    "bus_sample": 1,
    "bus_answer": 2,
    "soft_reset_units": 4,
    "soft_reset_settled": 5,
    "launch_check": 5,
    "done_depth": 4,
    "filter_lookup": 3,
    "needs_release": 3,
    "release_seen": 2,
    "cancel_decision": 1,
    "iterator_setup": 4,
    "iterator_pipe": 6,
    "packer": 1,
    "index_read": 3,
    "index_wake": 4,
    "kill_gap": 16,
    "queue_answer": 4,
    "queue_stop": 6,
    "queue_request": 7,
    "queue_start": 8,
    "queue_preempt": 2,
    "queue_record": 5,
    "queue_wait": 10,
    "record_known": 4,
    "resident_kill": 1,
    "resident_fetch": 2,
    "resident_stall": 2,
    "loop_handed": 1,
    "loop_decide": 2,
    "loop_pipe": 3,
    "ranges": 5,
    "ranges_cell": 2,
    "ranges_freed": 2,
    "warp_first": 1,
    "warps_end": 2,
    "offer_queue": 2,
    "block_start": 3,
    "block_end": 1,
    "stall_counter_bits": 32,
    "error_counter_bits": 16,
}
BOOT = {"tiny": 4, "default": 32, "large": 32}
LOOP_WORDS = {"tiny": 16, "default": 22, "large": 22}
LOOP_SWEEP = {"tiny": 2, "default": 16, "large": 16}
RESIDENT_BOOT = {"tiny": 17, "default": 265, "large": 4233}
#: BlockDispatcher's, flat and in groups.
FLAT = {
    "resident_first_offer": 9,
    "resident_offer": 3,
    "resident_again": 5,
    "resident_returns": 7,
    "resident_end": 6,
    "resident_error": 5,
}
IN_GROUPS = {
    "resident_first_offer": 13,
    "resident_offer": 5,
    "resident_again": 10,
    "resident_returns": 12,
    "resident_end": 7,
    "resident_error": 6,
}
SOFT_RESET_LIMIT = {"tiny": 1616, "default": 5376, "large": 52224}


@pytest.mark.parametrize(
    ("sms", "sizes"),
    [(17, (9, 8)), (18, (9, 9)), (27, 3 * (9,)), (34, (12, 11, 11)), (132, 11 * (12,))],
)
def test_groups_are_of_equally_many_sms(sms: int, sizes: tuple[int, ...]) -> None:
    groups = sm_groups(sms)
    assert tuple(map(len, groups)) == sizes
    # Neighbours are in different groups.
    assert [groups[n % len(sizes)][n // len(sizes)] for n in range(sms)] == list(range(sms))


def test_every_number_of_sms_has_its_groups() -> None:
    for sms in range(17, 1025):
        groups = sm_groups(sms)
        sizes = {len(group) for group in groups}
        assert sorted(sm for group in groups for sm in group) == list(range(sms))
        assert min(sizes) >= LEAST_GROUP_SMS and max(sizes) <= GROUP_SMS
        # Uneven only where no divisor is legal, and by one SM.
        legal = [g for g in range(2, sms) if sms % g == 0 and 8 <= sms // g <= 16]
        assert len(sizes) == 1 if legal else max(sizes) - min(sizes) == 1


@pytest.mark.parametrize("name", PRESETS)
def test_latencies_literal_numbers(name: str) -> None:
    found = timing(preset(name))
    own = {
        "boot": BOOT[name],
        "resident_boot": RESIDENT_BOOT[name],
        "soft_reset_limit": SOFT_RESET_LIMIT[name],
        "loop_words": LOOP_WORDS[name],
        "loop_sweep": LOOP_SWEEP[name],
        **(IN_GROUPS if name == "large" else FLAT),
    }
    assert dataclasses.asdict(found) == {**TIMINGS, **own}
    assert found.index_miss == 12


@given(data=st.data())
def test_unpack_gives_back_what_was_packed(data: st.DataObject) -> None:
    packet = data.draw(st.sampled_from(list(packets(DEFAULT).values())))
    values = {
        f.name: data.draw(st.integers(0, (1 << f.bits) - 1), label=f.name) for f in packet.fields
    }
    assert packet.unpack(packet.pack(values)) == values


@pytest.mark.parametrize("name", PRESETS)
def test_amaranth_layout_and_numpy_record_agree_with_the_packet(name: str) -> None:
    for packet in packets(preset(name)).values():
        layout = packet.layout()
        assert layout.size == packet.bits
        assert {key: field.offset for key, field in layout} == packet.offsets
        dtype = packet.dtype()
        assert dtype.names is not None
        for field in packet.present:
            room = dtype.fields[field.name][0].itemsize * 8
            assert room >= field.bits


def test_layout_places_fields_as_pack_does() -> None:
    packet = layouts.block_report(DEFAULT)
    word = Value.cast(packet.layout().const({"slot": 3, "status": 2}))
    assert word.value == packet.pack({"slot": 3, "status": 2}) == 3 | 2 << 5


@pytest.mark.parametrize(
    "values, message",
    [
        ({"a": 16, "b": 0}, r"demo\.a is 16; legal: 0 to 15"),
        ({"a": -1, "b": 0}, r"demo\.a is -1; legal: 0 to 15"),
        ({"a": 1}, r"demo\.b is missing"),
        ({"a": 1, "b": 1, "c": 1}, r"demo has no field c"),
    ],
)
def test_pack_refuses_by_name(values: dict[str, int], message: str) -> None:
    packet = Packet("demo", (Field("a", 4, "one"), Field("b", 1, "other")))
    with pytest.raises(WarploomError, match=f"^{message}$"):
        packet.pack(values)


@pytest.mark.parametrize(
    "field, value, legal",
    [
        ("sms", 0, "1 to 256"),
        ("sms", 257, "1 to 256"),
        ("sms", True, "1 to 256"),
        ("warp_size", 31, "2, 4, 8, 16, 32, 64"),
        ("block_slots", 65, "1 to 64"),
        ("max_threads", 0, "1 to 65536"),
        ("kill_timeout", 71, "72 (2 block_slots + 8) to 65535"),
        ("kill_timeout", 65536, "10 to 65535"),
        ("policy", "best", ", ".join(POLICIES)),
        ("reclaim", "never", "in_order, out_of_order"),
        ("grid_bits", (32, 16, 16), "three widths from 1 to (31, 16, 16)"),
        ("step_from_host", 1, "True, False"),
        ("sm_kill", 0, "True, False"),
        ("index_memory_warps", 1, "0, 2 to 65536"),
        ("index_memory_warps", 65537, "0 to 65536"),
        ("reference_bits", 4, "5 (stream_bits + 1) to 8"),
        ("register_cell", 3, "powers of two from 1 to 256"),
        ("shared_cell", 2048, "powers of two from 1 to 1024"),
    ],
)
def test_config_names_field_value_and_legal_range(field: str, value: object, legal: str) -> None:
    message = re.escape(f"{field} is {value!r}; legal: {legal}")
    with pytest.raises(WarploomError, match=f"^{message}$"):
        Config(**{field: value})


def test_a_cell_is_no_larger_than_what_an_sm_has() -> None:
    with pytest.raises(WarploomError, match=r"^shared_cell is 8; legal: 1 to 7 \(shared_units\)$"):
        Config(shared_units=7, shared_cell=8)
    assert Config(shared_units=8, shared_cell=8).shared_cell == 8


def test_every_integer_of_a_config_has_a_range() -> None:
    for field in dataclasses.fields(Config):
        if field.type == "int" or field.type is int:
            assert {"low", "high"} <= field.metadata.keys() or field.name == "warp_size"


def test_config_is_frozen_and_takes_keywords_alone() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        DEFAULT.sms = 3
    with pytest.raises(TypeError):
        Config(8)


def test_an_unknown_preset_is_refused_with_the_legal_names() -> None:
    with pytest.raises(WarploomError, match=r"^config is 'huge'; legal: tiny, default, large$"):
        preset("huge")


@pytest.mark.parametrize(
    "registers, shared_bytes, warp_size, units, shared",
    [
        (0, 0, 32, 0, 8),  # 1,024 reserved bytes are 8 units
        (8, 1, 32, 1, 9),
        (9, 128, 32, 2, 9),
        (32, 4224, 32, 4, 41),
        (255, 232448, 32, 32, 1824),
        (32, 0, 8, 1, 8),
        (33, 0, 8, 2, 8),
    ],
)
def test_from_cuda_rounds_as_the_architecture(
    registers: int, shared_bytes: int, warp_size: int, units: int, shared: int
) -> None:
    config = dataclasses.replace(DEFAULT, warp_size=warp_size)
    launch = LaunchDescriptor.from_cuda((1, 1, 1), (32, 1, 1), registers, shared_bytes, config)
    assert (launch.warp_registers, launch.shared, launch.barriers) == (units, shared, 1)


def test_from_cuda_refuses_what_does_not_fit_a_field() -> None:
    with pytest.raises(WarploomError, match=r"^launch_descriptor\.gx is 2147483648; legal: 0 to "):
        LaunchDescriptor.from_cuda((1 << 31, 1, 1), (32, 1, 1), 0, 0, DEFAULT)
    with pytest.raises(WarploomError, match=r"^launch_descriptor\.dz is 128; legal: 0 to 127$"):
        LaunchDescriptor.from_cuda((1, 1, 1), (1, 1, 128), 0, 0, DEFAULT)


def test_more_argument_words_than_the_config_has_are_refused() -> None:
    launch = LaunchDescriptor(grid=(1, 1, 1), block=(1, 1, 1), inline=(1, 2))
    with pytest.raises(WarploomError, match=r"^inline has 2 words; legal: 0 to 1$"):
        launch.pack(preset("tiny"))


def test_grid_limits_follow_from_the_widths() -> None:
    assert preset("tiny").max_grid == (65535, 255, 255)
    assert DEFAULT.max_grid == (2**31 - 1, 65535, 65535)


def test_resources_and_stall_causes_literal_names() -> None:
    assert RESOURCES == ("slots", "warps", "registers", "shared", "barriers")
    assert list(STALL_CAUSES) == ["order", *RESOURCES, "offer"]
    sizes = {"slots": 32, "warps": 64, "registers": 256, "shared": 1824, "barriers": 32}
    assert capacities(DEFAULT) == sizes
